"""Destinations, what they promise, and the operation types that go there."""

import uuid
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Self, TypeVar
from zoneinfo import ZoneInfo

from django.db import models
from pydantic import ValidationError

from ledger.models.clock import TieoutNow
from ledger.rules import overlaps, placeholders
from ledger.rules.calls import Calls, DrillSample, RetryPolicy, ReviewPolicy
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract, Section
from ledger.rules.errors import RulesUnreadable
from ledger.rules.hours import WorkingHours
from ledger.sight import Seen, Sight

Rules = TypeVar("Rules", bound=Section)


def _read(section: type[Rules], stored: Mapping[str, Any], *, of: str) -> Rules:
    """Read a stored section; RulesUnreadable names whose it is."""
    try:
        return section.read(stored)
    except ValidationError:
        raise RulesUnreadable(
            f"The rules of {of} cannot be read by this version. An administrator takes their file in again "
            "with configure."
        ) from None


class DestinationQuerySet(Seen, models.QuerySet["Destination"]):
    """Questions about destinations."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(pk__in=sight.destinations)


class Destination(models.Model):
    """A system that other people run."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    entity = models.CharField(max_length=200)
    connector = models.CharField(max_length=200)
    account = models.CharField(max_length=200)
    connection = models.JSONField()
    drills = models.BooleanField(default=False, db_default=False)
    """Whether drills may make records there: it is a test account."""
    hours = models.JSONField(null=True)
    """When its entity works; None: always."""
    changed_at = models.DateTimeField(db_default=TieoutNow())

    objects = DestinationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="destination_named", condition=~models.Q(title="") & ~models.Q(entity="")
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @cached_property
    def reach(self) -> Connection:
        """How it is reached, parsed."""
        return _read(Connection, self.connection, of=self.title)

    @cached_property
    def working(self) -> WorkingHours | None:
        """When its entity works, parsed; None where it always does."""
        return None if self.hours is None else _read(WorkingHours, self.hours, of=self.title)

    def due_at(self, opened_at: datetime, due_s: float) -> datetime:
        """Return when a case is due that is opened now: so many seconds of its entity's working hours later.

        Hours that cannot be read keep nobody from opening a case: then all hours count.
        """
        try:
            working = self.working
        except RulesUnreadable:
            working = None
        return opened_at + timedelta(seconds=due_s) if working is None else working.after(opened_at, due_s)

    @property
    def trouble(self) -> str:
        """Why it cannot be reached by what is stored, in words; empty where it can."""
        try:
            _ = self.reach, self.working
        except RulesUnreadable as error:
            return error.detail
        return ""

    @property
    def place(self) -> overlaps.Place:
        """Whose books these are: alike at two destinations that are one."""
        return overlaps.Place.of(self.connector, self.account, self.reach)


class OperationTypeQuerySet(Seen, models.QuerySet["OperationType"]):
    """Questions about operation types."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(pk__in=sight.types)

    def configured(self) -> Self:
        """Types that a file describes: not those that reverse what one of them makes."""
        return self.filter(reverses__isnull=True)


class OperationType(models.Model):
    """One kind of operation at one destination, with the rules for it."""

    class Performer(models.TextChoices):
        TIEOUT = "tieout"
        CALLER = "caller"

    name = models.CharField(max_length=100, unique=True)
    destination = models.ForeignKey(Destination, on_delete=models.PROTECT, related_name="types")
    label = models.CharField(max_length=200)
    noun = models.CharField(max_length=60)
    performed_by = models.CharField(max_length=10, choices=Performer)
    side_effect = models.BooleanField(default=True)
    key_template = models.CharField(max_length=300, blank=True)
    lease_s = models.FloatField()
    permit_for_s = models.FloatField(default=86400)
    payload_keep_s = models.FloatField(default=90 * 86400)
    owner = models.CharField(max_length=100)
    contract = models.JSONField()
    calls = models.JSONField()
    retry = models.JSONField()
    review = models.JSONField()
    drill = models.JSONField(null=True)
    """What a drill may send; None where it may not."""
    changed_at = models.DateTimeField(db_default=TieoutNow())
    rules_version = models.PositiveIntegerField(default=1, db_default=1)
    """Counted by the database with each change of its rules, or of how its destination is reached."""
    lookup_changed_at = models.DateTimeField(db_default=TieoutNow())
    """When the rules last changed by which an operation is sent so that it can be found, and is looked up."""
    lookup_proved_at = models.DateTimeField(null=True)
    """When this look-up first found a record that was sent since then."""
    reverses = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="reversals")
    """The type whose records it reverses, and whose rules it follows; none of a file's own types has one."""

    objects = OperationTypeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="type_performer", condition=models.Q(performed_by__in=["tieout", "caller"])
            ),
            models.CheckConstraint(name="type_lease_positive", condition=models.Q(lease_s__gt=0)),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def promises(self) -> Contract:
        """The contract in force now, parsed."""
        return _read(Contract, self.contract, of=self.name)

    @cached_property
    def how(self) -> Calls:
        """Its calls, parsed."""
        return _read(Calls, self.calls, of=self.name)

    @cached_property
    def policy(self) -> RetryPolicy:
        """Its limits for tries, parsed."""
        return _read(RetryPolicy, self.retry, of=self.name)

    @cached_property
    def reviewing(self) -> ReviewPolicy:
        """How its cases are worked, parsed."""
        return _read(ReviewPolicy, self.review, of=self.name)

    def day(self, at: datetime) -> date:
        """Return the day of an instant, as its people's day begins and ends."""
        return at.astimezone(ZoneInfo(self.reviewing.timezone)).date()

    def due_at(self, opened_at: datetime) -> datetime:
        """Return when a case of it is due that is opened now."""
        return self.destination.due_at(opened_at, self.reviewing.due_s)

    @cached_property
    def sample(self) -> DrillSample | None:
        """What a drill may send, parsed; None where none is allowed."""
        return None if self.drill is None else _read(DrillSample, self.drill, of=self.name)

    @property
    def trouble(self) -> str:
        """Why its rules, or its destination's, cannot be read, in words; empty where they can."""
        try:
            _ = self.promises, self.how, self.policy, self.reviewing
        except RulesUnreadable as error:
            return error.detail
        return self.destination.trouble

    @cached_property
    def names_first(self) -> bool:
        """Say whether its calls name what an operation comes after."""
        return placeholders.names_first(self.how)

    @property
    def finds(self) -> overlaps.Finds:
        """Which records it looks for, and where."""
        return overlaps.Finds.of(self.name, self.destination.place, self.how)

    @property
    def has_lookup(self) -> bool:
        """Say whether the destination can be asked what it holds for one operation."""
        return self.how.lookup is not None

    @property
    def by_tieout(self) -> bool:
        """Say whether Tieout sends, rather than the caller."""
        return self.performed_by == self.Performer.TIEOUT
