"""The bench works: a few operations of each kind, each figure beside its floor. No time is judged."""

import subprocess
import sys

from tests.bench import console, table
from tests.bench.cells import Cell, ratio, turned
from tests.bench.place import Place
from tests.bench.run import bench
from tests.databases import Database


def test_every_kind_of_work_is_measured_beside_its_floor(database: Database) -> None:
    place = Place.furnished(database.app_url, database.owner_url, environ=database.environ)
    result = bench(place, callers=(2,), rounds=1, seconds=0.02, beside_peer=False, at_once=20)
    measured = {(one["work"], one["mix"]): one for one in result["figures"]}
    several = {
        (work, mix) for work in ("beside", "product", "http") for mix in ("new", "duplicates", "snapshot")
    }
    assert set(measured) == several | {("within", "new"), ("batches", "new")}
    assert all(one["per_second"] > 0 and one["callers"] == 2 for one in measured.values())
    assert {key for key, one in measured.items() if one["by_floor"] is None} == {
        ("beside", mix) for mix in ("new", "duplicates", "snapshot")
    }
    assert result["machine"]["postgres"].endswith("(not durable)"), "the test's database forgets for speed"
    assert {"know the token", "SQL: claim and outcome, with events"} <= set(result["stages"])
    assert {"ledger actions", "SQL: claim and outcome, with events"} <= set(result["stages of batches"])
    assert "Tieout over HTTP" in table.plain(result) and "| Tieout over HTTP | 2 |" in table.readme(result)


def test_a_ratio_is_the_median_of_what_each_round_gave() -> None:
    floor, own = Cell("beside", 8), Cell("product", 8)
    rates = {floor: [100.0, 1000.0, 200.0], own: [50.0, 900.0, 120.0]}
    assert (ratio(rates, own), ratio(rates, floor)) == (0.6, None)
    assert ratio(rates, Cell("product", 8, "duplicates")) is None


def test_each_round_begins_elsewhere_and_keeps_what_belongs_together() -> None:
    cells = [Cell("beside", n) for n in (1, 2, 3)] + [
        Cell("beside", 1, "snapshot"),
        Cell("product", 1, "snapshot"),
    ]
    rounds = [turned(cells, number) for number in range(3)]
    assert all(sorted(map(str, one)) == sorted(map(str, cells)) for one in rounds)
    assert len({one[0] for one in rounds}) > 1
    assert all([cell.mix for cell in one] == ["new"] * 3 + ["snapshot"] * 2 for one in rounds)


def test_the_console_is_told_on_a_terminal_and_as_the_readmes_table(database: Database) -> None:
    found = {"a bare page": [16.0, 18.0, 1.0, 1.0], "all open": [24.04, 30.06, 1.5, 1.67]}
    assert "all open                                      24.0      30.1      1.50    1.67" in console.told(
        found, rounds=20
    )
    page = console.readme(found, rounds=20)
    assert "| all open | 24.0 | 30.1 | 1.50 | 1.67 |" in page and "; 20 interleaved rounds, on 20" in page
    asked = subprocess.run(
        [sys.executable, "-m", "tests.bench.console", "--help"], capture_output=True, text=True, check=True
    )
    assert "--readme" in asked.stdout and "beside a bare page" in asked.stdout
