"""What somebody prepared to be signed, or asked to open again; answered once by another, never deleted."""

import uuid
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import F, Q

from ledger.models import HALF_OVER, OperationType, TieoutNow
from ledger.rules.approvals import Answer, due_at
from ledger.sight import Seen, Sight

if TYPE_CHECKING:
    from reconcile.models import Period, Plan, Run


class Way(StrEnum):
    """What a second person answers."""

    SIGN = "sign"
    """Who prepared it has looked; who signs agrees to what it came to."""
    REOPEN = "reopen"
    """What was signed counts as signed no more, and can be prepared again."""


STANDS = Q(way=Way.SIGN, answer__in=["", Answer.APPROVED], ended_at=None)


class SignOffQuerySet(Seen, models.QuerySet["SignOff"]):
    """Questions about what is prepared and signed."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)

    def open(self) -> Self:
        """What waits for a second person."""
        return self.filter(answer="")

    def waiting(self, now: datetime | TieoutNow) -> Self:
        """What waits and still counts."""
        return self.open().filter(expires_at__gt=now)

    def due_first(self) -> Self:
        """Put first what should be answered first."""
        return self.order_by(HALF_OVER, "pk")

    def standing(self) -> Self:
        """What is prepared or signed, and was not opened again."""
        return self.filter(STANDS)

    def standing_first(self) -> Self:
        """Put what stands first, however much was asked since; then the latest."""
        return self.order_by(models.Case(models.When(STANDS, then=0), default=1), "-pk")


class SignOff(models.Model):
    """One preparation, or one request to open what is signed. Written by `reconcile.signing.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    way = models.CharField(max_length=10)
    run: "models.ForeignKey[Run, Run]" = models.ForeignKey(
        "reconcile.Run", on_delete=models.PROTECT, related_name="signoffs"
    )
    plan: "models.ForeignKey[Plan, Plan]" = models.ForeignKey(
        "reconcile.Plan", on_delete=models.PROTECT, related_name="+"
    )
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="+")
    period: "models.ForeignKey[Period | None, Period | None]" = models.ForeignKey(
        "reconcile.Period", null=True, on_delete=models.PROTECT, related_name="signoffs"
    )
    """The accounting period that is signed by this run over its days; None where the run itself is."""
    of = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="reopenings")
    """What is signed and asked to be opened again."""
    digest = models.CharField(max_length=64)
    """The run's, as who prepared it saw it."""
    maker = models.CharField(max_length=150)
    maker_account = models.IntegerField(null=True, editable=False)
    """The account of who prepared or asked; the database writes it."""
    reason = models.CharField(max_length=1000, blank=True)
    """What who prepared it notes; why it is to be opened again."""
    command_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField(db_default=TieoutNow())
    expires_at = models.DateTimeField()
    escalated_at = models.DateTimeField(null=True)
    """When it had passed its due time without an answer."""
    answer = models.CharField(max_length=10, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_by_account = models.IntegerField(null=True, editable=False)
    why = models.CharField(max_length=1000, blank=True)
    """The reason of who answered."""
    signed = models.JSONField(null=True)
    """What was signed, as it was then: see `reconcile.signing.freezing`."""
    signed_digest = models.CharField(max_length=64, blank=True)
    """SHA-256 of that, in the canonical form of RFC 8785."""
    ended_at = models.DateTimeField(null=True)
    """When two people opened it again."""

    objects = SignOffQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(name="signoff_open", fields=["expires_at"], condition=Q(answer="")),
        ]
        constraints = [
            models.UniqueConstraint(
                name="signoff_one_of_run",
                fields=["run"],
                condition=STANDS,
            ),
            models.UniqueConstraint(name="signoff_one_of_period", fields=["period"], condition=STANDS),
            models.UniqueConstraint(
                name="signoff_one_reopening", fields=["of"], condition=Q(way=Way.REOPEN, answer="")
            ),
            models.CheckConstraint(
                name="signoff_way_known",
                condition=Q(way=Way.SIGN, of=None) | Q(Q(way=Way.REOPEN, of__isnull=False), ~Q(reason="")),
            ),
            models.CheckConstraint(name="signoff_has_maker", condition=~Q(maker="") & ~Q(digest="")),
            models.CheckConstraint(name="signoff_expires_later", condition=Q(expires_at__gt=F("made_at"))),
            models.CheckConstraint(
                name="signoff_answered_whole",
                condition=Q(decided_at=None, answer="", decided_by="", why="")
                | Q(Q(decided_at__isnull=False, answer__in=sorted(Answer)), ~Q(decided_by=""), ~Q(why="")),
            ),
            models.CheckConstraint(
                name="signoff_by_another",
                condition=~Q(answer=Answer.APPROVED)
                | Q(
                    Q(decided_by_account__isnull=False),
                    ~Q(decided_by_account=F("maker_account")),
                    ~Q(decided_by=F("maker")),
                ),
            ),
            models.CheckConstraint(
                name="signoff_in_time",
                condition=~Q(answer=Answer.APPROVED) | Q(decided_at__lt=F("expires_at")),
            ),
            models.CheckConstraint(
                name="signoff_kept_whole",
                condition=Q(
                    Q(way=Way.SIGN, answer=Answer.APPROVED, signed__isnull=False), ~Q(signed_digest="")
                )
                | Q(
                    ~Q(way=Way.SIGN, answer=Answer.APPROVED),
                    Q(signed__isnull=True, signed_digest="", ended_at=None),
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.way} run {self.run_id}"

    @property
    def due_at(self) -> datetime:
        """When a second person should have answered."""
        return due_at(self.made_at, self.expires_at)

    @property
    def waits(self) -> bool:
        """Say whether nobody has answered yet."""
        return not self.answer

    @property
    def stands(self) -> bool:
        """Say whether it is prepared or signed, and was not opened again."""
        return self.way == Way.SIGN and self.answer in ("", Answer.APPROVED) and self.ended_at is None

    @property
    def is_signed(self) -> bool:
        """Say whether it is signed, and was not opened again."""
        return self.way == Way.SIGN and self.answer == Answer.APPROVED and self.ended_at is None
