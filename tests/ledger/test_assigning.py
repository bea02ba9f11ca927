"""Whose a case is, and until when it rests: on record, guarded by the database, and woken by any change.

| given                           | then                                                            |
|---------------------------------|-----------------------------------------------------------------|
| assigned, taken, handed over    | the case says whose it is; an event who did it and why          |
| the row is written past a verb  | the database refuses it                                         |
| snoozed                         | at rest until then, or until anything happens to the operation  |
| something ends before the snooze| refused, unless it is done knowingly; what it was is in the event |
| closed                          | nothing more                                                    |
"""

import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from ledger import actions
from ledger.models import Case, Operation, database_now
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.states import CaseKind
from tests import stories

HOUR = timedelta(hours=1)


def of(operation: Operation) -> Case:
    return Case.objects.open().get(operation=operation)


def test_a_case_goes_from_hand_to_hand_on_record(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    case, revision = of(operation), durban.again(operation).revision
    assert actions.assign(case.uid, actor="ann", to="ann")
    assert not actions.assign(case.uid, actor="ann", to="ann"), "twice is once"
    assert actions.assign(case.uid, actor="ann", to="bob", team="operations", reason="Bob knows Acme.")
    assert not actions.hand_over(case.uid, actor="ann", reason="Holiday.", of="ann", to="eve"), "not hers now"
    assert actions.hand_over(case.uid, actor="ada", reason="Holiday: token=abc123456.", of="bob", to="eve")
    case.refresh_from_db()
    assert (case.owner, case.assignee) == ("operations", "eve")
    events = operation.events.filter(kind__in=["assigned", "handed_over"])
    assert [(e.actor, e.kind, e.data["to"], e.data["was"]) for e in events] == [
        ("ann", "assigned", "ann", ""),
        ("ann", "assigned", "bob", "ann"),
        ("ada", "handed_over", "eve", "bob"),
    ]
    assert events[2].reason == "Holiday: token=[redacted]", "no secret stays in a note"
    assert durban.again(operation).revision == revision, "nothing that is known of it has changed"
    with pytest.raises(Malformed, match="note"):
        actions.hand_over(case.uid, actor="ada", reason=" ", of="eve", to="bob")
    with pytest.raises(NotFound):
        actions.assign(uuid.uuid4(), actor="ann", to="ann")


def test_the_database_refuses_a_case_that_changes_hands_without_a_word(durban: stories.Durban) -> None:
    with_operation = of(durban.absent(483))
    loose = actions.open_case(
        kind=CaseKind.NEVER_SUBMITTED, owner="finance", due_s=60, actor="reconciliation 1", reason="Found."
    )
    for case in (with_operation, loose):
        for change in ({"assignee": "ann"}, {"owner": "x"}, {"snoozed_until": database_now() + HOUR}):
            with pytest.raises(IntegrityError, match="without an event"), transaction.atomic():
                Case.objects.filter(pk=case.pk).update(**change)
        assert actions.assign(case.uid, actor="ann", to="ann"), "the verb tells it"


def test_whatever_happens_wakes_what_was_put_off(durban: stories.Durban) -> None:
    operation = durban.blind(318, "100.00")
    case = of(operation)

    def asleep() -> bool:
        return Case.objects.open().snoozed(database_now()).filter(pk=case.pk).exists()

    until = database_now() + HOUR
    actions.snooze(case.uid, actor="ann", reason="They call back.", until=until)
    actions.assign(case.uid, actor="ann", to="ann")
    actions.comment(operation.pk, actor="ann", text="Called.", command_id=uuid.uuid4())
    assert asleep(), "who has it, and what is said of it, changes nothing"
    durban.looked(operation, stories.BLIND)
    assert not asleep(), "a check is a change"
    actions.snooze(case.uid, actor="ann", reason="Again.", until=until)
    assert actions.wake(case.uid, actor="bob") and not actions.wake(case.uid, actor="bob")
    actions.snooze(case.uid, actor="ann", reason="Once more.", until=until)
    durban.clock.advance(3601)
    assert not asleep(), "its time is over"
    for wrong in (database_now(), database_now() + timedelta(days=93)):
        with pytest.raises(Malformed, match="between now and 92 days"):
            actions.snooze(case.uid, actor="ann", reason="Long.", until=wrong)


def test_nothing_is_put_off_beyond_what_ends_before_unknowingly(durban: stories.Durban) -> None:
    operation = durban.blind(318, "18400.00")
    case, now = of(operation), database_now()
    passing = actions.passing(case, durban.again(operation), now)
    assert [one.what for one in passing] == [
        "its due time",
        "the time for which Durban Books remembers our key",
    ]
    until = passing[1].at + HOUR
    with pytest.raises(NotNow, match="say that you know"):
        actions.snooze(case.uid, actor="ann", reason="Later.", until=until)
    actions.snooze(case.uid, actor="ann", reason="Later.", until=until, knowingly=True)
    told = operation.events.get(kind="snoozed").data
    assert told["passes"] == [one.what for one in passing] and told["until"] == until.isoformat()


def test_a_request_for_a_second_person_counts_among_what_ends(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10.00"}}
    durban.invoice.save(update_fields=["review"])
    operation = durban.blind(318, "18400.00")
    actions.attest(operation.pk, actor="ann", reason="Seen.", command_id=uuid.uuid4(), reference="INV-7")
    passing = actions.passing(of(operation), durban.again(operation), database_now())
    assert "the request for a second person" in [one.what for one in passing]


def test_an_answered_case_is_nobodys_to_give(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    case = of(operation)
    actions.assign(case.uid, actor="ann", to="ann")
    durban.looked(operation, stories.ABSENT, actor="ann")
    actions.end(operation.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    with pytest.raises(NotNow, match="answered already"):
        actions.assign(case.uid, actor="ann", to="bob")
    assert not actions.hand_over(case.uid, actor="ann", reason="Away.", of="ann", to="bob")


def test_a_comment_is_kept_once_and_for_ever(durban: stories.Durban) -> None:
    operation, click = durban.silent(483), uuid.uuid4()
    before = durban.again(operation)
    assert actions.comment(operation.pk, actor="ann", text="@bob: 4111 1111 1111 1111?", command_id=click)
    assert not actions.comment(operation.pk, actor="ann", text="@bob: twice", command_id=click)
    (said,) = operation.events.filter(kind="commented")
    assert (said.actor, said.reason) == ("ann", "@bob: [card number]?")
    after = durban.again(operation)
    assert (after.state, after.revision, after.changed_at) == (
        before.state,
        before.revision,
        before.changed_at,
    )
    with pytest.raises(Malformed):
        actions.comment(operation.pk, actor="ann", text="x" * 1001, command_id=uuid.uuid4())
    with pytest.raises(IntegrityError, match="only grows"):
        said.delete()
