"""Permits: leave for one more attempt."""

import uuid
from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import F, Q

from ledger.models.clock import TieoutNow


class PermitQuerySet(models.QuerySet["Permit"]):
    """Questions about permits."""

    def open(self) -> Self:
        """Permits neither spent, withdrawn nor lapsed."""
        return self.filter(spent_at__isnull=True, withdrawn_at__isnull=True)

    def in_effect(self, now: datetime) -> Self:
        """Open permits that have taken effect and not lapsed."""
        return self.open().filter(effective_at__lte=now, lapses_at__gt=now)


class Permit(models.Model):
    """Leave for one more attempt, given by policy or by a person, withdrawn or spent once."""

    class Source(models.TextChoices):
        POLICY = "policy"
        PERSON = "person"

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey("ledger.Operation", on_delete=models.PROTECT, related_name="permits")
    source = models.CharField(max_length=10, choices=Source)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(null=True, unique=True)
    lookup = models.ForeignKey("ledger.Lookup", null=True, on_delete=models.PROTECT, related_name="permits")
    approval = models.OneToOneField(
        "ledger.Approval", null=True, on_delete=models.PROTECT, related_name="permit"
    )
    """The second person's word that an override stands on."""
    given_at = models.DateTimeField(db_default=TieoutNow())
    effective_at = models.DateTimeField()
    lapses_at = models.DateTimeField()
    spent_at = models.DateTimeField(null=True)
    attempt = models.OneToOneField(
        "ledger.Attempt", null=True, on_delete=models.PROTECT, related_name="permit"
    )
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)

    objects = PermitQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="permit_one_open",
                fields=["operation"],
                condition=Q(spent_at__isnull=True, withdrawn_at__isnull=True),
            ),
            models.CheckConstraint(
                name="permit_spent_or_withdrawn",
                condition=Q(spent_at__isnull=True) | Q(withdrawn_at__isnull=True),
            ),
            models.CheckConstraint(
                name="permit_spent_by_attempt",
                condition=Q(spent_at__isnull=True, attempt__isnull=True)
                | Q(spent_at__isnull=False, attempt__isnull=False),
            ),
            models.CheckConstraint(name="permit_has_actor", condition=~Q(actor="")),
            models.CheckConstraint(name="permit_has_reason", condition=~Q(reason="")),
            models.CheckConstraint(name="permit_lapses_later", condition=Q(lapses_at__gt=F("effective_at"))),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} {self.source}"

    @property
    def lapsed(self) -> bool:
        """Say whether nobody used it in time."""
        return self.withdrawn_at is not None and self.withdrawn_at >= self.lapses_at
