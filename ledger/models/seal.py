"""Seals over the trail: each covers the events since the one before, and is chained to it."""

from django.db import models
from django.db.models import F, Q

from ledger.models.clock import TieoutNow


class Seal(models.Model):
    """A head over all events up to one; in the database each follows the one before, once, and stays."""

    number = models.PositiveIntegerField(unique=True)
    after = models.BigIntegerField()
    """The last event of the seal before; 0 for the first."""
    through = models.BigIntegerField(unique=True)
    """The last event that it covers: nothing up to it was still on its way when it was made."""
    count = models.PositiveIntegerField()
    previous = models.CharField(max_length=64)
    head = models.CharField(max_length=64)
    """SHA-256 in hex over `previous` and the events, as `ledger.rules.chain` tells."""
    sealed_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.CheckConstraint(name="seal_goes_on", condition=Q(through__gt=F("after"), count__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.number}:{self.head}"
