"""What a person has chosen for themselves, and how far they have read."""

from datetime import time

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q, Value


class Reader(models.Model):
    """One person as a reader; who has chosen nothing and marked nothing has no row."""

    person = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="reader")
    zone = models.CharField(max_length=64, blank=True)
    """The name of the time zone that they read pages in; blank: the installation's."""
    digest_off = models.BooleanField(db_default=False)
    digest_at = models.TimeField(db_default=Value(time(7, 30), output_field=models.TimeField()))
    """When their digest comes, by the clock of their zone."""
    weekends = models.BooleanField(db_default=False)
    """Whether it comes on Saturdays and Sundays, too."""
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    """Nothing is sent from one to the other, by the clock of their zone; over midnight if need be."""
    digest_due_at = models.DateTimeField(null=True)
    """When the next one is made; None: it is to be worked out anew, or there is none."""
    seen_event = models.BigIntegerField(null=True)
    """The last event of the trail that stood on the first screen when they marked it as seen."""
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="reader_mark_has_time",
                condition=Q(seen_event__isnull=True, seen_at__isnull=True)
                | Q(seen_event__isnull=False, seen_at__isnull=False),
            ),
            models.CheckConstraint(
                name="reader_quiet_whole",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
            ),
        ]
        indexes = [models.Index(name="reader_digest_due", fields=["digest_due_at"])]

    def __str__(self) -> str:
        return f"reader {self.person_id}"
