"""Pauses: a destination that cannot be used gets nothing until a person resumes it."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Q

from ledger.models.clock import TieoutNow
from ledger.models.destination import Destination, OperationType
from ledger.sight import Seen, Sight


class PauseQuerySet(Seen, models.QuerySet["Pause"]):
    """Questions about pauses."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(destination__in=sight.destinations)

    def open(self) -> Self:
        """Pauses that nobody has ended."""
        return self.filter(resumed_at__isnull=True)

    def of_all(self) -> Self:
        """Pauses that stop whatever Tieout itself does there, and callers, too."""
        return self.filter(callers_only=False)

    def stopping(self, operation_type: OperationType | models.OuterRef) -> Self:
        """Pauses of a type's destination that keep its operations waiting."""
        concerned = Q(callers_only=False) | Q(destination__types__performed_by="caller")
        return self.filter(concerned, destination__types=operation_type)


class Pause(models.Model):
    """Why nothing goes to a destination, with its one case and every refusal that it stands for."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    destination = models.ForeignKey(Destination, on_delete=models.PROTECT, related_name="pauses")
    case = models.OneToOneField("ledger.Case", on_delete=models.PROTECT, related_name="pause")
    http_status = models.PositiveSmallIntegerField()
    """The status by which it refused our credentials; 0 where it is not set up rightly."""
    why = models.CharField(max_length=500, default="", db_default="")
    callers_only = models.BooleanField(default=False, db_default=False)
    """Whether it keeps only what callers perform waiting: it is their credentials that were refused."""
    paused_at = models.DateTimeField(db_default=TieoutNow())
    resumed_at = models.DateTimeField(null=True)
    resumed_by = models.CharField(max_length=150, blank=True)
    command_id = models.UUIDField(null=True, unique=True)
    """The click that resumed it."""

    objects = PauseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="pause_one_open",
                fields=["destination", "callers_only"],
                condition=Q(resumed_at__isnull=True),
            ),
            models.CheckConstraint(
                name="pause_resumed_by_somebody",
                condition=Q(resumed_at__isnull=True, resumed_by="")
                | (Q(resumed_at__isnull=False) & ~Q(resumed_by="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.destination_id} since {self.paused_at}"


class Refusal(models.Model):
    """One attempt whose credentials were refused: the one that began the pause, or one that met it."""

    attempt = models.OneToOneField("ledger.Attempt", on_delete=models.PROTECT, related_name="refusal")
    pause = models.ForeignKey(Pause, on_delete=models.PROTECT, related_name="refusals")

    def __str__(self) -> str:
        return f"{self.attempt_id}"
