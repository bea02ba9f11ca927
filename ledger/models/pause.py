"""Pauses: a destination that cannot be used gets nothing until a person resumes it."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Q

from ledger.models.clock import TieoutNow
from ledger.models.destination import Destination


class PauseQuerySet(models.QuerySet["Pause"]):
    """Questions about pauses."""

    def open(self) -> Self:
        """Pauses that nobody has ended."""
        return self.filter(resumed_at__isnull=True)


class Pause(models.Model):
    """Why nothing goes to a destination, with its one case and every refusal that it stands for."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    destination = models.ForeignKey(Destination, on_delete=models.PROTECT, related_name="pauses")
    case = models.OneToOneField("ledger.Case", on_delete=models.PROTECT, related_name="pause")
    http_status = models.PositiveSmallIntegerField()
    """The status by which it refused our credentials; 0 where it is not set up rightly."""
    why = models.CharField(max_length=500, default="", db_default="")
    paused_at = models.DateTimeField(db_default=TieoutNow())
    resumed_at = models.DateTimeField(null=True)
    resumed_by = models.CharField(max_length=150, blank=True)
    command_id = models.UUIDField(null=True, unique=True)
    """The click that resumed it."""

    objects = PauseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="pause_one_open", fields=["destination"], condition=Q(resumed_at__isnull=True)
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
