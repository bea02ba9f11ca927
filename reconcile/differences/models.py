"""What a person decided about a difference; decided once, ended once, never deleted."""

import uuid
from datetime import datetime
from enum import StrEnum
from typing import Self

from django.db import models
from django.db.models import Case, F, Q, Value, When

from ledger.models import HALF_OVER, Approval, Operation, OperationType, TieoutNow
from ledger.rules.approvals import Answer, due_at
from ledger.sight import Seen, Sight
from reconcile.classes import ItemClass


class Way(StrEnum):
    """What a person decides about a difference."""

    WAIVE = "waive"
    """It stands as it is, until an instant; it stays in every total."""
    CLOSE = "close"
    """Its case is closed: nothing more is done about it."""
    TAKE_IN = "take_in"
    """What no operation carries becomes one, done by that evidence."""
    MATCH = "match"
    """What is missing is the record that no operation carries, on a person's word."""


class DecisionQuerySet(Seen, models.QuerySet["Decision"]):
    """Questions about decisions."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)

    def open(self) -> Self:
        """Those that wait for a second person."""
        return self.filter(in_force_at=None, answer="")

    def waiting(self, now: datetime | TieoutNow) -> Self:
        """Those that wait and still count."""
        return self.open().filter(Q(until=None) | Q(until__gt=now), expires_at__gt=now)

    def due_first(self) -> Self:
        """Put first what should be answered first."""
        return self.order_by(HALF_OVER, "pk")

    def in_force(self) -> Self:
        """Those that were carried out and that nothing has ended."""
        return self.exclude(in_force_at=None).filter(ended_at=None)

    def waivers(self, at: datetime) -> Self:
        """What is, or was, waived at an instant."""
        unended = Q(ended_at=None) | Q(ended_at__gt=at)
        return self.filter(unended, way=Way.WAIVE, in_force_at__lte=at, until__gt=at)


class Decision(models.Model):
    """One decision about one difference, as a run found it. Written by `reconcile.differences` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    finding = models.ForeignKey("reconcile.Finding", on_delete=models.PROTECT, related_name="decisions")
    plan = models.ForeignKey("reconcile.Plan", on_delete=models.PROTECT, related_name="decisions")
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    """What the difference goes by from run to run: its reference, or else its fingerprint."""
    item_class = models.CharField(max_length=30)
    fingerprint = models.CharField(max_length=64)
    """Of what was found: it answers nothing else."""
    way = models.CharField(max_length=10)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """What it settles, in major units of `currency`; None where no amount is known."""
    currency = models.CharField(max_length=3, blank=True)
    until = models.DateTimeField(null=True)
    """The end of a waiver."""
    operation = models.ForeignKey(Operation, null=True, on_delete=models.PROTECT, related_name="decisions")
    """What was made of it."""
    other = models.ForeignKey(
        "reconcile.Finding", null=True, on_delete=models.PROTECT, related_name="matches"
    )
    """The unexpected one that a missing one is matched with."""
    record = models.JSONField(null=True)
    """The record that it is matched with, as it was then; what is there otherwise is matched no more."""
    approval = models.ForeignKey(Approval, null=True, on_delete=models.PROTECT, related_name="matches")
    """The request for a second person that its operation carries; its answer is this one's, too."""
    maker = models.CharField(max_length=150)
    maker_account = models.IntegerField(null=True, editable=False)
    """The account of who decided; the database writes it."""
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField(db_default=TieoutNow())
    expires_at = models.DateTimeField()
    """Until when a second person may answer: of a waiver no longer than until its own end."""
    escalated_at = models.DateTimeField(null=True)
    """When it had passed its due time without an answer."""
    answer = models.CharField(max_length=10, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_by_account = models.IntegerField(null=True, editable=False)
    why = models.CharField(max_length=1000, blank=True)
    """The reason of who answered."""
    in_force_at = models.DateTimeField(null=True)
    """Since when it is carried out: at once, or with the second person's word."""
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)
    why_ended = models.CharField(max_length=1000, blank=True)

    objects = DecisionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(name="decision_of_plan", fields=["plan", "way", "name"]),
            models.Index(
                name="decision_open", fields=["expires_at"], condition=Q(in_force_at=None, answer="")
            ),
            models.Index(
                name="decision_over",
                fields=["until"],
                condition=Q(in_force_at__isnull=False, ended_at=None, way=Way.WAIVE),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                "plan",
                "item_class",
                "name",
                Case(When(item_class=ItemClass.DUPLICATE, then="currency"), default=Value("")),
                name="decision_one_open",
                condition=Q(ended_at=None, answer__in=["", Answer.APPROVED]),
            ),
            models.CheckConstraint(name="decision_way_known", condition=Q(way__in=sorted(Way))),
            models.CheckConstraint(name="decision_has_reason", condition=~Q(reason="") & ~Q(maker="")),
            models.CheckConstraint(
                name="decision_waiver_ends",
                condition=Q(way=Way.WAIVE, until__gt=F("made_at")) | ~Q(way=Way.WAIVE) & Q(until=None),
            ),
            models.CheckConstraint(
                name="decision_match_whole",
                condition=Q(way=Way.MATCH, other__isnull=False, record__isnull=False, operation__isnull=False)
                | ~Q(way=Way.MATCH) & Q(other=None, record=None, approval=None),
            ),
            models.CheckConstraint(
                name="decision_amount_with_currency",
                condition=Q(amount=None, currency="") | Q(amount__isnull=False) & ~Q(currency=""),
            ),
            models.CheckConstraint(name="decision_expires_later", condition=Q(expires_at__gt=F("made_at"))),
            models.CheckConstraint(
                name="decision_answered_whole",
                condition=Q(decided_at=None, answer="", decided_by="", why="")
                | Q(decided_at__isnull=False, answer__in=sorted(Answer)) & ~Q(decided_by="") & ~Q(why=""),
            ),
            models.CheckConstraint(
                name="decision_by_another",
                condition=~Q(answer=Answer.APPROVED)
                | Q(decided_by_account__isnull=False)
                & ~Q(decided_by_account=F("maker_account"))
                & ~Q(decided_by=F("maker")),
            ),
            models.CheckConstraint(
                name="decision_in_time",
                condition=~Q(answer=Answer.APPROVED) | Q(decided_at__lt=F("expires_at")),
            ),
            models.CheckConstraint(
                name="decision_before_its_end",
                condition=~Q(answer=Answer.APPROVED) | Q(until=None) | Q(decided_at__lt=F("until")),
            ),
            models.CheckConstraint(
                name="decision_ended_whole",
                condition=Q(ended_at=None, ended_by="", why_ended="")
                | Q(ended_at__isnull=False, in_force_at__isnull=False) & ~Q(ended_by="") & ~Q(why_ended=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.way} {self.name}"

    @property
    def due_at(self) -> datetime:
        """When a second person should have answered."""
        return due_at(self.made_at, self.expires_at)

    @property
    def waits(self) -> bool:
        """Say whether a second person has not answered yet."""
        return self.in_force_at is None and not self.answer

    @property
    def stands(self) -> bool:
        """Say whether it waits, or was carried out."""
        return self.answer in ("", Answer.APPROVED)

    @property
    def why_said(self) -> str:
        """What was decided, as who reads a refusal is told."""
        return {
            Way.WAIVE: "it is waived.",
            Way.CLOSE: "it is closed.",
            Way.TAKE_IN: "it is taken in.",
            Way.MATCH: "it is matched by hand.",
        }[Way(self.way)]
