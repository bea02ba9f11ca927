"""From rows to runs: each value is read exactly, or its row is said with the reason."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from ledger.rules import moments
from reconcile.histories import columns
from reconcile.histories.columns import PLATFORMS, Columns
from reconcile.histories.files import ROWS_MAX, FileRefused, Opened, Row

TEXT_MAX = 200
VERSION_MAX = 100
STATUSES_MAX = 50
BAD_KEPT = 100
SHORTENED = re.compile(r"\d(?:[.,]\d+)?E\+?\d+", re.IGNORECASE)
"""A long number as a spreadsheet writes it back: its digits are lost."""
SUCCESSFUL = frozenset[str]().union(
    *(platform.successful for platform in PLATFORMS if platform.name != "Make")
)
OTHERS = frozenset[str]().union(*(platform.others for platform in PLATFORMS if platform.name != "Make"))


class BadRow(ValueError):
    """A row cannot be read; the words say which part and why."""


@dataclass(frozen=True)
class Rules:
    """How a file is read, as the command was told; nothing of it is changed by what a row holds."""

    named: Mapping[str, str] = field(default_factory=dict)
    successful: frozenset[str] | None = None
    """Statuses, without regard to case; None: those of the platform."""
    timezone: str = ""
    """The zone of times that name none; without it such a row is bad."""
    time_format: str = ""
    encoding: str = ""
    version: str = ""
    """The version of every source record, where no column holds it."""


@dataclass(frozen=True)
class Read:
    """One successful run."""

    trigger: str
    version: str
    run: str
    at: datetime


@dataclass
class Reader:
    """Reads a file's rows and counts as it goes; whole only once every row has been asked for."""

    opened: Opened
    rules: Rules
    columns: Columns = field(init=False)
    rows: int = 0
    bad: int = 0
    bad_rows: list[tuple[str, str]] = field(default_factory=list)
    """The first bad rows: where they stand, and why they cannot be read."""
    statuses: Counter[str] = field(default_factory=Counter)
    shown: list[tuple[str, Read, str]] = field(default_factory=list)
    """The first rows as they were read, with their status."""

    def __post_init__(self) -> None:
        """Find the columns by the header, or by the first item."""
        first = next(self.opened.rows, None)
        if first is None:
            raise FileRefused("The file holds no runs.")
        self.columns = columns.find(self.opened, first, self.rules.named)
        self._rows = chain([first], self.opened.rows)

    @property
    def successful(self) -> frozenset[str]:
        """The statuses that count as successful."""
        if self.rules.successful is not None:
            return self.rules.successful
        platform = self.columns.platform
        return platform.successful if platform is not None else SUCCESSFUL

    def runs(self) -> Iterator[Read]:
        """Yield the successful runs; FileRefused where the file as a whole is not what it should be."""
        for row in self._rows:
            self.rows += 1
            if self.rows > ROWS_MAX:
                raise FileRefused("It has more than 1 000 000 rows. Export fewer days at a time.")
            try:
                read, status = self._read(row)
            except BadRow as error:
                self.bad += 1
                if len(self.bad_rows) < BAD_KEPT:
                    self.bad_rows.append((row.place, str(error)))
                continue
            if len(self.shown) < 5:
                self.shown.append((row.place, read, status))
            if status.casefold() in self.successful:
                yield read
        self._judge()

    def _read(self, row: Row) -> tuple[Read, str]:
        if row.why:
            raise BadRow(row.why)
        status = _text(self.columns.cell(row, "status"), "status").strip()
        self.statuses[status] += 1
        if len(self.statuses) > STATUSES_MAX:
            raise FileRefused(
                f'"{self.columns.paths["status"]}" has more than {STATUSES_MAX} different values: that is no'
                " status. Name the column with --columns status=…."
            )
        version = self.rules.version
        if "version" in self.columns.paths:
            version = _name(self.columns.cell(row, "version"), "version", longest=VERSION_MAX)
        read = Read(
            trigger=_name(self.columns.cell(row, "trigger"), "trigger"),
            version=version,
            run=_name(self.columns.cell(row, "run"), "run"),
            at=self._time(self.columns.cell(row, "time")),
        )
        return read, status

    def _time(self, value: object) -> datetime:
        rules = self.rules
        if isinstance(value, str):
            value = value.strip()
            value = int(value) if re.fullmatch(r"\d{9,14}", value) and not rules.time_format else value
        try:
            instant, day = moments.read(value, form=rules.time_format or None, zone=rules.timezone or None)
        except moments.NoMoment as error:
            raise BadRow(f"its time: {error}") from None
        if day is not None:
            raise BadRow("its time tells only a day")
        if instant is None:
            raise BadRow(_no_time(value, rules))
        return instant

    def _judge(self) -> None:
        """Refuse a file of which no row can be read, or whose statuses nobody has explained."""
        if self.bad == self.rows:
            place, why = self.bad_rows[0]
            raise FileRefused(f"No row of it can be read. The first, {place}: {why}.")
        if self.rules.successful is not None:
            return
        platform = self.columns.platform
        known = self.successful | (platform.others if platform is not None else OTHERS)
        unknown = [status for status in self.statuses if status.casefold() not in known]
        if unknown:
            named = ", ".join(f'"{status}" ({self.statuses[status]})' for status in sorted(unknown)[:10])
            raise FileRefused(
                f"Do these statuses say that a run was successful? {named}. Name all that do:"
                " --successful success,…; no other one counts then."
            )


def _text(value: object, part: str) -> str:
    if value is None:
        raise BadRow(f"it has no {part}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadRow(f"its {part} is neither text nor a whole number")
    text = str(value)
    if not text.strip():
        raise BadRow(f"its {part} is blank")
    if len(text) > TEXT_MAX:
        raise BadRow(f"its {part} has {len(text)} characters; {TEXT_MAX} are the most")
    if not text.strip().isprintable():
        raise BadRow(f"its {part} has characters that cannot be seen")
    return text


def _name(value: object, part: str, *, longest: int = TEXT_MAX) -> str:
    """Read what names something, exactly as it is written."""
    text = _text(value, part)
    if text != text.strip():
        raise BadRow(f"its {part} has white space at its beginning or end")
    if SHORTENED.fullmatch(text):
        raise BadRow(f"its {part} was shortened by a spreadsheet ({text}); export it again as text")
    if len(text) > longest:
        raise BadRow(f"its {part} has {len(text)} characters; {longest} are the most")
    return text


def _no_time(value: object, rules: Rules) -> str:
    if value is None or value == "":
        return "it has no time"
    if isinstance(value, str) and not rules.timezone and moments.read(value, zone="UTC")[0] is not None:
        return "its time names no zone; say --timezone, such as Africa/Johannesburg"
    if rules.timezone and isinstance(value, str) and moments.read(value, zone="UTC")[0] is not None:
        return "its time came twice or never there, because the clocks were changed"
    return "its time is not written as 2026-11-30T09:43:00+02:00, nor in (milli)seconds; say --time-format"
