"""Three sides: what the source says should exist, beside what was submitted and what the destination holds.

| the source has | Tieout has | the destination has | class |
|---|---|---|---|
| it | nothing | nothing | never submitted; in flight within the grace |
| it | nothing | it | unexpected, and says that the source has it |
| more, or less | it | it | amount under, or over |
| another currency | it | it | currency differs |
| it, cancelled | it, done | it | status differs |
| it, cancelled | it, did not happen | nothing | out of scope |
| it twice, alike | it | it | matched, and the surplus ambiguous |
| it twice, not alike | it | it | ambiguous, and so is the other row |
| a row of it that cannot be read | it | it | unreadable |
| nothing | it | it | unexpected; in flight within the grace |
| a row that cannot be read | nothing | nothing | unreadable |
"""

import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import IntegrityError

from ledger import actions
from ledger.models import Case, Lookup, database_now
from ledger.rules.states import Outcome
from reconcile import reports
from reconcile.differences import leaves
from reconcile.differences.actions import READ
from reconcile.differences.models import Way
from reconcile.models import Finding, Record
from tests.people import browser_of, person
from tests.reconcile.books import HELD, Books, adds_up, closed, counts, key_of, record, refreshed, row
from tests.reconcile.test_corrections import corrected

DONE = Outcome.SUCCEEDED


def done(books: Books, *orders: str, amount: str | None = "100.00") -> None:
    """Orders that were submitted, done and are listed."""
    for order in orders:
        books.claimed(order, DONE, reference=f"INV-{order}", amount=amount)
        HELD.pages = [[*(HELD.pages or [[]])[0], record(int(order), key=key_of(order))]]  # type: ignore[misc]


def test_each_row_is_beside_its_operation_or_in_a_class_of_its_own(sourced: Books) -> None:
    done(sourced, "1", "2", "3", "4", "5", "6", "7", "8")
    HELD.pages[0].append(record(9, key=key_of("9")))  # type: ignore[union-attr]
    long_ago = (database_now() - timedelta(days=2)).isoformat()
    HELD.rows = [
        [
            row("1"),
            row("2", amount="120.00"),
            row("3", amount="70.00"),
            row("4", currency="EUR"),
            row("5", status="cancelled"),
            row("6"),
        ],
        [
            row("6"),
            row("7", amount="1.00"),
            row("7", amount="2.00"),
            row("9"),
            row("10", date=long_ago),
            row("11", amount="ten"),
            row("12", status="cancelled"),
        ],
    ]
    run, found = sourced.run()
    assert counts(run) == {
        "matched": 2,
        "amount_under": 1,
        "amount_over": 1,
        "currency_differs": 1,
        "status_differs": 1,
        "ambiguous": 1 + 2,
        "unexpected_at_destination": 2,
        "never_submitted": 1,
        "unreadable": 1,
        "out_of_scope": 1,
    }
    adds_up(run)
    assert run.totals["source"] == {"count": 11, "amounts": {"EUR": "100.00", "ZAR": "693.00"}}
    said = {
        (one.item_class, one.reference.removeprefix("order/shop/").removesuffix("/v1")): one for one in found
    }
    assert {name: (one.amount and f"{one.amount:.2f}", one.why) for name, one in said.items()} == {
        ("unreadable", ""): (
            None,
            "A row of Web shop (order/shop/11/v1): It cannot be read: amount: The amount cannot be read.",
        ),
        ("ambiguous", "6"): ("100.00", "Web shop lists it 2 times, alike: 1 too many."),
        ("ambiguous", "7"): (
            "100.00",
            "INV-7 is there. Web shop: Rows that are not alike: which one counts cannot be told.",
        ),
        ("currency_differs", "4"): (
            "100.00",
            "100.00\xa0ZAR there, 100.00\xa0ZAR meant. Web shop has it: 100.00\xa0EUR.",
        ),
        ("amount_over", "3"): (
            "30.00",
            "100.00\xa0ZAR there, 100.00\xa0ZAR meant. Web shop has it: 70.00\xa0ZAR.",
        ),
        ("amount_under", "2"): (
            "20.00",
            "100.00\xa0ZAR there, 100.00\xa0ZAR meant. Web shop has it: 120.00\xa0ZAR.",
        ),
        ("status_differs", "5"): ("100.00", "INV-5 stands there, and Web shop has it as cancelled."),
        ("unexpected_at_destination", "8"): ("100.00", "INV-8 is there, and Web shop has no row of it."),
        ("unexpected_at_destination", "9"): (
            "100.00",
            "No operation of this type carries its reference. Web shop has it: 100.00\xa0ZAR.",
        ),
        ("never_submitted", "10"): (
            "100.00",
            "Web shop has it: 100.00\xa0ZAR. No operation of this type carries its key.",
        ),
    }
    assert said["never_submitted", "10"].source == {
        "id": None,
        "key": key_of("10"),
        "amount": "100.00",
        "currency": "ZAR",
        "status": "",
        "standing": "stands",
        "occurred_at": long_ago,
    }
    assert said["unexpected_at_destination", "8"].source is None
    assert said["status_differs", "5"].source["standing"] == "cancelled"  # type: ignore[index]


def test_each_difference_of_the_source_is_a_case_with_an_owner_and_ends_with_it(sourced: Books) -> None:
    """Never submitted, and what only the source makes differ; the operations' own cases are others."""
    done(sourced, "1", "2")
    doubt = sourced.claimed("3", Outcome.UNCERTAIN)
    HELD.pages[0].append(record(3, key=key_of("3")))  # type: ignore[union-attr]
    HELD.rows = [[row("1", amount="90.00"), row("3", status="cancelled"), row("4")]]
    run, _ = sourced.run()
    assert counts(run) == {
        "amount_over": 1,
        "unexpected_at_destination": 1,
        "status_differs": 1,
        "never_submitted": 1,
    }
    assert refreshed(doubt).state == "completed", "what is there completes it, whatever the source says"
    cases = list(Case.objects.order_by("pk"))
    assert [(one.kind, one.owner, one.operation) for one in cases] == [
        ("never_submitted", "finance", None)
    ] * 4
    assert not run.findings.filter(case=None).exists()
    sourced.run()
    assert Case.objects.count() == 4, "the next run opens no second case"
    HELD.rows = [[row(order) for order in ("1", "2", "3")]]
    sourced.claimed("4", DONE, reference="INV-4")
    HELD.pages[0].append(record(4, key=key_of("4")))  # type: ignore[union-attr]
    HELD.rows[0].append(row("4"))  # type: ignore[union-attr]
    last, found = sourced.run()
    assert (counts(last), found) == ({"matched": 4}, [])
    assert last.gone.count() == 4
    assert not Case.objects.filter(closed_at=None).exists()
    assert last.settled == {"closed": 4}
    adds_up(last)


def test_a_person_closes_what_only_the_source_makes_differ_and_it_stays_closed_until_it_changes(
    sourced: Books,
) -> None:
    person("ann")
    done(sourced, "1")
    HELD.rows = [[row("1", amount="90.00")]]
    run, _ = sourced.run()
    finding = run.findings.select_related(*READ).get()
    assert finding.by_source and leaves.why_not(finding, Way.CLOSE) == ""
    closed(finding, actor="ann", reason="The shop has given a rebate of its own.")
    assert Case.objects.get().closed_by == "ann"
    run, _ = sourced.run()
    assert not run.findings.get().is_open
    HELD.rows = [[row("1", amount="80.00")]]
    run, _ = sourced.run()
    assert run.findings.get().is_open, "it is another difference now"


def test_a_run_without_the_source_proves_nothing_of_it_gone(sourced: Books) -> None:
    HELD.rows = [[row("1")]]
    sourced.run()
    sourced.plan.source = None
    sourced.plan.save(update_fields=["source"])
    run, _ = sourced.run()
    assert run.gone.count() == 0 and Finding.objects.get().lives
    assert "source" not in run.tie and "source" not in run.totals


def test_within_the_grace_neither_side_is_missed(sourced: Books) -> None:
    sourced.plan.grace_s = 900
    sourced.plan.save(update_fields=["grace_s"])
    done(sourced, "1")
    now = database_now()
    early = (now - timedelta(minutes=14)).isoformat()
    late = (now - timedelta(minutes=16)).isoformat()
    today = now.astimezone(sourced.plan.zone).date().isoformat()
    rows = [row("2", date=early), row("3", date=late), row("4", date=today), row("5")]
    HELD.rows = [rows]
    run, found = sourced.run()
    assert counts(run) == {"in_flight": 3, "never_submitted": 2}
    assert [one.reference for one in found] == [key_of("3"), key_of("5")]
    adds_up(run)


def test_a_row_belongs_to_its_operation_whenever_that_was_accepted(sourced: Books) -> None:
    """The window does not matter to what has an operation, and of what has none it is the row's own date."""
    done(sourced, "1", "2")
    old = (database_now() - timedelta(days=40)).isoformat()
    HELD.rows = [[row("1", date=old), row("2"), row("3", date=old)]]
    run, _ = sourced.run()
    assert counts(run) == {"matched": 2, "out_of_scope": 1}
    adds_up(run)


def test_within_the_tolerance_of_one_side_the_other_may_be_beyond_it(sourced: Books) -> None:
    """Meant 100.00, there 100.50, at the source 99.80; half a rand is allowed between any two."""
    sourced.plan.tolerance = {"ZAR": "0.50"}
    sourced.plan.save(update_fields=["tolerance"])
    for order in ("1", "2"):
        sourced.claimed(order, DONE, reference=f"INV-{order}")
    HELD.pages = [[record(1, key=key_of("1"), total="100.50"), record(2, key=key_of("2"), total="99.50")]]
    HELD.rows = [[row("1", amount="99.80"), row("2", amount="99.60")]]
    run, found = sourced.run()
    assert counts(run) == {"amount_over": 1, "matched": 1}
    assert f"{found[0].amount:.2f}" == "0.70"
    assert not Lookup.objects.exists(), "within the tolerance nothing is held"
    adds_up(run)


def test_what_takes_an_operation_s_place_has_its_row(sourced: Books) -> None:
    """A correction has the row of what it corrects; that one needs none any more."""
    operation = sourced.claimed("1", DONE, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    made = corrected(operation, "90.00", "INV-2")
    HELD.pages[0].append(record(2, key=made.key, total="90.00"))  # type: ignore[union-attr]
    HELD.rows = [[row("1", amount="90.00")]]
    run, found = sourced.run()
    line = Record.objects.get(run=run, side="source")
    assert line.operation == made and line.backs is not None and line.backs.operation == made
    assert (counts(run), found) == ({"matched": 2}, [])
    adds_up(run)


def test_a_source_of_one_system_says_nothing_of_another_s_operations(sourced: Books) -> None:
    for system in ("shop", "market"):
        submission = replace(
            sourced.submission("1"),
            key=f"{system}/1",
            source={"system": system, "reference": "1", "version": "1"},
            payload={"metadata": {"operation": f"{system}/1"}},
        )
        reply = actions.claim(submission, actor="api:shop")
        assert reply.attempt is not None and reply.token is not None
        report = actions.Report(DONE, destination_reference=f"of {system}")
        actions.record(reply.attempt.uid, token=reply.token, report=report, actor="api:shop")
    HELD.pages = [[record(1, key="shop/1"), record(2, key="market/1")]]
    run, found = sourced.run()
    assert [one.reference for one in found] == ["shop/1"]
    adds_up(run)


def test_where_a_source_is_not_alone_what_it_has_no_row_of_is_not_its_business(sourced: Books) -> None:
    assert sourced.plan.source is not None
    sourced.plan.source["alone"] = False
    sourced.plan.save(update_fields=["source"])
    done(sourced, "1")
    HELD.rows = [[row("2")]]
    run, _ = sourced.run()
    assert counts(run) == {"matched": 1, "never_submitted": 1}
    adds_up(run)


def test_page_json_csv_and_command_tell_three_sides_and_the_way_between_them(
    sourced: Books, capsys: pytest.CaptureFixture[str]
) -> None:
    done(sourced, "1", "2")
    HELD.rows = [[row("1", amount="120.00"), row("2"), row("3", amount="7.00")]]
    run, found = sourced.run()
    ann = browser_of("ann")
    told = json.loads(ann.get(f"/runs/{run.uid}.json").getvalue())
    assert told["totals"]["source"] == {"count": 3, "amounts": {"ZAR": "227.00"}}
    assert told["tie_out"]["source"] == {"ZAR": {"count": 3, "amount": "227.00"}}
    sums = {line["class"]: line["source"]["amount"] for line in told["tie_out"]["lines"]}
    assert sums == {"amount_under": "120.00", "matched": "100.00", "never_submitted": "7.00"}
    csv = ann.get(f"/runs/{run.uid}.csv").getvalue().decode()
    assert '"tie-out ZAR total, source",227.00' in csv
    assert '"tie-out ZAR never_submitted, source",7.00' in csv
    page = ann.get(f"/runs/{run.uid}/").content.decode()
    steps = re.findall(r'<th role="rowheader" scope="row">([^<]+)</th><td.*?</td><td[^>]*>([^<]+)</td>', page)
    way = [(name.strip(), amount.strip()) for name, amount in steps]
    assert way[:4] == [
        ("Web shop: what should exist", "227.00"),
        ("Amount under", "−20.00"),
        ("Never submitted", "−7.00"),
        ("Durban Books should hold", "200.00"),
    ]
    assert "Web shop" in reports.table(run, found, now=database_now())
    difference = run.findings.get(item_class="never_submitted")
    shown = ann.get(f"/runs/{run.uid}/differences/{difference.pk}/").content.decode()
    assert "What Web shop has" in shown and "hand it over from Web shop" in shown


def test_no_row_is_of_two_items(sourced: Books) -> None:
    done(sourced, "1", "2")
    HELD.rows = [[row("1"), row("2")]]
    run, _ = sourced.run()
    first, second = Record.objects.filter(run=run, side="source").order_by("number")
    assert first.backs_id is not None
    wrongs: list[tuple[int, dict[str, object]]] = [
        (second.pk, {"backs": first.backs_id}),
        (first.pk, {"item_class": "matched"}),
        (first.backs_id, {"backs": second.pk}),
    ]
    for line, wrong in wrongs:
        with pytest.raises(IntegrityError, match="record_back"):
            Record.objects.filter(pk=line).update(**wrong)
