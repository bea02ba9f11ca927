"""Deputies: they decide with their own rights and are one hand with whom they stand in for; refusals first.

| promise                                        | kept by                                                 |
|------------------------------------------------|---------------------------------------------------------|
| neither approves what the other one has asked  | the rule, and a trigger, by account, ended or not       |
| no limit is raised                             | what both close alone is added together                 |
| the trail names both                           | each decision says for whom they stood in               |
| start, end, reason; ended once, never removed  | constraints and triggers, each with its event           |
"""

import uuid
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, connection, transaction

from ledger import actions
from ledger.models import Approval, Deputy, Event
from ledger.rules.approvals import Ask
from ledger.rules.errors import Malformed, NotFound, NotNow
from review.forms import DeputyForm
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.sessions import twice
from tests.ledger.test_approvals import answered, approve, override, silent
from tests.ledger.test_together import LIMITS, attest, doubtful
from tests.people import agrees


def named(clock: Clock, deputy: str, principal: str, *, days: float = 3, **changes: Any) -> Deputy:
    said: dict[str, Any] = {"starts_at": clock.now(), "ends_at": clock.now() + timedelta(days=days)}
    said |= {"actor": principal, "reason": "On leave.", "command_id": uuid.uuid4()}
    return actions.name_deputy(principal, deputy, **(said | changes))


@pytest.fixture
def people(clock: Clock) -> None:
    for name in ("ann", "bob", "eve", "ada"):
        User.objects.create(username=name)


@pytest.mark.usefixtures("people")
def test_what_could_not_be_read_back_is_not_written(clock: Clock) -> None:
    at, far = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    odds: list[dict[str, Any]] = [{"starts_at": at}, {"ends_at": far}]
    for odd in odds:
        with pytest.raises(Malformed, match="between 2000 and 2099"):
            named(clock, "bob", "ann", **odd)
    kept = named(clock, "bob", "ann")
    form = {"principal": 1, "deputy": 2, "command_id": uuid.uuid4(), "reason": "Away."}
    said = DeputyForm(form | {"starts_at": "0001-01-01T00:00", "ends_at": "9999-12-31T23:59"})
    assert said.errors["starts_at"] == said.errors["ends_at"] == ["Give a date from 2000 to 2099."]
    columns = {
        one.attname: getattr(kept, one.attname) for one in Deputy._meta.concrete_fields if one.name != "id"
    }
    columns |= {"uid": uuid.uuid4(), "command_id": uuid.uuid4(), "starts_at": at}
    with pytest.raises(IntegrityError, match="deputy_in_range"), transaction.atomic():
        Deputy.objects.create(**columns)


@pytest.mark.usefixtures("people")
def test_44_nobody_approves_what_who_they_stand_in_for_has_asked(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation)
    bobs = named(clock, "bob", "ann")
    named(clock, "ann", "eve", actor="ada")
    for name in ("bob", "eve"):
        with pytest.raises(NotNow, match="one of you stands in for the other: a third person decides"):
            approve(asked, actor=name)
    actions.end_deputy(bobs.uid, actor="ann", reason="Back early.")
    row, said = Approval.objects.filter(pk=asked.pk), {"answer": "approved", "why": "Bulk."}
    for name in ("bob", "eve"):
        with pytest.raises(NotNow, match="a third person decides"):
            approve(asked, actor=name)
        with pytest.raises(IntegrityError, match="who they stand in for"), transaction.atomic():
            row.update(decided_by=name, decided_at=clock.now(), **said)
    User.objects.filter(username="bob").update(username="rob")
    with (
        pytest.raises(IntegrityError, match="who they stand in for"),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "UPDATE ledger_approval SET answer = 'approved', decided_by = 'rob', decided_at = %s, why = 'x'",
            [clock.now()],
        )
    assert answered(asked) == ("", "")
    agrees("ada")
    approve(asked, actor="ada")
    clock.advance(60)
    later = override(operation, Ask.OVERRIDE_PERMIT)
    approve(later, actor="rob")
    assert answered(later) == ("approved", "rob"), "it ended before that was asked"


@pytest.mark.usefixtures("people")
def test_a_deputy_raises_no_limit_and_the_trail_names_both(clock: Clock) -> None:
    kind = make.kind(**LIMITS)
    assert attest(doubtful(kind, "1", "6000.00"), actor="ann") is None
    second = doubtful(kind, "2", "6000.00")
    assert not actions.together(second, "bob").takes_two
    one = named(clock, "bob", "ann")
    assert actions.together(second, "bob").takes_two
    assert attest(doubtful(kind, "3", "1.00"), actor="bob") is None
    told = Event.objects.filter(kind="attested").latest("id")
    assert (told.actor, told.data["for"]) == ("bob", ["ann"])
    assert attest(second, actor="bob") is not None
    actions.end_deputy(one.uid, actor="bob", reason="She is back.")
    assert actions.together(doubtful(kind, "4", "9999.00"), "bob").takes_two, "today they were one hand"
    for _ in range(2):
        named(clock, "bob", "ann", days=0.5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM ledger_same_hand('bob') ORDER BY name")
        assert cursor.fetchall() == [("ann",), ("bob",)], "each once, however often they were named"
    clock.advance(timedelta(days=2))
    assert attest(doubtful(kind, "5", "9999.00"), actor="bob") is None
    assert "for" not in Event.objects.filter(kind="attested").latest("id").data


@pytest.mark.usefixtures("people")
def test_a_deputy_has_start_end_and_reason_and_is_ended_once(clock: Clock) -> None:
    now = clock.now()
    for changes, wrong in (
        ({"ends_at": now - timedelta(days=1)}, Malformed),
        ({"reason": " "}, Malformed),
    ):
        with pytest.raises(wrong):
            named(clock, "bob", "ann", **changes)
    with pytest.raises(Malformed, match="stands in for themselves"):
        named(clock, "ann", "ann")
    with pytest.raises(NotFound):
        named(clock, "nobody", "ann")
    click = uuid.uuid4()
    one, again = (named(clock, "bob", "ann", command_id=click) for _ in range(2))
    assert one == again
    row = Deputy.objects.filter(pk=one.pk)
    changed: tuple[dict[str, Any], ...] = (
        {"ends_at": now + timedelta(days=90)},
        {"principal_account": 4711},
        {"ended_at": now - timedelta(hours=1), "ended_by": "ann", "why": "Never was."},
    )
    for values in changed:
        with pytest.raises(IntegrityError, match="ended once, from then on"), transaction.atomic():
            row.update(**values)
    with pytest.raises(DatabaseError, match="without an event"), transaction.atomic():
        row.update(ended_at=clock.now(), ended_by="ann", why="Quietly.")
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        one.delete()
    actions.end_deputy(one.uid, actor="ann", reason="Back.")
    with pytest.raises(NotNow, match="ended already"):
        actions.end_deputy(one.uid, actor="ann", reason="Again.")
    kinds = list(Event.objects.filter(data__deputy=str(one.uid)).values_list("kind", "actor"))
    assert kinds == [("deputy_named", "ann"), ("deputy_ended", "ann")]


@pytest.mark.usefixtures("people")
def test_30_the_same_click_twice_at_once_names_one_deputy(database: Database, clock: Clock) -> None:
    one, two = twice(database, partial(named, clock, "bob", "ann", command_id=uuid.uuid4()))
    assert one == two and Deputy.objects.count() == Event.objects.filter(kind="deputy_named").count() == 1
