"""Drills: what was tried of a type's promises, under which rules, and what each of them made."""

import uuid

from django.db import models
from django.db.models import Q

from ledger.models.clock import TieoutNow
from ledger.models.destination import OperationType
from ledger.rules.drills import Promise, Tried


class Drill(models.Model):
    """One drill of one operation type, with the rules as they were; only its steps tell how it went."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="drills")
    actor = models.CharField(max_length=150)
    stem = models.CharField(max_length=30, unique=True)
    """What the references of all that it makes begin with."""
    rules = models.JSONField()
    """Contract and calls as they were, the place, and a digest of all that decides where calls arrive.

    The place: connector, account and address.
    """
    rules_digest = models.CharField(max_length=64)
    place_digest = models.CharField(max_length=64)
    begun_at = models.DateTimeField(db_default=TieoutNow())

    def __str__(self) -> str:
        return self.stem


class DrillStep(models.Model):
    """What a drill did, or what it found; written before a send goes out, and never changed."""

    class Kind(models.TextChoices):
        SENDING = "sending"
        MADE = "made"
        VOIDED = "voided"
        RESULT = "result"
        ENDED = "ended"

    drill = models.ForeignKey(Drill, on_delete=models.PROTECT, related_name="steps")
    kind = models.CharField(max_length=10, choices=Kind)
    reference = models.CharField(max_length=200, blank=True)
    record = models.CharField(max_length=200, blank=True)
    """The destination's own name of a record that it made or voided."""
    promise = models.CharField(max_length=20, blank=True)
    tried = models.CharField(max_length=10, blank=True)
    hindered = models.BooleanField(default=False)
    why = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="drill_step_known",
                condition=Q(kind__in=["sending", "made", "voided", "result", "ended"]),
            ),
            models.CheckConstraint(
                name="drill_result_known",
                condition=Q(kind="result", promise__in=sorted(Promise), tried__in=sorted(Tried))
                | (~Q(kind="result") & Q(promise="", tried="")),
            ),
            models.UniqueConstraint(name="drill_ends_once", fields=["drill"], condition=Q(kind="ended")),
        ]

    def __str__(self) -> str:
        return f"{self.drill_id} {self.kind}"
