"""A record of nobody's answers one difference, whoever decides about it at the same moment, and by SQL."""

import uuid
from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError

from ledger.models import Operation
from ledger.rules.errors import NotNow
from ledger.rules.states import Outcome, State
from reconcile.differences import leaves, looking, matching
from reconcile.differences.actions import Seen
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding
from tests.ledger.sessions import at_once
from tests.reconcile.books import HELD, Books
from tests.reconcile.test_deciding_differences import books as books
from tests.reconcile.test_deciding_differences import by_hand, decided
from tests.reconcile.test_deciding_differences import caller as caller

READ = Finding.objects.select_related("run__plan__operation_type__destination", "operation", "case")


@pytest.fixture
def three(caller: Books) -> tuple[Finding, Finding, Finding]:
    """Two orders that were sent without an answer, and one invoice that somebody made by hand."""
    for order in ("90", "91"):
        caller.claimed(order, Outcome.UNCERTAIN, amount="500.00")
    HELD.pages = [[by_hand(caller, "500.00")]]
    run, _ = caller.run()
    one, two = READ.filter(run=run, operation__isnull=False).order_by("pk")
    return one, two, READ.get(run=run, operation=None)


def match(missing: Finding, extra: Finding, actor: str, seen: Seen | None) -> str:
    matching.match(
        READ.get(pk=missing.pk),
        READ.get(pk=extra.pk),
        actor=actor,
        reason="The branch typed it.",
        command_id=uuid.uuid4(),
        seen=seen,
    )
    return "done"


def settle(finding: Finding, way: Way) -> str:
    decided(READ.get(pk=finding.pk), way, "bob")
    return "done"


def test_one_record_stands_for_one_of_two_orders_that_are_matched_at_once(
    three: tuple[Finding, Finding, Finding],
) -> None:
    one, two, extra = three
    seen = looking.look(extra, within_s=5)
    said = at_once([partial(match, one, extra, "ann", seen), partial(match, two, extra, "bob", seen)])
    assert said.count("done") == 1, said
    assert Decision.objects.in_force().count() == 1
    assert Operation.objects.filter(state=State.COMPLETED).count() == 1


@pytest.mark.parametrize("way", [Way.WAIVE, Way.CLOSE, Way.TAKE_IN])
def test_what_is_matched_is_not_settled_in_another_way_at_once(
    three: tuple[Finding, Finding, Finding], way: Way
) -> None:
    one, _, extra = three
    seen = looking.look(extra, within_s=5)
    said = at_once([partial(match, one, extra, "ann", seen), partial(settle, extra, way)])
    assert said.count("done") == 1, said
    assert Decision.objects.in_force().count() == 1


@pytest.mark.parametrize("turn", [lambda one, two: (one, two), lambda one, two: (two, one)])
def test_the_database_refuses_a_second_decision_about_either_record(
    three: tuple[Finding, Finding, Finding],
    turn: Callable[[str, str], tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The code that asks first is taken away: whoever comes second, the guard stands."""
    one, two, extra = three
    seen = looking.look(extra, within_s=5)
    acts = {
        "match": partial(match, one, extra, "ann", seen),
        "waive": partial(settle, extra, Way.WAIVE),
    }
    first, second = turn("match", "waive")
    acts[first]()
    monkeypatch.setattr(leaves, "standing", lambda finding: None)
    with pytest.raises(IntegrityError, match="already"):
        acts[second]()
    with pytest.raises(IntegrityError, match="already"):
        match(two, extra, "bob", seen)


def test_one_after_the_other_the_second_is_told_who_was_first(
    three: tuple[Finding, Finding, Finding],
) -> None:
    one, two, extra = three
    seen = looking.look(extra, within_s=5)
    match(one, extra, "ann", seen)
    with pytest.raises(NotNow, match="ann has decided about that record already"):
        match(two, extra, "bob", seen)
