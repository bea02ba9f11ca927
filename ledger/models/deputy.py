"""Who stands in for whom, from when until when, and why; on record, ended early at most."""

import uuid
from datetime import UTC, datetime
from typing import Self

from django.db import models
from django.db.models import F, Q

from ledger.models.clock import TieoutNow

EARLIEST, LATEST = datetime(1999, 12, 31, tzinfo=UTC), datetime(2100, 1, 2, tzinfo=UTC)
"""From 2000 to 2099 in every zone; what is far off cannot be read back."""


class DeputyQuerySet(models.QuerySet["Deputy"]):
    """Questions about deputies."""

    def standing(self, now: datetime | TieoutNow) -> Self:
        """Those who stand in now."""
        return self.filter(starts_at__lte=now, ends_at__gt=now, ended_at__isnull=True)

    def present(self, now: datetime | TieoutNow) -> Self:
        """Those who stand in now, or will."""
        return self.filter(ends_at__gt=now, ended_at__isnull=True)


class Deputy(models.Model):
    """One person stands in for another for a while. Written by `ledger.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    principal = models.CharField(max_length=150)
    principal_account = models.IntegerField(editable=False)
    deputy = models.CharField(max_length=150)
    deputy_account = models.IntegerField(editable=False)
    """The accounts of both; the database writes them, and knows the two by these."""
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(unique=True)
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField(db_default=TieoutNow())
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)
    why = models.CharField(max_length=1000, blank=True)

    objects = DeputyQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(name="deputy_of", fields=["deputy_account", "ends_at"]),
            models.Index(name="deputy_for", fields=["principal_account", "ends_at"]),
        ]
        constraints = [
            models.CheckConstraint(
                name="deputy_is_another", condition=~Q(deputy_account=F("principal_account"))
            ),
            models.CheckConstraint(name="deputy_ends_later", condition=Q(ends_at__gt=F("starts_at"))),
            models.CheckConstraint(
                name="deputy_in_range", condition=Q(starts_at__gte=EARLIEST, ends_at__lt=LATEST)
            ),
            models.CheckConstraint(name="deputy_has_reason", condition=~Q(reason="") & ~Q(made_by="")),
            models.CheckConstraint(
                name="deputy_ended_whole",
                condition=Q(ended_at__isnull=True, ended_by="", why="")
                | Q(ended_at__isnull=False) & ~Q(ended_by="") & ~Q(why=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.deputy} for {self.principal}"
