"""Paces: when a destination is called next, and until when it has asked to be left alone."""

from django.db import models

from ledger.models.clock import TieoutNow
from ledger.models.destination import Destination


class Pace(models.Model):
    """One row, shared by all workers, for each destination that has a rate, or has ever asked to wait."""

    destination = models.OneToOneField(
        Destination, on_delete=models.PROTECT, primary_key=True, related_name="pace"
    )
    next_at = models.DateTimeField(db_default=TieoutNow())
    """The first instant at which a call has no turn yet."""
    rests_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.destination_id}"
