"""A run as people read it: what is open and for how long, what each class means, what was not tested."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from django.db.models import BooleanField, Count, ExpressionWrapper, F, Q, QuerySet, Sum
from django.db.models.functions import Abs, Coalesce

from ledger.models import Operation
from reconcile import findings, provenance, reports
from reconcile.classes import ItemClass
from reconcile.differences import ageing, waivers
from reconcile.differences.models import Decision
from reconcile.differences.waivers import WAIVED
from reconcile.models import Finding, Run
from reconcile.rules import ways
from review import amounts, instants, opening, origins, wording
from review.ages import Ages, Part
from review.tie_out import TieOut

SHOWN = 200
"""How many differences stand on one page; the others stand on the next, and all of them in the CSV."""
NO_AMOUNT = ExpressionWrapper(Q(currency=""), output_field=BooleanField())
LARGEST_FIRST = F("amount").desc(nulls_last=True)


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
    waived: str
    due: datetime | None
    late: bool

    @classmethod
    def of(
        cls,
        finding: Finding,
        run: Run,
        now: datetime,
        waiver: Decision | None = None,
        *,
        at: datetime | None = None,
    ) -> Self:
        """Read a finding, and who has waived it; no query. `at`: as of when its age is told, else its run."""
        kind, operation, item = run.plan.operation_type, finding.operation, ItemClass(finding.item_class)
        first_id = finding.destination[0]["id"] if finding.destination else ""
        seen = finding.first_seen_at.astimezone(instants.zone())
        return cls(
            finding=finding,
            name=_name(operation) if operation else finding.reference or first_id or "Without a number",
            title=item.title(kind.destination.title),
            icon=item.shown.icon,
            first_seen=f"{seen.day}\u00a0{seen:%b}",
            age=_days(at or run.started_at, finding),
            owner=finding.case.owner if finding.case else kind.owner,
            waived=_waived(waiver) if waiver else "",
            due=finding.case.due_at if finding.case else None,
            late=bool(finding.case and finding.case.closed_at is None and finding.case.due_at < now),
        )

    @property
    def opened(self) -> list[tuple[str, str]]:
        """The first of the destination's records with where each is opened, as far as addresses are known."""
        there = self.finding.run.plan.operation_type.destination
        of = [
            (one["id"], opening.url(there, one["id"]))
            for one in self.finding.destination[: findings.IDS_SHOWN]
        ]
        return [(number, url) for number, url in of if url]

    @property
    def elsewhere(self) -> list[dict[str, Any]]:
        """Operations of other types that carry it, as far as who reads sees them: id, type, key, state."""
        return reports.elsewhere(self.finding)


@dataclass(frozen=True)
class Reversed:
    """Surplus of one operation, and what offsets it."""

    told: Mapping[str, Any]
    name: str

    def _amount(self, name: str) -> str:
        return amounts.signed(Decimal(self.told[name]), self.told["currency"])

    @property
    def surplus(self) -> str:
        """What was too much."""
        return self._amount("surplus")

    @property
    def back(self) -> str:
        """What was reversed of it."""
        return self._amount("reversed")

    @property
    def net(self) -> str:
        """What is left of it."""
        return amounts.whole(self.told["net"], self.told["currency"])


@dataclass(frozen=True)
class Held:
    """What is open of one class and age in one currency."""

    item_class: str
    currency: str
    age: int
    findings: int
    items: int
    amount: Decimal
    weight: Decimal
    """Each amount times its days."""


@dataclass(frozen=True)
class Reading:
    """All that the page of one finished run shows, at the same few queries however much there is."""

    run: Run
    now: datetime
    after: Finding | None = None
    """The last difference of the page before."""
    itself: bool = False
    """The page begins with that one, rather than after it."""
    author: str = ""
    """Who reads it."""

    @cached_property
    def there(self) -> str:
        """The destination's own name."""
        return self.run.plan.operation_type.destination.title

    @cached_property
    def _open(self) -> list[Held]:
        rows = (
            self.run.findings.filter(is_open=True)
            .annotate(days=ageing.days(self.run.started_at))
            .values("item_class", "currency", age=ageing.bucket())
            .annotate(number=Count("pk"), held=Sum("items"), sum=Coalesce(Sum(Abs("amount")), Decimal(0)))
            .annotate(weight=Coalesce(Sum(Abs("amount") * F("days")), Decimal(0)))
        )
        names = ("item_class", "currency", "age", "number", "held", "sum", "weight")
        return [Held(*(row[name] for name in names)) for row in rows.order_by()]

    @property
    def still(self) -> reports.Open:
        """How much is open, over all pages."""
        amounts: dict[str, Decimal] = defaultdict(Decimal)
        for held in self._open:
            if held.currency:
                amounts[held.currency] += held.amount
        return reports.Open(sum(held.findings for held in self._open), amounts)

    @cached_property
    def tie_out(self) -> TieOut:
        """The figures of the snapshot."""
        open_items: dict[tuple[str, str], int] = defaultdict(int)
        for held in self._open:
            open_items[held.item_class, held.currency] += held.items
        for finding in (one for one, _ in self._waived if one.held):
            open_items[finding.item_class, finding.currency] -= finding.items
            open_items[WAIVED, finding.currency] += finding.items
        return TieOut(self.run, waivers.set_apart(self.run.tie, self._waived), open_items)

    @property
    def empty(self) -> list[tuple[str, str]]:
        """The classes with nothing in them, and what each means."""
        return [
            (item_class.title(self.there), item_class.sentence(self.there, self.tie_out.source))
            for item_class in ItemClass
            if not self.run.classes[item_class]["count"]
        ]

    @property
    def filled(self) -> list[tuple[str, str]]:
        """The classes with something in them, and what each means."""
        return [
            (item_class.title(self.there), item_class.sentence(self.there, self.tie_out.source))
            for item_class in ItemClass
            if self.run.classes[item_class]["count"]
        ]

    @property
    def items(self) -> int:
        """How many items there are, by class."""
        return sum(held["count"] for held in self.run.classes.values())

    @cached_property
    def _listed(self) -> list[Finding]:
        """The open differences of this page and one more, the largest first within each currency."""
        beyond = _beyond(self.after)
        if self.after and self.itself:
            beyond |= Q(pk=self.after.pk)
        rows = findings.stored(self.run).filter(is_open=True).filter(beyond)
        return list(rows.order_by(NO_AMOUNT, "currency", LARGEST_FIRST, "pk")[: SHOWN + 1])

    @property
    def differences(self) -> list[Difference]:
        """The open differences of this page."""
        known = self.waivers
        return [
            Difference.of(finding, self.run, self.now, known.get(finding.pk))
            for finding in self._listed[:SHOWN]
        ]

    @cached_property
    def _waived(self) -> waivers.Waived:
        return waivers.waived(self.run, self.now)

    @property
    def waivers(self) -> dict[int, Decision]:
        """Who has waived what of this run, by the number of the difference."""
        return {finding.pk: waiver for finding, waiver in self._waived}

    @property
    def waived(self) -> str:
        """Say how many of those open are waived, and what they come to; empty where none are."""
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for _, one in self._waived:
            if one.amount is not None:
                sums[one.currency] += abs(one.amount)
        whole = ", ".join(amounts.whole(sums[currency], currency) for currency in sorted(sums))
        count = len(self._waived)
        if not count:
            return ""
        are = "is waived" if count == 1 else "are waived"
        return f"{count} of them {are}{f', {whole}' if whole else ''}: counted here all the same."

    @property
    def last(self) -> int | None:
        """The last difference of this page, where there are more."""
        return self._listed[SHOWN - 1].pk if len(self._listed) > SHOWN else None

    @cached_property
    def closed(self) -> list[Difference]:
        """Differences whose case was closed before and that have not changed since."""
        return self._some(findings.stored(self.run).filter(is_open=False))

    @cached_property
    def closed_count(self) -> int:
        """How many those are, the ones that are not shown included."""
        return self._count(self.closed, self.run.findings.filter(is_open=False))

    @cached_property
    def gone(self) -> list[Difference]:
        """Differences of earlier runs of which this run found nothing more."""
        return self._some(self._no_more.select_related("operation", "case").order_by("pk"))

    @cached_property
    def gone_count(self) -> int:
        """How many those are, the ones that are not shown included."""
        return self._count(self.gone, self._no_more)

    @property
    def _no_more(self) -> QuerySet[Finding]:
        """What is gone, without the surplus that is shown as reversed."""
        told = [one["reference"] for one in self.run.reversed]
        return self.run.gone.exclude(item_class=ItemClass.DUPLICATE, reference__in=told)

    @cached_property
    def reversed(self) -> list[Reversed]:
        """Surplus that linked voids and credits have offset."""
        uids = [one["ledger"]["id"] for one in self.run.reversed[:SHOWN]]
        known = {str(one.uid): one for one in Operation.objects.filter(uid__in=uids)} if uids else {}
        return [Reversed(one, _name(known[one["ledger"]["id"]])) for one in self.run.reversed[:SHOWN]]

    @property
    def matched(self) -> list[tuple[str, int, str, str]]:
        """How what is matched was matched: in words, how many operations, their amount, what was let pass."""
        return [
            (
                f"{ways.WAYS[one['way']]}{' ' + one['rule'] if one['rule'] else ''}",
                one["items"],
                amounts.whole(one["amount"], one["currency"]) if one["currency"] else "",
                amounts.whole(one["apart"], one["currency"])
                if one["currency"] and Decimal(one["apart"]) and one["way"] != ways.SPLIT
                else "",
            )
            for one in self.run.matched
        ]

    @property
    def net(self) -> str:
        """What surplus and reversals come to together, in each currency."""
        nets: dict[str, Decimal] = {}
        for one in self.run.reversed:
            nets[one["currency"]] = nets.get(one["currency"], Decimal(0)) + Decimal(one["net"])
        return ", ".join(f"{amounts.show(net, cur)}\u00a0{cur}" for cur, net in sorted(nets.items()))

    def _some(self, rows: QuerySet[Finding]) -> list[Difference]:
        return [Difference.of(finding, self.run, self.now) for finding in rows[:SHOWN]]

    def _count(self, shown: Sequence[Difference], rows: QuerySet[Finding]) -> int:
        return rows.count() if len(shown) == SHOWN else len(shown)

    @property
    def open_totals(self) -> list[tuple[str, str]]:
        """What is open in each currency."""
        return [(cur, amounts.show(amount, cur)) for cur, amount in sorted(self.still.amounts.items())]

    @property
    def ages(self) -> list[tuple[Ages, Decimal | None]]:
        """What is open by age, currency by currency, and how old that is in days, weighed by value."""
        return [self._ages(currency) for currency in sorted(self.still.amounts)]

    @property
    def not_tested(self) -> list[str]:
        """What nobody compared, so that nobody takes it for compared."""
        said: list[str] = self.origin["not_tested"]
        return said

    @property
    def came_late(self) -> str:
        """How many records came late, and what they come to; empty where none did."""
        told = self.origin["came_late"]
        return origins.late(told) if told != provenance.NOT_KEPT and told["records"] else ""

    @property
    def came_from(self) -> list[tuple[str, str]]:
        """The same in words."""
        return list(origins.rows(self.run, self.origin))

    @cached_property
    def origin(self) -> dict[str, Any]:
        """Where its figures come from."""
        return provenance.of(self.run, author=self.author, now=self.now)

    def _ages(self, currency: str) -> tuple[Ages, Decimal | None]:
        held = [held for held in self._open if held.currency == currency]
        cells = [ageing.Cell()] * len(ageing.BUCKETS)
        for one in held:
            cells[one.age] += ageing.Cell(one.findings, one.amount)
        aged = ageing.Aged(currency, tuple(cells), sum((one.weight for one in held), Decimal(0)))
        return drawn(aged), aged.days


def drawn(aged: ageing.Aged) -> Ages:
    """Draw what is open of one currency by its age."""
    parts = [Part(days, c.count, c.amount) for (_, days), c in zip(ageing.BUCKETS, aged.cells, strict=True)]
    return Ages.of(aged.currency, parts)


def _waived(waiver: Decision) -> str:
    assert waiver.until is not None  # a constraint
    return f"Waived by {waiver.maker} until {stamp(waiver.until)}: “{waiver.reason}”"


def _beyond(after: Finding | None) -> Q:
    """Return what comes after a difference in the order of the page."""
    if after is None:
        return Q()
    if not after.currency:
        return Q(currency="", pk__gt=after.pk)
    smaller = Q(currency=after.currency, amount__lt=after.amount)
    same = Q(currency=after.currency, amount=after.amount, pk__gt=after.pk)
    return Q(currency="") | Q(currency__gt=after.currency) | smaller | same


def stamp(at: datetime) -> str:
    """Write a moment as a report does, which is read on another day: "30 Nov 2026, 07:02"."""
    there = at.astimezone(instants.zone())
    return f"{there.day}\u00a0{there:%b\u00a0%Y, %H:%M}"


def window(run: Run) -> str:
    """Write a run's window: "26 Oct 2026, 07:02 up to 30 Nov 2026, 07:02 SAST"."""
    zone = run.window_to.astimezone(instants.zone()).tzname() or ""
    return f"{stamp(run.window_from)} up to {stamp(run.window_to)} {zone}"


def _name(operation: Operation) -> str:
    name = wording.name(operation)
    return f"{name} · {operation.subject}" if operation.subject else name


def _days(at: datetime, finding: Finding) -> str:
    days = (at - finding.first_seen_at) // timedelta(days=1)
    return "today" if days < 1 else f"{days}\u00a0d"
