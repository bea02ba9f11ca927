"""Known failures 52 and 53: multiplicity is counted, and nothing is merged or matched twice."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from ledger.models import Lookup, database_now
from ledger.rules.states import Outcome
from reconcile.differences import actions as differences
from reconcile.differences import leaves, waivers
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding, Record, Run
from tests.databases import Clock
from tests.people import person
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record, refreshed


def test_52_a_second_record_of_an_operation_is_a_duplicate_with_its_surplus(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(number, key=key_of("1"), total=f"{number}00.00") for number in (1, 3)]]
    HELD.pages.append([record(2, key=key_of("1"))])
    run, found = listed.run()
    assert counts(run) == {"matched": 1, "duplicate_at_destination": 2}
    (finding,) = found
    assert finding.items == 2
    assert finding.amount == 400
    assert [shown["id"] for shown in finding.destination] == ["INV-2", "INV-1", "INV-3"]
    adds_up(run)


def test_without_a_record_of_its_own_the_earliest_is_compared(listed: Books) -> None:
    listed.claimed("1", Outcome.UNCERTAIN)
    late, early = "2026-11-03T10:00:00Z", "2026-11-03T09:00:00Z"
    HELD.pages = [
        [
            record(1, key=key_of("1"), total="7.00", created_at=late),
            record(2, key=key_of("1"), created_at=early),
        ]
    ]
    run, (finding,) = listed.run()
    assert counts(run) == {"matched": 1, "duplicate_at_destination": 1}
    assert finding.amount == 7
    adds_up(run)


def test_voided_records_do_not_count_as_multiples(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"), status="void"), record(2, key=key_of("1"))]]
    run, _ = listed.run()
    assert counts(run) == {"matched": 1, "out_of_scope": 1}
    adds_up(run)


def test_four_records_that_nobody_submitted_are_one_unexpected_and_three_duplicates(listed: Books) -> None:
    HELD.pages = [[record(number, key=key_of("1")) for number in range(1, 5)]]
    run, found = listed.run()
    assert counts(run) == {"unexpected_at_destination": 1, "duplicate_at_destination": 3}
    assert len({finding.case for finding in found}) == 1, "one question is one case"
    adds_up(run)


def test_53_two_records_that_are_alike_but_for_their_ids_stay_two(listed: Books) -> None:
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"))]]
    HELD.pages.append([record(3, key=None), record(4, key=None)])
    run, _ = listed.run()
    assert counts(run) == {
        "unexpected_at_destination": 1,
        "duplicate_at_destination": 1,
        "unreadable": 2,
    }
    assert run.totals["destination"] == {"count": 4, "amounts": {"ZAR": "400.00"}}
    adds_up(run)


def test_53_reading_the_same_list_again_adds_nothing(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1")), record(3, key=None)]]
    first, _ = listed.run()
    second, _ = listed.run()
    assert counts(first) == counts(second)
    assert first.totals == second.totals


def test_the_database_lets_no_record_be_compared_twice(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("2"))]]
    run, _ = listed.run()
    one, two = Record.objects.filter(run=run, side="ledger").order_by("number")
    with pytest.raises(IntegrityError), transaction.atomic():
        Record.objects.filter(pk=two.pk).update(pair=one.pair)


def test_an_older_connector_made_order_471_four_times(books: Books) -> None:
    """One answer was lost after the effect; the connector beside us tried three more times on its own."""
    assert books.sandbox is not None
    books.sandbox.faults("drop_after", "POST /invoices")
    operation = books.sent("471", amount="1860.00")
    assert operation.state == "uncertain"
    for _ in range(3):
        books.outside("471", total="1860.00")
    run, (finding,) = books.run()
    assert counts(run) == {"matched": 1, "duplicate_at_destination": 3}
    assert finding.items == 3
    assert finding.amount == 5580
    assert len(finding.destination) == 4
    operation = refreshed(operation)
    assert operation.state == "uncertain", "four are not one match"
    assert finding.case is not None
    assert finding.case.operation == operation
    assert finding.case.kind == "several"
    assert Lookup.objects.get(operation=operation).verdict == "several"
    adds_up(run)


def test_duplicates_in_two_currencies_are_two_differences(listed: Books, clock: Clock) -> None:
    at = listed.plan.changed_at.isoformat()
    one, rand, euro = (
        record(number, key=key_of("90"), total="50.00", currency=currency, created_at=at)
        for number, currency in enumerate(("ZAR", "ZAR", "EUR"), 1)
    )

    person("ann")

    def doubled(*records: dict[str, Any]) -> tuple[Run, dict[str, Finding]]:
        HELD.pages = [[*records]]
        run, _ = listed.run()
        read = run.findings.select_related(*differences.READ).filter(item_class="duplicate_at_destination")
        return run, {duplicate.currency: duplicate for duplicate in read}

    def waive(finding: Finding) -> Decision:
        until, command = database_now() + timedelta(days=10), uuid.uuid4()
        said: dict[str, Any] = {"reason": "The shop knows.", "until": until, "command_id": command}
        return differences.decide(finding, Way.WAIVE, actor="ann", **said)

    first, before = doubled(one, rand, euro)
    clock.advance(86400)
    second, after = doubled(one, rand, euro)
    assert {leaves.current(duplicate) for duplicate in before.values()} == set(after.values())
    assert {(each.first_seen_at, each.came_back) for each in after.values()} == {(first.started_at, False)}
    decision = waive(after["ZAR"])
    assert leaves.standing(after["EUR"]) is None
    assert waivers.waived(second, database_now()) == [(after["ZAR"], decision)]
    other = waive(after["EUR"])
    assert {about for _, about in waivers.waived(second, database_now())} == {decision, other}
    clock.advance(86400)
    third, left = doubled(one, rand, euro | {"status": "void"})
    assert [*left] == ["ZAR"] and list(third.gone.all()) == [after["EUR"]]
    other.refresh_from_db()
    assert other.why_ended == f"Run {third.pk} found it gone."
