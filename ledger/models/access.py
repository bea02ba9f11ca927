"""API tokens and the worker's heartbeat."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from ledger.models.clock import TieoutNow
from ledger.sight import Seen, Sight


class ApiTokenQuerySet(Seen, models.QuerySet["ApiToken"]):
    """Questions about tokens."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(sight.among("types"))

    def living(self, now: datetime) -> Self:
        """Tokens that are let in."""
        return self.filter(
            Q(revoked_at=None) | Q(revoked_at__gt=now), Q(expires_at=None) | Q(expires_at__gt=now)
        )


class ApiToken(models.Model):
    """A token of an automation: printed once, stored hashed, limited to operation types."""

    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64, unique=True)
    types = models.JSONField(default=list)
    """Names of the operation types it may use; an empty list means every type."""
    created_at = models.DateTimeField(db_default=TieoutNow())
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    """When it was ended, or will be: one that is rotated lives on for a while."""
    per_minute = models.PositiveIntegerField(null=True)
    """How many requests its automation may make in a minute; None: as many as it likes."""

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        constraints = [
            # The trail and a repeated claim know an automation by its name.
            models.UniqueConstraint(
                name="token_name_once", fields=["name"], condition=Q(revoked_at__isnull=True)
            ),
            models.CheckConstraint(
                name="token_rate_positive", condition=Q(per_minute=None) | Q(per_minute__gte=1)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def allows(self, type_name: str) -> bool:
        """Say whether the token may use an operation type."""
        return not self.types or type_name in self.types


class Heartbeat(models.Model):
    """When work last went through the queue, and until when a task may still be busy."""

    name = models.CharField(max_length=50, unique=True)
    beat_at = models.DateTimeField()
    busy_until = models.DateTimeField()
    busy_pid = models.IntegerField(null=True)
    busy_since = models.DateTimeField(null=True)
    """The database session of the worker that said so: when it is gone, nobody is busy."""

    def __str__(self) -> str:
        return self.name
