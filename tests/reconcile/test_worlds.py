"""Generated worlds: a run and a slow, obvious oracle agree on each item, each difference and each figure.

Five hundred worlds in `make test`, ten thousand in `make test-long`. Where they are of two minds, the failure
tells the smallest world that shows it. Faults that are written into the statements on purpose are seen.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from reconcile.classes import ItemClass
from tests.databases import Clock, Database
from tests.reconcile import oracle, playing
from tests.reconcile.books import Books
from tests.reconcile.playing import Stage, staged
from tests.reconcile.worlds import ALL_RULES, Rules, World, batches, smaller
from tests.reconcile.worlds_faults import FAULTS, Fault

EACH = 100
"""Of each of the six rules: six hundred in all."""


@pytest.fixture
def stage(listed: Books, database: Database, clock: Clock) -> Iterator[Stage]:
    with staged(listed, database=database, clock=clock) as made:
        yield made


def disagreement(stage: Stage, rules: Rules, worlds: Sequence[World]) -> list[str]:
    """Play some worlds and say where the run and the oracle are of two minds."""
    said = stage.play(rules, worlds)
    judged = oracle.judge(rules, [order for world in worlds for order in world.orders])
    assert oracle.explained(judged)
    return playing.apart(said, judged)


def agree(stage: Stage, rules: Rules, worlds: Sequence[World]) -> None:
    """Play some worlds; where there are two minds, find the smallest that shows it."""
    wrong = disagreement(stage, rules, worlds)
    if not wrong:
        return
    for world in worlds:
        if disagreement(stage, rules, [world]):
            smallest = shrunk(stage, rules, world)
            wrong = disagreement(stage, rules, [smallest])
            pytest.fail("\n".join([f"By {rules.name}:", smallest.story(), *wrong]))
    pytest.fail("\n".join([f"By {rules.name}, only together:", *(world.story() for world in worlds), *wrong]))


def shrunk(stage: Stage, rules: Rules, world: World) -> World:
    """Return the smallest world that still shows it."""
    for simpler in smaller(world):
        if disagreement(stage, rules, [simpler]):
            return shrunk(stage, rules, simpler)
    return world


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: rules.name)
def test_a_run_and_the_oracle_agree_on_five_hundred_worlds(stage: Stage, rules: Rules) -> None:
    for worlds in batches(0, EACH, rules=rules):
        agree(stage, rules, worlds)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: rules.name)
def test_a_run_and_the_oracle_agree_on_ten_thousand_worlds(stage: Stage, rules: Rules, part: int) -> None:
    for worlds in batches(EACH + part * 250, 250, rules=rules):
        agree(stage, rules, worlds)


def test_the_worlds_have_items_of_every_class_by_all_rules_together() -> None:
    held: Counter[str] = Counter()
    for rules in ALL_RULES:
        for worlds in batches(0, EACH, rules=rules):
            judged = oracle.judge(rules, [order for world in worlds for order in world.orders])
            held.update(item.item_class for item in judged.items if item.item_class)
    assert held.keys() == set(ItemClass)
    assert min(held.values()) >= 20, held


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[2][:40])
def test_a_fault_in_the_statements_is_seen(
    stage: Stage, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, right, wrong = fault
    statement = getattr(module, name)
    assert right in statement, "the statement is another one now: write the fault anew"
    monkeypatch.setattr(module, name, statement.replace(right, wrong))
    assert any(
        disagreement(stage, rules, worlds)
        for start in range(0, EACH, 25)
        for rules in ALL_RULES
        for worlds in batches(start, 25, rules=rules)
    )
