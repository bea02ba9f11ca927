"""A difference is decided by a person, above the limit by two, until something ends that.

| decided  | while it holds                             | ends with                                 |
|----------|--------------------------------------------|-------------------------------------------|
| waived   | in every total, its case put off           | its time; a run that finds it gone or new |
| closed   | its case closed, in the totals as closed   | a run that finds it gone or new           |
| taken in | an operation, done by evidence, never sent | the run that finds it in order            |
"""

import uuid
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from ledger import actions as ledger
from ledger.models import Event, Operation, SettledAlone, database_now
from ledger.rules.errors import NotNow, PayloadChanged
from ledger.rules.states import Evidence, Outcome, State
from reconcile.differences import actions, leaves, looking, matching
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding
from tests.databases import Clock, Database
from tests.people import person
from tests.reconcile.books import HELD, Books, adds_up, key_of, record


@pytest.fixture
def books(database: Database, tmp_path: Path) -> Books:
    return limited(Books.configured(tmp_path))


@pytest.fixture
def caller(database: Database, tmp_path: Path) -> Books:
    """The same, performed by an automation."""
    return limited(Books.configured(tmp_path, performed_by="caller"))


def limited(made: Books) -> Books:
    kind = made.plan.operation_type
    kind.review = {"due": "4h", "four_eyes_above": {"ZAR": "1000.00"}}
    kind.save(update_fields=["review"])
    for name in ("ann", "bob", "eve"):
        person(name)
    return made


def found(books: Books, *items: tuple[int, str, str]) -> list[Finding]:
    """The differences of a run over these records that no operation carries: number, order and total."""
    at = books.plan.changed_at.isoformat()
    HELD.pages = [
        [record(number, key=key_of(order), total=total, created_at=at) for number, order, total in items]
    ]
    run, findings = books.run()
    adds_up(run)
    return list(run.findings.select_related("run__plan__operation_type__destination", "case")) or findings


def decided(finding: Finding, way: Way, actor: str = "ann", **more: object) -> Decision:
    said: dict[str, object] = {"reason": "The shop knows.", "command_id": uuid.uuid4()} | more
    if way is Way.WAIVE:
        said.setdefault("until", database_now() + timedelta(days=10))
    seen = looking.look(finding, within_s=5)
    return actions.decide(finding, way, actor=actor, seen=seen, **said)  # type: ignore[arg-type]


def test_a_waived_one_stays_in_every_total_and_is_open_again_after_its_time(
    books: Books, clock: Clock
) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    decision = decided(one, Way.WAIVE)
    assert decision.in_force_at is not None
    (again,) = found(books, (1, "90", "500.00"))
    assert again.is_open
    assert leaves.standing(again) == decision
    assert again.case is not None
    assert again.case.is_snoozed(database_now(), None)
    clock.advance(11 * 86400)
    actions.sweep()
    decision.refresh_from_db()
    assert (decision.ended_by, decision.why_ended) == ("policy", actions.OVER)
    assert not Decision.objects.waivers(database_now()).exists()
    kinds = (
        Event.objects.filter(data__decision=str(decision.uid)).order_by("pk").values_list("kind", flat=True)
    )
    assert list(kinds) == ["difference_waived", "difference_ended"]


@pytest.mark.parametrize(
    ("later", "why"), [([(1, "90", "510.00")], "changed"), ([], "gone")], ids=["other contents", "gone"]
)
def test_a_run_that_finds_something_else_ends_it(
    books: Books, later: list[tuple[int, str, str]], why: str
) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    decision = decided(one, Way.WAIVE)
    after = found(books, *later)
    decision.refresh_from_db()
    assert why in decision.why_ended
    for finding in after:
        assert finding.is_open
        assert leaves.standing(finding) is None
        assert finding.case is not None
        assert not finding.case.is_snoozed(database_now(), None)


def test_a_record_of_nobodys_is_taken_in_by_its_evidence_and_never_sent(books: Books) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    decision = decided(one, Way.TAKE_IN)
    made = Operation.objects.get(key=key_of("90"))
    assert (made.state, made.evidence, made.destination_reference) == (
        State.COMPLETED,
        Evidence.LOOKUP,
        "INV-1",
    )
    assert (made.amount, made.currency, made.first_sent_at) == (Decimal("500.00"), "ZAR", None)
    assert made.description.endswith(" INV-1, taken in"), "the number as the record has it"
    assert made.description[0].isupper()
    assert decision.operation == made
    assert found(books, (1, "90", "500.00")) == []
    decision.refresh_from_db()
    one.refresh_from_db()
    assert decision.ended_at is not None
    assert one.case is not None
    assert one.case.closed_by == "ann"


def test_who_claims_what_was_taken_in_hears_that_it_is_done(caller: Books) -> None:
    """Whatever payload they would have sent; another amount is another payload."""
    (one,) = found(caller, (1, "90", "500.00"))
    decided(one, Way.TAKE_IN)
    reply = ledger.claim(caller.submission("90", amount="500.00"), actor="api:shop")
    assert (reply.decision, reply.attempt) == ("skip", None)
    with pytest.raises(PayloadChanged):
        ledger.claim(caller.submission("90", amount="510.00"), actor="api:shop")


def test_what_has_changed_at_the_destination_since_is_not_decided(books: Books) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    HELD.pages = [[record(1, key=key_of("90"), total="1.00")]]
    with pytest.raises(NotNow, match="has changed since run"):
        decided(one, Way.TAKE_IN)
    assert not Operation.objects.exists()


def test_a_closed_one_stays_closed_until_something_else_is_there(books: Books) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    decided(one, Way.CLOSE)
    (same,) = found(books, (1, "90", "500.00"))
    assert not same.is_open
    (other,) = found(books, (1, "90", "510.00"))
    assert other.is_open
    decided(other, Way.CLOSE)


def test_above_the_limit_it_waits_for_a_second_person(books: Books) -> None:
    (one,) = found(books, (1, "90", "5000.00"))
    decision = decided(one, Way.TAKE_IN)
    assert decision.in_force_at is None
    assert not Operation.objects.exists()
    with pytest.raises(NotNow, match="You asked for it yourself"):
        actions.approve(decision.uid, actor="ann", reason="")
    with pytest.raises(NotNow, match="ann has asked a second person already"):
        decided(one, Way.CLOSE, "bob")
    actions.approve(decision.uid, actor="bob", reason="", seen=looking.look(one, within_s=5))
    assert Operation.objects.get().state == State.COMPLETED
    with pytest.raises(NotNow, match="bob has answered it already"):
        actions.refuse(decision.uid, actor="eve", reason="Late.")


def test_approving_looks_again_and_only_changed_content_voids_it(books: Books) -> None:
    (one,) = found(books, (1, "90", "5000.00"))
    decision = decided(one, Way.CLOSE)
    HELD.pages = [[record(1, key=key_of("90"), total="6000.00")]]
    with pytest.raises(NotNow, match="The request is void"):
        actions.approve(decision.uid, actor="bob", reason="", seen=looking.look(one, within_s=5))
    decision.refresh_from_db()
    assert decision.answer == "voided"
    assert one.case is not None
    one.case.refresh_from_db()
    assert one.case.closed_at is None


def test_what_can_be_carried_out_no_more_is_void_once_it_is_approved(
    caller: Books, clock: Clock, database: Database
) -> None:
    """Its case answers another one by now, an operation has its key, or its day has come."""
    to_close, to_take, to_waive, other = found(
        caller, *((number, str(89 + number), "5000.00") for number in range(1, 5))
    )
    asked = {
        "answers another difference": decided(to_close, Way.CLOSE),
        "An operation has its key": decided(to_take, Way.TAKE_IN),
        "Its day has come": decided(to_waive, Way.WAIVE, until=database_now() + timedelta(minutes=5)),
    }
    with database.rewriting("reconcile_finding"):  # as a run that finds one more of it
        Finding.objects.filter(pk=other.pk).update(case=to_close.case)
    caller.claimed("91", Outcome.UNCERTAIN)
    clock.advance(301)
    for why, decision in asked.items():
        with pytest.raises(NotNow, match=f"{why}.* The request is void"):
            actions.approve(decision.uid, actor="bob", reason="")
        decision.refresh_from_db()
        assert (decision.answer, decision.in_force_at) == ("voided", None), why
    assert to_close.case is not None
    to_close.case.refresh_from_db()
    assert to_close.case.closed_at is None


def test_a_request_to_waive_ends_with_its_day(books: Books, clock: Clock) -> None:
    """Asked on Wednesday to waive until Friday: nobody agrees, or refuses, on Monday."""
    clock.set(database_now())
    swept, late = found(books, (1, "90", "5000.00"), (2, "91", "5000.00"))
    asked = [decided(one, Way.WAIVE, until=database_now() + timedelta(hours=2)) for one in (swept, late)]
    assert all(one.expires_at == one.until for one in asked), "it counts no longer than that"
    waiting = list(Decision.objects.waiting(database_now()))
    clock.advance(2 * 3600)
    assert (len(waiting), list(Decision.objects.waiting(database_now()))) == (2, [])
    with pytest.raises(NotNow, match=r"Its day has come\. The request is void"):
        actions.refuse(asked[1].uid, actor="bob", reason="Too late.")
    actions.sweep()
    for one in asked:
        one.refresh_from_db()
        assert (one.answer, one.decided_by, one.why) == ("voided", "policy", "Its day has come.")
    rows = Decision.objects.filter(pk=decided(swept, Way.WAIVE).pk)
    after = {"answer": "approved", "decided_by": "bob", "why": "By hand.", "in_force_at": database_now()}
    over = r"decision_before_its_end|decision_in_time"
    with (
        pytest.raises(DatabaseError, match=over),
        transaction.atomic(),
    ):
        rows.update(decided_at=database_now() + timedelta(days=11), **after)


def test_a_waived_one_is_answered_and_goes_to_nobody_until_its_day(books: Books, clock: Clock) -> None:
    (one,) = found(books, (1, "90", "500.00"))
    assert one.case is not None
    clock.set(database_now())
    early = decided(one, Way.WAIVE, until=database_now() + timedelta(days=300))
    clock.advance(200 * 86400)
    one.case.refresh_from_db()
    assert one.case.is_snoozed(database_now(), None), "longer than a person puts anything off"
    assert not ledger.escalate(one.case.uid) and ledger.overdue() == []
    actions.end_waiver(early.uid, actor="ann", reason="They want it now.")
    one.case.refresh_from_db()
    assert one.case.due_at == database_now() + timedelta(hours=4), "whose it is has its time anew"
    decided(one, Way.WAIVE)
    clock.advance(10 * 86400)
    actions.sweep()
    assert ledger.overdue() == []
    clock.advance(5 * 3600)
    assert ledger.overdue() == [one.case.uid]


def test_small_ones_of_a_day_are_added_together(books: Books) -> None:
    one, two, three = found(books, (1, "90", "500.00"), (2, "91", "500.00"), (3, "92", "1.00"))
    assert decided(one, Way.WAIVE).in_force_at is not None
    assert decided(two, Way.CLOSE).in_force_at is not None
    assert decided(three, Way.TAKE_IN).in_force_at is None
    assert SettledAlone.objects.count() == 2


def missing_and_extra(books: Books, amount: str) -> tuple[Finding, Finding]:
    """An operation that was sent without an answer, and an invoice that somebody made by hand for it."""
    books.claimed("90", Outcome.UNCERTAIN, amount=amount)
    HELD.pages = [[by_hand(books, amount)]]
    run, _ = books.run()
    adds_up(run)
    read = run.findings.select_related("run__plan__operation_type__destination", "operation", "case")
    return read.get(operation__isnull=False), read.get(operation=None)


def by_hand(books: Books, total: str) -> dict[str, Any]:
    return record(7, key="by-hand/7", total=total, created_at=books.plan.changed_at.isoformat())


def matched(missing: Finding, extra: Finding) -> Decision:
    said: dict[str, Any] = {"actor": "ann", "reason": "The branch typed it.", "command_id": uuid.uuid4()}
    return matching.match(missing, extra, seen=looking.look(extra, within_s=5), **said)


def test_a_missing_one_is_matched_by_hand_until_its_record_changes(caller: Books) -> None:
    missing, extra = missing_and_extra(caller, "500.00")
    assert [pair.extra.pk for pair in matching.candidates(missing)] == [extra.pk]
    decision = matched(missing, extra)
    assert decision.in_force_at is not None
    operation = Operation.objects.get()
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-7")
    run, found_again = caller.run()
    adds_up(run)
    assert (found_again, run.classes["matched"]["count"]) == ([], 1)
    operation.refresh_from_db()
    decision.refresh_from_db()
    assert (operation.evidence, decision.ended_at) == (Evidence.LOOKUP, None)
    assert extra.case is not None
    extra.case.refresh_from_db()
    assert extra.case.closed_at is not None
    HELD.pages = [[by_hand(caller, "500.01")]]
    run, found_again = caller.run()
    adds_up(run)
    assert len(found_again) == 2
    decision.refresh_from_db()
    assert decision.why_ended == f"Run {run.pk} saw that INV-7 is otherwise now: the match is undone."


def test_a_record_of_its_own_undoes_a_match(caller: Books) -> None:
    missing, extra = missing_and_extra(caller, "500.00")
    decision = matched(missing, extra)
    own = record(8, key=key_of("90"), total="500.00", created_at=caller.plan.changed_at.isoformat())
    HELD.pages = [[by_hand(caller, "500.00"), own]]
    run, _ = caller.run()
    adds_up(run)
    decision.refresh_from_db()
    assert "has a record of its own" in decision.why_ended


def test_a_match_above_the_limit_waits_for_a_second_person_on_its_operation(caller: Books) -> None:
    missing, extra = missing_and_extra(caller, "5000.00")
    decision = matched(missing, extra)
    assert decision.approval is not None
    assert decision.in_force_at is None
    with pytest.raises(NotNow, match="on the page of its operation"):
        actions.approve(decision.uid, actor="bob", reason="")
    assert caller.run()[1] != []
    ledger.approve(decision.approval.uid, actor="bob", reason="", command_id=uuid.uuid4())
    matching.take_effect()
    agreed = Decision.objects.in_force().get(pk=decision.pk)
    assert (agreed.answer, agreed.decided_by) == ("approved", "bob")
    assert caller.run()[1] == []


def test_a_case_of_a_difference_is_closed_by_nobody_alone(books: Books) -> None:
    """Not by SQL either: what is settled alone above the limit, by its maker, or without a decision."""
    (one,) = found(books, (1, "90", "5000.00"))
    decision = decided(one, Way.CLOSE)
    now = database_now()
    assert one.case is not None
    case, pk = one.case.pk, decision.pk
    attempts: dict[str, Callable[[], object]] = {
        "a difference is closed by a decision": lambda: run(
            "UPDATE ledger_case SET closed_at = %s, closed_by = 'ann' WHERE id = %s", now, case
        ),
        "decision_by_another": lambda: Decision.objects.filter(pk=pk).update(
            answer="approved", decided_by="ann", decided_at=now, why="Yes.", in_force_at=now
        ),
        "carried out once, when it is approved": lambda: Decision.objects.filter(pk=pk).update(
            in_force_at=now
        ),
        "what is decided never changes": lambda: Decision.objects.filter(pk=pk).update(amount="1.00"),
        "the ledger only grows": lambda: run("DELETE FROM reconcile_decision WHERE id = %s", pk),
        "without an event": lambda: Decision.objects.filter(pk=pk).update(
            answer="approved", decided_by="bob", decided_at=now, why="Yes.", in_force_at=now
        ),
    }
    for refusal, attempt in attempts.items():
        with pytest.raises(DatabaseError, match=refusal):
            at_once(attempt)
    decision.refresh_from_db()
    assert decision.answer == ""


def run(sql: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def at_once(attempt: Callable[[], object]) -> None:
    with transaction.atomic():
        attempt()
        run("SET CONSTRAINTS ALL IMMEDIATE")
