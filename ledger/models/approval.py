"""Requests for a second person: bound to what was known, decided once, never deleted."""

import uuid
from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import DurationField, ExpressionWrapper, F, Q

from ledger.models.clock import TieoutNow
from ledger.models.destination import OperationType
from ledger.models.evidence import Lookup
from ledger.models.operation import Operation
from ledger.rules.approvals import Answer, Ask
from ledger.sight import Seen, Sight

HALF_OVER = F("made_at") + ExpressionWrapper((F("expires_at") - F("made_at")) / 2, DurationField())
"""When half of a request's time is over, as `ledger.rules.approvals.due_at` reckons it."""


class ApprovalQuerySet(Seen, models.QuerySet["Approval"]):
    """Questions about approvals."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation__in=Operation.objects.all())

    def open(self) -> Self:
        """Requests that nobody has answered."""
        return self.filter(decided_at__isnull=True)

    def waiting(self, now: datetime | TieoutNow) -> Self:
        """Open requests that still count; whose time is over has lapsed, also before an event says so."""
        return self.open().filter(expires_at__gt=now)

    def due_first(self) -> Self:
        """Put first what should be answered first."""
        return self.order_by("due_at", "pk")


class Approval(models.Model):
    """One person's decision that waits for a second one. Written by `ledger.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="approvals")
    action = models.CharField(max_length=30)
    maker = models.CharField(max_length=150)
    maker_account = models.IntegerField(null=True, editable=False)
    """The account of who asked, or for whom an automation says that it asks; the database writes it."""
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField(db_default=TieoutNow())
    expires_at = models.DateTimeField()
    due_at = models.DateTimeField()
    """When it should be answered: before the key's window closes, where that is earlier."""
    escalated_at = models.DateTimeField(null=True)
    """When it had passed that without an answer."""
    payload_digest = models.CharField(max_length=100)
    attempt_count = models.PositiveSmallIntegerField()
    lookup = models.ForeignKey(Lookup, null=True, on_delete=models.PROTECT, related_name="approvals")
    """What the latest check had found when it was asked."""
    data = models.JSONField(default=dict)
    """What the decision says: `reference`; or `where` and `looked_at`, for absence attested by hand.

    Of a correction also `risk`, `who`, `key`, `amount`, `currency`, and the paths that are `changed`.
    """
    meant_digest = models.CharField(max_length=100, blank=True, default="")
    """Of the payload that a correction would go out with; the database lets no other one out."""
    meant_sealed = models.BinaryField(null=True)
    """That payload, sealed, for as long as nobody has answered."""
    answer = models.CharField(max_length=10, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_by_account = models.IntegerField(null=True, editable=False)
    """Theirs, which stays when an account is given another name; the database writes it."""
    why = models.CharField(max_length=1000, blank=True)
    """The reason of who answered."""

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="approval_one_open", fields=["operation"], condition=Q(decided_at__isnull=True)
            ),
            models.CheckConstraint(name="approval_action_known", condition=Q(action__in=sorted(Ask))),
            models.CheckConstraint(name="approval_has_maker", condition=~Q(maker="")),
            models.CheckConstraint(name="approval_has_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="approval_answered_whole",
                condition=Q(decided_at__isnull=True, answer="", decided_by="", why="")
                | Q(decided_at__isnull=False, answer__in=sorted(Answer)) & ~Q(decided_by="") & ~Q(why=""),
            ),
            models.CheckConstraint(
                name="approval_by_another",
                condition=~Q(answer__in=[Answer.APPROVED, Answer.REFUSED]) | ~Q(decided_by=F("maker")),
            ),
            models.CheckConstraint(
                name="approval_by_another_account",
                condition=~Q(answer=Answer.APPROVED) | ~Q(decided_by_account=F("maker_account")),
            ),
            models.CheckConstraint(
                name="approval_in_time",
                condition=~Q(answer=Answer.APPROVED) | Q(decided_at__lt=F("expires_at")),
            ),
            models.CheckConstraint(
                name="approval_due_while_it_counts",
                condition=Q(due_at__gt=F("made_at"), due_at__lte=F("expires_at")),
            ),
            models.CheckConstraint(name="approval_expires_later", condition=Q(expires_at__gt=F("made_at"))),
            models.CheckConstraint(
                name="approval_by_a_person",
                condition=~Q(answer__in=[Answer.APPROVED, Answer.REFUSED]) | ~Q(decided_by__contains=":"),
            ),
            models.CheckConstraint(
                name="approval_meant_while_open",
                condition=(~Q(action=Ask.OVERRIDE_CORRECT) & Q(meant_digest="", meant_sealed__isnull=True))
                | (
                    Q(action=Ask.OVERRIDE_CORRECT)
                    & ~Q(meant_digest="")
                    & (
                        Q(decided_at__isnull=True, meant_sealed__isnull=False)
                        | Q(decided_at__isnull=False, meant_sealed__isnull=True)
                    )
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} {self.action}"


class DecidedAlone(models.Model):
    """What one person alone has closed, noted by the database as it is told; it counts beside the next."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="decided_alone")
    actor = models.CharField(max_length=150)
    account = models.IntegerField(null=True, editable=False)
    """Theirs at that moment; None where there was none of that name."""
    at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        indexes = [
            models.Index(name="alone_by_account", fields=["account", "at"]),
            models.Index(name="alone_by_name", fields=["actor", "at"]),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} {self.actor}"


class SettledAlone(models.Model):
    """What one person alone has settled of what a reconciliation found; it counts beside the next."""

    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="+")
    actor = models.CharField(max_length=150)
    account = models.IntegerField(null=True, editable=False)
    """Theirs at that moment; the database writes it."""
    amount = models.DecimalField(max_digits=20, decimal_places=4)
    """In major units of `currency`."""
    currency = models.CharField(max_length=3)
    at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        indexes = [
            models.Index(name="settled_by_account", fields=["account", "at"]),
            models.Index(name="settled_by_name", fields=["actor", "at"]),
        ]

    def __str__(self) -> str:
        return f"{self.operation_type_id} {self.actor}"
