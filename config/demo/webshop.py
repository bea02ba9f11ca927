"""The web shop's automation: it hands paid orders over to Tieout and sends reminders that it has claimed.

It keeps nothing: run again, it says the same under the same keys, and nothing is done twice.
"""

import os
import uuid

import httpx

from config.demo.afternoon import ORDERS, REMINDERS, Order, Reminder


def main() -> None:
    """Work through the afternoon once."""
    headers = {"Authorization": f"Bearer {os.environ['TIEOUT_TOKEN']}"}
    with (
        httpx.Client(base_url=os.environ["TIEOUT_URL"], headers=headers, timeout=30) as tieout,
        httpx.Client(base_url=os.environ["SANDBOX_URL"], timeout=10) as mailroom,
    ):
        for reminder in REMINDERS:
            remind(tieout, mailroom, reminder)
        for order in ORDERS:
            hand_over(tieout, order)


def hand_over(tieout: httpx.Client, order: Order) -> str:
    """Hand an order's invoice over; the answer says which operation it is, also when it was known already."""
    answer = tieout.post(
        "/api/v1/operations",
        json={
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
    answer = tieout.post(
        "/api/v1/operations/claim",
        json={
            "type": "reminder.send",
            "source": reminder.source,
            "description": f"Reminder for order {reminder.order}",
            "subject": reminder.to.partition("@")[2],
            "payload": payload,
            "attempt_id": str(uuid.uuid4()),
        },
    )
    claimed = answer.json()
    if claimed.get("decision") == "proceed":
        attempt = claimed["attempt"]
        place = f"/api/v1/attempts/{attempt['id']}"
        start = {"token": attempt["token"], "start_id": str(uuid.uuid4())}
        tieout.post(f"{place}/start", json=start).raise_for_status()
        sent = mailroom.post("/reminders", json=payload)
        sent.raise_for_status()
        if not reminder.dies:
            proof = {
                "token": attempt["token"],
                "outcome": "succeeded",
                "destination_reference": sent.json()["id"],
            }
            tieout.post(f"{place}/outcome", json=proof).raise_for_status()
    return known(answer)


def known(answer: httpx.Response) -> str:
    """Return the operation's id from any answer that names it."""
    told = answer.json()
    if "operation" not in told:
        raise RuntimeError(f"Tieout answered {answer.status_code}: {told.get('detail', told)}")
    operation: str = told["operation"]["id"]
    return operation


if __name__ == "__main__":
    main()
