"""Which of several records is kept: what a person chose, on what they saw; never changed."""

import uuid

from django.db import models
from django.db.models import Q

from ledger.models.approval import Approval
from ledger.models.clock import TieoutNow
from ledger.models.evidence import Lookup
from ledger.models.operation import Operation


class Choice(models.Model):
    """One record of several is kept, the others are reversed. Written by `ledger.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="choices")
    kept = models.CharField(max_length=200)
    """The destination's id of the record that stays."""
    reversed = models.JSONField()
    """The ids of those that go, as a list; the database lets no other one be reversed."""
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """The sum of what goes, in major units of `currency`; None where it is not known."""
    currency = models.CharField(max_length=3, blank=True)
    actor = models.CharField(max_length=150)
    account = models.IntegerField(null=True, editable=False)
    """Theirs at that moment; the database writes it."""
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(unique=True)
    lookup = models.ForeignKey(Lookup, on_delete=models.PROTECT, related_name="choices")
    """What was there when it was chosen."""
    approval = models.ForeignKey(Approval, null=True, on_delete=models.PROTECT, related_name="choices")
    """The second person's word, where it took two."""
    made_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="choice_said_whole", condition=~Q(kept="") & ~Q(actor="") & ~Q(reason="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} keeps {self.kept}"
