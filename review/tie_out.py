"""A run's tie-out as people read it: the way from one side to the other, and every item in its class."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from reconcile import reports
from reconcile.classes import ItemClass
from reconcile.differences.waivers import WAIVED
from reconcile.models import Run
from reconcile.sums import SOURCE, sides_of
from review import amounts

NOTHING: dict[str, Any] = {"count": 0, "amount": "0"}


@dataclass(frozen=True)
class Figures:
    """A count and an amount in one currency as a row of the tie-out shows them; "" for what has no amount."""

    items: str
    amount: str
    currency: str


@dataclass(frozen=True)
class TieRow:
    """One row of the tie-out, with the figures of each currency."""

    title: str
    figures: list[Figures]
    note: str = ""


@dataclass(frozen=True)
class ClassRow:
    """One class in one currency."""

    title: str
    icon: str
    items: int
    lines: tuple[int, int]
    """How many things ledger and destination hold: what is compared is one item, and a line of each."""
    open: int
    source: str
    """Nothing where the plan has no source."""
    ledger: str
    destination: str
    difference: str
    """What the destination holds less what the first side has."""


@dataclass(frozen=True)
class Group:
    """The classes of one currency and their foot."""

    currency: str
    rows: list[ClassRow]
    all: ClassRow
    before: list[ClassRow]
    """What the total was made of as the run began; nothing where none of it was carried in."""
    counted: ClassRow
    unexplained: ClassRow
    ties: bool


@dataclass(frozen=True)
class TieOut:
    """The figures of a finished run, from its snapshot; `open` counts the items that wait for somebody."""

    run: Run
    tie: Mapping[str, Any]
    """With what is waived set apart."""
    open: Mapping[tuple[str, str], int]
    """By class and currency."""

    @property
    def there(self) -> str:
        """The destination's own name."""
        return self.run.plan.operation_type.destination.title

    @property
    def source(self) -> str:
        """The source's own name; empty where the plan has none."""
        return str(self.run.sides[SOURCE]["name"]) if SOURCE in self.tie else ""

    @property
    def first(self) -> str:
        """The side that everything begins with."""
        return sides_of(self.tie)[0]

    @property
    def currencies(self) -> list[str]:
        """Every currency of the run; "" for what has no amount."""
        found: list[str] = self.tie["currencies"]
        return found

    @property
    def steps(self) -> list[TieRow]:
        """The way from the first side to what the destination should hold, class by class."""
        start = [self._figures(self.tie[self.first].get(cur, NOTHING), cur) for cur in self.currencies]
        what = f"{self.source}: what should exist" if self.source else "Tieout: operations accepted"
        rows = [TieRow(what, start)]
        titles = {str(one): one.title(self.there) for one in ItemClass} | {WAIVED: reports.WAIVED}
        for name, title in titles.items():
            steps = [
                _step((line for line in _every(self.tie, currency) if line["class"] == name), self.first)
                for currency in self.currencies
            ]
            if any(count or amount for count, amount in steps):
                figures = [
                    Figures(_signed(count), _stepped(amount, currency), currency)
                    for (count, amount), currency in zip(steps, self.currencies, strict=True)
                ]
                rows.append(TieRow(title, figures))
        return rows

    @property
    def should_hold(self) -> list[Figures]:
        """What the destination holds if every class is right."""
        return [
            self._figures(_plus(self.tie, currency, self.first), currency) for currency in self.currencies
        ]

    @property
    def holds(self) -> list[Figures]:
        """What its list held, counted while it was read."""
        return [self._figures(self.tie["destination"].get(cur, NOTHING), cur) for cur in self.currencies]

    @property
    def unexplained(self) -> list[Figures]:
        """What is left over in each currency."""
        return [
            Figures(
                str(_left(self.tie, currency)),
                amounts.show(self.run.residual.get(currency), currency) if currency else "",
                currency,
            )
            for currency in self.currencies
        ]

    @property
    def payouts(self) -> list[tuple[str, str, str, str]]:
        """Payouts that their parts do not explain: number, net, parts in words, what is left."""
        return [
            (
                one["id"],
                amounts.whole(one["net"], one["currency"]),
                ", ".join(
                    f"{name} {amounts.signed(Decimal(text), one['currency'])}"
                    for name, text in one["parts"].items()
                ),
                amounts.whole(one["unexplained"], one["currency"]),
            )
            for one in self.tie.get("payouts", ())
        ]

    @property
    def groups(self) -> list[Group]:
        """Every item in its class, currency by currency."""
        return groups(self.tie, self.run.residual, title=lambda one: one.title(self.there), still=self.open)

    def _figures(self, side: dict[str, Any], currency: str) -> Figures:
        amount = amounts.show(side["amount"], currency) if currency else ""
        return Figures(str(side["count"]), amount, currency)


def groups(
    tie: Mapping[str, Any],
    residual: Mapping[str, str],
    *,
    title: Callable[[ItemClass], str],
    still: Mapping[tuple[str, str], int],
    counted: str = "Counted another way",
) -> list[Group]:
    """Return the classes of a stored tie-out, currency by currency, each with its foot.

    `title` names a class, `still` counts what is open by class and currency, `counted` names the other total.
    """
    return [
        _group(tie, residual, currency, title=title, still=still, counted_as=counted)
        for currency in tie["currencies"]
    ]


def _group(
    tie: Mapping[str, Any],
    residual: Mapping[str, str],
    currency: str,
    *,
    title: Callable[[ItemClass], str],
    still: Mapping[tuple[str, str], int],
    counted_as: str,
) -> Group:
    held = _every(tie, currency)
    rows = [_class_row(line, currency, title, still) for line in held]
    sides = sides_of(tie)
    summed = {side: _summed(held, side) for side in sides}
    counted = {side: tie[side].get(currency, NOTHING) for side in sides}
    left = {side: _apart(counted[side], summed[side]) for side in sides}
    items = sum(row.items for row in rows)
    unexplained = _foot("Unexplained", left, currency, items=_left(tie, currency))
    if currency:
        unexplained = replace(unexplained, difference=amounts.show(residual[currency], currency))
    return Group(
        currency=currency,
        rows=rows,
        all=_foot("All classes", summed, currency, items=items, still=sum(row.open for row in rows)),
        before=_before(tie, currency),
        counted=_foot(counted_as, counted, currency),
        unexplained=unexplained,
        ties=not unexplained.items
        and not any(Decimal(side["amount"]) for side in left.values())
        and not Decimal(residual.get(currency, "0")),
    )


def _class_row(
    line: dict[str, Any],
    currency: str,
    title: Callable[[ItemClass], str],
    still: Mapping[tuple[str, str], int],
) -> ClassRow:
    name = line["class"]
    ledger, destination = line["ledger"], line["destination"]
    difference = Decimal(destination["amount"]) - Decimal(line[sides_of(line)[0]]["amount"])
    return ClassRow(
        title=reports.WAIVED if name == WAIVED else title(ItemClass(name)),
        icon="clock" if name == WAIVED else ItemClass(name).shown.icon,
        items=line["items"],
        lines=(ledger["count"], destination["count"]),
        open=still.get((name, currency), 0),
        source=_held(line[SOURCE], currency) if SOURCE in line else "",
        ledger=_held(ledger, currency),
        destination=_held(destination, currency),
        difference=amounts.signed(difference, currency) if currency else "",
    )


def _every(tie: Mapping[str, Any], currency: str) -> list[dict[str, Any]]:
    """Return all lines of one currency: the classes, and what is waived of them."""
    return [line for line in (*tie["lines"], *tie.get("waived", ())) if line["currency"] == currency]


def _before(tie: Mapping[str, Any], currency: str) -> list[ClassRow]:
    opening = tie.get("opening", {})
    sides = sides_of(tie)
    if not any(currency in opening.get(side, {}) for side in sides):
        return []
    return [
        _foot(title, {side: tie[name][side].get(currency, NOTHING) for side in sides}, currency)
        for name, title in reports.BEFORE.items()
    ]


def _step(lines: Iterable[dict[str, Any]], first: str) -> tuple[int, Decimal]:
    """Return what a class adds between the first side and the destination: items and amount."""
    count, amount = 0, Decimal(0)
    for line in lines:
        count += line["destination"]["count"] - line[first]["count"]
        amount += Decimal(line["destination"]["amount"]) - Decimal(line[first]["amount"])
    return count, amount


def _plus(tie: Mapping[str, Any], currency: str, first: str) -> dict[str, Any]:
    count, amount = _step(_every(tie, currency), first)
    start = tie[first].get(currency, NOTHING)
    return {"count": start["count"] + count, "amount": str(Decimal(start["amount"]) + amount)}


def _left(tie: Mapping[str, Any], currency: str) -> int:
    """Return how many things of one currency no class holds, on the side with more of them."""
    held = _every(tie, currency)
    apart = [_apart(tie[side].get(currency, NOTHING), _summed(held, side)) for side in sides_of(tie)]
    return max(int(side["count"]) for side in apart)


def _summed(lines: Sequence[dict[str, Any]], side: str) -> dict[str, Any]:
    amount = sum((Decimal(line[side]["amount"]) for line in lines), Decimal(0))
    return {"count": sum(line[side]["count"] for line in lines), "amount": str(amount)}


def _apart(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    amount = abs(Decimal(one["amount"]) - Decimal(other["amount"]))
    return {"count": abs(one["count"] - other["count"]), "amount": str(amount)}


def _foot(
    title: str, sides: dict[str, dict[str, Any]], currency: str, *, items: int = 0, still: int = 0
) -> ClassRow:
    difference = Decimal(sides["destination"]["amount"]) - Decimal(sides[sides_of(sides)[0]]["amount"])
    return ClassRow(
        title=title,
        icon="",
        items=items,
        lines=(sides["ledger"]["count"], sides["destination"]["count"]),
        open=still,
        source=_held(sides[SOURCE], currency, nothing="0") if SOURCE in sides else "",
        ledger=_held(sides["ledger"], currency, nothing="0"),
        destination=_held(sides["destination"], currency, nothing="0"),
        difference=amounts.signed(difference, currency) if currency else "",
    )


def _held(side: dict[str, Any], currency: str, *, nothing: str = "–") -> str:
    if not currency:
        return str(side["count"]) if side["count"] else nothing
    return amounts.show(side["amount"], currency) if side["count"] or nothing == "0" else nothing


def _stepped(amount: Decimal, currency: str) -> str:
    if not currency:
        return ""
    return amounts.signed(amount, currency) if amount else "–"


def _signed(count: int) -> str:
    return f"{'+' if count > 0 else '−'}{abs(count)}" if count else "–"
