"""What is done about runs, what they found, and what ran before."""

import re
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import count
from typing import Any

from ledger.rules.states import Outcome
from reconcile.differences import actions as differences
from reconcile.differences.models import Way
from reconcile.models import Finding, Run, SignOff
from reconcile.signing import actions as signing
from review.amounts import whole
from tests.browser.flows.rows import (
    REASON,
    TRAIL,
    Do,
    Row,
    at,
    itself,
    pressed,
    written,
)
from tests.browser.hands import Hand
from tests.people import person
from tests.reconcile import closing, signatures
from tests.reconcile.books import Books, key_of
from tests.review.test_every_door import Form, Place
from tests.sandboxes import Sandbox

ORDERS = count(7001)
"""What nobody else has asked for at the same shop."""


@dataclass
class Scenery(Place):
    """The same, with Durban Books at work: what a run finds there is still there when it is decided."""

    shop: Sandbox | None = None
    found: list[tuple[Finding, str]] = field(default_factory=list)

    @cached_property
    def books(self) -> Books:
        """Amounts above 1 000.00 ZAR take two people."""
        books = Books.configured(self.folder, sandbox=self.shop, performed_by="caller")
        books.plan.operation_type.review = {"due": "4h", "four_eyes_above": {"ZAR": "1000.00"}}
        books.plan.operation_type.save(update_fields=["review"])
        return books

    def difference(self, total: str = "100.00", *, missing: bool = False) -> tuple[Finding, str]:
        """The next one of three, and its number: what nobody asked for, or what is missing beside it."""
        if not self.found:
            orders = [str(next(ORDERS)) for _ in range(3)]
            numbers = [self.books.outside(order, total=total) for order in orders]
            if missing:
                orders = [f"{order}0" for order in orders]
                for order in orders:
                    self.books.claimed(order, Outcome.UNCERTAIN, amount=total)
            run, _ = self.books.run()
            found = [run.findings.get(reference=key_of(order)) for order in orders]
            self.found = list(zip(found, numbers, strict=True))
        return self.found.pop()


def of(finding: Finding) -> tuple[str, Form]:
    """The address of a difference, and what its buttons say."""
    amount = whole(finding.amount, finding.currency)
    return f"/runs/{finding.run.uid}/differences/{finding.pk}/", {"amount": amount}


def extra(place: Place, name: str) -> tuple[str, Form]:
    """An invoice that nobody asked for."""
    assert isinstance(place, Scenery)
    return of(place.difference()[0])


def waived(place: Place, name: str) -> tuple[str, Form]:
    """One that is waived for a week."""
    assert isinstance(place, Scenery)
    one, _ = place.difference()
    said: dict[str, Any] = {"actor": name, "reason": "Known.", "command_id": uuid.uuid4()}
    differences.decide(one, Way.WAIVE, until=place.clock.now() + timedelta(days=7), **said)
    return of(one)


def missing(place: Place, name: str) -> tuple[str, Form]:
    """What was sent and is not there, beside an invoice that nobody asked for."""
    assert isinstance(place, Scenery)
    one, number = place.difference(missing=True)
    address, form = of(one)
    return address, form | {"number": number}


def large(place: Place, name: str) -> tuple[str, Form]:
    """One above the limit, that ann asks to close."""
    assert isinstance(place, Scenery)
    one, _ = place.difference("20000.00")
    said: dict[str, Any] = {"actor": person("ann").username, "reason": "Known.", "command_id": uuid.uuid4()}
    made = differences.decide(one, Way.CLOSE, **said)
    return f"/approvals/differences/{made.uid}/", {"order": one.reference.split("/")[2]}


def to_prepare(place: Place, name: str) -> tuple[str, Form]:
    """A run that is in order."""
    assert isinstance(place, Scenery)
    return f"/runs/{place.books.run()[0].uid}/prepare/", {}


def prepared(place: Place, name: str) -> tuple[str, Form]:
    """One that ann has prepared."""
    run = Run.objects.get(uid=to_prepare(place, name)[0].split("/")[2])
    said: dict[str, Any] = {"actor": person("ann").username, "note": "Looked.", "command_id": uuid.uuid4()}
    return f"/approvals/signatures/{signing.prepare(run, **said).uid}/", {"order": f"Run {run.pk} "}


def signed(place: Place, name: str) -> tuple[str, Form]:
    """One that bob has signed; its page has the button."""
    one = SignOff.objects.get(uid=prepared(place, name)[0].split("/")[3])
    signatures.sign(one, person("bob").username)
    return f"/runs/{one.run.uid}/", {}


def reopening(place: Place, name: str) -> tuple[str, Form]:
    """One that ann asks to open again."""
    signed(place, name)
    one = SignOff.objects.latest("pk")
    said: dict[str, Any] = {"actor": person("ann").username, "reason": "Wrong.", "command_id": uuid.uuid4()}
    made = signing.ask_reopening(one, **said)
    return f"/approvals/signatures/{made.uid}/", {"order": f"Run {one.run_id} "}


def month(place: Place, name: str) -> tuple[str, Form]:
    """The one that is over, with its report; nobody has prepared it."""
    assert isinstance(place, Scenery)
    return f"/periods/{closing.last_month(place.books).uid}/", {}


def match(hand: Hand, form: Form) -> None:
    hand.click("Match by hand")
    hand.click(re.compile(form["number"]))
    hand.write(TRAIL, REASON)
    hand.click(f"Match by hand, {form['amount']}")


def difference(first: str) -> Do:
    def do(hand: Hand, form: Form) -> None:
        hand.click(first)
        hand.write(TRAIL, REASON)
        hand.click(f"{first}, {form['amount']}")

    return do


def answered(button: str) -> Do:
    def do(hand: Hand, form: Form) -> None:
        hand.click(re.compile(form["order"]))
        hand.write(TRAIL, REASON)
        hand.click(button)

    return do


ASKED = "approvals/differences/<uuid:uid>/"


ONE = "runs/<uuid:uid>/differences/<int:pk>/"


OF_RUNS = (
    Row(
        "run now",
        "runs/plans/<slug:name>/run/",
        "ann",
        pressed(re.compile("^Run now")),
        "Running",
        "run_asked",
        "Asked for under Runs.",
        begins=at("/runs/"),
    ),
    Row(
        "stop a run",
        "runs/<uuid:uid>/stop/",
        "ann",
        written("Stop it", TRAIL, "Stop it"),
        "Did not run",
        "run_stopped",
    ),
    Row(
        "close a repeat",
        "runs/histories/<uuid:uid>/",
        "ann",
        written("Close", "Reason to close it, for the trail"),
        "Closed, with your reason",
        "closed",
        begins=itself,
    ),
)


OF_PERIODS = (
    Row(
        "run a period's days",
        "periods/<uuid:uid>/run/",
        "ann",
        pressed("Run its days"),
        "Running",
        "run_asked",
        "Asked for under Runs.",
        begins=itself,
        made=month,
    ),
    Row(
        "prepare a period",
        "periods/<uuid:uid>/prepare/",
        "ann",
        written("Prepare it", "Note, kept with the signature", "Prepare it"),
        "Prepared. It waits",
        "prepared",
        begins=itself,
        made=month,
    ),
)

SIGNED = "approvals/signatures/<uuid:uid>/"
OF_SIGNATURES = (
    Row(
        "prepare a run",
        "runs/<uuid:uid>/prepare/",
        "ann",
        written("Prepare it", "Note, kept with the signature", "Prepare it"),
        "Prepared. It waits",
        "prepared",
        made=to_prepare,
    ),
    Row(
        "sign a run",
        SIGNED,
        "bob",
        answered("Sign it"),
        "Signed. It is on record",
        "signing_approved",
        begins=at("/approvals/"),
        made=prepared,
    ),
    Row(
        "refuse to sign a run",
        SIGNED,
        "bob",
        answered("Refuse"),
        "Answered",
        "signing_refused",
        begins=at("/approvals/"),
        made=prepared,
    ),
    Row(
        "take a preparation back",
        SIGNED,
        "ann",
        answered("Take it back"),
        "Answered",
        "signing_withdrawn",
        begins=at("/approvals/"),
        made=prepared,
    ),
    Row(
        "ask to open a signed run again",
        "approvals/signatures/<uuid:uid>/reopen/",
        "ann",
        written("Ask to open it again", TRAIL, "Open it again"),
        "Asked. It stays signed",
        "reopening_asked",
        begins=itself,
        made=signed,
    ),
    Row(
        "open a signed run again",
        SIGNED,
        "bob",
        answered("Approve"),
        "Answered",
        "reopening_approved signature_ended",
        begins=at("/approvals/"),
        made=reopening,
    ),
)


OF_DIFFERENCES = (
    Row(
        "take in",
        ONE,
        "ann",
        difference("Take it in"),
        "Done. It is on record",
        "taken_in looked difference_taken_in closed",
        begins=itself,
        made=extra,
    ),
    Row(
        "waive",
        ONE,
        "ann",
        difference("Waive it"),
        "ann waived it until",
        "difference_waived snoozed",
        begins=itself,
        made=extra,
    ),
    Row(
        "close",
        ONE,
        "ann",
        difference("Close it"),
        "ann closed it",
        "difference_closed closed",
        begins=itself,
        made=extra,
    ),
    Row(
        "end a waiver",
        ONE,
        "ann",
        written("End the waiver", TRAIL, "End the waiver"),
        "The waiver is ended",
        "difference_ended woken",
        begins=itself,
        made=waived,
    ),
    Row(
        "match",
        ONE,
        "ann",
        match,
        "ann matched it by hand",
        "attested difference_matched",
        begins=itself,
        made=missing,
    ),
    Row(
        "approve a difference",
        ASKED,
        "bob",
        answered("Approve"),
        "Answered",
        "difference_approved",
        begins=at("/approvals/"),
        made=large,
    ),
    Row(
        "refuse a difference",
        ASKED,
        "bob",
        answered("Refuse"),
        "Answered",
        "difference_refused",
        begins=at("/approvals/"),
        made=large,
    ),
    Row(
        "take back a difference",
        ASKED,
        "ann",
        answered("Take it back"),
        "Answered",
        "difference_withdrawn",
        begins=at("/approvals/"),
        made=large,
    ),
)
