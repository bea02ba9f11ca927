"""The web shop's automation: it hands paid orders over to Tieout and sends reminders that it has claimed.

It keeps nothing but the shop's own orders: run again, it says the same under the same keys, and nothing is
done twice.
"""

import os
import time
import uuid
from datetime import UTC, datetime, timedelta

import httpx

from config.demo.afternoon import FORGOTTEN, ORDERS, REMINDERS, Order, Reminder

AGAIN = 60
PAUSE_S = 1.0


def main() -> None:
    """Work through the afternoon once."""
    headers = {"Authorization": f"Bearer {os.environ['TIEOUT_TOKEN']}"}
    with (
        httpx.Client(base_url=os.environ["TIEOUT_URL"], headers=headers, timeout=30) as tieout,
        httpx.Client(base_url=os.environ["SANDBOX_URL"], timeout=10) as mailroom,
    ):
        take(mailroom)
        for reminder in REMINDERS:
            remind(tieout, mailroom, reminder)
        for order in ORDERS:
            hand_over(tieout, order)


def take(shop: httpx.Client) -> None:
    """Keep the orders in the shop's own books, where one stands that is never handed over."""
    for order in ORDERS:
        _keep(shop, order)
    _keep(shop, FORGOTTEN, placed_at=(datetime.now(UTC) - timedelta(days=1)).isoformat())


def _keep(shop: httpx.Client, order: Order, **placed: str) -> None:
    paid = {"number": str(order.number), "total": order.total, "currency": order.currency, **placed}
    shop.post("/orders", json=paid).raise_for_status()


def hand_over(tieout: httpx.Client, order: Order) -> str:
    """Hand an order's invoice over; the answer says which operation it is, also when it was known already."""
    answer = ask(
        tieout,
        "/api/v1/operations",
        {
            "type": "invoice.create",
            "source": {"system": "webshop", "reference": str(order.number), "version": "1"},
            "description": f"Order {order.number}",
            "subject": order.customer,
            "amount": order.total,
            "currency": order.currency,
            "payload": order.invoice(),
        },
    )
    return known(answer)


def remind(tieout: httpx.Client, mailroom: httpx.Client, reminder: Reminder) -> str:
    """Claim a reminder, send it where the claim says so, and say how it went, unless this one dies first."""
    payload = {"to": reminder.to, "text": f"Your order {reminder.order} is not paid yet."}
    answer = ask(
        tieout,
        "/api/v1/operations/claim",
        {
            "type": "reminder.send",
            "source": reminder.source,
            "description": f"Reminder for order {reminder.order}",
            "subject": reminder.to.partition("@")[2],
            "payload": payload,
            # The same one again, should this answer be lost.
            "attempt_id": str(uuid.uuid4()),
        },
    )
    claimed = answer.json()
    if claimed.get("decision") == "proceed":
        attempt = claimed["attempt"]
        place = f"/api/v1/attempts/{attempt['id']}"
        start = {"token": attempt["token"], "start_id": str(uuid.uuid4())}
        ask(tieout, f"{place}/start", start).raise_for_status()
        sent = mailroom.post("/reminders", json=payload)
        sent.raise_for_status()
        if not reminder.dies:
            proof = {
                "token": attempt["token"],
                "outcome": "succeeded",
                "destination_reference": sent.json()["id"],
            }
            ask(tieout, f"{place}/outcome", proof).raise_for_status()
    return known(answer)


def ask(tieout: httpx.Client, path: str, body: dict[str, object]) -> httpx.Response:
    """Say it until Tieout answers: saying it again is safe, for Tieout tells a repetition from a new wish."""
    for _ in range(AGAIN):
        try:
            answer = tieout.post(path, json=body)
        except httpx.TransportError:
            time.sleep(PAUSE_S)
            continue
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            return answer
        time.sleep(PAUSE_S)
    raise RuntimeError(f"Tieout did not answer within {AGAIN} tries.")


def known(answer: httpx.Response) -> str:
    """Return the operation's id from any answer that names it."""
    told = answer.json()
    if told.get("operation") is None:
        raise RuntimeError(f"Tieout answered {answer.status_code}: {told.get('detail', told)}")
    operation: str = told["operation"]["id"]
    return operation


if __name__ == "__main__":
    main()
