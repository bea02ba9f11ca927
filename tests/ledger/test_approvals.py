"""Two people: what one asks a second one answers, once, bound to what was known; refusals first.

| promise                                   | kept by                                                        |
|-------------------------------------------|----------------------------------------------------------------|
| maker is not checker                      | the rule, and a constraint that stops bulk updates, too        |
| decided once; the other is told who       | the operation's row lock, and a trigger                        |
| bound to what was known                   | a move, another try, a late word, another finding make it void |
| carried out by the same functions, checks | `leaves` are asked again for who approves                      |
| nothing is deleted                        | refused, void and lapsed requests stay, each with its event    |
"""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, connection, transaction

from ledger import actions
from ledger.actions.changing import Word, locked
from ledger.actions.holding import close_locked
from ledger.actions.people import end_locked
from ledger.models import Approval, Event, Operation, Permit, database_now
from ledger.rules.approvals import Ask
from ledger.rules.errors import Conflict, Malformed, NotFound, NotNow, OutcomeDiffers, TieoutError
from ledger.rules.states import CaseKind, State
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.sessions import at_once, one_after_the_other
from tests.ledger.trails import kinds, sound
from tests.people import agrees

ABOVE: dict[str, Any] = {"review": {"due": "4h", "four_eyes_above": {"ZAR": "1000.00"}}}


TOKENS: dict[uuid.UUID, str] = {}
"""Of the attempts that fell silent: their senders may speak after all."""


def silent(clock: Clock, **columns: Any) -> Operation:
    """A reminder that its automation claimed and never spoke of again: nobody can look it up."""
    kind = make.reminder_type(**columns)
    operation, attempt, TOKENS[attempt.uid] = make.claimed(kind, lease_s=1)
    clock.advance(60)
    actions.expire(operation.pk, actor="policy")
    return make.again(operation)


def override(
    operation: Operation,
    ask: Ask = Ask.OVERRIDE_END,
    *,
    actor: str = "ann",
    click: uuid.UUID | None = None,
    where: str = "The mailroom's outbox",
    looked_at: datetime | None = None,
) -> Approval:
    agrees("bob", "eve")
    at = looked_at or database_now()
    command_id = click or uuid.uuid4()
    return actions.override(
        operation.pk, ask, actor=actor, reason="Not there.", command_id=command_id, where=where, looked_at=at
    )


def attest(operation: Operation, *, actor: str = "ann", click: uuid.UUID | None = None) -> Approval | None:
    agrees("bob", "eve")
    command_id = click or uuid.uuid4()
    return actions.attest(
        operation.pk, actor=actor, reason="I saw it.", command_id=command_id, reference="INV-7"
    )


def approve(approval: Approval, *, actor: str = "bob", click: uuid.UUID | None = None) -> str:
    actions.approve(approval.uid, actor=actor, reason="", command_id=click or uuid.uuid4())
    return "approved"


def refuse(approval: Approval, *, actor: str = "bob", reason: str = "Ask the customer first.") -> str:
    actions.refuse(approval.uid, actor=actor, reason=reason, command_id=uuid.uuid4())
    return "refused"


def answered(approval: Approval) -> tuple[str, str]:
    approval.refresh_from_db()
    return approval.answer, approval.decided_by


# --- overrides


def test_an_override_says_where_and_when_one_looked_and_why(clock: Clock) -> None:
    operation, now = silent(clock), clock.now()
    settled = operation.settles_at
    assert settled is not None
    lines: tuple[tuple[dict[str, Any], str], ...] = (
        ({"where": "  "}, "where you looked"),
        ({"where": "x" * 201}, "where you looked"),
        ({"looked_at": now + timedelta(minutes=1)}, "later than now"),
        ({"looked_at": settled - timedelta(seconds=1)}, "may still have come"),
        ({"ask": Ask.ATTEST}, "An override ends in"),
    )
    for wrong, words in lines:
        with pytest.raises(TieoutError, match=words):
            override(operation, **wrong)
    with pytest.raises(Malformed, match="Give a reason"):
        actions.override(
            operation.pk,
            Ask.OVERRIDE_END,
            actor="ann",
            reason=" ",
            command_id=uuid.uuid4(),
            where="There",
            looked_at=now,
        )
    assert not Approval.objects.exists()


def test_overrides_are_for_what_cannot_be_looked_up_and_is_in_doubt(clock: Clock) -> None:
    looked_up = make.uncertain_operation(make.kind(name="a"))
    under_key = make.uncertain_operation(make.kind(name="b", looks=False))
    refused = make.tried(make.reminder_type(name="c"), make.REFUSED)
    running, _, _ = make.claimed(make.reminder_type(name="d"))
    taken = make.tried(make.reminder_type(name="e"), make.TAKEN)
    for operation, words in (
        (looked_up, "a check decides"),
        (under_key, "allowed already, by policy"),
        (refused, "Nothing is in doubt"),
        (running, "In progress"),
        (taken, "software still waits"),
    ):
        with pytest.raises(NotNow, match=words):
            override(operation)
    actions.hold(taken.pk, kind=CaseKind.ACCEPTED, actor="policy", reason="Not final in time.")
    with pytest.raises(NotNow, match="never sent twice"):
        override(taken, Ask.OVERRIDE_PERMIT)
    clock.advance(60)
    assert approve(override(taken)) == "approved"
    assert standing(taken) == "failed"


def test_an_approved_override_ends_it_on_the_words_of_two(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation)
    assert standing(operation) == "uncertain: expired", "asking does nothing yet"
    approve(asked)
    assert standing(operation) == "failed"
    assert operation.attempts.in_doubt().exists(), "a word is no proof"
    told = {event.kind: event for event in operation.events.all()}
    assert [told[kind].actor for kind in ("asked", "ask_approved", "ended")] == ["ann", "bob", "ann"]
    assert told["asked"].data["where"] == "The mailroom's outbox"
    assert actions.facts(make.again(operation)).absent_by == "ann"
    with pytest.raises(NotNow, match="going ahead is an override"):
        make.permitted(operation)
    with pytest.raises(NotNow, match="closed as not done already"):
        override(operation)
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    clock.advance(11)
    _, attempt, token = make.claimed(operation.operation_type)
    actions.record(attempt.uid, token=token, report=make.done(), actor="api:shop")
    assert standing(operation) == "completed"


def test_a_proof_takes_the_place_of_a_word(clock: Clock) -> None:
    operation = silent(clock)
    approve(override(operation))
    known = {
        "calls": operation.operation_type.calls | {"lookup": make.LOOKUP},
        "lookup_proved_at": clock.now(),
    }
    type(operation.operation_type).objects.update(**known)
    assert actions.facts(make.again(operation)).absent_by == "ann"
    make.looked(operation, actor="ann", control_reference="INV-1")
    assert actions.facts(make.again(operation)).absent_by == ""
    make.permitted(operation)


def test_tieout_sends_once_more_by_an_override_where_it_performs(clock: Clock) -> None:
    kind = make.invoice_type(looks=False, contract={"idempotency": "none"})
    operation = make.handed(kind)
    claimed = make.to_send(operation)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=make.SILENCE, actor="worker")
    clock.advance(60)
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    assert actions.claim_to_send(operation.pk, actor="worker") is None, "ten seconds to undo"
    clock.advance(11)
    again = make.to_send(operation)
    assert again.attempt.idempotency_key == claimed.attempt.idempotency_key


def test_an_approved_override_allows_one_more_try_that_can_be_undone(clock: Clock) -> None:
    operation = silent(clock)
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    permit = Permit.objects.get()
    assert (permit.actor, permit.approval.decided_by) == ("ann", "bob")  # type: ignore[union-attr]
    actions.withdraw(operation.pk, actor="ann", reason="Not yet.", command_id=uuid.uuid4())
    clock.advance(11)
    assert actions.claim(make.submission(operation.operation_type), actor="api:shop").decision == "hold"
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    clock.advance(11)
    _, attempt, token = make.claimed(operation.operation_type)
    actions.record(attempt.uid, token=token, report=make.REFUSED, actor="api:shop")
    assert standing(operation) == "uncertain: unproved", "the second try says nothing of the first"
    assert attempt.idempotency_key == operation.attempts.get(number=1).idempotency_key


# --- the second person


def test_44_nobody_approves_what_they_asked_themselves(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation)
    for act in (approve, refuse):
        with pytest.raises(NotNow, match="second person"):
            act(asked, actor="ann")
    row = Approval.objects.filter(pk=asked.pk)
    now = clock.now()
    for column, decided in (("approved", "ann"), ("refused", "ann")):
        with pytest.raises(IntegrityError, match="approval_by_another"), transaction.atomic():
            row.update(answer=column, decided_by=decided, decided_at=now, why="Bulk.")
    with pytest.raises(DatabaseError, match="without an event"), transaction.atomic():
        row.update(answer="approved", decided_by="bob", decided_at=now, why="Bulk.")
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        row.update(maker="bob")
    assert answered(asked) == ("", "")
    assert standing(operation) == "uncertain: expired"


def account(name: str) -> User:
    return User.objects.create(username=name)


def renamed(user: User, name: str) -> None:
    User.objects.filter(pk=user.pk).update(username=name)


def test_44_another_name_makes_no_second_person(clock: Clock) -> None:
    """An administrator may give accounts other names, and swap two: the account that asked stays the one."""
    ann, bob = account("ann"), account("bob")
    operation = silent(clock)
    asked = override(operation)
    renamed(ann, "anna")
    with pytest.raises(NotNow, match="You asked for it yourself"):
        approve(asked, actor="anna")
    renamed(bob, "ann")
    for act in (approve, refuse):
        with pytest.raises(NotNow, match="under your name: a third person"):
            act(asked, actor="ann")
    with pytest.raises(NotNow, match="Only anna takes it back"):
        take_back(asked)
    row, now = Approval.objects.filter(pk=asked.pk), clock.now()
    said = {"answer": "approved", "decided_at": now, "why": "Bulk."}
    with pytest.raises(IntegrityError, match="approval_by_another_account"), transaction.atomic():
        row.update(decided_by="anna", **said)
    with pytest.raises(IntegrityError, match="approval_by_another_account"), transaction.atomic():
        row.update(decided_by="anna", decided_by_account=bob.pk, **said)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        row.update(maker_account=bob.pk)
    with (
        pytest.raises(IntegrityError, match="approval_by_another_account"),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "UPDATE ledger_approval SET answer = 'approved', decided_by = 'anna', decided_at = %s,"
            " why = 'By SQL.' WHERE decided_at IS NULL",
            [now],
        )
    assert (answered(asked), standing(operation)) == (("", ""), "uncertain: expired")
    take_back(asked, actor="anna")
    renamed(bob, "bob")
    again = override(operation, actor="anna")
    approve(again)
    again.refresh_from_db()
    assert (again.maker_account, again.decided_by_account) == (ann.pk, bob.pk)
    assert [event.actor for event in operation.events.filter(kind__startswith="ask")] == [
        *("ann", "anna", "anna", "bob")
    ], "the trail keeps the names of its moments"


def test_44_a_person_closes_nothing_above_the_limit_alone_by_the_orm_either(clock: Clock) -> None:
    """Software closes on the same proof; a person's name, or their event, needs what two have said."""
    absent = make.uncertain_operation(make.kind(name="absent", retry={"attempts": 1}, **ABOVE))
    actions.hold(absent.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60)
    make.looked(absent, actor="ann")
    word = Word("ann", "Not there.", uuid.uuid4())
    with (
        pytest.raises(IntegrityError, match="an operation is closed by two"),
        locked(absent.pk) as (operation, now),
    ):
        end_locked(operation, now, word)
    with (
        pytest.raises(IntegrityError, match="a case is closed by two"),
        locked(absent.pk) as (operation, now),
    ):
        close_locked(operation, actor="ann", reason="Not there.", now=now)
    assert standing(absent) == "uncertain: unproved"
    with locked(absent.pk) as (operation, now):
        close_locked(operation, actor="policy", reason="Software goes on.", now=now)


def waits(clock: Clock, name: str) -> Approval:
    """An override that waits for its answer."""
    return override(silent(clock, name=name))


def waits_above(clock: Clock, name: str) -> Approval:
    """A confirmation above the limit that waits for its answer."""
    asked = attest(make.uncertain_operation(make.kind(name=name, **ABOVE)))
    assert asked is not None
    return asked


Act = Callable[[Approval], str]
APPROVERS: dict[str, tuple[Callable[[Clock, str], Approval], Act, Act, set[str]]] = {
    "both": (
        waits,
        lambda a: approve(a),
        lambda a: approve(a, actor="eve"),
        {"approved/not-now", "not-now/approved"},
    ),
    "yes and no": (
        waits,
        lambda a: approve(a),
        lambda a: refuse(a, actor="eve"),
        {"approved/not-now", "not-now/refused"},
    ),
    "taken back": (
        waits,
        lambda a: approve(a),
        lambda a: take_back(a),
        {"approved/not-now", "not-now/withdrawn"},
    ),
    "a late word": (
        waits,
        lambda a: approve(a),
        lambda a: reported(a),
        {"approved/too late", "not-now/in time"},
    ),
    "found": (waits_above, lambda a: approve(a), lambda a: found(a), {"approved/approved", "not-now/voided"}),
}


def test_45_of_two_approvers_at_once_one_wins_and_the_other_is_told_who(clock: Clock) -> None:
    """Each line is raced in both orders and at the same moment; whatever happened, it is told once."""
    for name, (scene, first, second, possible) in APPROVERS.items():
        for number, order in enumerate(((first, second), (second, first), (first, second))):
            asked = scene(clock, f"{name} {number}")
            acts = [partial(act, asked) for act in order]
            operation = asked.operation
            answers = at_once(acts) if number == 2 else one_after_the_other(clock.database, operation, *acts)
            assert "/".join(answers[::-1] if number == 1 else answers) in possible, (name, number, answers)
            sound(operation)
            assert operation.events.filter(kind__startswith="ask_").count() == 1
    asked = waits(clock, "told")
    approve(asked)
    with pytest.raises(NotNow, match="bob approved it at"):
        approve(asked, actor="eve")


def take_back(approval: Approval, *, actor: str = "ann") -> str:
    actions.take_back(approval.uid, actor=actor, reason="I was wrong.", command_id=uuid.uuid4())
    return "withdrawn"


def reported(approval: Approval) -> str:
    """The automation speaks after all, too late: it is kept, and it ends the request."""
    attempt = approval.operation.attempts.get()
    with pytest.raises(OutcomeDiffers):
        actions.record(attempt.uid, token=TOKENS[attempt.uid], report=make.TAKEN, actor="api:shop")
    return "too late" if Approval.objects.get(pk=approval.pk).answer == "approved" else "in time"


def test_46_a_refusal_is_an_event_and_deletes_nothing(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation)
    with pytest.raises(Malformed, match="Give a reason"):
        refuse(asked, reason="  ")
    refuse(asked)
    assert answered(asked) == ("refused", "bob")
    assert standing(operation) == "uncertain: expired"
    told = operation.events.get(kind="ask_refused")
    assert (told.actor, told.reason) == ("bob", "Ask the customer first.")
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        asked.delete()
    with pytest.raises(IntegrityError, match="decided once"), transaction.atomic():
        Approval.objects.update(why="Nobody asked.")
    again = override(operation)
    assert take_back(again) == "withdrawn"
    assert [a.answer for a in operation.approvals.order_by("id")] == ["refused", "withdrawn"]


def test_47_who_and_why_are_required_columns(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation)
    late = clock.now() + timedelta(hours=1)
    whole: dict[str, Any] = {"operation": operation, "actor": "ann", "reason": "Because."}
    permit = whole | {"source": "person", "effective_at": clock.now(), "lapses_at": late}
    request = {
        "operation": operation,
        "action": "end",
        "maker": "ann",
        "reason": "Because.",
        "command_id": uuid.uuid4(),
        "expires_at": late,
        "due_at": late,
        "payload_digest": "x",
        "attempt_count": 1,
    }
    answer = {"answer": "refused", "decided_by": "bob", "decided_at": clock.now(), "why": "No."}
    rows: list[tuple[Callable[..., object], dict[str, Any], tuple[str, ...]]] = [
        (Event.objects.create, whole | {"kind": "noted"}, ("actor", "reason")),
        (Permit.objects.create, permit, ("actor", "reason")),
        (Approval.objects.create, request, ("maker", "reason")),
        (Approval.objects.filter(pk=asked.pk).update, answer, ("decided_by", "why")),
    ]
    for write, row, columns in rows:
        for column in columns:
            with pytest.raises(IntegrityError, match=r"_has_|answered_whole"), transaction.atomic():
                write(**{**row, column: ""})


def test_a_double_click_is_one_request_and_one_answer(clock: Clock) -> None:
    operation, click, other = silent(clock), uuid.uuid4(), uuid.uuid4()
    first, second = (override(operation, click=click) for _ in range(2))
    assert first == second
    with pytest.raises(NotNow, match="ann has asked for a second person"):
        override(operation, actor="eve")
    with pytest.raises(NotNow, match="ann has asked for a second person"):
        attest(operation, actor="eve")
    for _ in range(2):
        approve(first, click=other)
    with pytest.raises(Conflict, match="already used for something else"):
        approve(first, click=click)
    assert kinds(operation).count("ask_approved") == kinds(operation).count("ended") == 1
    with pytest.raises(NotFound):
        actions.refuse(uuid.uuid4(), actor="bob", reason="No.", command_id=uuid.uuid4())


def found(approval: Approval) -> str:
    """A check finds it there."""
    make.looked(approval.operation, make.there(approval.operation, "INV-7"))
    assert standing(approval.operation) == "completed"
    return Approval.objects.get(pk=approval.pk).answer


# --- what it was bound to


def test_what_was_asked_is_void_once_what_it_stood_on_has_changed(clock: Clock) -> None:
    above = {"retry": {"attempts": 1}, **ABOVE}

    def doubtful(name: str, **columns: Any) -> tuple[Operation, Approval]:
        operation = make.uncertain_operation(make.kind(name=name, **(above | columns)))
        asked = attest(operation)
        assert asked is not None
        return operation, asked

    found, asked_found = doubtful("found")
    make.looked(found, make.there(found, "INV-9"))
    assert (standing(found), answered(asked_found)) == ("completed", ("voided", "policy"))

    other, asked_other = doubtful("other")
    make.looked(other, make.BLIND)
    assert answered(asked_other) == ("", ""), "a check that could not look tells nothing new"
    make.looked(other)
    assert answered(asked_other) == ("voided", "policy"), "ann says it is there, and a check says it is not"
    with pytest.raises(NotNow, match="void since"):
        approve(asked_other)

    late, spoken, token = make.claimed(make.kind(name="late", **above))
    actions.record(spoken.uid, token=token, report=make.SILENCE, actor="api:shop")
    asked_late = attest(late)
    assert asked_late is not None
    for whose, answer in (("guessed", ("", "")), (token, ("voided", "policy"))):
        with pytest.raises(Conflict):
            actions.record(spoken.uid, token=whose, report=make.REFUSED, actor="api:shop")
        assert answered(asked_late) == answer

    sent, asked_sent = doubtful("sent", looks=False, retry={"attempts": 5})
    clock.advance(15)
    make.claimed(sent.operation_type)
    assert answered(asked_sent) == ("voided", "policy"), "it was tried again by itself, under its key"

    ended, asked_ended = doubtful("ended", permit_for_s=600)
    clock.advance(601)
    with pytest.raises(NotNow, match="has to be asked again"):
        approve(asked_ended)
    with pytest.raises(IntegrityError, match="approval_in_time"), transaction.atomic():
        Approval.objects.filter(pk=asked_ended.pk).update(
            answer="approved", decided_by="bob", decided_at=clock.now(), why="Late."
        )
    Sweep().run()
    assert answered(asked_ended) == ("lapsed", "policy")
    assert kinds(sound(ended)).count("ask_lapsed") == 1
    assert attest(ended) is not None, "it can be asked again"


# --- four eyes


def test_above_the_limit_closing_takes_two_people_and_sending_again_does_not(clock: Clock) -> None:
    """At the limit and without an amount one person decides; a currency without a line takes two."""
    limits = {"ZAR": "1240.00"}
    at_limit = make.kind(name="at", review={"due": "4h", "four_eyes_above": limits})
    unlisted = make.kind(name="unlisted", review={"due": "4h", "four_eyes_above": {"EUR": "9999999.00"}})
    no_section = make.kind(name="none")
    assert attest(make.uncertain_operation(at_limit)) is None
    assert attest(make.uncertain_operation(no_section)) is None
    assert attest(make.uncertain_operation(unlisted, "free", amount=None, currency=None)) is None
    operation = make.uncertain_operation(unlisted)
    asked = attest(operation)
    assert asked is not None
    assert standing(operation) == "uncertain"
    approve(asked)
    operation = sound(operation)
    assert (operation.state, operation.evidence, operation.evidence_by) == (
        State.COMPLETED,
        "attested",
        "ann",
    )
    assert operation.destination_reference == "INV-7"

    doubled = make.tried(make.kind(name="doubled", **ABOVE), make.done())
    make.looked(doubled, make.there(doubled, "INV-7", "INV-8"))
    named = attest(doubled)
    assert named is not None
    assert standing(doubled) == "completed: several"
    approve(named)
    assert standing(doubled) == "completed"

    absent = make.uncertain_operation(make.kind(name="absent", retry={"attempts": 1}, **ABOVE))
    actions.hold(absent.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60)
    make.looked(absent, actor="ann")
    ended = actions.end(absent.pk, actor="ann", reason="Not there.", command_id=uuid.uuid4())
    assert ended is not None
    with pytest.raises(NotNow, match="waits for a check made by you"):
        approve(ended)
    make.looked(absent, actor="bob")
    approve(ended)
    assert standing(absent) == "failed"
    make.looked(absent, actor="ann")
    make.permitted(absent)  # to send again after proved absence is one person's


def test_a_heartbeat_extends_a_try_that_two_people_allowed_after_the_key_s_window(clock: Clock) -> None:
    window = {"key_retention": "20m", "key_margin": "1m"}
    kind = make.kind(looks=False, contract=window, retry={"attempts": 1, "elapsed": "10m"})
    operation = make.tried(kind, make.SILENCE)
    clock.advance(3600)
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    clock.advance(11)
    _, attempt, token = make.claimed(kind)
    clock.advance(30)
    again = actions.extend(attempt.uid, token=token, lease_s=60, actor="api:shop")
    assert again.lease_until - attempt.lease_until > timedelta(seconds=29)
