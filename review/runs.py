"""A run as people read it: what is open and for how long, what each class means, what was not tested."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Self

from ledger.models import Operation
from reconcile.classes import ItemClass
from reconcile.models import Finding, Run
from review import amounts, instants, wording
from review.tie_out import TieOut

SHOWN = 200
"""How many open differences stand on the page; all of them are in the command's JSON."""
AGES = ((0, "0–1"), (2, "2–7"), (8, "8–30"), (31, "31+"))
"""From how many days on, and how that is written."""
BAR_TOP, BAR_HEIGHT, BAR_STEP = 28, 100, 60


@dataclass(frozen=True)
class Bar:
    """How much is open for how long."""

    days: str
    count: int
    amount: str
    x: int
    y: float
    height: float

    @property
    def middle(self) -> int:
        """Where the words of the bar stand."""
        return self.x + 18

    @property
    def label_y(self) -> float:
        """Where its amount stands."""
        return self.y - 5


@dataclass(frozen=True)
class Ages:
    """The open differences of one currency by their age."""

    currency: str
    bars: list[Bar]
    count: int
    amount: str


@dataclass(frozen=True)
class Difference:
    """One finding as the table shows it."""

    finding: Finding
    name: str
    title: str
    icon: str
    first_seen: str
    age: str
    owner: str
    due: datetime | None
    late: bool

    @classmethod
    def of(cls, finding: Finding, run: Run, now: datetime) -> Self:
        """Read a finding; no query."""
        kind, operation, item = run.plan.operation_type, finding.operation, ItemClass(finding.item_class)
        first_id = finding.destination[0]["id"] if finding.destination else ""
        seen = finding.first_seen_at.astimezone(instants.zone())
        return cls(
            finding=finding,
            name=_name(operation) if operation else finding.reference or first_id or "Without a number",
            title=item.title(kind.destination.title),
            icon=item.shown.icon,
            first_seen=f"{seen.day}\u00a0{seen:%b}",
            age=_days(run, finding),
            owner=finding.case.owner if finding.case else kind.owner,
            due=finding.case.due_at if finding.case else None,
            late=bool(finding.case and finding.case.closed_at is None and finding.case.due_at < now),
        )


@dataclass
class Reading:
    """All that the page of one finished run shows."""

    run: Run
    findings: Sequence[Finding]
    now: datetime
    there: str = field(init=False)
    open: list[Finding] = field(init=False)
    tie_out: TieOut = field(init=False)

    def __post_init__(self) -> None:
        """Tell what is open from what is settled."""
        self.there = self.run.plan.operation_type.destination.title
        self.open = [finding for finding in self.findings if finding.is_open]
        self.tie_out = TieOut(self.run, self.open)

    @property
    def empty(self) -> list[tuple[str, str]]:
        """The classes with nothing in them, and what each means."""
        return [
            (item_class.title(self.there), item_class.sentence(self.there))
            for item_class in ItemClass
            if not self.run.classes[item_class]["count"]
        ]

    @property
    def filled(self) -> list[tuple[str, str]]:
        """The classes with something in them, and what each means."""
        return [
            (item_class.title(self.there), item_class.sentence(self.there))
            for item_class in ItemClass
            if self.run.classes[item_class]["count"]
        ]

    @property
    def items(self) -> int:
        """How many items there are, by class."""
        return sum(held["count"] for held in self.run.classes.values())

    @property
    def differences(self) -> list[Difference]:
        """The open differences, the largest first within each currency."""
        ordered = sorted(self.open, key=lambda f: (f.currency == "", f.currency, -(f.amount or 0), f.pk))
        return [Difference.of(finding, self.run, self.now) for finding in ordered[:SHOWN]]

    @property
    def not_shown(self) -> int:
        """How many open differences the page leaves out."""
        return max(len(self.open) - SHOWN, 0)

    @property
    def closed(self) -> list[Difference]:
        """Differences whose case was closed before and that have not changed since."""
        closed = [finding for finding in self.findings if not finding.is_open]
        return [Difference.of(finding, self.run, self.now) for finding in closed[:SHOWN]]

    @property
    def open_totals(self) -> list[tuple[str, str]]:
        """What is open in each currency."""
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for finding in self.open:
            if finding.amount is not None:
                totals[finding.currency] += abs(finding.amount)
        return [(currency, amounts.show(totals[currency], currency)) for currency in sorted(totals)]

    @property
    def ages(self) -> list[Ages]:
        """What is open by age, currency by currency."""
        by_currency: dict[str, list[Finding]] = defaultdict(list)
        for finding in self.open:
            if finding.amount is not None:
                by_currency[finding.currency].append(finding)
        return [self._ages(currency, by_currency[currency]) for currency in sorted(by_currency)]

    @property
    def not_tested(self) -> list[str]:
        """What nobody compared, so that nobody takes it for compared."""
        return not_tested(self.run)

    def _ages(self, currency: str, findings: Sequence[Finding]) -> Ages:
        groups: list[list[Decimal]] = [[] for _ in AGES]
        for finding in findings:
            days = (self.run.started_at - finding.first_seen_at) // timedelta(days=1)
            place = max(number for number, (start, _) in enumerate(AGES) if days >= start or start == 0)
            groups[place].append(abs(finding.amount or Decimal(0)))
        largest = max(sum(group, Decimal(0)) for group in groups) or Decimal(1)
        bars = [_bar(number, group, largest, currency) for number, group in enumerate(groups)]
        total = sum((sum(group, Decimal(0)) for group in groups), Decimal(0))
        return Ages(currency, bars, len(findings), amounts.show(total, currency))


def stamp(at: datetime) -> str:
    """Write a moment as a report does, which is read on another day: "30 Nov 2026, 07:02"."""
    there = at.astimezone(instants.zone())
    return f"{there.day}\u00a0{there:%b\u00a0%Y, %H:%M}"


def window(run: Run) -> str:
    """Write a run's window: "26 Oct 2026, 07:02 up to 30 Nov 2026, 07:02 SAST"."""
    zone = run.window_to.astimezone(instants.zone()).tzname() or ""
    return f"{stamp(run.window_from)} up to {stamp(run.window_to)} {zone}"


def not_tested(run: Run) -> list[str]:
    """Return what a run leaves untested, in sentences."""
    kind, there = run.plan.operation_type, run.plan.operation_type.destination
    record, listing = kind.how.record, kind.how.list
    compared = ["reference"]
    if record is not None:
        compared += ["amount, currency"] if record.amount is not None else []
        compared += ["status"] if record.status is not None else []
    said = [
        f"Texts, tax and lines. Compared: {', '.join(compared)}.",
        "What nobody handed to Tieout: this plan has no third side, its source.",
        f"Operations accepted before {stamp(run.window_from)}.",
        f"Other accounts of {there.title} than “{there.account}”.",
    ]
    allowed = [f"{cur}\u00a0{text}" for cur, text in sorted(run.plan.tolerance.items()) if Decimal(text)]
    if allowed:
        said.append(f"Differences of up to {', '.join(allowed)}: they count as matched.")
    if listing is not None and listing.paging.style == "none":
        said.append(f"Whether {there.title} cut its list short: it came as one page.")
    return said


def _name(operation: Operation) -> str:
    name = wording.name(operation)
    return f"{name} · {operation.subject}" if operation.subject else name


def _days(run: Run, finding: Finding) -> str:
    days = (run.started_at - finding.first_seen_at) // timedelta(days=1)
    return "today" if days < 1 else f"{days}\u00a0d"


def _bar(number: int, group: Sequence[Decimal], largest: Decimal, currency: str) -> Bar:
    amount = sum(group, Decimal(0))
    height = round(float(amount / largest) * BAR_HEIGHT, 1)
    return Bar(
        days=AGES[number][1],
        count=len(group),
        amount=amounts.show(amount, currency),
        x=12 + number * BAR_STEP,
        y=round(BAR_TOP + BAR_HEIGHT - height, 1),
        height=height,
    )
