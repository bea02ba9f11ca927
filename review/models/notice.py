"""What is said to a person: notices on their page, and messages that go out to them or to a team's chat."""

import uuid
from typing import Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Exists, OuterRef, Q

from ledger.models import Event, TieoutNow, database_now
from ledger.sight import Seen, Sight
from reconcile.models import Run


class NoticeQuerySet(Seen, models.QuerySet["Notice"]):
    """Questions about notices."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(event__in=Event.objects.all())

    def unread(self) -> Self:
        """Notices that their reader has not marked."""
        return self.filter(read_at__isnull=True)


class Notice(models.Model):
    """Something that concerns one person; written by the database with its event, alike ones as one."""

    class Kind(models.TextChoices):
        GIVEN = "given"
        NAMED = "named"
        ESCALATED = "escalated"
        OVERDUE = "overdue"
        ANSWERED = "answered"
        RED = "red"

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices", db_index=False)
    kind = models.CharField(max_length=10)
    about = models.CharField(max_length=200)
    """What makes several one: who gave them with which word, the operation, or the team; and the entity."""
    event = models.ForeignKey(
        Event, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    """The latest of them."""
    count = models.PositiveIntegerField(db_default=1)
    at = models.DateTimeField(db_default=TieoutNow())
    read_at = models.DateTimeField(null=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="notice_one_unread",
                fields=["person", "kind", "about"],
                condition=Q(read_at__isnull=True),
            ),
            models.CheckConstraint(
                name="notice_kind_known",
                condition=Q(kind__in=["answered", "escalated", "given", "named", "overdue", "red"]),
            ),
        ]
        indexes = [
            models.Index(name="notice_of_person", fields=["person", "-at"]),
            models.Index(name="notice_read", fields=["read_at"], condition=Q(read_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.person_id}"


class ChannelQuerySet(models.QuerySet["Channel"]):
    """Questions about channels."""

    def free(self) -> Self:
        """Channels that nobody is sending by, and that need not be left alone."""
        now = database_now()
        return self.exclude(busy_until__gt=now).exclude(rests_until__gt=now)

    def due(self) -> Self:
        """Free channels for which something waits whose time has come."""
        return self.free().filter(Exists(Message.objects.due().filter(channel=OuterRef("pk"))))


class Channel(models.Model):
    """One way out: the mail server, or a team's chat; one that fails rests, and keeps no other waiting."""

    MAIL, CHAT = "mail", "chat:"

    name = models.CharField(max_length=110, unique=True)
    """`mail`, or `chat:` and the team's name."""
    pending = models.PositiveIntegerField(db_default=0)
    """How many items went to this team and are in no message yet; counted by the database with each event."""
    red = models.PositiveIntegerField(db_default=0)
    """How often what was due of this team's did not report, and is in no message yet; counted likewise."""
    spoke_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(db_default=0)
    failing_since = models.DateTimeField(null=True)
    rests_until = models.DateTimeField(null=True)
    busy_until = models.DateTimeField(null=True)

    objects = ChannelQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def team(self) -> str:
        """The team whose chat it is; empty for mail."""
        return self.name.removeprefix(self.CHAT) if self.name.startswith(self.CHAT) else ""


class MessageQuerySet(models.QuerySet["Message"]):
    """Questions about messages."""

    def due(self) -> Self:
        """Messages whose next try has come."""
        return self.filter(state=Message.State.WAITING, due_at__lte=TieoutNow())

    def not_mailed(self) -> Self:
        """Mails to addresses that were tried in vain, where none has arrived there since."""
        later = Message.objects.filter(
            address=OuterRef("address"), pk__gt=OuterRef("pk"), state=Message.State.DELIVERED
        )
        states = [Message.State.WAITING, Message.State.GIVEN_UP]
        return self.exclude(address="").filter(~Exists(later), state__in=states, tries__gt=0)


class Message(models.Model):
    """What goes out once, at least: counts and addresses of pages, nothing of what an operation is about."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        GIVEN_UP = "given_up"
        DROPPED = "dropped"

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    """The same in every try, so that who gets it twice can tell."""
    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="messages", db_index=False)
    person = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    """To whom it goes by mail; None in a chat, and where it goes to an address."""
    address = models.CharField(max_length=320, blank=True, db_default="")
    """A plan's recipient, who may be nobody's account; empty otherwise."""
    about = models.CharField(max_length=100, blank=True, db_default="")
    """What an address is told of, once each: `run 17`; empty otherwise."""
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="messages", db_index=False)
    """The run whose totals it says, as they are on its page."""
    day = models.DateField(null=True)
    """Of whom it is the one digest of that day, in their zone."""
    lines = models.JSONField()
    """What it says: pairs of words and the path of a page; nothing where its run says it."""
    made_at = models.DateTimeField(db_default=TieoutNow())
    state = models.CharField(max_length=10, default="waiting")
    due_at = models.DateTimeField(null=True, db_default=TieoutNow())
    tries = models.PositiveSmallIntegerField(db_default=0)
    tried_at = models.DateTimeField(null=True)
    words = models.CharField(max_length=300, blank=True)
    """What came of the last try, in words of ours."""
    delivered_at = models.DateTimeField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="message_one_digest", fields=["person", "day"]),
            models.CheckConstraint(
                name="message_state",
                condition=Q(state="waiting", due_at__isnull=False, delivered_at__isnull=True)
                | Q(state="delivered", due_at__isnull=True, delivered_at__isnull=False)
                | Q(state__in=["dropped", "given_up"], due_at__isnull=True, delivered_at__isnull=True),
            ),
            models.UniqueConstraint(
                name="message_one_report", fields=["about", "address"], condition=~Q(address="")
            ),
            models.CheckConstraint(
                name="message_of_somebody",
                condition=Q(person__isnull=False, day__isnull=False, address="", about="", run__isnull=True)
                | Q(person__isnull=True, day__isnull=True, address="", about="", run__isnull=True)
                | Q(Q(person__isnull=True, day__isnull=True), ~Q(address=""), ~Q(about="")),
            ),
        ]
        indexes = [
            models.Index(name="message_due", fields=["channel", "due_at"], condition=Q(state="waiting")),
            models.Index(name="message_given_up", fields=["-id"], condition=Q(state="given_up")),
            models.Index(name="message_of_run", fields=["run"], condition=Q(run__isnull=False)),
            models.Index(name="message_over", fields=["made_at"], condition=~Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"message {self.uid}"
