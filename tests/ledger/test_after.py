"""An operation that comes after another: a draft is made first, then it is posted.

| what comes first is             | what comes after it             | why                                 |
|---------------------------------|---------------------------------|-------------------------------------|
| pending, running, uncertain     | waits                           | it may still be done                |
| done                            | is due at once                  |                                     |
| done, on hold                   | waits                           | which record counts is being asked  |
| failed, on hold or permitted    | waits                           | a person is at it already           |
| failed or cancelled, and closed | is held, with a case of its own | nothing goes on by itself           |
| corrected                       | is decided by the correction    | its record is the one that counts   |
| done, then missing              | waits again, unless it was sent | nothing automatic follows a send    |
"""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Correction, Reply, claiming
from ledger.models import Operation, OperationType
from ledger.rules import errors
from ledger.rules.decisions import Next
from ledger.rules.following import CHAIN_MAX, Earlier
from ledger.rules.states import CaseKind, State
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.sessions import in_thread
from tests.ledger.trails import kinds, sound
from tests.people import agrees

DRAFT, POST = "draft/483", "post/483"
AFTER_DRAFT = Earlier("draft.create", DRAFT)
INSTEAD = Correction({"order": "483", "total": "1140.00"}, "1140.00", "ZAR")


@pytest.fixture
def drafts(database: Database) -> OperationType:
    """Drafts, made by their caller."""
    return make.kind("draft.create")


@pytest.fixture
def posts(database: Database) -> OperationType:
    """Postings, made by their caller; the key protects them for a day."""
    return make.kind("draft.post", looks=False)


def asked(posts: OperationType, key: str = POST, after: Earlier | None = AFTER_DRAFT) -> Reply:
    """What the automation is told that claims the posting."""
    return actions.claim(make.submission(posts, key, after=after), actor="api:shop")


def waiting(posts: OperationType) -> Operation:
    """A posting that waits for its draft."""
    reply = asked(posts)
    assert (reply.decision, reply.attempt) == ("wait", None), reply.reason
    return make.again(reply.operation)


def draft(drafts: OperationType, *reports: actions.Report) -> Operation:
    return make.tried(drafts, *reports, key=DRAFT)


def end(operation: Operation) -> None:
    actions.end(operation.pk, actor="ann", reason="Not needed.", command_id=uuid.uuid4())


def record(reply: Reply, report: actions.Report) -> Operation:
    """Report what came of a try that was claimed."""
    operation, attempt, token = make.held(reply)
    actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    return make.again(operation)


# --- refusals


def test_what_cannot_come_after_is_refused_in_words(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    draft(drafts, make.done())
    elsewhere = make.kind("letter.send", destination=make.destination("mailroom"), looks=False)
    names = make.invoice_type(
        name="draft.send", calls={"send": {"path": "/drafts/{after.destination_reference}/post"}}, looks=False
    )
    for of, key, after, refusal, words in [
        (posts, POST, Earlier("draft.post", POST), errors.Malformed, "after itself"),
        (posts, POST, Earlier("draft.create", "draft/9"), errors.AfterUnknown, "Hand that one over first"),
        (posts, POST, Earlier("unknown.type", DRAFT), errors.AfterUnknown, "Hand that one over first"),
        (elsewhere, POST, AFTER_DRAFT, errors.Malformed, "its own destination"),
    ]:
        with pytest.raises(refusal, match=words):
            asked(of, key, after)
    with pytest.raises(errors.Malformed, match='give "after" with its type and key'):
        make.handed(names, POST)
    assert not Operation.objects.exclude(key=DRAFT).exists()


def test_no_more_than_so_many_come_one_after_the_other(posts: OperationType) -> None:
    asked(posts, "link/1", after=None)
    for number in range(2, CHAIN_MAX + 1):
        asked(posts, f"link/{number}", after=Earlier("draft.post", f"link/{number - 1}"))
    with pytest.raises(errors.Malformed, match=f"At most {CHAIN_MAX}"):
        asked(posts, "link/last", after=Earlier("draft.post", f"link/{CHAIN_MAX}"))
    assert Operation.objects.count() == CHAIN_MAX


def test_the_same_key_after_another_one_is_a_changed_payload(
    drafts: OperationType, posts: OperationType
) -> None:
    draft(drafts, make.done())
    other = make.tried(drafts, make.done(), key="draft/other")
    record(asked(posts), make.done("POST-1"))
    for after in (None, Earlier("draft.create", other.key)):
        with pytest.raises(errors.PayloadChanged) as refused:
            asked(posts, after=after)
        assert refused.value.members["changed"] == ["after"]
    changed = make.submission(posts, POST, payload={"order": "484", "total": "1240.00"})
    with pytest.raises(errors.PayloadChanged) as both:
        actions.claim(changed, actor="api:shop")
    assert both.value.members["changed"] == ["after", "order"]
    assert asked(posts).decision == "skip"


def test_a_repeated_claim_after_another_one_is_not_given_again(
    drafts: OperationType, posts: OperationType
) -> None:
    draft(drafts, make.done())
    own = make.submission(posts, POST, after=AFTER_DRAFT, attempt_id=uuid.uuid4())
    actions.claim(own, actor="api:shop")
    assert actions.claim(own, actor="api:shop").replayed
    with pytest.raises(errors.PayloadChanged):
        actions.claim(replace(own, after=None), actor="api:shop")


def test_no_circle_can_be_closed(drafts: OperationType, posts: OperationType) -> None:
    draft(drafts, make.SILENCE)
    waiting(posts)
    with pytest.raises(errors.PayloadChanged):
        actions.claim(make.submission(drafts, DRAFT, after=Earlier("draft.post", POST)), actor="api:shop")


# --- waiting, and going


def test_it_waits_until_what_comes_first_is_done_and_is_then_due_at_once(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    claim = make.claimed(drafts, DRAFT)
    operation = waiting(posts)
    assert operation.next_try_at is None
    assert actions.settle(operation.pk, actor="worker").why == f"Waits for {DRAFT}."
    for report in (make.SILENCE,):  # in doubt, it may still be done
        actions.record(claim[1].uid, token=claim[2], report=report, actor="api:shop")
        assert asked(posts).decision == "wait"
    make.looked(claim[0], make.there(claim[0], "DR-1"))
    reply = asked(posts)
    assert reply.decision == "proceed"
    assert make.again(operation).after_reference == "DR-1"
    assert kinds(operation) == ["accepted", "let_go", "claimed"]
    assert record(reply, make.done("POST-1")).state == State.COMPLETED
    sound(operation)


def test_done_before_it_is_handed_over_it_goes_at_once(drafts: OperationType, posts: OperationType) -> None:
    draft(drafts, make.done("DR-1"))
    reply = asked(posts)
    assert (reply.decision, reply.replayed) == ("proceed", False)
    assert kinds(reply.operation) == ["accepted", "let_go", "claimed"]


def test_the_sweep_lets_go_what_nobody_asks_for(drafts: OperationType, posts: OperationType) -> None:
    claim = make.claimed(drafts, DRAFT)
    operation = waiting(posts)
    Sweep().run()
    assert make.again(operation).next_try_at is None
    actions.record(claim[1].uid, token=claim[2], report=make.done("DR-1"), actor="api:shop")
    Sweep().run()
    operation = make.again(operation)
    assert operation.next_try_at is not None and operation.nudged_at is None
    assert [one.pk for one in Operation.objects.due(operation.next_try_at)] == [operation.pk]
    Sweep().run()
    assert kinds(operation) == ["accepted", "let_go"], "told once"


def test_a_late_success_and_a_persons_word_let_it_go(drafts: OperationType, posts: OperationType) -> None:
    first, attempt, token = make.claimed(drafts, DRAFT)
    actions.record(attempt.uid, token=token, report=make.SILENCE, actor="api:shop")
    waiting(posts)
    actions.record(attempt.uid, token=token, report=make.done("DR-late"), actor="api:shop")
    assert make.again(first).state == State.COMPLETED
    assert record(asked(posts), make.done("POST-1")).after_reference == "DR-late"
    doubtful = make.tried(make.reminder_type(name="note.make"), make.SILENCE, key="note/1")
    after_note = Earlier("note.make", "note/1")
    assert asked(posts, "post/note", after_note).decision == "wait"
    actions.hold(doubtful.pk, kind=CaseKind.UNPROVED, actor="policy", reason="In doubt.")
    make.looked(doubtful, make.BLIND)
    word: dict[str, Any] = {"reason": "I saw it.", "command_id": uuid.uuid4()}
    actions.attest(doubtful.pk, actor="ann", reference="NOTE-1", **word)
    if make.again(doubtful).state != State.COMPLETED:
        approval = doubtful.approvals.get()
        agrees("bob")
        actions.approve(approval.uid, actor="bob", reason="So did I.", command_id=uuid.uuid4())
    assert record(asked(posts, "post/note", after_note), make.done()).after_reference == "NOTE-1"


def test_done_but_doubled_it_waits_for_the_person_who_says_which_counts(
    drafts: OperationType, posts: OperationType
) -> None:
    first = draft(drafts, make.done("DR-1"))
    make.looked(first, make.there(first, "DR-1", "DR-2"))
    assert make.case_of(first) == CaseKind.SEVERAL
    operation = waiting(posts)
    assert "waits for a person" in actions.settle(operation.pk, actor="worker").why
    make.looked(first, make.there(first, "DR-1"))
    assert asked(posts).decision == "proceed"


def test_where_nothing_goes_on_by_itself_it_is_held_until_it_does(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.REFUSED)
    operation = waiting(posts)
    assert make.case_of(first) == CaseKind.REFUSED, "a person has been asked: one question, one case"
    end(first)
    Sweep().run()
    assert (make.case_of(operation), sound(operation).state) == (CaseKind.FIRST, State.PENDING)
    assert asked(posts).decision == "hold"
    held = operation.events.get(kind="held")
    assert held.reason == f"It comes after {DRAFT}, which did not happen."
    make.looked(first, actor="ann")
    make.permitted(first)
    clock.advance(31)
    Sweep().run()
    assert make.case_of(operation) == "", "another try is allowed: it waits for that"
    assert record(asked(drafts, DRAFT, None), make.done("DR-1")).state == State.COMPLETED
    assert record(asked(posts), make.done("POST-1")).after_reference == "DR-1"
    sound(operation)


def test_cancelled_before_it_was_sent_it_lets_nothing_follow(drafts: OperationType, clock: Clock) -> None:
    sends = make.invoice_type(name="draft.send", looks=False)
    first = make.handed(sends, "send/1")
    operation = make.handed(sends, "send/2", after=Earlier("draft.send", "send/1"))
    actions.cancel(first.pk, actor="ann", reason="Not needed.", command_id=uuid.uuid4())
    assert actions.settle(operation.pk, actor="worker").next is Next.HOLD
    assert make.case_of(operation) == CaseKind.FIRST
    actions.cancel(operation.pk, actor="ann", reason="Nor this.", command_id=uuid.uuid4())
    assert (sound(operation).state, make.case_of(operation)) == (State.FAILED, "")


def test_no_reference_and_another_account_are_nothing_to_build_on(drafts: OperationType) -> None:
    path = {"path": "/drafts/{after.destination_reference}/post"}
    sends = make.invoice_type(name="draft.send", calls={"send": path}, looks=False)
    draft(drafts, make.done(""))
    nameless = make.handed(sends, "send/1", after=AFTER_DRAFT)
    assert make.case_of(nameless) == CaseKind.FIRST
    assert "its reference is not known" in nameless.events.get(kind="held").reason
    made = make.tried(drafts, make.done("DR-2"), key="draft/2")
    sends.destination.account = "other"
    sends.destination.save(update_fields=["account"])
    moved = make.handed(sends, "send/2", after=Earlier("draft.create", made.key))
    assert "another account" in moved.events.get(kind="held").reason


# --- time


def test_waiting_for_what_comes_first_uses_up_no_time_of_its_own(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    claim = make.claimed(drafts, DRAFT, lease_s=86_400)
    operation = waiting(posts)
    clock.advance(13 * 3600)  # more than the twelve hours that it has
    Sweep().run()
    actions.record(claim[1].uid, token=claim[2], report=make.done("DR-1"), actor="api:shop")
    done_at = make.again(claim[0]).finished_at
    reply = asked(posts)
    assert reply.decision == "proceed"
    known = actions.facts(make.again(operation))
    assert done_at is not None and (known.deadline_at - done_at).total_seconds() == 12 * 3600
    closes_at, sent_at = known.window_closes_at, make.again(operation).first_sent_at
    assert closes_at is not None and sent_at is not None
    assert (closes_at - sent_at).total_seconds() > 23 * 3600, "its key is remembered from its own first send"
    record(reply, make.UNREACHED)
    clock.advance(12 * 3600 + 1)
    assert asked(posts).decision == "hold", "from then on its time runs"


# --- what comes first changes


def reopened(first: Operation, clock: Clock) -> None:
    """Found missing: what was done is in doubt again."""
    clock.advance(31)
    make.looked(first)
    assert make.again(first).state == State.UNCERTAIN


def test_what_changes_between_the_reading_and_the_claim_is_a_race_and_nothing_is_claimed(
    drafts: OperationType, posts: OperationType, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draft(drafts, make.done("DR-1"))
    claim_locked = claiming.claim_locked

    def too_late(*given: Any) -> Any:
        """Claim, after somebody else was quicker on a connection of their own."""
        with ThreadPoolExecutor(1) as pool:
            held = partial(actions.hold, first.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Two of them.")
            in_thread(held, pool).result(20)
        return claim_locked(*given)

    monkeypatch.setattr(claiming, "claim_locked", too_late)
    with pytest.raises(errors.LostRace, match="What it comes after has just changed"):
        asked(posts)
    assert (errors.LostRace.status, errors.LostRace.retry) == (409, "wait")
    monkeypatch.undo()
    operation = waiting(posts)
    assert not operation.attempts.exists()
    sound(operation)


def test_found_missing_it_keeps_waiting_what_was_not_sent(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    operation = record(asked(posts), make.UNREACHED)
    assert operation.next_try_at is not None
    reopened(first, clock)
    assert asked(posts).decision == "wait"
    assert make.again(operation).next_try_at is None
    assert kinds(operation)[-1] == "waits"
    make.looked(first, make.there(first, "DR-1"))
    assert asked(posts).decision == "proceed"
    sound(operation)


def test_the_sweep_sees_that_it_has_to_wait_again(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    operation = record(asked(posts), make.UNREACHED)
    reopened(first, clock)
    Sweep().run()
    assert make.again(operation).next_try_at is None


def test_a_claim_is_not_started_once_what_comes_first_is_missing(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    own = make.submission(posts, POST, after=AFTER_DRAFT, attempt_id=uuid.uuid4())
    _, attempt, token = make.held(actions.claim(own, actor="api:shop"))
    reopened(first, clock)
    with pytest.raises(errors.StaleToken, match="no longer as it was claimed"):
        actions.start(attempt.uid, token=token, start_id=uuid.uuid4(), actor="api:shop")


def test_once_it_was_sent_nothing_automatic_follows(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    operation = record(asked(posts), make.SILENCE)
    assert operation.permits.open().exists(), "the same key protects"
    reopened(first, clock)
    step = actions.settle(operation.pk, actor="worker")
    assert (step.next, make.case_of(operation)) == (Next.HOLD, CaseKind.FIRST)
    assert not operation.permits.open().exists()
    with pytest.raises(errors.NotNow, match=f"Waits for {DRAFT}"):
        make.permitted(operation)
    assert asked(posts).decision == "hold"
    make.looked(first, make.there(first, "DR-1"))
    assert make.case_of(operation) == CaseKind.FIRST, "a person closes it"
    make.permitted(operation)
    clock.advance(11)
    assert record(asked(posts), make.done("POST-1")).state == State.COMPLETED
    sound(operation)


def test_the_record_of_its_correction_is_the_one_that_counts(
    drafts: OperationType, posts: OperationType
) -> None:
    first = draft(drafts, make.REFUSED)
    operation = waiting(posts)
    made = corrected(first)
    assert asked(posts).reason == f"Waits for {made.key}."
    done = record(asked_for(made, drafts), make.done("DR-2"))
    assert record(asked(posts), make.done("POST-1")).after_reference == done.destination_reference == "DR-2"
    sound(operation)


def corrected(operation: Operation) -> Operation:
    return actions.correct(operation.pk, INSTEAD, actor="api:shop", reason="Wrong price.", who="ann")[0]


def asked_for(made: Operation, of: OperationType) -> Reply:
    """A claim of a correction, by its key alone."""
    bare = make.submission(of, made.key, payload=None, amount=None, currency=None)
    return actions.claim(bare, actor="api:shop")


def test_a_try_in_doubt_is_not_repeated_after_another_record(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    operation = record(asked(posts), make.SILENCE)
    done = record(asked_for(corrected(first), drafts), make.done("DR-2"))
    clock.advance(30)
    assert actions.settle(operation.pk, actor="worker").next is Next.HOLD
    assert make.case_of(operation) == CaseKind.FIRST
    with pytest.raises(errors.NotNow, match=f"sent after DR-1, and {done.key} is another one now"):
        make.permitted(operation)
    assert make.again(operation).after_reference == "DR-1"
    sound(operation)


def test_what_was_proved_not_done_goes_after_the_new_record_under_a_new_key(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    first = draft(drafts, make.done("DR-1"))
    operation = record(asked(posts), make.UNREACHED)
    record(asked_for(corrected(first), drafts), make.done("DR-2"))
    clock.advance(30)
    again = record(asked(posts), make.done("POST-1"))
    assert (again.after_reference, again.generation) == ("DR-2", 2)
    assert again.idempotency_key != operation.idempotency_key
    sound(operation)


def test_its_own_correction_comes_after_the_same_one(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    claim = make.claimed(drafts, DRAFT)
    operation = waiting(posts)
    made = corrected(operation)
    assert (made.after_id, made.next_try_at) == (claim[0].pk, None)
    assert asked_for(made, posts).decision == "wait"
    actions.record(claim[1].uid, token=claim[2], report=make.done("DR-1"), actor="api:shop")
    assert record(asked_for(made, posts), make.done("POST-2")).after_reference == "DR-1"
    sound(made)


def test_seen_there_before_its_turn_it_is_held_and_done_once_it_may_be(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    sends = make.invoice_type(name="draft.send")
    claim = make.claimed(drafts, DRAFT)
    operation = make.handed(sends, "send/1", after=AFTER_DRAFT)
    make.looked(operation, make.there(operation, "POST-1"))
    assert (make.case_of(operation), make.again(operation).state) == (
        CaseKind.THERE_AFTER_ALL,
        State.PENDING,
    )
    assert not Operation.objects.to_follow().exists(), "nobody but a person goes on with it"
    actions.record(claim[1].uid, token=claim[2], report=make.done("DR-1"), actor="api:shop")
    make.looked(operation, make.there(operation, "POST-1"))
    assert sound(operation).state == State.COMPLETED
