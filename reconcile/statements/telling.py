"""What two statements come to, for a terminal and as JSON: written as it is read, however much it is."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from ledger.rules.money import Money, show
from reconcile import tying
from reconcile.classes import ItemClass, is_finding
from reconcile.reports import aligned
from reconcile.statements import hints
from reconcile.statements.comparing import Difference, Held, Sum
from reconcile.statements.days import ORDERS
from reconcile.statements.reading import Statement
from reconcile.sums import Side, amount_text, shown
from reconcile.tying import Tie

SHOWN = 500
"""Differences that a terminal is shown; `--json` has all of them."""
LINES_SHOWN = 4
FOUND = frozenset(one for one in ItemClass if is_finding(one))
"""The classes of what differs."""
TITLES = {
    ItemClass.MISSING: "Missing",
    ItemClass.UNEXPECTED: "Extra",
    ItemClass.DUPLICATE: "Doubled",
}
ORDER_SHOWN = dict(zip(ORDERS, ("day first", "month first"), strict=True))


@dataclass
class Compared:
    """Two statements, compared: both files, the tie-out, and what the differences come to."""

    source: Statement
    destination: Statement
    tie: Tie
    sums: Sequence[Sum]
    classes: dict[str, dict[str, Any]] = field(init=False)
    hint: str = field(init=False)
    """Which other columns would match, where those that were compared hardly do."""

    def __post_init__(self) -> None:
        """Count the classes."""
        self.classes = tying.classes(self.tie, self.sums)
        self.hint = hints.of(self.source.layout, self.destination.layout, self.classes)

    @property
    def found(self) -> int:
        """How many items are differences."""
        return sum(self.classes[one]["count"] for one in FOUND)

    @property
    def clean(self) -> bool:
        """Say whether nothing differs, and nothing is unexplained."""
        return self.tie.ties and not self.found

    def not_tested(self) -> list[str]:
        """Say what these figures do not show."""
        said = [
            "Only references, amounts and currencies were compared: no day, status or text.",
            "What neither file lists.",
        ]
        for side in (self.source, self.destination):
            said += side.layout.notes
            if side.unreadable:
                said.append(
                    f"{side.unreadable} unreadable line{'s' * (side.unreadable != 1)} of {side.name}:"
                    " in no amount."
                )
            if side.left_out_count:
                rows = ", ".join(f"line {number} ({words})" for number, words in side.left_out[:LINES_SHOWN])
                more = side.left_out_count - min(side.left_out_count, LINES_SHOWN)
                said.append(f"Left out of {side.name}: {rows}{f' and {more} more' if more else ''}.")
        return said


def why(difference: Difference, source: str, destination: str) -> str:
    """Say what the difference is, with the lines that show it."""
    match ItemClass(difference.item_class):
        case ItemClass.UNREADABLE | ItemClass.AMBIGUOUS:
            name = source if difference.source else destination
            held = difference.source or difference.destination[0]
            return (
                f"Line {held.line} of {name}: {difference.why}{'' if difference.why.endswith('.') else '.'}"
            )
        case ItemClass.MISSING if difference.source:
            return f"On line {difference.source.line} of {source}, not in {destination}.{_also(difference)}"
        case ItemClass.UNEXPECTED:
            return (
                f"On {_lines(difference.destination)} of {destination}, not in {source}.{_also(difference)}"
            )
        case ItemClass.DUPLICATE:
            there = f"{_lines(difference.destination)} of {destination} carry it"
            return f"{there[0].upper()}{there[1:]}: {difference.items} too many."
        case _:
            first = difference.destination[0] if difference.destination else None
            return f"{_amount(difference.source)} in {source}, {_amount(first)} in {destination}."


def _also(difference: Difference) -> str:
    return f" {difference.why}" if difference.why else ""


def head(done: Compared) -> dict[str, Any]:
    """Return what two statements come to, without the differences; amounts are text."""
    return {
        "files": {"source": how_read(done.source), "destination": how_read(done.destination)},
        "hint": done.hint or None,
        "not_tested": done.not_tested(),
        "classes": done.classes,
        "totals": _totals(done.tie),
        "residual": tying.residuals(done.tie),
    }


def told(done: Compared, found: Iterable[Difference]) -> Iterator[dict[str, Any]]:
    """Yield each difference as the outside reads it, with its why."""
    for difference in found:
        words = why(difference, done.source.name, done.destination.name)
        yield _difference(difference) | {"why": words}


MEMBERS = ("files", "hint", "not_tested", "classes", "totals", "residual")
"""What `--json` says before the differences, as a report is kept."""


def head_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a kept report says before its differences."""
    return {name: report.get(name) for name in MEMBERS}


def document(head: Mapping[str, Any], found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what `--json` prints, piece by piece: the same keys as of a run, and how the files were read.

    `head` and `found` are what the two functions above return.
    """
    digest = hashlib.sha256(_canonical([head["classes"], head["totals"], head["residual"]]))
    yield json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}") + ',\n  "findings": ['
    before = "\n"
    for one in found:
        digest.update(_canonical({name: value for name, value in one.items() if name != "why"}))
        yield f"{before}    {json.dumps(one, ensure_ascii=False)}"
        before = ",\n"
    yield f'\n  ],\n  "digest": "{digest.hexdigest()}"\n}}'


def _totals(tie: Tie) -> dict[str, Any]:
    totals = tying.totals(tie)
    return {"source": totals.pop("ledger"), **totals}


def _canonical(told: object) -> bytes:
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def _difference(difference: Difference) -> dict[str, Any]:
    amount, currency = difference.amount, difference.currency
    return {
        "class": difference.item_class,
        "reference": difference.reference or None,
        "ledger": None,
        "source": _held(difference.source) if difference.source else None,
        "destination": [_held(one) for one in difference.destination],
        "amount": None if amount is None else amount_text(amount, currency),
        "currency": currency or None,
    }


def _held(held: Held) -> dict[str, Any]:
    return {
        "line": held.line,
        "id": held.id or None,
        "amount": None if held.amount is None else amount_text(held.amount, held.currency),
        "currency": held.currency or None,
        "date": held.day,
    }


def how_read(side: Statement) -> dict[str, Any]:
    """Return how a file is read, as the outside reads it."""
    layout = side.layout
    return {
        "name": side.name,
        "sha256": layout.checksum,
        "form": layout.form,
        "encoding": layout.encoding or None,
        "separator": layout.separator or None,
        "header_line": layout.header_line or None,
        "columns": dict(layout.columns.names),
        "currency": layout.columns.currency or None,
        "decimal_mark": side.mark,
        "unit": side.unit or None,
        "sign": "negated" if side.how.negated else None,
        "profile": side.how.profile or None,
        "profile_sha256": side.how.profile_digest or None,
        "days": side.order or None,
        "lines": side.count,
        "unreadable": side.unreadable,
        "left_out": [{"line": number, "begins": words} for number, words in side.left_out],
        "left_out_count": side.left_out_count,
        "notes": list(layout.notes),
    }


def text(done: Compared, found: Iterable[Difference]) -> Iterator[str]:
    """Yield what a terminal is shown, line by line, what was not tested included."""
    yield headline(done)
    if done.hint:
        yield done.hint
    for title, side in (("Should exist", done.source), ("Exists", done.destination)):
        yield f"{title}: {_read_as(side)}"
    for currency in done.tie.currencies:
        yield ""
        yield from _tie_table(done, currency)
    rows = [("Differences", "reference", "amount", "why")]
    for one in islice(found, SHOWN):
        amount = "–" if one.amount is None else shown(one.amount, one.currency)
        words = why(one, done.source.name, done.destination.name)
        rows.append((class_title(one.item_class), one.reference or "–", amount, words))
    if len(rows) > 1:
        yield ""
        yield from aligned(rows, right=(2,))
    if len(rows) > SHOWN:
        yield f"The first {SHOWN} are shown; --json has all of them."
    yield ""
    yield "Not tested:"
    for words in done.not_tested():
        yield f"- {words}"


def headline(done: Compared) -> str:
    """Say in one line whether everything is explained, and how much differs; nothing is netted."""
    if not done.tie.ties:
        left = [f"{currency} {amount}" for currency, amount in tying.residuals(done.tie).items()]
        return f"Unexplained: {done.tie.unexplained_items} items, {', '.join(left)}"
    if not done.found:
        return "Explained; nothing differs"
    amounts: dict[str, Decimal] = {}
    for one in done.sums:
        if one.amount is not None:
            amounts[one.currency] = amounts.get(one.currency, Decimal(0)) + abs(one.amount)
    listed = "".join(f", {shown(amount, currency)}" for currency, amount in sorted(amounts.items()))
    count = sum(one.differences for one in done.sums)
    items = f"{done.found} items in " if done.found != count else ""
    return f"Explained; {items}{count} difference{'s' * (count != 1)}{listed}"


def _read_as(side: Statement) -> str:
    layout = side.layout
    parts = [f"{part} in “{name}”" for part, name in layout.columns.names.items()]
    parts += [f"all in {layout.columns.currency}"] if layout.columns.currency else []
    parts += [f"decimal {'comma' if side.mark == ',' else 'point'}"]
    parts += [ORDER_SHOWN[side.order]] if side.order else []
    parts += ["amounts in the smallest units"] if side.unit else []
    parts += ["signs turned"] if side.how.negated else []
    parts += [f"by profile {side.how.profile}"] if side.how.profile else []
    written = [layout.form, f"header on line {layout.header_line}" * bool(layout.header_line)]
    written += [layout.encoding, layout.separator]
    return (
        f"{side.name}, {side.count} line{'s' * (side.count != 1)},"
        f" {', '.join(filter(None, written))}: {', '.join(parts)}"
    )


def class_title(item_class: str) -> str:
    """Name a class as files are compared by it."""
    one = ItemClass(item_class)
    return TITLES.get(one) or one.title("the destination")


def _lines_of(source: Side, destination: Side) -> str:
    """Say how many lines of either file: what is compared with each other is a line of each."""
    return f"{source.count} + {destination.count}"


def _tie_table(done: Compared, currency: str) -> Iterator[str]:
    tie = done.tie
    held = [line for line in tie.lines if line.currency == currency]
    rows: list[tuple[str, ...]] = [(currency or "No amount", "lines", "should exist", "exists")]
    for line in held:
        sides = (_cell(line.ledger, currency), _cell(line.destination, currency))
        rows.append((class_title(line.item_class), _lines_of(line.ledger, line.destination), *sides))
    sums = [Side(), Side()]
    for line in held:
        for total, side in zip(sums, (line.ledger, line.destination), strict=True):
            total.count, total.amount = total.count + side.count, total.amount + side.amount
    rows.append(("All classes", _lines_of(*sums), *(_cell(one, currency) for one in sums)))
    counted = (tie.ledger.get(currency, Side()), tie.destination.get(currency, Side()))
    rows.append(("Totals of the files", _lines_of(*counted), *(_cell(one, currency) for one in counted)))
    lines = aligned(rows)
    rule = "-" * max(map(len, lines))
    yield from (lines[0], rule, *lines[1:-2], rule, *lines[-2:])
    if currency:
        yield f"Unexplained {currency} {amount_text(tie.residual(currency), currency)}"
    else:
        yield f"Unexplained items: {tie.unexplained_items}"
    yield "=" * len(rule)


def _cell(side: Side, currency: str) -> str:
    if not side.count:
        return "–"
    return show(Money(side.amount, currency)) if currency else str(side.count)


def _lines(held: Sequence[Held]) -> str:
    numbers = ", ".join(f"{one.line}{f' ({one.id})' if one.id else ''}" for one in held[:LINES_SHOWN])
    more = f" and {len(held) - LINES_SHOWN} more" if len(held) > LINES_SHOWN else ""
    return f"line{'s' * (len(held) != 1)} {numbers}{more}"


def _amount(held: Held | None) -> str:
    if held is None or held.amount is None:
        return "no amount"
    return f"{show(Money(held.amount, held.currency))}\u00a0{held.currency}"
