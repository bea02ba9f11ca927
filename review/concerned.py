"""Whom reversed duplicates concerned: the customer of each operation, and what they were sent of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from ledger.models import Choice, Lookup, Operation, database_now
from ledger.rules.states import State
from reconcile import tables
from reconcile.sums import amount_text
from review import amounts, several, wording
from review.instants import day, zone

PERIOD = timedelta(days=30)
"""Without days, so long up to today."""
SHOWN, MOST = 200, 10_000
"""Operations on the page, and in the file."""
COLUMNS = (
    *("customer", "operation", "key", "what", "entity", "destination", "currency"),
    *("kept", "kept_amount", "kept_sent", "reversed", "reversed_amount", "reversed_sent", "left"),
    *("chosen_by", "approved_by", "chosen_at", "reversed_at"),
)


@dataclass(frozen=True)
class Gone:
    """One record that was reversed: what it came to, what is left of it, and what the customer was sent."""

    number: str
    whole: Decimal | None
    left: Decimal
    sent: str
    at: datetime


@dataclass(frozen=True)
class Line:
    """One operation whose extra records were reversed."""

    operation: Operation
    choice: Choice
    kept: Mapping[str, Any]
    gone: list[Gone]

    @property
    def customer(self) -> str:
        """Whom it concerned, as the operation names them."""
        return self.operation.subject

    @property
    def name(self) -> str:
        """The operation, as people call it."""
        return wording.name(self.operation)

    @property
    def currency(self) -> str:
        """In which its amounts are; empty where they are in several, or there are none."""
        return self.choice.currency

    @property
    def kept_amount(self) -> Decimal | None:
        """What the kept record comes to."""
        return several.amount_of(self.operation, self.kept)

    @property
    def reversed_amount(self) -> Decimal | None:
        """What was taken back, without what is left of it; None where no amount is known."""
        known = [one.whole - one.left for one in self.gone if one.whole is not None]
        return sum(known, Decimal()) if known else None

    @property
    def left(self) -> Decimal:
        """What is left of records that were reversed in part."""
        return sum((one.left for one in self.gone), Decimal())

    @property
    def kept_sent(self) -> str:
        """What the customer was sent of the kept one, as its record tells."""
        return several.sent(self.kept)

    @property
    def reversed_sent(self) -> str:
        """What they were sent of those that were reversed."""
        return "; ".join(f"{one.number}: {one.sent}" for one in self.gone if one.sent)

    @property
    def numbers(self) -> str:
        """The records that were reversed."""
        return ", ".join(one.number for one in self.gone)

    @property
    def at(self) -> datetime:
        """When the last of them was reversed."""
        return max(one.at for one in self.gone)

    @property
    def approved_by(self) -> str:
        """Who agreed to it, where it took two."""
        return self.choice.approval.decided_by if self.choice.approval is not None else ""

    def show(self, amount: Decimal | None) -> str:
        """Write an amount of it."""
        return amounts.whole(amount, self.currency) or "not known"

    @property
    def shown(self) -> tuple[str, str, str]:
        """What was kept, reversed and is left, as the page writes it."""
        left = self.show(self.left) if self.left else ""
        return self.show(self.kept_amount), self.show(self.reversed_amount), left


@dataclass(frozen=True)
class Report:
    """Those of a period of days in the reader's zone, both included, by customer."""

    first: date
    last: date
    made_at: datetime
    lines: list[Line]
    more: bool
    """Whether there are more than were read."""

    @property
    def query(self) -> str:
        """The same period, for an address."""
        return f"from={self.first}&to={self.last}"

    @cached_property
    def customers(self) -> int:
        """How many different ones are named."""
        return len({line.customer for line in self.lines if line.customer})

    @property
    def told(self) -> int:
        """Of how many operations a reversed record had been sent to somebody."""
        return sum(bool(line.reversed_sent) for line in self.lines)

    @cached_property
    def sums(self) -> dict[str, Decimal]:
        """What was reversed in each currency."""
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for line in self.lines:
            if line.currency and line.reversed_amount is not None:
                sums[line.currency] += line.reversed_amount
        return dict(sorted(sums.items()))

    @property
    def together(self) -> str:
        """The same in words."""
        return ", ".join(amounts.whole(amount, currency) for currency, amount in self.sums.items())


def read(first: str, last: str, *, most: int = SHOWN) -> Report:
    """Read a period, "2026-11-01" to "2026-11-30", in the reader's zone; four questions."""
    now = database_now()
    to = day(last) or now.astimezone(zone()).date()
    begin = min(day(first) or to - PERIOD, to)
    begins, ends = (datetime.combine(on, time.min, zone()) for on in (begin, to + timedelta(days=1)))
    done = Operation.objects.filter(
        reverses__isnull=False,
        state=State.COMPLETED.value,
        corrected_at=None,
        finished_at__gte=begins,
        finished_at__lt=ends,
    )
    pks: list[Any] = list(done.order_by("reverses").values_list("reverses", flat=True).distinct()[: most + 1])
    lines = sorted(_lines(done, pks[:most]), key=lambda line: (line.customer, line.operation.pk))
    return Report(begin, to, now, lines, len(pks) > most)


def _lines(done: Any, pks: list[Any]) -> Iterator[Line]:
    reversals: dict[int, list[Operation]] = defaultdict(list)
    of_them = done.filter(reverses__in=pks).select_related("reverses__operation_type__destination")
    for one in of_them.order_by("pk"):
        reversals[one.reverses_id].append(one)
    choices = Choice.objects.filter(operation__in=pks).select_related("lookup", "approval").order_by("pk")
    latest = {choice.operation_id: choice for choice in choices}
    seen = Lookup.objects.filter(operation__in=pks, complete=True).order_by("operation", "-asked_at", "-id")
    now = {one.operation_id: one.records for one in seen.distinct("operation")}
    for pk, made in reversals.items():
        choice = latest[pk]
        records = {record["id"]: record for record in choice.lookup.records}
        kept = records.get(choice.kept, {"id": choice.kept, "amount": None, "currency": ""})
        gone = [_gone(one, records, now.get(pk, ())) for one in made]
        original = made[0].reverses
        assert original is not None  # they were asked for by it
        yield Line(original, choice, kept, gone)


def _gone(one: Operation, records: Mapping[str, Any], now: Iterable[Mapping[str, Any]]) -> Gone:
    number = one.reversed_reference
    record = records.get(number, {"id": number})
    assert one.finished_at is not None  # a constraint: it is done
    left = several.left_now(one.amount, one.currency, number, now)
    return Gone(number, one.amount, left, several.sent(record), one.finished_at)


def table(report: Report, *, author: str) -> tables.Table:
    """Return the report as a table."""
    about = tables.About(
        what="Whom reversed duplicates concerned",
        asked=f"reversed from {report.first} to {report.last}, both days included, {zone()}",
        as_of=report.made_at,
        author=author,
        count=len(report.lines),
        totals={f"reversed {cur}": amount_text(amount, cur) for cur, amount in report.sums.items()},
        more={"complete": f"no: the first {len(report.lines)}" if report.more else "yes"},
    )
    return tables.Table(about, COLUMNS, map(_row, report.lines))


def _row(line: Line) -> tuple[object, ...]:
    kind = line.operation.operation_type
    exact = [_exact(amount, line.currency) for amount in (line.kept_amount, line.reversed_amount, line.left)]
    kept, taken, left = exact
    return (
        *(line.customer, str(line.operation.uid), line.operation.key, line.name),
        *(kind.destination.entity, kind.destination.title, line.currency),
        *(line.choice.kept, kept, line.kept_sent, line.numbers, taken, line.reversed_sent, left),
        *(line.choice.actor, line.approved_by, line.choice.made_at, line.at),
    )


def _exact(amount: Decimal | None, currency: str) -> Decimal | None:
    return None if amount is None or not currency else Decimal(amount_text(amount, currency))
