"""Known failure 58: whatever moves while the list is read, nothing that is there is lost or counted twice.

| the destination, between two pages   | and the run                                                   |
|--------------------------------------|---------------------------------------------------------------|
| inserts                              | has it, or leaves it to the next one                          |
| edits, voids                         | has it once, as it was at one of these moments                |
| deletes                              | has it, or not; what the list tells of that stands no more    |
| shows what was there before          | does not call its operation missing: a check of its own finds |
| shows it once the run is over        | the next one has it, and says that it came late               |
| does any of it to counted pages      | may say that it was not whole, and then says nothing else     |
"""

import random
from collections import Counter
from dataclasses import replace

import pytest

from ledger.models import Destination, OperationType, database_now
from ledger.rules.states import Outcome
from reconcile import leasing
from reconcile.actions import start
from reconcile.models import Plan, Record, Run
from reconcile.running import NotWhole, execute, window
from tests.reconcile.books import Books, key_of
from tests.reconcile.schedules import NOW_THERE, WAYS, Row

OPERATIONS = 10
ABSENT = ("missing_at_destination", "uncertain")


@pytest.fixture
def plan(listed: Books) -> Plan:
    """Ten operations that are done, at a destination that moves."""
    for number in range(1, OPERATIONS + 1):
        listed.claimed(str(number), Outcome.SUCCEEDED, reference=f"INV-{number:04}")
    Destination.objects.update(connector="tests.reconcile.schedules:Connector")
    kind = OperationType.objects.get()
    kind.calls = kind.calls | {"record": kind.calls["record"] | {"deleted": "gone"}}
    kind.lookup_proved_at = database_now()
    kind.save(update_fields=["calls", "lookup_proved_at"])
    return Plan.objects.select_related("operation_type__destination").get(name="invoices")


def begin(number: int, way: str) -> None:
    """Let the destination hold the ten, some twice and some late, and some of nobody's."""
    NOW_THERE.__init__(random.Random(f"{way} {number}"), way)  # type: ignore[misc]  # where the connector finds it
    for place in range(1, OPERATIONS + 1):
        NOW_THERE.put(Row(f"INV-{place:04}", key_of(str(place)), 100, shown=NOW_THERE.dice.random() < 0.85))
    for place in range(OPERATIONS + 1, OPERATIONS + 5):
        key = key_of(str(NOW_THERE.dice.randint(1, OPERATIONS))) if place % 2 else f"nobody/{place}"
        NOW_THERE.put(Row(f"INV-{place:04}", key, 100))
    NOW_THERE.begin()


def looked_at(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run once, and keep the lines."""
    start_at, to = window(plan, None, None)
    run = start(plan, window_from=start_at, window_to=to, actor="ann", dry_run=True)
    with monkeypatch.context() as patched:
        patched.setattr(leasing, "discard", lambda run: None)
        execute(run)
    return run


def lost_nothing(run: Run) -> None:
    """Hold what a run has against what was there all the time, and what was ever there."""
    lines = Record.objects.filter(run=run, side="destination")
    ids = Counter(lines.values_list("external_id", flat=True))
    assert not [one for one, times in ids.items() if times > 1], "counted twice"
    assert ids.keys() >= NOW_THERE.always, "lost"
    for identity, amount, status in lines.values_list("external_id", "amount", "status"):
        assert (amount, status) in NOW_THERE.versions[identity], "as it never was"
    kept = {row.key for row in NOW_THERE.rows.values() if row.id in NOW_THERE.there}
    absent = Record.objects.filter(run=run, side="ledger", item_class__in=ABSENT)
    assert not kept & set(absent.values_list("reference", flat=True)), "called missing, and there"
    assert run.explained, run.tie


def scheduled(plan: Plan, number: int, *, way: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Play one schedule, and a calm run after it; says whether the first was whole."""
    begin(number, way)
    whole = True
    try:
        run = looked_at(plan, monkeypatch)
    except NotWhole:
        whole = False
        leasing.discard(Run.objects.latest("pk"))
    else:
        lost_nothing(run)
        leasing.discard(run)
    NOW_THERE.calm = True
    NOW_THERE.begin()
    run = looked_at(plan, monkeypatch)
    lost_nothing(run)
    hidden = {row.id for row in NOW_THERE.rows.values() if not row.shown}
    came = set(Record.objects.filter(run=run, side="destination").values_list("external_id", flat=True))
    assert came - hidden - NOW_THERE.graves.keys() == NOW_THERE.rows.keys() - hidden
    lines = Record.objects.filter(run=run, side="destination", external_id__in=NOW_THERE.graves)
    buried = lines.exclude(standing="void")
    assert not buried.exists(), "deleted, and stands"
    leasing.discard(run)
    return whole


def kept(plan: Plan) -> Run:
    """Run once for good."""
    start_at, to = window(plan, None, None)
    run = start(plan, window_from=start_at, window_to=to, actor="ann")
    execute(run)
    return run


def shown_late(plan: Plan, number: int, *, way: str) -> int:
    """Play one schedule, show all that is hidden, and run again; return how many records came late then."""
    begin(number, way)
    try:
        lines = Record.objects.filter(run=kept(plan), side="destination")
    except NotWhole:
        return 0
    lost_nothing(Run.objects.latest("pk"))
    before = set(lines.values_list("external_id", flat=True))
    late = set(lines.exclude(came_late="").values_list("external_id", flat=True))
    NOW_THERE.calm = True
    for row in list(NOW_THERE.rows.values()):
        NOW_THERE.rows[row.id] = replace(row, shown=True)
    NOW_THERE.put(Row("INV-9999", "nobody/9999", 7))
    NOW_THERE.begin()
    run = kept(plan)
    lost_nothing(run)
    came = Record.objects.filter(run=run, side="destination")
    ids = set(came.values_list("external_id", flat=True))
    dated = set(came.exclude(occurred_at=None).values_list("external_id", flat=True))
    said = set(came.exclude(came_late="").values_list("external_id", flat=True))
    assert said == (dated - before) | (late & ids), "late, and not said, or the other way round"
    assert run.made_with["came_late"]["records"] == len(said)
    return len(said - late)


@pytest.mark.parametrize("way", WAYS)
def test_58_what_shows_once_a_run_is_over_is_in_the_next_one_and_came_late(plan: Plan, way: str) -> None:
    assert sum(shown_late(plan, number, way=way) for number in range(3)) > 0


@pytest.mark.parametrize("way", WAYS)
def test_58_whatever_moves_between_pages_nothing_is_lost(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    whole = [scheduled(plan, number, way=way, monkeypatch=monkeypatch) for number in range(13)]
    assert any(whole)
    if way != "an offset with an overlap":
        assert all(whole), "no movement keeps such a list from its end"


@pytest.mark.long
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("way", WAYS)
def test_58_nothing_is_lost_in_a_thousand_schedules(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, way: str, part: int
) -> None:
    numbers = range(13 + part * 50, 63 + part * 50)
    whole = [scheduled(plan, number, way=way, monkeypatch=monkeypatch) for number in numbers]
    assert any(whole)
