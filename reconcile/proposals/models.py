"""A change of rules or of somebody's role that waits for a second person; decided once, never deleted."""

import uuid
from datetime import datetime
from typing import Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q

from ledger.models import HALF_OVER, TieoutNow
from ledger.rules.approvals import Answer, due_at
from ledger.sight import Seen, Sight

RULES, ROLE, LIMIT, AUDITOR = KINDS = "rules", "role", "limit", "auditor"


class ProposalQuerySet(Seen, models.QuerySet["Proposal"]):
    """Questions about proposals."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave all out: rules, roles and limits are the whole installation's."""
        return self.none()

    def open(self) -> Self:
        """Proposals that nobody has answered."""
        return self.filter(decided_at__isnull=True)

    def waiting(self, now: datetime | TieoutNow) -> Self:
        """Open proposals that still count."""
        return self.open().filter(expires_at__gt=now)

    def due_first(self) -> Self:
        """Put first what should be answered first."""
        return self.order_by(HALF_OVER, "pk")


class Proposal(models.Model):
    """One change that is proposed. Written by `reconcile.proposals.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10)
    title = models.CharField(max_length=200)
    """The configuration file's name, or who it is about."""
    maker = models.CharField(max_length=150)
    maker_account = models.IntegerField(editable=False)
    """The account of who proposes; the database writes it."""
    about_account = models.IntegerField(null=True, editable=False)
    """Who it is about: they do not approve it either."""
    reason = models.CharField(max_length=1000)
    command_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField(db_default=TieoutNow())
    expires_at = models.DateTimeField()
    escalated_at = models.DateTimeField(null=True)
    """When it had passed its due time without an answer."""
    lines = models.JSONField()
    """What would change, each as `configure --check` says it, old and new; never a secret."""
    data = models.JSONField(default=dict)
    """Of a role: `person`, `role`, and whether it is to be given. Of a limit: `person`, `entities`, `before`.

    Of an audit: `person`, `begins`, `ends`, `entities`.
    """
    digest = models.CharField(max_length=64, blank=True)
    """Of every value before and after: what is applied is what was read, or nothing."""
    meant_sealed = models.BinaryField(null=True)
    """The file, sealed, for as long as nobody has answered."""
    answer = models.CharField(max_length=10, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_by_account = models.IntegerField(null=True, editable=False)
    why = models.CharField(max_length=1000, blank=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(name="proposal_open", fields=["expires_at"], condition=Q(decided_at__isnull=True)),
        ]
        constraints = [
            models.CheckConstraint(name="proposal_kind_known", condition=Q(kind__in=KINDS)),
            models.CheckConstraint(name="proposal_has_reason", condition=~Q(reason="") & ~Q(maker="")),
            models.CheckConstraint(name="proposal_expires_later", condition=Q(expires_at__gt=F("made_at"))),
            models.CheckConstraint(
                name="proposal_answered_whole",
                condition=Q(decided_at__isnull=True, answer="", decided_by="", why="")
                | Q(decided_at__isnull=False, answer__in=sorted(Answer)) & ~Q(decided_by="") & ~Q(why=""),
            ),
            models.CheckConstraint(
                name="proposal_by_another",
                condition=~Q(answer=Answer.APPROVED)
                | Q(decided_by_account__isnull=False)
                & ~Q(decided_by_account=F("maker_account"))
                & ~Q(decided_by=F("maker")),
            ),
            models.CheckConstraint(
                name="proposal_not_about_oneself",
                condition=~Q(answer=Answer.APPROVED)
                | Q(about_account__isnull=True)
                | ~Q(decided_by_account=F("about_account")),
            ),
            models.CheckConstraint(
                name="proposal_in_time",
                condition=~Q(answer=Answer.APPROVED) | Q(decided_at__lt=F("expires_at")),
            ),
            models.CheckConstraint(
                name="proposal_sealed_while_open",
                condition=Q(decided_at__isnull=True) | Q(meant_sealed__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.title}"

    @property
    def due_at(self) -> datetime:
        """When it should be answered."""
        return due_at(self.made_at, self.expires_at)


class EntityLimit(models.Model):
    """A person who sees some legal entities only; who sees all has no row. Written by `proposals.limits`."""

    person = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="limit")
    entities = models.JSONField()
    """Their names, as destinations have them; the database wants an event for each change."""

    class Meta:
        constraints = [
            models.CheckConstraint(name="limit_names_entities", condition=~Q(entities=[])),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} {self.entities}"
