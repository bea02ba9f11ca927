"""The same task as people have it without Tieout, beside the recipe's."""

import json
import os
import urllib.request
from typing import Any

from celery_app import PAUSE_S, app


@app.task(bind=True, max_retries=None)  # type: ignore[untyped-decorator]
def make_naively(self: Any, order: dict[str, Any]) -> str:
    """Send the invoice; retry whatever goes wrong."""
    body = {**order, "metadata": {"operation": f"order/stall/{order['id']}/v1"}}
    request = urllib.request.Request(os.environ["BOOKS_URL"] + "/invoices", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(json.load(answer)["id"])
    except OSError as why:
        raise self.retry(exc=why, countdown=PAUSE_S) from why
