"""Known failures 58 and 59: the list is read to its end with counts per page, or the run says nothing."""

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from ledger.rules.states import Outcome
from reconcile.actions import start
from reconcile.models import Record, Run
from reconcile.running import NotWhole, execute, window
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record


def test_58_a_list_that_breaks_off_is_no_run(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))], None]
    with pytest.raises(NotWhole, match="broke off"):
        listed.run()
    run = Run.objects.get()
    assert (run.state, run.why_failed) == ("failed", "The list broke off.")
    assert not run.findings.exists()
    assert not Record.objects.exists(), "what was staged is of no use"
    assert run.place is None, "a destination's own link may carry a secret"
    with pytest.raises(IntegrityError, match="the ledger only grows"):
        Run.objects.update(place={"path": "/invoices?token=s3cret"})


def test_58_a_record_that_changes_while_the_list_is_read_counts_once_as_it_came_last(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [
        [record(1, key=key_of("1"), total="90.00"), record(2, key=None, currency="EUR")],
        [record(3, key=None), record(3, key=None), record(1, key=key_of("1"))],
    ]
    run, _ = listed.run()
    assert counts(run) == {"matched": 1, "unreadable": 2}
    assert (run.pages, run.records, run.repeated) == ([2, 3], 3, 2)
    assert run.totals["destination"] == {"count": 3, "amounts": {"EUR": "100.00", "ZAR": "200.00"}}
    adds_up(run)


def test_58_pages_of_a_real_destination_are_read_to_the_end(books: Books, tmp_path: object) -> None:
    for order in range(7):
        books.outside(str(order))
    kind = books.plan.operation_type
    kind.calls["list"]["path"] = kind.calls["list"]["path"].replace("limit=200", "limit=3")
    kind.save(update_fields=["calls"])
    books.plan.refresh_from_db()
    run, _ = books.run()
    assert run.pages == [3, 3, 1]
    assert counts(run) == {"unexpected_at_destination": 7}
    adds_up(run)


def test_58_a_list_that_starts_again_is_no_run(books: Books) -> None:
    assert books.sandbox is not None
    for order in range(4):
        books.outside(str(order))
    kind = books.plan.operation_type
    kind.calls["list"]["path"] = kind.calls["list"]["path"].replace("limit=200", "limit=2")
    kind.save(update_fields=["calls"])
    books.plan.refresh_from_db()
    books.sandbox.faults("restart_paging", "GET /invoices", count=None)
    with pytest.raises(NotWhole):
        books.run()


def test_a_page_costs_the_same_few_queries_however_much_it_holds(listed: Books) -> None:
    def queries(size: int) -> int:
        HELD.pages = [[record(number, key=key_of(str(number)), status="void") for number in range(size)]]
        start_at, to = window(listed.plan, None, None)
        run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
        with CaptureQueriesContext(
            connection,
        ) as captured:
            execute(run)
        return len(captured)

    queries(1)  # the first run has none before it, to ask what came late
    assert queries(5) == queries(200)


def test_59_a_voided_record_is_a_finding_and_no_money(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"), status="void")]]
    run, _ = listed.run()
    assert counts(run) == {"status_differs": 1}
    assert run.totals["destination"] == {"count": 0, "amounts": {}}
    adds_up(run)


def test_a_status_of_the_list_is_kept_without_secrets(listed: Books) -> None:
    HELD.pages = [[record(1, key=None, status="waits for thandi@example.com token=abc123secret")]]
    run, _ = listed.run()
    assert Record.objects.get(run=run).status == "waits for [e-mail] token=[redacted]"
