"""The bench works: a few operations of each kind, each figure beside its floor. No time is judged."""

import subprocess
import sys

from tests.bench import table, targets
from tests.bench.cells import Cell, ratio, turned
from tests.bench.place import Place
from tests.bench.run import bench
from tests.bench.targets import Figure, in_process, of_queue
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


def test_the_console_is_told_beside_its_targets_for_a_terminal_the_readme_and_programs() -> None:
    queue = {name: of_queue(ms, bare_ms=16.0, admin_ms=400.0) for name, ms in (("a", 32.0), ("b", 48.04))}
    figures = [
        Figure("a bare page", 15.0, 16.0, 1.0, 1.0),
        Figure("all open", 24.04, 32.0, 1.5, 2.0, queue["a"]),
        Figure("groups", 40.0, 48.04, 2.5, 3.0, queue["b"]),
        Figure("an operation", 25.0, 30.01, 1.6, 1.9, in_process(30.01)),
    ]
    page = targets.told(figures, about="In process.")
    assert "all open                                      24.0      32.0      1.50    2.00  met\n" in page
    assert "  not met: by a bare page 3.00 of 2; not met: of the admin's list 0.12 of 0.1\n" in page
    assert page.endswith("  not met: ms 30.01 of 30\n2 of 5 targets are met.")
    table = targets.readme(figures, about="In process.").splitlines()
    assert "| a bare page | 15.0 | 16.0 | 1.00 | 1.00 | |" in table
    assert "| all open | 24.0 | 32.0 | 1.50 | 2.00 | met |" in table
    said = targets.document(figures, about="In process.")["figures"]
    assert [[one["met"] for one in figure["targets"]] for figure in said] == [
        [],
        [True] * 2,
        [False] * 2,
        [False],
    ]
    assert said[1]["targets"][0] == {"of": "by a bare page", "found": 2.0, "at_most": 2.0, "met": True}


def test_the_consoles_command_tells_how_it_is_asked() -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "tests.bench.console", "--help"], capture_output=True, text=True, check=True
    )
    assert "--readme" in asked.stdout and "beside a bare page" in asked.stdout
