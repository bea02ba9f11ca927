"""The same task for django-q2 as people have it without Tieout."""

import json
import os
import urllib.request
from typing import Any


def make_naively(order: dict[str, Any]) -> str:
    """Send the invoice."""
    body = {**order, "metadata": {"operation": f"order/stall/{order['id']}/v1"}}
    request = urllib.request.Request(os.environ["BOOKS_URL"] + "/invoices", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["id"])
