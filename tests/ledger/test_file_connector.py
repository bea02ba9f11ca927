"""Folders of exports: the newest is read exactly or not at all, and proves only what had settled by then."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger.destinations import lookups
from ledger.destinations.conformance import BROKEN, HELD, Play, Scene, Stage, check
from ledger.destinations.connectors import file as files
from ledger.destinations.connectors.base import (
    IncompletePull,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.destinations.connectors.file import FileConnector
from ledger.models import Lookup
from ledger.rules.calls import ListCall, LookupCall, RecordMap, SendCall
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from ledger.rules.states import State, Verdict
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.conformance import subject

KEY = "order/483"
RECORD = RecordMap(id="number", reference="ref", amount="total", currency="currency", occurred_at="made_at")
AS_OF = {"name": "invoices-%Y-%m-%d-%H%M%S.csv", "timezone": "Africa/Johannesburg"}
HEAD = "number,ref,total,currency,made_at"
ROW = "INV-1,order/483,1240.00,ZAR,2026-11-10T09:00:00Z"
OTHER = 'INV-2,"order ""5"", old",7.00,,2026-10-01'


def export(
    folder: Path, *lines: str, name: str = "invoices-2026-11-10-120000.csv", age_s: float = 60, **how: Any
) -> Path:
    """An export of these lines that nobody has touched for a while."""
    text = how.get("text", "".join(f"{line}\n" for line in lines))
    file = folder / name
    file.write_bytes(text.encode(how.get("encoding", "utf-8")))
    stamp = time.time() - age_s
    os.utime(file, (stamp, stamp))
    return file


def connector(folder: Path, **reach: Any) -> FileConnector:
    known = {"path": str(folder), "pattern": "*.csv", "format": "csv", "as_of": AS_OF, **reach}
    return FileConnector(Target("shop", "Web shop", "main", Connection.read(known)))


def look(
    folder: Path, key: str = KEY, *, items: str | None = None, timeout_s: float = 10, **reach: Any
) -> Looked:
    request = LookRequest(LookupCall(items=items), Contract(), RECORD, {"key": key}, timeout_s)
    return connector(folder, **reach).look_up(request)


def pulled(folder: Path, since: datetime, **reach: Any) -> list[object]:
    request = ListRequest(ListCall(), Contract(), RECORD, since, 10)
    return [item for page in connector(folder, **reach).pages(request) for item in page.items]


def why(looked: Looked) -> str:
    assert not looked.complete
    return looked.why


# --- what is read


def test_a_row_is_an_object_of_text_by_its_column(tmp_path: Path) -> None:
    export(tmp_path, HEAD, ROW, OTHER)
    looked = look(tmp_path)
    row = {
        "number": "INV-1",
        "ref": KEY,
        "total": "1240.00",
        "currency": "ZAR",
        "made_at": "2026-11-10T09:00:00Z",
    }
    assert looked == Looked((row,), complete=True, as_of=datetime(2026, 11, 10, 10, tzinfo=UTC))
    (other,) = look(tmp_path, 'order "5", old').items
    assert isinstance(other, dict) and other["currency"] is None
    assert look(tmp_path, "order/484").items == ()


def test_other_forms_and_encodings_are_read_as_they_are_stated(tmp_path: Path) -> None:
    export(tmp_path, HEAD.replace(",", ";"), "INV-é;order/483;1.00;ZAR;", encoding="cp1252")
    assert rows(look(tmp_path, encoding="cp1252", separator=";"))[0]["number"] == "INV-é"
    export(tmp_path, HEAD, ROW, encoding="utf-8-sig")
    assert rows(look(tmp_path))[0]["number"] == "INV-1"
    export(tmp_path, '{"number": "INV-1", "ref": "order/483", "total": 10.50}')
    assert rows(look(tmp_path, format="jsonl"))[0]["total"] == Decimal("10.50")
    export(tmp_path, '{"data": [{"number": "INV-1", "ref": "order/483"}, {"number": "2", "ref": "x"}]}')
    assert len(rows(look(tmp_path, format="json", items="data"))) == 1


def rows(looked: Looked) -> list[dict[str, Any]]:
    assert looked.complete, looked.why
    return [item for item in looked.items if isinstance(item, dict)]


def test_the_newest_by_its_name_counts_whenever_it_was_copied(tmp_path: Path) -> None:
    export(tmp_path, HEAD, ROW, name="invoices-2026-11-09-120000.csv", age_s=20)
    export(tmp_path, HEAD, name="invoices-2026-11-10-120000.csv", age_s=600)
    export(tmp_path, "half", name="invoices-2026-11-11-120000.csv.part")
    assert rows(look(tmp_path)) == []


def test_it_tells_of_no_later_instant_than_its_last_change(tmp_path: Path) -> None:
    """A zone that is stated wrongly, or a clock that is ahead, must not make an old export a new one."""
    file = export(tmp_path, HEAD, name="invoices-2026-11-10-120000.csv")
    early = datetime(2026, 11, 10, 6, tzinfo=UTC).timestamp()
    os.utime(file, (early, early))
    assert look(tmp_path).as_of == datetime(2026, 11, 10, 6, tzinfo=UTC)


def test_a_name_that_tells_a_day_tells_of_its_beginning(tmp_path: Path) -> None:
    export(tmp_path, HEAD, name="invoices-2026-11-10.csv")
    as_of = {"name": "invoices-%Y-%m-%d.csv", "timezone": "Africa/Johannesburg"}
    assert look(tmp_path, as_of=as_of).as_of == datetime(2026, 11, 9, 22, tzinfo=UTC)


def test_a_list_brings_what_is_not_certainly_older(tmp_path: Path) -> None:
    undated = "INV-3,order/3,1.00,ZAR,"
    export(tmp_path, HEAD, ROW, OTHER, undated)
    numbers = [
        row["number"] for row in pulled(tmp_path, datetime(2026, 11, 1, tzinfo=UTC)) if isinstance(row, dict)
    ]
    assert numbers == ["INV-1", "INV-3"]
    assert len(pulled(tmp_path, datetime(2026, 10, 2, 12, tzinfo=UTC))) == 3


# --- what is not read


@pytest.mark.parametrize(
    ("reach", "text", "said"),
    [
        ({}, f"{HEAD}\n{ROW}\nINV-2,order/4,1,ZAR,2026", "its last line does not end"),
        ({}, f"{HEAD}\n{ROW}\nINV-2,order/4\n", "line 3 has 2 columns, and 5 are named"),
        ({}, f"{HEAD}\n{ROW}\n\n", "line 3 has 0 columns"),
        ({}, f'{HEAD}\n{ROW}\n"INV-2,order/4,1,ZAR,\n', "it is no csv"),
        ({}, f"{HEAD},ref\n", "no two alike"),
        ({}, "", "must name each column"),
        ({"encoding": "ascii"}, f"{HEAD}\nINV-é,order/483,1,ZAR,\n", "it is no csv in ascii"),
        ({"format": "jsonl"}, '{"number": 1}\n{"number": \n', "line 2 is no JSON"),
        ({"format": "jsonl"}, '{"ref": "a", "ref": "b"}\n', "line 1 is no JSON that can be read exactly"),
        ({"format": "json"}, '[{"number": 1}', "cannot be read exactly"),
        ({"format": "json"}, '{"data": []}', "there is no list at its top"),
    ],
)
def test_what_is_garbled_or_half_written_is_said_and_never_skipped(
    tmp_path: Path, reach: dict[str, Any], text: str, said: str
) -> None:
    export(tmp_path, text=text)
    assert said in why(look(tmp_path, **reach))
    with pytest.raises(IncompletePull, match="cannot be read exactly"):
        pulled(tmp_path, datetime(2026, 1, 1, tzinfo=UTC), **reach)


def test_one_that_may_still_be_written_to_is_not_read(tmp_path: Path) -> None:
    export(tmp_path, HEAD, ROW, age_s=1)
    assert "written to a moment ago" in why(look(tmp_path))


@pytest.mark.parametrize("change", ["append", "replace", "vanish"])
def test_one_that_changes_while_it_is_read_is_not_whole(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = export(tmp_path, HEAD, ROW)
    changes: dict[str, Callable[[], object]] = {
        "append": lambda: file.write_text(f"{HEAD}\n{ROW}\n{OTHER}\n"),
        "replace": lambda: export(tmp_path, HEAD, name="x").rename(file),
        "vanish": file.unlink,
    }

    def changing(*arguments: Any) -> Iterator[object]:
        yield from read(*arguments)
        changes[change]()

    read = files._READERS["csv"]
    monkeypatch.setattr(files, "_READERS", {"csv": changing})
    assert "changed while it was read" in (said := why(look(tmp_path))) or "is gone" in said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "There is no export *.csv"),
        (["invoices-2026-11-10-120000.csv", "invoices-newest.csv"], "might be the newest"),
        (["invoices-2026-11-10-120000.csv", "INVOICES-2026-11-10-120000.csv"], "of the same time"),
    ],
)
def test_where_nobody_can_tell_which_is_the_newest_nothing_is_read(
    tmp_path: Path, names: list[str], said: str
) -> None:
    for name in names:
        export(tmp_path, HEAD, ROW, name=name)
    assert said in why(look(tmp_path))


def test_a_pipe_among_exports_is_not_waited_for(tmp_path: Path) -> None:
    export(tmp_path, HEAD, ROW)
    os.mkfifo(tmp_path / "invoices-2026-11-11-120000.csv")
    assert "is no file that can be read to its end" in why(look(tmp_path))
    with pytest.raises(IncompletePull, match="is no file"):
        pulled(tmp_path, datetime(2026, 11, 1, tzinfo=UTC))


def test_a_folder_that_is_not_there_could_not_be_looked_in(tmp_path: Path) -> None:
    assert "The folder of exports" in why(look(tmp_path / "none"))


def test_limits_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(tmp_path, HEAD, ROW, ROW.replace("INV-1", "INV-2"))
    assert "in time" in why(look(tmp_path, timeout_s=0))
    monkeypatch.setattr(files, "LOOK_ITEMS", 1)
    assert "More than 1 rows" in why(look(tmp_path))
    monkeypatch.setattr(files, "PULL_ITEMS", 1)
    with pytest.raises(IncompletePull, match="more than 1 rows"):
        pulled(tmp_path, datetime(2026, 1, 1, tzinfo=UTC))
    monkeypatch.setattr(files, "JSON_MAX_BYTES", 10)
    assert "larger than is read" in why(look(tmp_path, format="json"))


def test_it_sends_nothing(tmp_path: Path) -> None:
    request = SendRequest(SendCall(), Contract(), {}, "k", {}, timeout_s=1)
    assert connector(tmp_path).send(request).stage == "not_sent"


# --- what it proves


def test_an_export_proves_only_what_had_settled_by_its_time(
    database: Database, clock: Clock, tmp_path: Path
) -> None:
    """The send ended at noon; exports of other instants come in, all of them copied later."""
    as_of = {"name": "invoices-%Y-%m-%d-%H%M%S.csv", "timezone": "UTC"}
    there = make.destination(
        "shop", connector="file", connection={"path": str(tmp_path), "format": "csv", "as_of": as_of}
    )
    noon = datetime(2026, 11, 10, 12, tzinfo=UTC)
    clock.set(noon)
    kind = make.kind(
        destination=there,
        contract={"settle": "10s"},
        calls={"record": RECORD.stored(), "lookup": {}},
        lookup_proved_at=noon,
    )
    operation = make.uncertain_operation(kind)
    clock.advance(3600)

    def look_in(moment: datetime, *lines: str) -> Lookup:
        for old in tmp_path.iterdir():
            old.unlink()
        export(tmp_path, HEAD, *lines, name=moment.strftime(as_of["name"]))
        return lookups.look(make.again(operation), actor="worker", reason="A look.")

    for early, lines in ((-60, ()), (9, ()), (9, (ROW,))):
        seen = look_in(noon + timedelta(seconds=early), *lines)
        assert (seen.verdict, seen.proof) == (Verdict.COULD_NOT_LOOK, False)
        assert "too early to show all that was sent" in seen.why
    seen = look_in(noon + timedelta(seconds=10), ROW)
    assert (seen.verdict, make.again(operation).state) == (Verdict.ONE_MATCH, State.COMPLETED)
    other = make.uncertain_operation(kind, key="order/484")
    look_in(noon + timedelta(hours=2))
    assert lookups.look(other, actor="worker", reason="A look.").verdict == Verdict.ABSENT


def test_it_keeps_every_rule(tmp_path: Path) -> None:
    calls = {"record": {"id": "id", "reference": "reference", "status": "status"}, "lookup": {}, "list": {}}
    reach = {"path": str(tmp_path), "format": "csv", "as_of": AS_OF, "base_url": None, "options": {}}
    found = list(check(subject(FileConnector, calls, **reach), Folder(tmp_path)))
    assert not [result for result in found if result.verdict == BROKEN]
    assert sum(result.verdict == HELD for result in found) > 8


class Folder:
    """Plays a folder: its export is there, is not there, is garbled or half of one."""

    scenes = frozenset({Scene.ANSWERS, Scene.REFUSES, Scene.GARBLES, Scene.BREAKS_OFF})

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def playing(self, play: Play, target: Target) -> Iterator[Stage]:
        for old in self.folder.iterdir():
            old.unlink()
        text = "id,reference,status\n" + "".join(
            f"R-{one.number},{one.reference},open\n" for one in play.held
        )
        if play.scene is Scene.ANSWERS:
            export(self.folder, text=text)
        elif play.scene is Scene.GARBLES:
            export(self.folder, text='"' + text)
        elif play.scene is Scene.BREAKS_OFF:
            export(self.folder, text=text[:-5])
        yield Stage(replace(target))
