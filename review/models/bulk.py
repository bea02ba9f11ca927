"""Bulk actions: a frozen list of operations, what somebody wants done with each, and what came of it."""

import uuid
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Cast, Least

from ledger.models import Lookup, Operation, TieoutNow
from ledger.models.evidence import EventQuerySet
from ledger.rules.approvals import due_at
from ledger.rules.leaves import Action
from ledger.sight import Seen, Sight

MOST = 20_000
"""Items of one bulk action."""
PER_MINUTE_MOST = 100_000
ACTIONS = (Action.CHECK, Action.SEND_AGAIN, Action.DID_NOT_HAPPEN)
"""What can be done with many at once; everything else is decided one by one."""
ASKED_FOR = timedelta(days=1)
"""How long a second person may answer; the database holds to it, too."""
DUE = Least(F("asked_at") + ASKED_FOR / 2, "key_until")
"""When a second person should have answered: at half of that, or before the window of a key closes."""


class Status(models.TextChoices):
    """Where a bulk action stands."""

    PREVIEW = "preview", "Preview"
    ASKED = "asked", "Waits for a second person"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    STOPPED = "stopped", "Stopped"
    CANCELLED = "cancelled", "Cancelled"
    DONE = "done", "Ended"


class Outcome(models.TextChoices):
    """What came of one item; an empty one is still left."""

    VERIFIED = "verified"
    """The destination was asked afterwards, and holds what it should."""
    UNSEEN = "unseen"
    """Done by its own answer, or closed on somebody's word, where nobody can look."""
    HELD = "held"
    """A person decides about it by itself."""
    REFUSED = "refused"
    """It was not open to it, or the destination refused it."""


class BulkQuerySet(Seen, models.QuerySet["Bulk"]):
    """Questions about bulk actions."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out those with any item that this sight does not see: their counts would tell of it."""
        others = BulkItem.objects.exclude(operation__in=Operation.objects.all())
        return self.exclude(models.Exists(others.filter(bulk=models.OuterRef("pk"))))

    def waiting(self, now: datetime | TieoutNow) -> Self:
        """Requests for a second person that still count; the others lapse, also before that is noted."""
        return self.filter(status=Status.ASKED, asked_at__gt=now - ASKED_FOR)

    def due_first(self) -> Self:
        """Put first what should be answered first."""
        return self.order_by(DUE, "pk")

    def lapsed(self, now: datetime) -> Self:
        """Requests that nobody answered in time."""
        return self.filter(status=Status.ASKED, asked_at__lte=now - ASKED_FOR)

    def with_work(self, now: datetime) -> Self:
        """Bulk actions for which a step would do something, or may."""
        left = BulkItem.objects.filter(bulk=models.OuterRef("pk"), outcome="")
        unread = left.filter(may=None)
        under_way = left.filter(acted_at__isnull=False)
        halted = [Status.PAUSED, Status.STOPPED, Status.CANCELLED]
        return self.filter(
            Q(models.Exists(unread), status=Status.PREVIEW)
            | Q(status=Status.RUNNING, starts_at__lte=now)
            | Q(models.Exists(under_way), status__in=halted)
            | Q(~models.Exists(left), status__in=[Status.PAUSED, Status.STOPPED])
        )


class Bulk(models.Model):
    """One bulk action. Its list never changes once it is frozen; who decided what stays for ever."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    action = models.CharField(max_length=20)
    status = models.CharField(max_length=10, default=Status.PREVIEW)
    source = models.CharField(max_length=2000, blank=True)
    """The queue's address that it was frozen from; empty where rows were ticked."""
    picked = models.BooleanField()
    """Whether its rows were ticked one by one."""
    frozen = models.PositiveIntegerField()
    """How many items it has."""
    frozen_at = models.DateTimeField(db_default=TieoutNow())
    maker = models.CharField(max_length=150)
    maker_account = models.IntegerField(null=True, editable=False)
    """Theirs, by whatever name; the database writes it."""
    reason = models.CharField(max_length=1000, blank=True)
    per_minute = models.PositiveIntegerField(default=60)
    """How many look-ups, and how many sends, begin within a minute at most."""
    asked_at = models.DateTimeField(null=True)
    escalated_at = models.DateTimeField(null=True)
    """When it had passed its due time without an answer."""
    key_until = models.DateTimeField(null=True)
    """Until when the first key that protects one of them still does, as the list was read."""
    starts_at = models.DateTimeField(null=True)
    """When it takes effect: ten seconds after it was confirmed, in which it can be undone."""
    approved_by = models.CharField(max_length=150, blank=True)
    approved_account = models.IntegerField(null=True, editable=False)
    approved_at = models.DateTimeField(null=True)
    why = models.CharField(max_length=500, blank=True)
    """Why it last stopped, was paused, refused or cancelled."""
    ended_at = models.DateTimeField(null=True)
    nudged_at = models.DateTimeField(null=True)
    stepped_at = models.DateTimeField(null=True)
    """When its last step ended, or it was moved: who waits longest comes next."""

    objects = BulkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="bulk_action_known", condition=Q(action__in=sorted(str(action) for action in ACTIONS))
            ),
            models.CheckConstraint(name="bulk_status_known", condition=Q(status__in=sorted(Status.values))),
            models.CheckConstraint(name="bulk_size", condition=Q(frozen__gte=1, frozen__lte=MOST)),
            models.CheckConstraint(
                name="bulk_pace", condition=Q(per_minute__gte=1, per_minute__lte=PER_MINUTE_MOST)
            ),
            models.CheckConstraint(name="bulk_has_maker", condition=~Q(maker="")),
            models.CheckConstraint(
                name="bulk_has_reason", condition=Q(status=Status.PREVIEW) | ~Q(reason="")
            ),
            models.CheckConstraint(
                name="bulk_by_another",
                condition=Q(approved_by="") | ~Q(approved_by=F("maker")),
            ),
            models.CheckConstraint(
                name="bulk_by_another_account",
                condition=Q(approved_by="") | ~Q(approved_account=F("maker_account")),
            ),
        ]
        indexes = [
            models.Index(
                name="bulk_open",
                fields=["id"],
                condition=~Q(status__in=[Status.DONE]),
            )
        ]

    def __str__(self) -> str:
        return f"bulk action {self.pk}"

    @property
    def counts_until(self) -> datetime | None:
        """Until when a second person may answer; None where none was asked."""
        return self.asked_at and self.asked_at + ASKED_FOR

    @property
    def due_at(self) -> datetime | None:
        """When a second person should have answered; None where none was asked."""
        if self.asked_at is None:
            return None
        return due_at(self.asked_at, self.asked_at + ASKED_FOR, key_until=self.key_until)

    def said(self, item: "BulkItem") -> str:
        """Return the reason that an item's events carry: the person's own, and where it comes from."""
        return f"{self.reason} (bulk action {self.pk}, item {item.number} of {self.frozen})"


class BulkItem(models.Model):
    """One operation of a bulk action, and what came of it: said once, and kept."""

    bulk = models.ForeignKey(Bulk, on_delete=models.CASCADE, related_name="items", db_index=False)
    number = models.PositiveIntegerField()
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="bulk_items")
    may = models.BooleanField(null=True)
    """Whether the preview found it open to the action; empty until that is read."""
    foreseen = models.CharField(max_length=20, blank=True)
    """What the latest check had found when the list was frozen."""
    looked_at = models.DateTimeField(null=True)
    """When the destination was last asked about it for this."""
    ready_at = models.DateTimeField(null=True)
    """Since when its check allows the action."""
    looked = models.ForeignKey(Lookup, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    """That check."""
    turn = models.PositiveSmallIntegerField(default=0)
    """How often it was called back before it went out."""
    canary = models.BooleanField(default=False)
    acted_at = models.DateTimeField(null=True)
    command_id = models.UUIDField(null=True, unique=True)
    """The command under which the ledger did it."""
    surprised_at = models.DateTimeField(null=True)
    """When it came out otherwise than foreseen, and everything stopped."""
    seen = models.ForeignKey(Lookup, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    """The check that verifies it."""
    outcome = models.CharField(max_length=10, blank=True)
    why = models.CharField(max_length=500, blank=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(name="bulkitem_number", fields=["bulk", "number"]),
            models.CheckConstraint(name="bulkitem_from_one", condition=Q(number__gte=1)),
            models.UniqueConstraint(name="bulkitem_once", fields=["bulk", "operation"]),
            models.CheckConstraint(
                name="bulkitem_outcome_known", condition=Q(outcome__in=["", *sorted(Outcome.values)])
            ),
            models.CheckConstraint(
                name="bulkitem_outcome_dated",
                condition=Q(outcome="", done_at__isnull=True) | ~Q(outcome="") & Q(done_at__isnull=False),
            ),
            models.CheckConstraint(
                name="bulkitem_acted_by_command",
                condition=Q(acted_at__isnull=True, canary=False) | Q(command_id__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="bulkitem_left", fields=["bulk", "number"], condition=Q(outcome="")),
            models.Index(name="bulkitem_outcome", fields=["bulk", "outcome"]),
            models.Index(name="bulkitem_canary", fields=["bulk"], condition=Q(canary=True)),
            models.Index(
                name="bulkitem_under_way",
                fields=["bulk", "number"],
                condition=Q(outcome="", acted_at__isnull=False),
            ),
            models.Index(name="bulkitem_looked", fields=["bulk", "looked_at"]),
            models.Index(name="bulkitem_acted", fields=["bulk", "acted_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.bulk_id}/{self.number}"


class BulkWord(models.Model):
    """What a person said about a bulk action, once: pressing twice is one command."""

    command_id = models.UUIDField(unique=True)
    bulk = models.ForeignKey(Bulk, on_delete=models.PROTECT, related_name="words")
    action = models.CharField(max_length=20)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    given_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="bulkword_has_actor", condition=~Q(actor="")),
            models.CheckConstraint(name="bulkword_has_reason", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.bulk_id}"


EventQuerySet.told_by["bulk"] = lambda _: Bulk.objects.values(text=Cast("uid", models.CharField()))
