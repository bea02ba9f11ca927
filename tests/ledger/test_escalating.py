"""What nobody answers in time goes to the next level: marked, on record, and still its owner's.

| given                                    | then                                                        |
|------------------------------------------|-------------------------------------------------------------|
| before its due time                      | nothing                                                     |
| past it, nothing configured              | to approvers, once; owner and assignee stay; one event      |
| what administrators own                  | to administrators                                           |
| levels with waits                        | one after the other, in the entity's working hours; no more |
| `escalate = []`                          | never, until its team has levels                            |
| given to another team                    | by that team's levels, from its first one, or past who has it |
| answered meanwhile                       | never                                                       |
| snoozed beyond its due time              | all the same                                                |
| the row is written past the verb         | the database refuses it                                     |
| a request past its due time              | marked once, while it counts                                |
"""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from ledger import actions
from ledger.models import Approval, Case, Event, Operation, Team, database_now
from ledger.rules.states import CaseKind
from ledger.worker.sweep import Sweep
from tests import stories

HOUR = timedelta(hours=1)
LEVELS = [{"to": "finance-leads", "after": 3600}, {"to": "controllers", "after": 8 * 3600}]


def of(operation: Operation) -> Case:
    return Case.objects.get(operation=operation)


def events(case: Case) -> list[tuple[str, str, int]]:
    found = Event.objects.filter(operation=case.operation, kind="escalated", data__case=str(case.uid))
    return [(e.reason, e.data["to"], e.data["level"]) for e in found.order_by("pk")]


def test_past_its_due_time_a_case_goes_to_approvers_and_stays_its_owners(durban: stories.Durban) -> None:
    case = of(durban.absent(483))
    actions.assign(case.uid, actor="ann", to="ann")
    until = case.due_at + HOUR
    actions.snooze(case.uid, actor="ann", reason="They call back.", until=until, knowingly=True)
    paused = actions.open_case(
        kind=CaseKind.PAUSED, owner="administrators", due_s=60, actor="policy", reason="It refuses us."
    )
    Sweep().run()
    case.refresh_from_db()
    assert (case.level, case.escalated_to) == (0, "")
    assert not actions.escalate(case.uid), "not before its time, whoever asks"
    durban.clock.set(case.due_at)
    for _ in range(2):
        Sweep().run()
    case.refresh_from_db()
    assert (case.level, case.escalated_to, case.escalated_at) == (1, "approvers", case.due_at)
    assert (case.owner, case.assignee) == ("finance", "ann"), "it is theirs still"
    assert events(case) == [("Its due time has passed.", "approvers", 1)], "once"
    assert events(paused) == [("Its due time has passed.", "administrators", 1)]


def test_levels_come_one_after_the_other_in_the_entitys_working_hours(durban: stories.Durban) -> None:
    """Due on Friday at 16:30: leads an hour later, on Monday at 08:30, controllers eight hours after that."""
    books = durban.invoice.destination
    books.hours = {"timezone": "Africa/Johannesburg"}
    books.save(update_fields=["hours"])
    Team.objects.create(name="finance", escalate=LEVELS)
    durban.clock.set(datetime(2026, 12, 4, 10, 29, tzinfo=UTC))
    case = of(durban.absent(318))
    friday = case.due_at
    for at, held in (
        (friday + HOUR, ""),
        (datetime(2026, 12, 7, 6, 0, tzinfo=UTC), ""),
        (datetime(2026, 12, 7, 7, 30, tzinfo=UTC), "finance-leads"),
        (datetime(2026, 12, 7, 15, 0, tzinfo=UTC), "finance-leads"),
        (datetime(2026, 12, 8, 7, 30, tzinfo=UTC), "controllers"),
        (datetime(2026, 12, 20, 7, 30, tzinfo=UTC), "controllers"),
    ):
        durban.clock.set(at)
        for uid in (*actions.overdue(), case.uid):
            actions.escalate(uid)  # also of a sweep that was overtaken by another
        case.refresh_from_db()
        assert case.escalated_to == held, at
    assert events(case) == [
        ("Its due time has passed.", "finance-leads", 1),
        ("Nobody has answered it since.", "controllers", 2),
    ]
    assert actions.overdue() == [], "what has no level left is not looked at any more"


def test_what_is_answered_or_goes_nowhere_never_escalates(durban: stories.Durban) -> None:
    Team.objects.create(name="finance", escalate=[])
    nowhere = of(durban.absent(318))
    durban.clock.advance(30 * 86400)
    (due,) = actions.overdue()
    assert not actions.escalate(due) and actions.overdue() == []
    Team.objects.update(escalate=None)
    answered = durban.absent(483)
    durban.looked(answered, stories.ABSENT, actor="ann")
    case = of(answered)
    durban.clock.set(case.due_at)
    durban.looked(answered, stories.ABSENT, actor="ann")
    actions.end(answered.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    assert actions.overdue() == [] and not actions.escalate(case.uid), "a sweep that came too late"
    nowhere.refresh_from_db()
    assert not events(nowhere) and not events(case)


def test_given_to_another_team_it_climbs_by_that_ones_levels(durban: stories.Durban) -> None:
    for name, levels in (("nobody", []), ("finance", LEVELS[:1]), ("tills", LEVELS[1:] + LEVELS[:1])):
        Team.objects.create(name=name, escalate=levels)
    case = of(durban.absent(483))

    def swept() -> tuple[int, str]:
        Sweep().run()
        case.refresh_from_db()
        return case.level, case.escalated_to

    actions.assign(case.uid, actor="ann", team="nobody")
    durban.clock.set(case.due_at)
    assert swept() == (0, "")
    actions.assign(case.uid, actor="ann", team="finance")
    assert swept() == (0, ""), "it has just come to them"
    durban.clock.advance(3601)
    assert swept() == (1, "finance-leads")
    actions.assign(case.uid, actor="ann", team="tills")
    durban.clock.advance(9 * 3600)
    assert swept() == (1, "finance-leads"), "who has it is the last of their levels"
    actions.assign(case.uid, actor="ann", team="finance")
    durban.clock.advance(9 * 3600)
    assert swept() == (1, "finance-leads"), "the one level that they have has it"
    actions.assign(case.uid, actor="ann", team="desk")
    assert swept() == (2, "approvers"), "a team that says nothing: approvers, at once"
    actions.assign(case.uid, actor="ann", team="tills")
    durban.clock.advance(9 * 3600)
    assert swept() == (3, "controllers"), "from its first level on"


def test_the_database_lets_a_level_only_grow_with_its_event(durban: stories.Durban) -> None:
    case, at = of(durban.absent(483)), database_now()
    mark = {"escalated_at": at, "escalated_to": "approvers"}
    for change, why in (
        ({"level": 1, **mark}, "without an event"),
        ({"level": 2, **mark}, "one at a time"),
        ({"level": 1}, "case_escalated_whole"),
        ({"escalated_to": "approvers"}, "case_escalated_whole"),
    ):
        with pytest.raises(IntegrityError, match=why), transaction.atomic():
            Case.objects.filter(pk=case.pk).update(**change)
    durban.clock.set(case.due_at)
    assert actions.escalate(case.uid)
    with pytest.raises(IntegrityError, match="one at a time"), transaction.atomic():
        Case.objects.filter(pk=case.pk).update(level=0, escalated_at=None, escalated_to="")


def test_a_request_past_its_due_time_is_marked_while_it_counts(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10.00"}}
    durban.invoice.save(update_fields=["review"])
    operation = durban.blind(318, "18400.00")
    actions.attest(operation.pk, actor="ann", reason="Seen.", command_id=uuid.uuid4(), reference="INV-7")
    asked = Approval.objects.get(operation=operation)
    assert asked.due_at < asked.expires_at, "our key's window closes before that"
    with pytest.raises(IntegrityError, match="without an event"), transaction.atomic():
        Approval.objects.filter(pk=asked.pk).update(escalated_at=database_now())
    durban.clock.set(asked.due_at)
    for _ in range(2):
        Sweep().run()
        durban.clock.advance(31)
    asked.refresh_from_db()
    (told,) = operation.events.filter(kind="escalated", data__approval=str(asked.uid))
    assert asked.escalated_at is not None and (told.actor, told.data["to"]) == ("policy", "approvers")
    durban.clock.set(asked.expires_at)
    assert not actions.escalate_ask(operation.pk), "what has lapsed asks nobody"
