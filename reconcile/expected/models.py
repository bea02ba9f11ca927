"""A run that is expected: a row for each time of a plan, written before it comes; what is past stays."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from django.apps import apps
from django.db import models
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce

from ledger.models import TieoutNow
from ledger.sight import Seen, Sight

if TYPE_CHECKING:
    from reconcile.models import Plan

NEVER = Value(datetime(9999, 12, 31, tzinfo=UTC))


class ExpectedRunQuerySet(Seen, models.QuerySet["ExpectedRun"]):
    """Questions about expected runs."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(plan__operation_type__in=sight.types)

    def due(self, now: datetime) -> Self:
        """Those whose time has come."""
        return self.filter(due_at__lte=now)

    def answered(self) -> Self:
        """Add `next_due_at` and the numbers of runs that answer each: the `first` done one, and the `last`.

        A run over the plan's own window answers the time that it was begun after, and no earlier one.
        """
        later = ExpectedRun._base_manager.filter(plan=OuterRef("plan"), due_at__gt=OuterRef("due_at"))
        rows = self.annotate(next_due_at=Subquery(later.order_by("due_at").values("due_at")[:1]))
        its = apps.get_model("reconcile", "Run")._base_manager.filter(
            plan=OuterRef("plan"),
            dry_run=False,
            first_day=None,
            last_day=None,
            started_at__gte=OuterRef("due_at"),
            started_at__lt=Coalesce(OuterRef("next_due_at"), NEVER),
        )
        return rows.annotate(
            first=Subquery(its.filter(state="done").order_by("started_at", "pk").values("pk")[:1]),
            last=Subquery(its.order_by("-started_at", "-pk").values("pk")[:1]),
        )

    def missed(self, now: datetime) -> Self:
        """Those that nothing ran for before their plan was due again: no run answers them any more."""
        return self.answered().filter(Q(("last", None), ("next_due_at__lte", now)))


class ExpectedRun(models.Model):
    """One time at which a plan runs. Written by `reconcile.expected`; how it went is told by runs."""

    plan: "models.ForeignKey[Plan, Plan]" = models.ForeignKey(
        "reconcile.Plan", on_delete=models.PROTECT, related_name="expected"
    )
    due_at = models.DateTimeField()
    report_by = models.DateTimeField()
    """Until when its run has to be done."""
    made_at = models.DateTimeField(db_default=TieoutNow())
    settled_at = models.DateTimeField(null=True)
    """When it was told that it did not report in time, or seen that it did: it is not looked at again."""

    objects = ExpectedRunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="expected_once", fields=["plan", "due_at"]),
            models.CheckConstraint(name="expected_report_later", condition=Q(report_by__gt=F("due_at"))),
        ]
        indexes = [
            models.Index(name="expected_open", fields=["due_at"], condition=Q(settled_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.due_at:%Y-%m-%d %H:%M}"
