"""Changed rules are tried on what the latest run has kept: what would change, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Model

from ledger.models import Event
from reconcile.models import Plan, Record, Run
from tests.reconcile.books import HELD, counts
from tests.reconcile.test_rules import BANK_DAY, Ruled, done, paid, ran
from tests.reconcile.test_rules import ruled as ruled


def tried(file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", "invoices", "--try", str(file), *options)
    said = capsys.readouterr()
    return int(str(ended.value.code)), said.out, said.err


def everything() -> list[Any]:
    kept: list[type[Model]] = [Record, Run, Plan, Event]
    return [list(model._default_manager.order_by("pk").values()) for model in kept]


@pytest.fixture
def file(ruled: Ruled, tmp_path: Path) -> Path:
    """A plan without rules has run, and a file would give it one."""
    books = ruled("")
    done(books, "1")
    done(books, "2", "7.00")
    HELD.pages = [[paid(1, "100.00", 20), paid(2, "7.00", 10)]]
    run, _ = ran(books)
    assert counts(run) == {"uncertain": 2, "unreadable": 2}
    changed = tmp_path / "changed.toml"
    changed.write_text((tmp_path / "books.toml").read_text() + BANK_DAY)
    return changed


def test_it_tells_what_would_change_and_writes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything()
    code, out, _ = tried(file, capsys, "--json")
    told = json.loads(out)
    assert code == 1 and told["lines"] == 2
    assert told["classes"] == {
        "unreadable": {"before": 2, "after": 1},
        "matched": {"before": 0, "after": 1},
        "uncertain": {"before": 2, "after": 1},
    }
    assert [(one["side"], one["before"], one["after"], one["rule"]) for one in told["changed"]] == [
        ("ledger", "uncertain", "matched", ""),
        ("destination", "unreadable", "matched", "bank-day"),
    ]
    code, out, _ = tried(file, capsys)
    assert code == 1 and "Nothing is changed." in out and "2 lines would be otherwise" in out
    assert everything() == before


def test_rules_that_are_in_force_change_nothing(ruled: Ruled, file: Path, capsys: Any) -> None:
    ran(ruled(BANK_DAY))
    code, out, _ = tried(file, capsys)
    assert code == 0 and "0 lines would be otherwise" in out


def test_a_tighter_tolerance_is_tried_too(ruled: Ruled, file: Path, capsys: Any) -> None:
    file.write_text(file.read_text().replace('ZAR = "0.00"', 'ZAR = "1.00"'))
    code, out, _ = tried(file, capsys)
    assert code == 1 and "matched" in out.lower()


def test_what_the_run_has_not_kept_is_said(file: Path, capsys: Any) -> None:
    file.write_text(file.read_text().replace("days = 2", 'on = { subject = "payer" }'))
    code, out, _ = tried(file, capsys)
    assert code == 0
    assert "Nothing was kept of payer: a rule that reads it finds nothing here." in out


def test_what_cannot_be_tried_is_refused_in_words(ruled: Ruled, file: Path, capsys: Any) -> None:
    file.write_text(file.read_text().replace("days = 2", "days = 99"))
    code, _, err = tried(file, capsys)
    assert code == 2 and "99 is too large" in err
    file.write_text("")
    code, _, err = tried(file, capsys)
    assert code == 2 and "says nothing of invoices" in err


def test_without_a_run_there_is_nothing_to_try_on(ruled: Ruled, tmp_path: Path, capsys: Any) -> None:
    ruled("")
    code, _, err = tried(tmp_path / "books.toml", capsys)
    assert code == 2 and "run it first" in err
