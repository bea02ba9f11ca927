"""What is done to operations, one by one and many at once."""

import re

from tests import stories
from tests.browser.flows.rows import (
    REASON,
    TRAIL,
    Row,
    approvals,
    asked,
    at,
    itself,
    pressed,
    unfolded,
    written,
)
from tests.browser.hands import Hand
from tests.review.test_every_door import DOORS, Form, Place

OPERATION = "operations/<uuid:uid>/"


def override(hand: Hand, form: Form) -> None:
    """Say where and when one looked, and what it leads to."""
    unfolded(hand, "Override")
    hand.click("Override")
    hand.tick("It did not happen")
    hand.write("Where you looked", form["where"])
    hand.write("When you looked", form["looked_at"])
    hand.write(TRAIL, REASON)
    hand.click("Confirm")


def choose(hand: Hand, form: Form) -> None:
    """Tick the one to keep."""
    hand.tick(f"Keep {form['keep']}")
    hand.click("Choose one")
    hand.write(TRAIL, REASON)
    hand.click("Confirm")


def correct(hand: Hand, form: Form) -> None:
    """Write another amount."""
    hand.click("Correct it")
    hand.write(re.compile("^Amount$"), "9.00")
    hand.click("Review it")
    hand.write(TRAIL, REASON)
    hand.click("Confirm")


def comment(hand: Hand, form: Form) -> None:
    hand.write("Comment", REASON)
    hand.click("Comment")


def refused(place: Place, name: str) -> tuple[str, Form]:
    """One that was refused; nobody has written a correction yet."""
    operation = place.durban.tried(place.durban.invoiced(place.number()), stories.REFUSED)
    return f"/operations/{operation.uid}/correct/", {}


def doubled(place: Place, name: str) -> tuple[str, Form]:
    """Two of one, and a call that reverses."""
    kind = place.durban.invoice
    kind.calls = stories.CALLS | {"void": {"path": "/invoices/{destination_reference}/void"}}
    kind.save(update_fields=["calls"])
    return DOORS[f"{OPERATION}choose/"].scene(place, name)


OF_OPERATIONS = (
    Row(
        "send again",
        f"{OPERATION}send-again/",
        "ann",
        asked("Send again"),
        "Allowed; takes effect",
        "permitted",
    ),
    Row(
        "confirm with reference",
        f"{OPERATION}confirm-with-reference/",
        "ann",
        asked("Confirm with reference", Its_number_in_Durban_Books="INV-7"),
        "Done on ann’s word",
        "attested closed",
    ),
    Row(
        "it did not happen",
        f"{OPERATION}did-not-happen/",
        "ann",
        asked("It did not happen"),
        "Did not happen",
        "closed",
    ),
    Row("cancel", f"{OPERATION}cancel/", "ann", asked("Cancel"), "Did not happen", "cancelled"),
    Row("correct", f"{OPERATION}correct/", "ann", correct, "Undo", "corrected accepted", made=refused),
    Row("choose", f"{OPERATION}choose/", "ann", choose, "Undo", "accepted chosen", made=doubled),
    Row("override", f"{OPERATION}override/", "ann", override, "Waits for a second person", "asked"),
    Row(
        "undo",
        f"{OPERATION}undo/",
        "ann",
        pressed("Undo"),
        "Undone",
        "withdrawn",
        "Undone from the operation’s page.",
    ),
    Row(
        "approve",
        f"{OPERATION}approve/",
        "bob",
        asked(re.compile("^Approve")),
        "approved",
        "ask_approved",
        begins=at("/approvals/"),
    ),
    Row(
        "refuse",
        f"{OPERATION}refuse/",
        "bob",
        asked(re.compile("^Refuse")),
        "refused",
        "ask_refused",
        begins=at("/approvals/"),
    ),
    Row(
        "take back",
        f"{OPERATION}take-back/",
        "ann",
        asked(re.compile("^Take it back")),
        "took back",
        "ask_withdrawn",
        begins=at("/approvals/"),
    ),
    Row(
        "reveal",
        f"{OPERATION}hidden/",
        "bob",
        written(re.compile("^Show")),
        re.compile(r"order\s*48\d"),
        "revealed",
        begins=itself,
    ),
    Row("comment", f"{OPERATION}comment/", "ann", comment, REASON, "commented"),
)


OF_MANY = (
    Row("start a list", "bulk/<uuid:uid>/start/", "ann", written("Send 1 again"), "Running", "bulk_started"),
    Row(
        "approve a list",
        "bulk/<uuid:uid>/approve/",
        "bob",
        approvals("bulk action", "Approve: Send 1 again"),
        "Running",
        "bulk_approved",
        begins=at("/approvals/"),
    ),
    Row(
        "refuse a list",
        "bulk/<uuid:uid>/refuse/",
        "bob",
        approvals("bulk action", "Refuse"),
        "Refused",
        "bulk_refused",
        begins=at("/approvals/"),
    ),
    Row("pause a list", "bulk/<uuid:uid>/pause/", "ann", written("Pause"), "Paused", "bulk_paused"),
    Row("resume a list", "bulk/<uuid:uid>/resume/", "ann", written("Resume"), "Running", "bulk_resumed"),
    Row(
        "cancel a list",
        "bulk/<uuid:uid>/cancel/",
        "ann",
        written("Cancel the rest"),
        "Cancelled",
        "bulk_cancelled",
    ),
)
