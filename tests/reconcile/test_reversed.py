"""What a linked void has offset is shown as reversed by the next run: both sides of it, and what is left."""

import json
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from reconcile.actions import start
from reconcile.models import Plan, Run
from reconcile.running import execute, window
from tests.ledger.test_reversals import Several, lists
from tests.ledger.test_reversals import books as books
from tests.ledger.test_reversals import several as several
from tests.people import browser_of

LIST = {"path": "/invoices?updated_since={since}&limit=200", "items": "data"}


@pytest.fixture
def plan(several: Several) -> Plan:
    kind = several.durban.invoice
    kind.calls = kind.calls | {"list": LIST}
    kind.save(update_fields=["calls"])
    return Plan.objects.create(
        name="invoices", operation_type=kind, timezone="UTC", window_s=86400.0 * 3, grace_s=0
    )


def ran(plan: Plan) -> tuple[Run, list[tuple[str, int, str]]]:
    start_at, to = window(plan, None, None)
    run = start(plan, window_from=start_at, window_to=to, actor="ann")
    found = execute(run)
    return run, [(one.item_class, one.items, str(one.amount)) for one in found if one.operation_id]


def page(run: Run) -> str:
    html: str = browser_of("vic").get(f"/runs/{run.uid}/").content.decode()
    return html.replace("\xa0", " ")


def test_what_was_reversed_is_net_nothing_and_what_still_stands_stays_open(
    several: Several, plan: Plan
) -> None:
    operation = several(3)
    kept, gone, paid = several.there(operation)
    several.choose(operation, kept)
    several.write(paid, "paid")  # somebody paid one of them since it was chosen: it is left
    several.work()
    first, found = ran(plan)
    assert found == [("duplicate_at_destination", 1, "865.0000")]
    (told,) = first.reversed
    assert (told["reference"], told["ledger"]["id"]) == (operation.key, str(operation.uid))
    assert [told[name] for name in ("items", "surplus", "reversed", "net")] == [
        1,
        "865.00",
        "-865.00",
        "0.00",
    ]
    (record,) = told["records"]
    by = operation.reversals.get(reversed_reference=gone)
    assert record == {
        "id": gone,
        "status": "void",
        "standing": "void",
        "by": {"id": str(by.uid), "key": by.key},
    }
    shown = page(first)
    assert "Reversed, net 0.00 ZAR" in shown and "1 open difference, ZAR 865.00" in shown

    several.write(paid, "open")
    several.choose(several.looked(operation), kept)
    several.work()
    # A third one, which somebody voided without Tieout, is gone, and nobody's reversal.
    other = several(2)
    _, by_hand = several.there(other)
    several.write(by_hand, "void")
    several.looked(other)
    second, found = ran(plan)
    assert found == []
    (told,) = second.reversed
    assert [told[name] for name in ("items", "surplus", "net")] == [2, "1730.00", "0.00"]
    assert [one["id"] for one in told["records"]] == [gone, paid]
    shown = page(second)
    assert shown.count("its reversal") == 2 and f"/operations/{by.uid}/" in shown
    assert "−1 730.00" in shown and "Explained; nothing is open" in shown
    assert "Gone since the last run" not in shown, "it is told once"
    ann = browser_of("ann")
    assert json.loads(ann.get(f"/runs/{second.uid}.json").getvalue())["reversed"] == [told]
    (row,) = [
        line for line in ann.get(f"/runs/{second.uid}.csv").getvalue().decode().splitlines() if gone in line
    ]
    assert f"{gone} (void), {paid} (void): reversed, net 0.00." in row and ",2,0.00," in row
    by_command: dict[str, Any] = {}
    for form in ("--json", "--dry-run"):
        out = StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("reconcile", "invoices", form, "--dry-run", stdout=out)
        assert ended.value.code == 0
        by_command[form] = out.getvalue()
    assert json.loads(by_command["--json"])["reversed"] == [told]
    assert json.loads(by_command["--json"])["digest"] == second.digest
    assert "ZAR -1 730.00" in by_command["--dry-run"].replace("\xa0", " ")


def test_a_partial_offset_leaves_its_remainder_open_and_what_is_listed_as_nothing_was_too_much(
    several: Several, plan: Plan
) -> None:
    """Surplus is what was chosen, however the destination lists it once it is reversed."""
    operation = several(4)
    kept, zero, partly, lowered = several.there(operation)
    several.choose(operation, kept)
    several.work()
    lists(several, zero, "void", "0.00")
    lists(several, partly, "credited", "300.00")  # in part, and it stands no longer
    lists(several, lowered, "open", "65.00")  # in part, and what is left stands
    first, found = ran(plan)
    assert found == [("duplicate_at_destination", 2, "365.0000")]
    (told,) = first.reversed
    figures = [told[name] for name in ("items", "surplus", "reversed", "net")]
    assert figures == [3, "2595.00", "-2230.00", "365.00"]
    (finding,) = first.findings.filter(operation=operation)
    assert f"{partly} is reversed in part: 300.00" in finding.why.replace("\xa0", " "), finding.why
    assert finding.is_open and first.residual.get("ZAR") == "0.00"
    assert "Reversed, net 365.00 ZAR" in page(first)
    several.looked(operation)
    html = browser_of("vic").get(f"/operations/{operation.uid}/").content.decode().replace("\xa0", " ")
    assert "−2 230.00" in html and "Net of the extras</th>" in html, "what is left is not called proved"
    rows = browser_of("ann").get(f"/runs/{first.uid}.csv").getvalue().decode().splitlines()
    of_it = [row.split(",")[5] for row in rows if partly in row]
    assert sum(map(Decimal, of_it)) == 365, "what is left counts once"

    for record in (partly, lowered):
        lists(several, record, "credited", "865.00")  # as it was, as other destinations list what is void
    second, found = ran(plan)
    assert (found, second.reversed[0]["net"]) == ([], "0.00")
    assert second.gone.filter(operation=operation).count() == 1
