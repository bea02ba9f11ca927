"""Refunds of one source record never exceed what it has, whoever claims them, and however many at once.

| claimed so far of 1 240.00        | another of | then                                          |
|-----------------------------------|------------|-----------------------------------------------|
| nothing                           | 1 000.00   | goes                                          |
| 1 000.00                          | 240.00     | goes: it fits exactly                         |
| 1 000.00, in doubt                | 240.01     | held before it is sent, with a case of its own |
| 1 000.00, proved not done         | 1 240.00   | goes                                          |
| nothing, but no such record       | 1.00       | held: nothing is known that it could refund   |
| of an invoice not made or in doubt | 1.00      | held: what may not exist is not refunded      |
| of one done and its correction    | the sum    | held: one of the two counts, the correction   |
"""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connections, transaction
from django.db.models import F

from ledger import actions
from ledger.models import Operation, OperationType, database_now
from ledger.rules.states import CaseKind, Outcome
from tests import stories

REFUSED = actions.Report(Outcome.REJECTED, http_status=422, message="The account is closed.")


@pytest.fixture
def refund(durban: stories.Durban) -> OperationType:
    """Refunds that their caller sends; invoice 483 is of 1 240.00 ZAR."""
    durban.tried(durban.invoiced(483), stories.done("INV-483"))
    kind = durban.reminder
    kind.review = {"due": "4h", "refunds": "invoice.create"}
    kind.save(update_fields=["review"])
    return kind


def claim(number: int, amount: str | None, *, order: str = "483", currency: str = "ZAR") -> actions.Reply:
    submission = actions.Submission(
        "reminder.send",
        {"refund": str(number)},
        key=f"refund/{number}",
        source={"system": "webshop", "reference": order},
        amount=amount,
        currency=currency if amount else None,
    )
    return actions.claim(submission, actor="api:webshop")


def test_refunds_of_one_source_are_summed_and_what_exceeds_it_stops(
    durban: stories.Durban, refund: OperationType
) -> None:
    first = claim(1, "1000.00")
    assert first.decision == "proceed" and first.attempt is not None and first.token is not None
    over = claim(2, "240.01")
    assert (over.decision, over.attempt) == ("hold", None)
    assert "240.01" in over.reason or "person" in over.reason
    held = durban.again(over.operation)
    case = held.cases.get()
    assert (held.state, held.attempt_count, case.kind) == ("pending", 0, CaseKind.REFUND)
    assert "It would refund 240.01\u00a0ZAR of webshop 483, and 240.00\u00a0ZAR is left there." in [
        event.reason for event in held.events.filter(kind="held")
    ]
    assert claim(2, "240.01").decision == "hold", "asked again, it stays with a person"
    assert claim(3, "240.00").decision == "proceed", "what fits exactly goes"
    assert claim(4, "0.01").decision == "hold"
    actions.record(first.attempt.uid, token=first.token, report=REFUSED, actor="api:webshop")
    assert claim(5, "1000.00").decision == "proceed", "what is proved not done gives its place back"
    with pytest.raises(IntegrityError, match="more would be refunded"), transaction.atomic():
        Operation.objects.filter(pk=held.pk).update(
            state="running",
            lease_until=database_now() + timedelta(hours=1),
            next_try_at=None,
            attempt_count=1,
            revision=F("revision") + 1,
        )
    actions.cancel(held.pk, actor="ann", reason="Too much.", command_id=uuid.uuid4())


def test_what_is_not_known_here_or_names_no_amount_is_for_a_person(refund: OperationType) -> None:
    for number, (amount, order, currency) in enumerate(
        [("1.00", "999", "ZAR"), ("1.00", "483", "EUR"), (None, "483", "ZAR")], 1
    ):
        reply = claim(number, amount, order=order, currency=currency)
        assert (reply.decision, reply.operation.cases.get().kind) == ("hold", CaseKind.REFUND)


def test_what_may_not_exist_is_not_refunded_and_a_correction_counts_instead(
    durban: stories.Durban, refund: OperationType
) -> None:
    durban.invoiced(484)
    durban.silent(485)
    assert [claim(1, "1.00", order="484").decision, claim(2, "1.00", order="485").decision] == ["hold"] * 2
    original = durban.tried(durban.invoiced(486), stories.done("INV-486"))
    meant = actions.Correction({"order": "486", "total": "900.00"}, "900.00", "ZAR")
    made, _ = actions.correct(original.pk, meant, actor="ann", reason="The price was wrong.")
    assert claim(3, "1.00", order="486").decision == "hold", "neither what was corrected nor what is not made"
    durban.tried(made, stories.done("INV-487"))
    assert claim(4, "900.01", order="486").decision == "hold"
    assert claim(5, "900.00", order="486").decision == "proceed"


def test_a_type_that_refunds_nothing_is_held_to_nothing(refund: OperationType) -> None:
    """The file's empty line is none: it stands in every type that `configure` has made."""
    refund.review = {"due": "4h", "refunds": ""}
    refund.save(update_fields=["review"])
    assert claim(1, "5000.00").decision == "proceed"


def test_of_sixteen_at_once_exactly_as_many_go_as_fit(durban: stories.Durban, refund: OperationType) -> None:
    def one(number: int) -> str:
        try:
            return claim(number, "124.00").decision
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as callers:
        decisions = list(callers.map(one, range(16)))
    assert sorted(decisions) == ["hold"] * 6 + ["proceed"] * 10
    assert Operation.objects.filter(operation_type=refund, attempt_count=1).count() == 10


def test_a_batch_goes_one_by_one(refund: OperationType) -> None:
    submissions = [
        actions.Submission(
            "reminder.send",
            {"refund": str(number)},
            key=f"refund/{number}",
            source={"system": "webshop", "reference": "483"},
            amount="620.00",
            currency="ZAR",
        )
        for number in range(3)
    ]
    replies = actions.claim_all(submissions, actor="api:webshop")
    assert [getattr(reply, "decision", reply) for reply in replies] == ["proceed", "proceed", "hold"]


def test_what_tieout_sends_is_held_before_it_goes(durban: stories.Durban) -> None:
    durban.invoiced(483)
    OperationType.objects.filter(pk=durban.invoice.pk).update(
        review={"due": "4h", "refunds": "reminder.send"}
    )
    reply = actions.submit(
        actions.Submission(
            "invoice.create",
            {"order": "1", "total": "5.00"},
            key="order/webshop/1/r1",
            source={"system": "webshop", "reference": "1"},
            amount="5.00",
            currency="ZAR",
        ),
        actor="api:webshop",
    )
    assert reply.decision == "hold" and actions.claim_to_send(reply.operation.pk, actor="worker") is None
