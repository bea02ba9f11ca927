"""Webhooks to others, and the outbox: what is to be told, written with the event that it tells of."""

import uuid
from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from ledger.models.clock import TieoutNow, database_now
from ledger.models.evidence import Event, EventQuerySet
from ledger.models.operation import Operation
from ledger.sight import Seen, Sight


class WebhookQuerySet(Seen, models.QuerySet["Webhook"]):
    """Questions about webhooks."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(sight.among("types"))

    def free(self) -> Self:
        """Webhooks that nobody is delivering to, and that need not be left alone."""
        now = database_now()
        busy, rests = Q(busy_until__gt=now), Q(rests_until__gt=now)
        return self.exclude(busy).exclude(rests)

    def due(self) -> Self:
        """Free webhooks for which something waits whose time has come."""
        waiting = Delivery.objects.due().filter(webhook=OuterRef("pk"))
        return self.free().filter(Exists(waiting))


class Webhook(models.Model):
    """Where others want to be told, of what, and by which secrets it is signed."""

    name = models.SlugField(max_length=100, unique=True)
    url = models.CharField(max_length=500)
    secrets = models.JSONField()
    """Where its secrets are, the current one first; never the secrets themselves."""
    events = models.JSONField()
    types = models.JSONField(default=list)
    """Names of the operation types that it is told of; an empty list means every type."""
    allow_private = models.BooleanField(default=False)
    changed_at = models.DateTimeField(db_default=TieoutNow())
    failures = models.PositiveIntegerField(default=0, db_default=0)
    """Failed tries in a row, of whatever is to be told."""
    failing_since = models.DateTimeField(null=True)
    rests_until = models.DateTimeField(null=True)
    busy_until = models.DateTimeField(null=True)
    """Until when a worker may be delivering to it, one at a time; in the past, when the last turn ended."""

    objects = WebhookQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class DeliveryQuerySet(Seen, models.QuerySet["Delivery"]):
    """Questions about deliveries."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation__in=Operation.objects.all())

    def due(self) -> Self:
        """Deliveries whose next try has come."""
        return self.filter(state=Delivery.State.WAITING, due_at__lte=TieoutNow())

    def over(self, until: datetime) -> Self:
        """Deliveries that ended before an instant with nothing left to tell; none that was given up."""
        ended = self.filter(state__in=Delivery.OVER, made_at__lt=until)
        return ended.filter(Q(delivered_at=None) | Q(delivered_at__lt=until))


class Delivery(models.Model):
    """One event that is told to one webhook, until it says that it has it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        GIVEN_UP = "given_up"
        DROPPED = "dropped"

    OVER = (State.DELIVERED, State.DROPPED)

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    """Its `webhook-id`: the same in every try."""
    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="deliveries")
    operation = models.ForeignKey(
        Operation, on_delete=models.PROTECT, related_name="deliveries", db_index=False
    )
    kind = models.CharField(max_length=30)
    made_at = models.DateTimeField(db_default=TieoutNow())
    state = models.CharField(max_length=10)
    due_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    words = models.CharField(max_length=300, blank=True)
    """What came of the last try, in words of ours."""
    delivered_at = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="delivery_once", fields=["webhook", "event"]),
            models.CheckConstraint(
                name="delivery_state_known",
                condition=Q(state__in=["delivered", "dropped", "given_up", "waiting"]),
            ),
            models.CheckConstraint(
                name="delivery_due_while_waiting",
                condition=Q(state="waiting", due_at__isnull=False)
                | (~Q(state="waiting") & Q(due_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_mark",
                condition=Q(state="delivered", delivered_at__isnull=False)
                | (~Q(state="delivered") & Q(delivered_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(name="delivery_due", fields=["webhook", "due_at"], condition=Q(state="waiting")),
            models.Index(name="delivery_given_up", fields=["-id"], condition=Q(state="given_up")),
            models.Index(
                name="delivery_over", fields=["made_at"], condition=Q(state__in=["delivered", "dropped"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uid}"


EventQuerySet.told_by["webhook"] = lambda _: Webhook.objects.values("name")
