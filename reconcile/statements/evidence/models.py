"""Comparisons kept as evidence: both files and the report, sealed, until a day, and then gone."""

import json
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from django.db import models
from django.db.models import F, Q

from ledger.actions.submission import payload_keys
from ledger.models import TieoutNow
from ledger.rules import sealing
from reconcile.statements.models import Piece

LONGEST = timedelta(days=3660)


class KeptQuerySet(models.QuerySet["Kept"]):
    """Questions about what is kept."""

    def over(self) -> Self:
        """Those whose time has passed."""
        return self.filter(until__lte=TieoutNow())

    def of(self, person: str) -> Self:
        """Those that somebody has kept themselves; the actor as the trail has it."""
        return self.filter(keeper=person)


class Kept(models.Model):
    """One comparison with both files, as it was when it was kept; never changed, deleted at its end alone."""

    uid = models.UUIDField(unique=True, editable=False)
    """The comparison's own: what is sealed is bound to it."""
    keeper = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    kept_at = models.DateTimeField(db_default=TieoutNow())
    until = models.DateTimeField()
    size = models.PositiveBigIntegerField()
    """How many bytes both files have."""
    sealed = models.BinaryField()

    objects = KeptQuerySet.as_manager()

    class Meta:
        ordering = ["-kept_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="kept_with_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="kept_for_a_time", condition=Q(until__gt=F("kept_at"), until__lte=F("kept_at") + LONGEST)
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.uid}, kept"

    @cached_property
    def told(self) -> dict[str, Any]:
        """All that is said of it: `files`, how they were `read`, and the `report`."""
        plain = sealing.unseal(payload_keys(), bytes(self.sealed), bound_to=f"{self.uid}/told")
        told: dict[str, Any] = json.loads(plain)
        return told


class KeptPiece(models.Model):
    """A part of a file as it came, or of what was found; sealed."""

    kept = models.ForeignKey(Kept, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    of = models.CharField(max_length=11, choices=Piece.Of)
    number = models.PositiveIntegerField()
    sealed = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(name="kept_piece_once", fields=["kept", "of", "number"]),
            models.CheckConstraint(
                name="kept_piece_of_known",
                condition=Q(of__in=["source", "destination", "differences", "rejects"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.of} {self.number}"
