"""The work that the recipes in Python share: one order becomes one invoice, however often it is asked for."""

import json
import os
import urllib.error
import urllib.request

from tieout_client import Operation, Tieout

REJECTED = {400, 401, 403, 404, 405, 410, 413, 415, 422}
tieout = Tieout()  # TIEOUT_URL, TIEOUT_TOKEN and TIEOUT_SPOOL


def invoice_once(order: dict) -> str:
    """Return the invoice's number; Wait, Hold, Refused, TieoutUnavailable or OSError without one."""
    key = f"order/stall/{order['id']}/v1"  # the order's own name; nothing of this run is in it
    body = {
        "order": order["id"],
        "total": order["total"],
        "currency": order["currency"],
        "customer": {"name": order["customer"]},
        "metadata": {"operation": key},
    }
    with tieout.operation(
        "invoice.issue",
        key=key,
        payload=body,
        amount=order["total"],
        currency=order["currency"],
        description=f"Order {order['id']}",  # what people read in the queue
        subject=order["customer"],
    ) as op:
        if op.decision == "skip":
            return op.reference
        send(op.or_raise())  # else Wait, Hold or Refused
    if op.said == "succeeded":
        return op.reference
    return invoice_once(order)  # refused, or not done: Tieout knows what follows from that


def send(op: Operation) -> None:
    """Send the invoice and say what came back; an exception says it by itself."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": op.idempotency_key}
    request = urllib.request.Request(
        os.environ["BOOKS_URL"] + "/invoices", json.dumps(op.payload).encode(), headers
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            op.succeeded(json.load(answer)["id"], http_status=answer.status)
    except urllib.error.HTTPError as refusal:
        if refusal.code == 429:
            op.retryable(http_status=429)
        elif refusal.code in REJECTED:
            op.rejected(http_status=refusal.code)
        else:
            raise
