"""What destinations tell by webhooks of their own: which events were taken, how many were not signed."""

from django.db import models

from ledger.models.clock import TieoutNow
from ledger.models.destination import Destination


class Heard(models.Model):
    """One signed event that named an operation; never removed, so that it counts once for ever."""

    destination = models.ForeignKey(Destination, on_delete=models.PROTECT, related_name="heard")
    event_id = models.CharField(max_length=200)
    heard_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        constraints = [
            models.UniqueConstraint(name="heard_once", fields=["destination", "event_id"]),
        ]

    def __str__(self) -> str:
        return self.event_id


class Unsigned(models.Model):
    """How many events of a destination were refused for their signature; nothing else is kept of them."""

    destination = models.OneToOneField(Destination, on_delete=models.PROTECT, related_name="unsigned")
    count = models.PositiveBigIntegerField(default=0)
    last_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.destination_id}: {self.count}"
