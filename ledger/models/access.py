"""API tokens and the worker's heartbeat."""

from django.db import models

from ledger.models.clock import TieoutNow


class ApiToken(models.Model):
    """A token of an automation: printed once, stored hashed, limited to operation types."""

    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64, unique=True)
    types = models.JSONField(default=list)
    """Names of the operation types it may use; an empty list means every type."""
    created_at = models.DateTimeField(db_default=TieoutNow())
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # The trail and a repeated claim know an automation by its name.
            models.UniqueConstraint(
                name="token_name_once", fields=["name"], condition=models.Q(revoked_at__isnull=True)
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

    def __str__(self) -> str:
        return self.name
