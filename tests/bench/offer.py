"""What is handed over in each unit: the claim that the API's description shows."""

from typing import Any

TYPE = "reminder.send"
ACTOR = "api:bench"
AMOUNT, CURRENCY = "1240.00", "ZAR"
PAYLOAD = {"order": "483", "total": "1240.00"}
SOURCE = {"system": "webshop", "reference": "483", "version": "1", "run": "exec-9931"}
DESCRIPTION, SUBJECT = "Invoice for order 483", "customer 77"
CONTRACT: dict[str, Any] = {"idempotency": "header", "key_retention": "24h", "saves": "2xx", "settle": "30s"}
LEASE_S = 300
REFERENCE, STATUS = "INV-1", 201
