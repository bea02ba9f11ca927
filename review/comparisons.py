"""Two dropped exports as people read them: how each file is read, and what their comparison came to."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from django.contrib.auth.models import User
from django.http import QueryDict

from ledger.models import database_now
from ledger.rules.money import DECIMALS
from reconcile.classes import ItemClass
from reconcile.histories.files import ENCODINGS
from reconcile.models import Comparison, Piece, Profile
from reconcile.statements import amounts as parsed
from reconcile.statements import days, keeping, rejecting, telling
from reconcile.statements.columns import OPTIONAL, PARTS
from reconcile.statements.profiles import saving
from reconcile.tables import About, Table
from review import access, amounts, kept
from review.tie_out import Group, groups

SHOWN = 200
"""How many differences stand on the page; all of them are in the CSV."""
NAMES = {
    "reference": "Reference",
    "amount": "Amount",
    "currency": "Currency",
    "date": "Day",
    "id": "Number",
    "debit": "Paid out",
    "credit": "Paid in",
    "sign": "Debit or credit",
}
UNITS = {"minor": "Smallest units"}
HELD = {"told": "Only tell what is off"}
RARE = ("debit", "credit", "sign")
"""What is asked for only where it is there, or nothing else is."""
TITLES = {"source": "What should exist", "destination": "What exists"}
MARKS = {"point": "Point: 1,234.50", "comma": "Comma: 1.234,50"}
ORDERS = {"dmy": "Day first", "mdy": "Month first"}
COLUMNS = ("class", "reference", "amount", "currency", "source_line", "destination_lines", "why")


@dataclass(frozen=True)
class Choice:
    """A box that states how a file is read: its values with their words, and the one that is chosen."""

    name: str
    label: str
    chosen: str
    values: list[tuple[str, str]]


@dataclass(frozen=True)
class Side:
    """One file: how it is read, its first lines as parsed, and what is left out."""

    side: str
    file: Mapping[str, Any]
    told: Mapping[str, Any]
    profiles: Sequence[str] = ()
    """What its reader may choose."""

    @property
    def title(self) -> str:
        """What the file is of."""
        return TITLES[self.side]

    @property
    def size(self) -> str:
        """How large the file is."""
        size = int(self.file["size"])
        return f"{size / 2**20:.1f}\u00a0MB" if size >= 2**20 else f"{max(1, size // 1024)}\u00a0kB"

    @property
    def lines(self) -> str:
        """How many lines it has."""
        count = int(self.told["lines"])
        return f"{grouped(count)} line{'s' * (count != 1)}"

    @property
    def refused(self) -> str:
        """Why it cannot be read as it is."""
        return str(self.told.get("refused", ""))

    @property
    def how(self) -> str:
        """Say in one line how it is read."""
        told = self.told
        parts = [str(told["form"])]
        parts += [f"header on line {told['header_line']}"] if told["header_line"] else []
        parts += [str(told["encoding"]).upper()] if told["encoding"] else []
        parts += [f"{told['separator']} between fields"] if told["separator"] else []
        parts += [f"decimal {'comma' if told['decimal_mark'] == ',' else 'point'}"]
        parts += [ORDERS[told["days"]].lower()] if told["days"] else []
        parts += ["amounts in the smallest units"] if told.get("unit") else []
        parts += [f"all in {told['currency']}"] if told["currency"] else []
        parts += ["signs turned"] if told.get("sign") else []
        parts += [f"by profile {told['profile']}"] if told.get("profile") else []
        return ", ".join(parts)

    @property
    def left_out(self) -> str:
        """Say which rows are left out."""
        rows = [f"line {row['line']} ({row['begins']})" for row in self.told["left_out"]]
        more = int(self.told["left_out_count"]) - len(rows)
        return ", ".join(rows) + (f" and {more} more" if more else "")

    @property
    def columns(self) -> list[Choice]:
        """The columns, each with the heading under which it is found or named."""
        found = self.told.get("columns") or {}
        headings = [heading for heading in dict.fromkeys(self.told.get("header", ())) if heading]
        made = []
        for part in PARTS:
            chosen = self.file["named"].get(part) or found.get(part, "")
            if part in RARE and not (chosen or self.refused):
                continue
            none = "None" if part in OPTIONAL and not self.refused else "Not found"
            values = [("", "All in one" if part == "currency" else none)]
            made.append(
                Choice(part, NAMES[part], chosen, values + [(heading, heading) for heading in headings])
            )
        return made

    @property
    def currency(self) -> str:
        """The currency of all lines, where one was written."""
        named = str(self.file["named"].get("currency", ""))
        return named if named in DECIMALS else ""

    @property
    def stated(self) -> list[Choice]:
        """What else can be stated of it, where it is not settled."""
        by_itself = ("", "As found")
        sheets = [(name, name) for name in self.told.get("sheets", ())]
        of_workbook = [Choice("sheet", "Sheet", self.file.get("sheet", ""), [by_itself, *sheets])]
        by = self.file.get("profile", "")
        known = dict.fromkeys([*self.profiles, *filter(None, [by])])
        of_source = [Choice("profile", "Profile", by, [("", "None"), *((name, name) for name in known)])]
        boxes = [
            *(of_source if known else ()),
            *(of_workbook if len(sheets) > 1 else ()),
            Choice("decimal", "Decimal mark", self.file["decimal"], [by_itself, *MARKS.items()]),
            Choice("unit", "Amounts in", self.file.get("unit", ""), [("", "Whole units"), *UNITS.items()]),
            Choice("days", "Days", self.file["days"], [by_itself, *ORDERS.items()]),
            Choice(
                "encoding",
                "Encoding",
                self.file["encoding"],
                [by_itself, *((name, name.upper()) for name in ENCODINGS)],
            ),
            Choice(
                "totals",
                "Totals in the file",
                self.file.get("totals", ""),
                [("", "Hold the lines to them"), *HELD.items()],
            ),
        ]
        useless = {*self.told.get("settled", ())}
        if not (self.refused or self.told.get("left_out_count") or self.file.get("totals")):
            useless.add("totals")
        return [box for box in boxes if box.name not in useless]

    @property
    def profile(self) -> str:
        """How it is read, as a section of the configuration file; empty where it cannot be kept."""
        return "" if self.refused or not self.told else saving.section(self.file, self.told)

    @property
    def first(self) -> list[dict[str, Any]]:
        """Its first lines as parsed."""
        names = ("line", "reference", "amount", "currency", "day", "id", "why")
        rows = [dict(zip(names, row, strict=True)) for row in self.told["first"]]
        return [row | {"amount": amounts.show(row["amount"], row["currency"])} for row in rows]


@dataclass(frozen=True)
class Difference:
    """One difference, as the table shows it."""

    told: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its class."""
        return telling.class_title(self.told["class"])

    @property
    def icon(self) -> str:
        """The class's symbol."""
        return ItemClass(self.told["class"]).shown.icon

    @property
    def amount(self) -> str:
        """What it comes to."""
        return amounts.whole(self.told["amount"], self.told["currency"] or "") or "–"

    @property
    def source(self) -> str:
        """Its line in the first file."""
        return str(self.told["source"]["line"]) if self.told["source"] else "–"

    @property
    def destination(self) -> str:
        """Its lines in the second file."""
        return ", ".join(str(held["line"]) for held in self.told["destination"]) or "–"


@dataclass(frozen=True)
class Reading:
    """The page of one comparison, at the same few queries however large the files are."""

    comparison: Comparison

    @classmethod
    def of(cls, owner: User) -> Self | None:
        """Read a person's own comparison; None where there is none."""
        found = Comparison.objects.filter(owner=owner).first()
        return None if found is None else cls(found)

    @property
    def works(self) -> bool:
        """Say whether a worker has it."""
        return self.comparison.state in Comparison.WORKING

    @cached_property
    def sides(self) -> list[Side]:
        """Both files, once they are read."""
        made, known = self.comparison, profiles()
        return [Side(side, made.files[side], made.read.get(side, {}), known) for side in keeping.SIDES]

    @property
    def refused(self) -> bool:
        """Say whether a file cannot be read as it is."""
        return any(side.refused for side in self.sides)

    @property
    def title(self) -> str:
        """Say in one line how far it is, or what it came to."""
        state, lines = Comparison.State, self.comparison.lines
        match self.comparison.state:
            case state.READING:
                return "Reading both files"
            case state.READ:
                return "A file cannot be read as it is" if self.refused else "Is this how to read them?"
            case state.COMPARING:
                return f"Comparing: {grouped(lines)} lines read" if lines else "Comparing"
            case state.DONE:
                return str(self.comparison.report["headline"])
        return "Not carried out"

    @cached_property
    def groups(self) -> list[Group]:
        """The tie-out, currency by currency."""
        report = self.comparison.report
        return groups(
            report["tie"],
            report["residual"],
            title=telling.class_title,
            still={},
            counted="Totals of the files",
        )

    @property
    def explained(self) -> bool:
        """Say whether the classes add up to the totals of the files."""
        return bool(self.comparison.report["tie"]["ties"])

    @cached_property
    def differences(self) -> list[Difference]:
        """The first of them, in the order of their classes."""
        made: list[Difference] = []
        for one in found(self.comparison):
            made.append(Difference(one))
            if len(made) == SHOWN + 1:
                break
        return made

    @property
    def shown(self) -> list[Difference]:
        """Those that stand on the page."""
        return self.differences[:SHOWN]

    @property
    def more(self) -> bool:
        """Say whether there are others."""
        return len(self.differences) > SHOWN

    @property
    def rejected(self) -> int:
        """How many lines of both files are unreadable."""
        return sum(side["unreadable"] for side in self.comparison.report["files"].values())

    @property
    def hint(self) -> str:
        """Which other columns would match, where those that were compared hardly do."""
        return self.comparison.report.get("hint") or ""

    @property
    def not_tested(self) -> list[str]:
        """What these figures do not show."""
        said: list[str] = self.comparison.report["not_tested"]
        return said


def shown(person: User) -> dict[str, Any]:
    """Return what the page shows of one's own comparison, and of what is kept."""
    return {
        "section": "compare",
        "now": database_now(),
        "reading": Reading.of(person),
        "command_id": uuid.uuid4(),
        "why_not": access.why_not(person, "propose"),
        "why_not_keep": access.why_not(person, "comment"),
        "kept": kept.Evidence.seen_by(person),
    }


def grouped(number: int) -> str:
    """Write a large number with its thousands apart."""
    return f"{number:,}".replace(",", "\u00a0")


def found(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield every difference as the outside reads it, piece by piece."""
    for part in keeping.parts(comparison, Piece.Of.DIFFERENCES):
        yield from json.loads(part)


def document(comparison: Comparison) -> Iterator[str]:
    """Yield what `compare --json` prints of these files."""
    return telling.document(telling.head_of(comparison.report), found(comparison))


def table(comparison: Comparison, *, author: str) -> Table:
    """Return the differences as a table, read some hundred at a time."""
    files, report = comparison.report["files"], comparison.report
    about = About(
        what=f"Differences of {files['source']['name']} and {files['destination']['name']}",
        asked="reference, amount and currency of each line",
        as_of=comparison.done_at or comparison.dropped_at,
        author=author,
        count=sum(
            told["count"] for name, told in report["classes"].items() if ItemClass(name) in telling.FOUND
        ),
        totals={f"unexplained {currency}": amount for currency, amount in report["residual"].items()},
        more={f"sha256 {side}": files[side]["sha256"] for side in keeping.SIDES},
    )
    return Table(about, COLUMNS, (_row(one) for one in found(comparison)))


def rejects(comparison: Comparison, *, author: str) -> Table:
    """Return the unreadable lines of both files as a table: where each stands, why, and what is there."""
    report = comparison.report
    kept = (one for part in keeping.parts(comparison, Piece.Of.REJECTS) for one in json.loads(part))
    return rejecting.table(
        report["files"],
        kept,
        count=sum(report["files"][side]["unreadable"] for side in keeping.SIDES),
        residual=report["residual"],
        author=author,
        as_of=comparison.done_at or comparison.dropped_at,
    )


def _row(told: dict[str, Any]) -> tuple[object, ...]:
    lines = " ".join(str(held["line"]) for held in told["destination"])
    return (
        told["class"],
        told["reference"] or "",
        None if told["amount"] is None else Decimal(told["amount"]),
        told["currency"] or "",
        told["source"]["line"] if told["source"] else None,
        lines,
        told["why"],
    )


def profiles() -> list[str]:
    """Return the names of the profiles that whoever reads may choose."""
    return list(Profile.objects.values_list("name", flat=True))


def stated(comparison: Comparison, said: QueryDict) -> dict[str, dict[str, Any]]:
    """Read how the files are to be read, as the boxes say it; what is in no box counts as not said."""
    return {side.side: _stated(side, said) for side in Reading(comparison).sides}


def _stated(side: Side, said: QueryDict) -> dict[str, Any]:
    known = {
        "unit": UNITS,
        "decimal": parsed.MARKS,
        "days": days.ORDERS,
        "encoding": ENCODINGS,
        "sheet": side.told.get("sheets", ()),
        "totals": HELD,
        "profile": side.profiles,
    }
    stated = {what: said.get(f"{side.side}-{what}", "") for what in keeping.STATED}
    named, found = {}, side.told.get("columns") or {}
    for choice in side.columns:
        chosen = said.get(f"{side.side}-{choice.name}", "")
        was = side.file["named"].get(choice.name)
        if chosen in dict(choice.values) and chosen and (was or chosen != found.get(choice.name)):
            named[choice.name] = chosen
    whole = said.get(f"{side.side}-all", "").strip().upper()
    if whole in DECIMALS and "currency" not in named:
        named["currency"] = whole
    return {
        "named": named,
        **{what: value if value in known[what] else "" for what, value in stated.items()},
    }
