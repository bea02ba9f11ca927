"""Accounting periods as people read them: each month of a plan, what it came to, and what comes next."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from django.contrib.auth.models import User
from django.db.models import Case, Count, DecimalField, F, OuterRef, Subquery, Sum, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Abs, Coalesce, NullIf

from ledger.rules import actors
from ledger.rules.approvals import Answer
from reconcile.classes import ItemClass
from reconcile.models import ExpectedRun, LateItem, Period, PeriodReport, Run, SignOff
from reconcile.periods import actions, drifting, leaves
from reconcile.sums import SOURCE
from review import access, amounts, signing_off, tie_out, wording
from review.instants import instant
from review.runs import stamp
from review.wording import Badge

DRIFT = Case(
    When(kind=LateItem.CHANGED, was_currency=F("currency"), then=Abs(F("amount") - F("was_amount"))),
    default=Abs(Coalesce(F("amount"), F("was_amount"))),
    output_field=DecimalField(),
)
"""By how much a record differs from what was signed, in its currency of now."""
SAID = {
    LateItem.NEW: "was not there",
    LateItem.CHANGED: "has another amount",
    LateItem.VOIDED: "was voided",
    LateItem.AGAIN: "stands again",
    LateItem.MOVED: "bears another date",
    LateItem.GONE: "is gone",
}
SHOWN = 200
"""Differences that stand on the page of a period; all of them in its files."""
OPEN, PREPARED, SIGNED = (
    Badge("pending", "Open", "pending"),
    Badge("running", "Prepared", "clock"),
    Badge("completed", "Signed", "completed"),
)


@dataclass(frozen=True)
class Listed:
    """A period in the list: how it stands, what it came to, who did what, and what comes next."""

    period: Period
    badge: Badge
    headline: str
    who: str
    next: str
    address: str = ""
    """Where what comes next is done, unless on the period's own page."""


def listed(now: datetime, *, plan: str = "", before: Period | None = None, most: int = 50) -> list[Listed]:
    """Return periods, the latest first, in three queries: one more than `most`, if there is."""
    rows = Period.objects.select_related("plan__operation_type__destination").with_standing()
    if plan:
        rows = rows.filter(plan__name=plan)
    if before is not None:
        rows = rows.filter(first_day__lt=before.first_day) | rows.filter(
            first_day=before.first_day, pk__lt=before.pk
        )
    found: list[Any] = list(rows.order_by("-first_day", "-pk")[: most + 1])
    standing = SignOff.objects.in_bulk({one.standing_pk for one in found if one.standing_pk})
    reports: Any = PeriodReport.objects.filter(pk__in={one.report_pk for one in found if one.report_pk})
    headlines = dict(reports.values_list("pk", KeyTextTransform("headline", "document")))
    return [_listed(one, standing.get(one.standing_pk), headlines, now) for one in found]


def _listed(period: Any, one: SignOff | None, headlines: dict[int, str], now: datetime) -> Listed:
    headline = headlines.get(period.report_pk, "")
    if one is None:
        to_come = now < period.cut_off_at
        step = f"after its cut-off, {instant(period.cut_off_at, now)}" if to_come else "run its days"
        step = "prepare it" if headline and not to_come else step
        return Listed(period, OPEN, headline or "No report yet", "", step)
    if one.answer != Answer.APPROVED:
        due = f"sign it, due by {instant(one.due_at, now)}"
        return Listed(period, PREPARED, headline, f"prepared by {one.maker}", due)
    at = f" {instant(one.decided_at, now)}" if one.decided_at else ""
    who = f"prepared by {one.maker}, signed by {one.decided_by}{at}"
    return Listed(period, SIGNED, headline, who, "")


@dataclass(frozen=True)
class Item:
    """A difference that was open at the cut-off."""

    name: str
    title: str
    icon: str
    amount: str
    why: str


@dataclass(frozen=True)
class Late:
    """What of a signed period is otherwise now."""

    item: LateItem
    what: str
    was: str
    now: str

    @classmethod
    def of(cls, one: LateItem) -> Self:
        """Read one."""
        was = amounts.whole(one.was_amount, one.was_currency) if one.was_amount is not None else "–"
        now = amounts.whole(one.amount, one.currency) if one.amount is not None else "–"
        return cls(one, SAID[one.kind], was, now)


@dataclass(frozen=True)
class Reading:
    """All that the page of one period shows."""

    period: Period
    person: User
    now: datetime

    @cached_property
    def signature(self) -> signing_off.Signature:
        """Who has prepared and signed it."""
        run = self.report.run if self.report else None
        return PeriodSignature(run, self.person, self.now, self.period, self.report)

    @cached_property
    def report(self) -> PeriodReport | None:
        """What is signed, or else the latest."""
        rows = PeriodReport.objects.select_related("run__plan__operation_type__destination", "period__plan")
        standing = leaves.standing(self.period)
        if standing is not None:
            return rows.get(run=standing.run_id)
        return leaves.latest(self.period)

    @property
    def badge(self) -> Badge:
        """How it stands."""
        standing = self.signature.standing
        if standing is None:
            return OPEN
        return SIGNED if standing.is_signed else PREPARED

    @property
    def headline(self) -> str:
        """What it came to as of its cut-off."""
        return str(self.report.document["headline"]) if self.report else "No report yet"

    @cached_property
    def why_no_run(self) -> str:
        """Say why this person does not run its days; empty where they may."""
        if not access.may(self.person, "reconcile"):
            return access.lacking(self.person)
        standing = self.signature.standing
        if standing is not None and standing.is_signed:
            return "It is signed: it is opened again before its days are run for it."
        return leaves.why_not_run(self.period, self.now)

    @property
    def latest_run(self) -> int:
        """The number of the latest run over its days, 0 for none."""
        days = {"first_day": self.period.first_day, "last_day": self.period.last_day}
        run = Run.objects.filter(plan=self.period.plan_id, dry_run=False, **days).order_by("-pk").first()
        return run.pk if run else 0

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Say which month it is, and until when what is made counts."""
        period = self.period
        there = period.plan.operation_type.destination
        grace = wording.several(period.grace_business_days, "business day")
        days = f", {grace} after the month" if period.grace_business_days else ", the end of the month"
        off = f", without the holidays of {period.holidays}" if period.holidays else ""
        told = [
            ("Entity", there.entity),
            ("Reconciliation", f"{period.plan.name}: {period.plan.operation_type.label}, {there.title}"),
            ("Days", f"{period.first_day} up to and with {period.last_day}, {period.timezone}"),
            ("Cut-off", f"{stamp(period.cut_off_at)}{days}{off}"),
            ("Due times", self._due),
        ]
        if self.report:
            run = self.report.run
            told.append(("Report", f"by run {run.pk}, {stamp(run.started_at)}, by {wording.who(run.actor)}"))
        return told

    @property
    def _due(self) -> str:
        """Say how many of its due times nothing ran for."""
        period = self.period
        own = ExpectedRun.objects.filter(plan=period.plan_id)
        rows = own.filter(due_at__gte=period.starts_at, due_at__lt=period.ends_at).due(self.now)
        count = rows.count()
        missed = own.missed(self.now).filter(due_at__gte=period.starts_at, due_at__lt=period.ends_at).count()
        said = wording.several(count, "due time")
        return f"{said}, {missed} of them not started" if missed else said

    @cached_property
    def groups(self) -> list[tie_out.Group]:
        """Every item in its class as of the cut-off, currency by currency."""
        if self.report is None:
            return []
        told = self.report.document
        still: dict[tuple[str, str], int] = {}
        for one in told["open"]:
            key = (one["class"], one["currency"] or "")
            still[key] = still.get(key, 0) + 1
        there = self.period.plan.operation_type.destination.title
        return tie_out.groups(
            told["tie_out"], told["residual"], title=lambda one: one.title(there), still=still
        )

    @property
    def source(self) -> str:
        """What the source is called; empty where there is none."""
        run = self.report.run if self.report else None
        return str(run.sides[SOURCE]["name"]) if run is not None and run.has_source else ""

    @property
    def there(self) -> str:
        """What the destination is called."""
        return self.period.plan.operation_type.destination.title

    @cached_property
    def open(self) -> list[Item]:
        """What was open at the cut-off, the first of it."""
        told = self.report.document["open"] if self.report else []
        return [self._item(one) for one in told[:SHOWN]]

    def _item(self, one: dict[str, Any]) -> Item:
        item = ItemClass(one["class"])
        first = one["destination"][0]["id"] if one["destination"] else ""
        return Item(
            name=one["reference"] or first or "Without a number",
            title=item.title(self.there),
            icon=item.shown.icon,
            amount=amounts.whole(one["amount"], one["currency"]) if one["currency"] else "no amount",
            why=one["why"],
        )

    @property
    def not_tested(self) -> list[str]:
        """What its report does not show."""
        return list(self.report.document["not_tested"]) if self.report else []

    @property
    def after(self) -> list[str]:
        """Say what was left out because it bears a later date."""
        told = self.report.document["after_cut_off"] if self.report else []
        return [self._left_out(one) for one in told]

    def _left_out(self, one: dict[str, Any]) -> str:
        side = self.source if one["side"] == SOURCE else self.there
        held = f", {amounts.whole(one['amount'], one['currency'])}" if one["amount"] else ""
        count = f"{one['lines']} line{'s' * (one['lines'] != 1)}"
        return f"Left out, dated after the cut-off: {count} of {side}{held}"

    @property
    def carried_in(self) -> dict[str, Any] | None:
        """What the period before left open."""
        return self.report.document["carried_in"] if self.report else None

    @cached_property
    def drift(self) -> list[Late]:
        """What is no longer as it was signed, the first of it."""
        rows = drifting.living(self.period).select_related("into", "report__period", "found_in")
        return [Late.of(one) for one in rows[:SHOWN]]

    @cached_property
    def drifted(self) -> str:
        """Say how much of what was signed is otherwise now, in each currency; empty where nothing is."""
        money = Coalesce(NullIf(F("currency"), Value("")), F("was_currency"))
        held = drifting.living(self.period).annotate(money=money).order_by("money").values_list("money")
        found = list(held.annotate(number=Count("pk"), sum=Sum(DRIFT)))
        count = sum(number for _, number, _ in found)
        sums = [amounts.whole(amount, currency) for currency, _, amount in found if currency and amount]
        return f"{count} item{'s' * (count != 1)}, {', '.join(sums)}".rstrip(", ") if count else ""

    @cached_property
    def late(self) -> list[Late]:
        """What was found of signed periods since, and belongs here."""
        rows = LateItem.objects.living().filter(into=self.period).order_by("name", "pk")
        return [Late.of(one) for one in rows.select_related("into", "report__period", "found_in")[:SHOWN]]

    @cached_property
    def neighbours(self) -> tuple[Period | None, Period | None]:
        """Return the period before and the one after it."""
        own = Period.objects.filter(plan=self.period.plan_id)
        before = own.filter(first_day__lt=self.period.first_day).order_by("-first_day").first()
        return before, own.filter(first_day__gt=self.period.first_day).order_by("first_day").first()


@dataclass(frozen=True)
class PeriodSignature(signing_off.Signature):
    """What a period's page says of its signature, to one person."""

    period: Period
    report: PeriodReport | None

    @cached_property
    def _rows(self) -> list[SignOff]:
        rows = SignOff.objects.filter(period=self.period).standing_first()
        return list(rows[: signing_off.PAST])

    @cached_property
    def closed(self) -> str:
        """Say why this person does not prepare it; empty where they may."""
        why = access.why_not(self.person, "prepare")
        return why or leaves.why_not_prepared(self.period, self.report, self.standing)


def drifted(*, most: int = 20) -> list[tuple[Period, int]]:
    """Return the signed periods of which something is no longer as signed, and how much; one query."""
    rows = Period.objects.filter(reports__in=LateItem.objects.living().values("report"))
    counted = LateItem.objects.living().filter(report__period=OuterRef("pk")).order_by()
    number = counted.values("report__period").annotate(number=Count("pk")).values("number")
    found: Any = rows.select_related("plan").distinct().annotate(number=Subquery(number))
    return [(one, one.number) for one in found.order_by("-first_day", "pk")[:most]]


def prepare(period: Period, *, person: User, note: str, **command: Any) -> SignOff:
    """State that one has looked at what a period came to."""
    access.require(person, "prepare")
    return actions.prepare(period, actor=actors.person(person.get_username()), note=note, **command)


def of_run(run: Run) -> Period | None:
    """Return the period whose report a run has made."""
    report = PeriodReport.objects.filter(run=run).select_related("period").first()
    return report.period if report else None
