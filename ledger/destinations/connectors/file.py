"""The connector for a folder of exports: the newest one is read, exactly or not at all.

Each export is whole: it holds all that the destination held at the instant in its name. What was sent since
is not in it, so its absence there proves nothing.
"""

import csv
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

from ledger.destinations.connectors.base import (
    LOOK_ITEMS,
    PULL_ITEMS,
    ConfigurationError,
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
    regular,
)
from ledger.destinations.connectors.wire import Deadline
from ledger.rules import moments, placeholders, strict_json
from ledger.rules.calls import RecordMap
from ledger.rules.connections import Connection, ExportName
from ledger.rules.errors import Malformed
from ledger.rules.outcomes import Answer
from ledger.rules.records import Unreadable, mark, read_moment, search

PAGE_ROWS = 1000
QUIET_S = 10
"""How long nobody may have written to an export before it is read: a copy of it may be on its way."""
JSON_MAX_BYTES = 64 * 1024 * 1024
"""A JSON document is read as one, so it must fit into memory."""


@dataclass(frozen=True)
class Exports:
    """Where exports are, which files are some, how they are read, and how their names tell their time."""

    path: str
    pattern: str
    format: str
    encoding: str
    separator: str
    as_of: ExportName

    @classmethod
    def of(cls, reach: Connection, title: str) -> "Exports":
        """Read how a destination's exports are reached; raises ConfigurationError with what is missing."""
        if reach.path is None or reach.format is None or reach.as_of is None:
            raise ConfigurationError(f"{title} needs path, format and as_of.")
        rest = (reach.pattern or "*", reach.format, reach.encoding or "utf-8", reach.separator or ",")
        return cls(reach.path, *rest, reach.as_of)


@dataclass(frozen=True)
class Export:
    """One export: its file, and the instant that it tells of."""

    file: Path
    as_of: datetime


class FileConnector:
    """Looks up and lists in the newest export of a folder."""

    def __init__(self, target: Target) -> None:
        self._exports = Exports.of(target.reach, target.title)

    def send(self, request: SendRequest) -> Answer:
        """Send nothing: this connector only reads."""
        return Answer("not_sent", detail="Exports are only read here: callers perform what goes there.")

    def look_up(self, request: LookRequest) -> Looked:
        """Read the newest export for one operation's records; a failure is part of the result."""
        deadline = Deadline(request.timeout_s)
        ours: list[object] = []
        try:
            call, values = request.call, request.values
            places = call.match or {request.record.reference: "{key}"}
            wanted = {place: placeholders.fill(text, values) for place, text in places.items()}
            export = newest(self._exports)
            for item in self._items(export, call.items, left_s=deadline.left_s):
                if _may_be(item, wanted):
                    ours.append(item)
                if len(ours) > LOOK_ITEMS:
                    raise IncompletePull(f"More than {LOOK_ITEMS} rows carry this reference.")
        except IncompletePull as error:
            return Looked(tuple(ours), complete=False, why=error.reason)
        except Malformed as error:
            return Looked((), complete=False, why=error.detail)
        return Looked(tuple(ours), complete=True, as_of=export.as_of)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Yield the newest export's rows since an instant, page by page; raises IncompletePull."""
        export = newest(self._exports)
        page: list[object] = []
        deadline = Deadline(request.timeout_s)  # of the page

        def left_s() -> float:
            return deadline.left_s()

        items = self._items(export, request.call.items, left_s=left_s)
        for number, item in enumerate(items, start=1):
            if number > PULL_ITEMS:
                raise IncompletePull(f"The export has more than {PULL_ITEMS} rows.")
            if not _before(item, request.record, request.since):
                page.append(item)
            if len(page) == PAGE_ROWS:
                yield ListPage(page, as_of=export.as_of)
                page, deadline = [], Deadline(request.timeout_s)
        if page:
            yield ListPage(page, as_of=export.as_of)

    def _items(self, export: Export, items: str | None, *, left_s: Callable[[], float]) -> Iterator[object]:
        """Yield what an export holds, one after the other; raises IncompletePull at what cannot be read."""
        name, form = export.file.name, self._exports.format
        try:
            with open(export.file, encoding=self._encoding(), newline="", opener=regular) as file:
                before = _seen(file)
                for number, item in enumerate(_READERS[form](file, items, self._exports)):
                    if number % PAGE_ROWS == 0 and left_s() <= 0:
                        raise IncompletePull(f"{name} could not be read in time.")
                    yield item
                if _seen(file) != before or _stamp(export.file.stat()) != before:
                    raise IncompletePull(f"{name} changed while it was read.")
        except OSError:
            raise IncompletePull(f"{name} cannot be read, or is gone.") from None
        except (ValueError, csv.Error, _Garbled) as error:
            where = (
                str(error) if isinstance(error, _Garbled) else f"it is no {form} in {self._exports.encoding}"
            )
            raise IncompletePull(f"{name} cannot be read exactly: {where}.") from None

    def _encoding(self) -> str:
        """Return how a file is decoded; a byte order mark before UTF-8 is no part of its first name."""
        name = self._exports.encoding
        return "utf-8-sig" if name.lower().replace("_", "-") in ("utf-8", "utf8") else name


class _Garbled(Exception):
    """A row has not the form of the others; the words name its line."""


def newest(exports: Exports) -> Export:
    """Return the newest export of a folder by the time in its name; raises IncompletePull.

    It tells of no later instant than that of its last change, which a copy can only make later.
    """
    folder, found = Path(exports.path), []
    try:
        for file in folder.iterdir():
            if fnmatchcase(file.name, exports.pattern):
                found.append((_told(file.name, exports), file))
        if not found:
            raise IncompletePull(f"There is no export {exports.pattern} in the folder.")
        told, file = max(found, key=lambda one: one[0])
        if sum(one == told for one, _ in found) > 1:
            raise IncompletePull("Two exports are of the same time: nobody can tell which one counts.")
        known = file.stat()
    except OSError:
        raise IncompletePull("The folder of exports, or a file in it, cannot be read.") from None
    if not stat.S_ISREG(known.st_mode):
        raise IncompletePull(f"{file.name} is no file that can be read to its end.")
    now, changed_at = datetime.now(UTC), datetime.fromtimestamp(known.st_mtime, UTC)
    if changed_at > now - timedelta(seconds=QUIET_S):
        raise IncompletePull(f"{file.name} was written to a moment ago: it may not be whole yet.")
    return Export(file, min(told, changed_at))


def _told(name: str, exports: Exports) -> datetime:
    """Read the earliest instant that a file's name may mean; raises IncompletePull where it tells none."""
    zone = exports.as_of.timezone
    try:
        instant, day = moments.read(name, form=exports.as_of.name, zone=zone)
    except moments.NoMoment:
        instant = day = None
    if day is not None:
        instant = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if instant is None:
        raise IncompletePull(f"The name {name} does not tell a time as as_of says; it might be the newest.")
    return instant


def _csv(file: IO[str], items: str | None, exports: Exports) -> Iterator[object]:
    """Read rows under a line of names; a cell without text is nothing."""
    rows = csv.reader(_whole_lines(file), delimiter=exports.separator, strict=True)
    names = next(rows, [])
    if not names or len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise _Garbled("its first line must name each column, and no two alike")
    for row in rows:
        if len(row) != len(names):
            raise _Garbled(f"line {rows.line_num} has {len(row)} columns, and {len(names)} are named")
        yield {name: cell or None for name, cell in zip(names, row, strict=True)}


def _jsonl(file: IO[str], items: str | None, exports: Exports) -> Iterator[object]:
    for number, line in enumerate(_whole_lines(file), start=1):
        try:
            yield strict_json.loads_decimal(line.encode())
        except Malformed:
            raise _Garbled(f"line {number} is no JSON that can be read exactly") from None


def _json(file: IO[str], items: str | None, exports: Exports) -> Iterator[object]:
    text = file.read(JSON_MAX_BYTES + 1)
    if len(text) > JSON_MAX_BYTES:
        raise _Garbled("it is larger than is read as one document; export it as jsonl")
    try:
        document = strict_json.loads_decimal(text.encode())
    except Malformed as error:
        raise _Garbled(error.detail.rstrip(".")) from None
    found = document if items is None else search(items, document)
    if not isinstance(found, list):
        raise _Garbled(f"there is no list at {json.dumps(items) if items else 'its top'}")
    yield from found


_READERS: Mapping[str, Callable[[IO[str], str | None, Exports], Iterator[object]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "json": _json,
}


def _whole_lines(file: IO[str]) -> Iterator[str]:
    """Yield lines; the last one must end, for what breaks off within a line was not written to its end."""
    line = "\n"
    for line in file:
        yield line
    if not line.endswith(("\n", "\r")):
        raise _Garbled("its last line does not end, so more may belong to it")


def _may_be(item: object, wanted: Mapping[str, str]) -> bool:
    """Say whether a row is the operation's, or cannot be told: then the judgement has to see it."""
    if not isinstance(item, dict):
        return True
    try:
        return all(mark(item, place) == value for place, value in wanted.items())
    except Unreadable:
        return True


def _before(item: object, record: RecordMap, since: datetime) -> bool:
    """Say whether a row is certainly from before an instant; a day counts with the days beside it."""
    try:
        instant, day = read_moment(record, item)
    except Unreadable:
        return False
    if instant is not None:
        return instant < since
    return day is not None and day < since.date() - timedelta(days=1)


def _seen(file: IO[str]) -> tuple[Any, ...]:
    return _stamp(os.fstat(file.fileno()))


def _stamp(known: os.stat_result) -> tuple[Any, ...]:
    return known.st_ino, known.st_size, known.st_mtime_ns
