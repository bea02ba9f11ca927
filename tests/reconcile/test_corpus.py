"""A labelled corpus: each defect that was put there is found in its class, and nothing else is found.

| what is counted                                        | has to be |
|--------------------------------------------------------|-----------|
| precision and recall of each class                     | 1.000     |
| what is called missing within the grace                | nothing   |
| what is ambiguous, and was decided by software         | nothing   |
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

from ledger.models import Case, Lookup, Operation, Permit
from reconcile.actions import start
from reconcile.classes import ItemClass, is_finding
from reconcile.models import Plan, Run
from reconcile.running import execute, window
from tests.databases import Clock, Database
from tests.reconcile import corpus, corpus_rules
from tests.reconcile.books import Books, counts
from tests.reconcile.corpus import KEYED, PLACES, THREE, Labelled
from tests.reconcile.playing import Stage, staged
from tests.reconcile.test_following import Postings, order, ordered
from tests.reconcile.test_following import plan as plan
from tests.reconcile.worlds import Rules

DEFECTS, AMBIGUOUS, SOURCED, RULED_DEFECTS = 3800, 200, 1200, 700


@pytest.fixture
def stage(listed: Books, database: Database, clock: Clock) -> Iterator[Stage]:
    with staged(listed, database=database, clock=clock) as made:
        yield made


def found(stage: Stage, rules: Rules, orders: Sequence[Labelled]) -> tuple[Counter[tuple[str, str]], ...]:
    """Run over all orders; return what had to be found and what was, by class and order."""
    meant: Counter[tuple[str, str]] = Counter()
    said: Counter[tuple[str, str]] = Counter()
    for world, part in corpus.worlds(orders):
        for one in part:
            name = one.order.source or one.order.name
            meant.update({(item_class, name): items for item_class, items in one.labels.items()})
        names = {one.order.name: one.order.source for one in part if one.order.source}
        sources = list(names.values())
        names |= {
            f"subject = {known.subject} {known.currency}": one.order.name
            for one in part
            if (known := one.order.meant) is not None and known.subject
        }
        names |= {f"number = {source}, shop = shop": source for source in sources}
        for difference in stage.play(rules, [world]).differences.elements():
            name = names.get(difference.reference, difference.reference)
            said[difference.item_class, name] += difference.items
    return meant, said


def by_class(found: Counter[tuple[str, str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for (item_class, _), items in found.items():
        total[item_class] += items
    return total


def test_of_five_thousand_seeded_defects_each_is_found_and_nothing_else(stage: Stage) -> None:
    keyed, placed = list(corpus.labelled(DEFECTS)), list(corpus.ambiguous(AMBIGUOUS))
    sided = list(corpus.sourced(SOURCED))
    ruled = list(corpus_rules.ruled(RULED_DEFECTS))
    by_rules = ((KEYED, keyed), (PLACES, placed), (THREE, sided), (corpus_rules.RULED, ruled))
    every = [found(stage, rules, orders) for rules, orders in by_rules]
    meant: Counter[tuple[str, str]] = sum((seeded for seeded, _ in every), Counter())
    said: Counter[tuple[str, str]] = sum((told for _, told in every), Counter())
    right, seeded, told = by_class(meant & said), by_class(meant), by_class(said)
    assert seeded.keys() == {str(one) for one in ItemClass if is_finding(one)}
    assert seeded.total() >= DEFECTS + SOURCED and min(seeded.values()) >= 100, seeded
    assert meant == said, [*(meant - said).items(), *(said - meant).items()][:10]
    for item_class, count in seeded.items():
        assert Fraction(right[item_class], told[item_class]) == 1, f"precision of {item_class}"
        assert Fraction(right[item_class], count) == 1, f"recall of {item_class}"
    decoys = Counter(one.decoy for one in (*keyed, *sided, *ruled) if one.decoy)
    assert decoys["within the grace"] >= 20 and decoys["tried within the grace"] >= 20, decoys
    assert decoys["one that fits"] >= 10 and decoys["one in two parts"] >= 10, decoys
    assert decoys["to be submitted"] >= 20 and decoys["no row yet"] >= 20, decoys


def test_what_is_ambiguous_is_decided_by_nobody_but_people(plan: Plan) -> None:
    """A whole run that is kept: what it settles are the others."""
    plan = Plan.objects.select_related("operation_type__destination").get(name="orders")
    unclear = [ordered(f"by hand/{number}", str(number)) for number in range(1, 6)]
    ordered(None, "9")
    Postings.held = tuple(order(number) for number in (1, 2, 3, 4, 5, 9))
    before = list(Operation.objects.order_by("pk").values())
    start_at, to = window(plan, None, None)
    run = start(plan, window_from=start_at, window_to=to, actor="ann")
    execute(run)
    assert counts(run) == {"ambiguous": 5, "uncertain": 5, "matched": 1}
    assert list(Operation.objects.order_by("pk").values()) == before
    assert not Lookup.objects.filter(operation__in=unclear).exists()
    assert not Permit.objects.exists() and not Case.objects.filter(operation__in=unclear).exists()
    assert Run.objects.get().findings.filter(item_class="ambiguous", is_open=True).count() == 5
