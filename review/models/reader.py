"""What a person has chosen for themselves, and how far they have read."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q


class Reader(models.Model):
    """One person as a reader; who has chosen nothing and marked nothing has no row."""

    person = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="reader")
    zone = models.CharField(max_length=64, blank=True)
    """The name of the time zone that they read pages in; blank: the installation's."""
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
        ]

    def __str__(self) -> str:
        return f"reader {self.person_id}"
