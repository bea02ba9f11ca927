"""An accounting period of a plan, its report as of the cut-off, and what was found of it afterwards."""

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.db import models
from django.db.models import F, OuterRef, Q, Subquery

from ledger.models import TieoutNow
from ledger.rules.approvals import Answer
from ledger.sight import Seen, Sight

if TYPE_CHECKING:
    from reconcile.models import Plan, Run

OPEN, PREPARED, SIGNED = "open", "prepared", "signed"


class PeriodQuerySet(Seen, models.QuerySet["Period"]):
    """Questions about periods."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(plan__operation_type__in=sight.types)

    def signed(self) -> Self:
        """Those that are signed, and were not opened again."""
        return self.filter(signoffs__in=_standing().filter(answer=Answer.APPROVED))

    def unsigned(self) -> Self:
        """Those that are still open, or wait for their signature."""
        return self.exclude(pk__in=self.model._base_manager.filter(signoffs__in=_signed()).values("pk"))

    def with_standing(self) -> Self:
        """Add the numbers of what stands of each, and of its latest report: `standing_pk`, `report_pk`."""
        done = PeriodReport._base_manager.filter(period=OuterRef("pk"), run__state="done")
        return self.annotate(
            standing_pk=Subquery(_standing().filter(period=OuterRef("pk")).values("pk")[:1]),
            report_pk=Subquery(done.order_by("-run_id").values("pk")[:1]),
        )


def _standing() -> Any:
    signoffs = apps.get_model("reconcile", "SignOff")._base_manager
    return signoffs.filter(way="sign", answer__in=["", Answer.APPROVED], ended_at=None)


def _signed() -> Any:
    return _standing().filter(answer=Answer.APPROVED)


class Period(models.Model):
    """One calendar month of a plan, by the clock of its zone. Written by `reconcile.periods.actions` only.

    Whether it is open, prepared or signed is told by its signatures: `SignOff.period`.
    """

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    plan: "models.ForeignKey[Plan, Plan]" = models.ForeignKey(
        "reconcile.Plan", on_delete=models.PROTECT, related_name="periods"
    )
    first_day = models.DateField()
    last_day = models.DateField()
    timezone = models.CharField(max_length=64)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    """Half-open: what bears this very instant belongs to the next one."""
    grace_business_days = models.PositiveSmallIntegerField(default=0)
    holidays = models.CharField(max_length=20, blank=True)
    """Whose public holidays are no business days: "ZA", "DE-BE"."""
    cut_off_at = models.DateTimeField()
    """What is made at the other sides from this instant on counts as not there yet."""
    made_at = models.DateTimeField(db_default=TieoutNow())

    objects = PeriodQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="period_once", fields=["plan", "first_day"]),
            models.CheckConstraint(
                name="period_in_order", condition=Q(starts_at__lt=F("ends_at"), cut_off_at__gte=F("ends_at"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.first_day:%Y-%m}"

    @property
    def title(self) -> str:
        """Name its month: "November 2026"."""
        return f"{self.first_day:%B %Y}"


class PeriodReport(models.Model):
    """What a run over a period's days came to as of its cut-off: one snapshot, which never changes."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="reports")
    run: "models.OneToOneField[Run, Run]" = models.OneToOneField(
        "reconcile.Run", on_delete=models.PROTECT, related_name="period_report"
    )
    as_of_at = models.DateTimeField()
    """The period's cut-off, as it was when this was made."""
    ties = models.BooleanField()
    """Nothing of it is unexplained."""
    open_count = models.PositiveIntegerField()
    """How many differences were open at the cut-off."""
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    """SHA-256 of the document, in the canonical form of RFC 8785."""
    made_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        constraints = [
            models.CheckConstraint(name="periodreport_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
        ]

    def __str__(self) -> str:
        return f"report of period {self.period_id} by run {self.run_id}"

    @property
    def fits(self) -> bool:
        """Say whether the period's cut-off is still the one that this tells of."""
        as_of: datetime = self.as_of_at
        return as_of == self.period.cut_off_at


class Dated(models.Model):
    """A record or a row that bears a date of a period: what it is known by, and what it comes to."""

    report = models.ForeignKey(PeriodReport, on_delete=models.PROTECT, related_name="+", db_index=False)
    side = models.CharField(max_length=11)
    name = models.CharField(max_length=200)
    """Its id there, else its reference."""
    nth = models.PositiveIntegerField(default=1)
    """Tells those apart that are known by the same."""
    reference = models.CharField(max_length=200, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True)
    day = models.DateField()
    """In the plan's zone."""

    class Meta:
        abstract = True


class PeriodLine(Dated):
    """What of the other sides bore a date of the period when it was reported; later runs compare with it."""

    stands = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="periodline_once", fields=["report", "side", "name", "nth"]),
        ]

    def __str__(self) -> str:
        return f"{self.side} {self.name}"


class LateItemQuerySet(Seen, models.QuerySet["LateItem"]):
    """Questions about what is no longer as it was signed."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(into__plan__operation_type__in=sight.types)

    def living(self) -> Self:
        """What is still so, of what is still signed."""
        signed = _signed().exclude(period=None).values("run")
        return self.filter(over_in=None, report__run__in=signed)


class LateItem(Dated):
    """What a run found of a signed period otherwise than it was signed; it belongs to the next open one."""

    NEW, CHANGED, VOIDED, AGAIN, MOVED, GONE = "new", "changed", "voided", "again", "moved", "gone"

    into = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="late")
    """The period that was open next, and answers for it."""
    kind = models.CharField(max_length=10)
    was_amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    was_currency = models.CharField(max_length=3, blank=True)
    found_in: "models.ForeignKey[Run, Run]" = models.ForeignKey(
        "reconcile.Run", on_delete=models.PROTECT, related_name="+"
    )
    over_in: "models.ForeignKey[Run | None, Run | None]" = models.ForeignKey(
        "reconcile.Run", null=True, on_delete=models.PROTECT, related_name="+"
    )
    """The run that found it as signed again, or in yet another way."""

    objects = LateItemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="lateitem_once", fields=["report", "side", "name", "nth"], condition=Q(over_in=None)
            ),
            models.CheckConstraint(
                name="lateitem_kind_known",
                condition=Q(kind__in=["again", "changed", "gone", "moved", "new", "voided"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
