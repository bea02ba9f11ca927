"""Run histories that were taken in, their successful runs, and the triggers that have several of them."""

import uuid
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Cast

from ledger.models import Case, Operation, OperationType, TieoutNow
from ledger.models.evidence import CaseQuerySet, EventQuerySet
from ledger.sight import Seen, Sight
from reconcile.classes import ItemClass

CLASSES = (
    ItemClass.UNCERTAIN,
    ItemClass.AMBIGUOUS,
    ItemClass.DUPLICATE,
    ItemClass.MISSING,
    ItemClass.STATUS_DIFFERS,
    ItemClass.MATCHED,
)
"""What is known of a trigger that ran more than once; matched is what a check has answered."""

LONGEST = timedelta(hours=1)
"""How long a run may have gone on after its start; a check made before that says nothing of it."""


def unsettled(kind: OperationType) -> timedelta:
    """Return how long after the start of a run one record proves no second one: LONGEST, or `settle`."""
    return max(LONGEST, timedelta(seconds=kind.promises.settle_s))


class HistoryQuerySet(Seen, models.QuerySet["History"]):
    """Questions about files of runs."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)


class History(models.Model):
    """One file of runs that was taken in; the same file adds nothing a second time."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    automation = models.CharField(max_length=100)
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="histories")
    system = models.CharField(max_length=100)
    """The source system whose references its triggers are."""
    file_name = models.CharField(max_length=200)
    checksum = models.CharField(max_length=64)
    rules = models.JSONField()
    """How it was read: columns, what counts as successful, zone, form of times, encoding."""
    actor = models.CharField(max_length=150)
    taken_at = models.DateTimeField(db_default=TieoutNow())
    rows = models.PositiveIntegerField(default=0)
    bad = models.PositiveIntegerField(default=0)
    statuses = models.JSONField(default=dict)
    """How many rows have each status."""
    added = models.PositiveIntegerField(default=0)
    """Successful runs that no earlier file had."""
    repeated = models.PositiveIntegerField(default=0)
    """Triggers among them that have several successful runs, those of earlier files counted in."""

    objects = HistoryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                name="history_file_once", fields=["operation_type", "automation", "checksum"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.automation} {self.file_name}"


class PastRun(models.Model):
    """One run that its platform calls successful; the database lets none be changed or removed."""

    history = models.ForeignKey(History, on_delete=models.PROTECT, related_name="runs")
    operation_type = models.ForeignKey(
        OperationType, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    automation = models.CharField(max_length=100)
    system = models.CharField(max_length=100)
    reference = models.CharField(max_length=200)
    version = models.CharField(max_length=100, blank=True)
    run = models.CharField(max_length=200)
    """The platform's own number of the run."""
    started_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="past_run_once",
                fields=["operation_type", "system", "reference", "version", "automation", "run"],
            ),
            models.CheckConstraint(name="past_run_named", condition=~Q(reference="") & ~Q(run="")),
        ]

    def __str__(self) -> str:
        return f"{self.reference} {self.run}"


class RepeatQuerySet(Seen, models.QuerySet["Repeat"]):
    """Questions about triggers that ran more than once."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)

    def open(self) -> Self:
        """Those that somebody still has to answer."""
        return self.filter(case__closed_at__isnull=True)

    def closed(self) -> Self:
        """Those that a check or a person has answered."""
        return self.filter(case__closed_at__isnull=False)


class Repeat(models.Model):
    """A trigger with several successful runs: a finding until a check or a person has answered it."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="repeats")
    system = models.CharField(max_length=100)
    reference = models.CharField(max_length=200)
    version = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=200, blank=True)
    """Under which it is looked up; empty where its parts make none."""
    operation = models.ForeignKey(Operation, null=True, on_delete=models.PROTECT, related_name="repeats")
    item_class = models.CharField(max_length=30, default=ItemClass.UNCERTAIN.value)
    why = models.CharField(max_length=500)
    runs = models.PositiveIntegerField()
    first_run_at = models.DateTimeField()
    last_run_at = models.DateTimeField()
    first_seen_at = models.DateTimeField(db_default=TieoutNow())
    came_back = models.BooleanField(default=False)
    """It was answered, and a later file had another run of it."""
    history = models.ForeignKey(History, on_delete=models.PROTECT, related_name="repeats")
    """The file that had the latest of its runs."""
    looked_at = models.DateTimeField(null=True)
    looked_by = models.CharField(max_length=150, blank=True)
    records = models.JSONField(default=list)
    """What the destination held at the latest check, the one that may stay first; amounts are text."""
    surplus = models.PositiveIntegerField(default=0)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """What the surplus comes to, where all of it is in one currency."""
    currency = models.CharField(max_length=3, blank=True)
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="repeats")

    objects = RepeatQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="repeat_once", fields=["operation_type", "system", "reference", "version"]
            ),
            models.CheckConstraint(
                name="repeat_class_known", condition=Q(item_class__in=sorted(map(str, CLASSES)))
            ),
            models.CheckConstraint(name="repeat_says_why", condition=~Q(why="")),
            models.CheckConstraint(name="repeat_ran_again", condition=Q(runs__gt=1)),
            models.CheckConstraint(
                name="repeat_runs_in_order", condition=Q(first_run_at__lte=F("last_run_at"))
            ),
            models.CheckConstraint(
                name="repeat_amount_with_currency",
                condition=Q(amount__isnull=True, currency="") | (Q(amount__isnull=False) & ~Q(currency="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reference} {self.item_class}"

    @property
    def answers_from(self) -> datetime:
        """Return from when on a check that finds one record answers it."""
        return self.last_run_at + unsettled(self.operation_type)

    @property
    def is_open(self) -> bool:
        """Say whether somebody still has to answer it."""
        return self.case.closed_at is None

    @property
    def mark(self) -> dict[str, object]:
        """Return what its events carry, so that they are found whichever case it stands in."""
        return {"repeat": str(self.uid)}


CaseQuerySet.found_by.append(lambda: Repeat.objects.values("case"))
EventQuerySet.told_by["history"] = lambda _: History.objects.values(text=Cast("uid", models.CharField()))
EventQuerySet.told_by["repeat"] = lambda _: Repeat.objects.values(text=Cast("uid", models.CharField()))
