"""Evidence and people's work: look-ups, cases, commands and the events that nobody can change."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from ledger.models.clock import TieoutNow
from ledger.models.destination import Destination
from ledger.models.operation import Attempt, Operation
from ledger.models.pause import Pause
from ledger.models.seen import record_ids
from ledger.rules import actors
from ledger.rules.states import CaseKind, Verdict
from ledger.sight import Seen, Sight
from ledger.sql import statement


class Lookup(models.Model):
    """What a destination held for one operation at one moment; kept as it was found."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="lookups")
    actor = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(db_default=TieoutNow())
    verdict = models.CharField(max_length=20)
    complete = models.BooleanField()
    """The answer was read to its end and every item carried the reference asked for, or there was none."""
    proof = models.BooleanField(default=False)
    """Absent, complete, by a look-up that has found a known record, and after the settle time."""
    records = models.JSONField(default=list)
    """Normalised and redacted: id, reference, amount, currency, status, standing, occurred_at, differs."""
    content_digest = models.CharField(max_length=64)
    """Digest of what was found; a permit is void when a later look-up finds something else."""
    why = models.CharField(max_length=300, blank=True)
    control_reference = models.CharField(max_length=200, blank=True)
    """A known record that the same look-up found, where it was asked to prove itself."""

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(name="lookup_verdict_known", condition=Q(verdict__in=sorted(Verdict))),
            models.CheckConstraint(
                name="lookup_proof_is_absence",
                condition=Q(proof=False) | Q(verdict=Verdict.ABSENT, complete=True),
            ),
        ]
        indexes = [GinIndex(record_ids("records"), name="lookup_seen", fastupdate=False)]

    def __str__(self) -> str:
        return f"{self.operation_id} {self.verdict}"


NEXT_LEVEL_AT = Coalesce("escalates_at", "due_at")
"""When a case goes to its next level: until the first one has it, when it is due."""


class CaseQuerySet(Seen, models.QuerySet["Case"]):
    """Questions about cases."""

    found_by: ClassVar[list[Callable[[], QuerySet[Any]]]] = [lambda: Pause.objects.values("case")]
    """Questions for the cases of what belongs to an entity without an operation; each floor adds its own."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        # Asked for each case by its operation: a list of all that are seen would be made for a page of them.
        return self.filter(Exists(Operation.objects.filter(pk=OuterRef("operation"))) | self.loose(sight))

    @classmethod
    def loose(cls, sight: Sight) -> Q:
        """Ask for the cases without an operation that this sight sees."""
        seen = Q(destination__in=sight.destinations)
        for cases in cls.found_by:
            seen |= Q(pk__in=cases())
        return seen

    def open(self) -> Self:
        """Cases that nobody has closed."""
        return self.filter(closed_at__isnull=True)

    def to_escalate(self, now: datetime) -> Self:
        """Open cases that nobody has answered in time, and that have a level left; the oldest first."""
        due = self.open().filter(Q(level=0) | Q(escalates_at__isnull=False)).alias(next_at=NEXT_LEVEL_AT)
        return due.filter(next_at__lte=now).order_by("next_at", "pk")

    def snoozed(self, now: datetime) -> Self:
        """Cases that somebody has put off, and whose operation has not changed since."""
        unchanged = Q(operation=None) | Q(snoozed_revision=F("operation__revision"))
        return self.filter(unchanged, snoozed_until__gt=now)


class Case(models.Model):
    """Software has stopped; a team owns the question until it is answered."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(Operation, null=True, on_delete=models.PROTECT, related_name="cases")
    kind = models.CharField(max_length=20)
    owner = models.CharField(max_length=100)
    """The team whose queue it stands in."""
    assignee = models.CharField(max_length=150, blank=True, db_default="")
    """The person who has it, by the name that they act under; empty where it is nobody's yet."""
    snoozed_until = models.DateTimeField(null=True)
    snoozed_revision = models.PositiveIntegerField(null=True)
    """The operation's revision when it was put off: whatever happens to the operation wakes it."""
    opened_at = models.DateTimeField(db_default=TieoutNow())
    due_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=150, blank=True)
    destination = models.ForeignKey(
        Destination, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """Whose entity's working hours count, where no operation says so."""
    level = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How often it has gone to a next level because nobody answered in time."""
    step = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How many of its owner's levels are behind it; another team has levels of its own."""
    escalated_at = models.DateTimeField(null=True)
    escalated_to = models.CharField(max_length=100, blank=True, db_default="")
    """The team, or everybody of the role, that has it besides its owner."""
    escalates_at = models.DateTimeField(null=True)
    """When its next level has it; None: on level 0 when it is due, later never."""

    NEVER = datetime(9999, 1, 1, tzinfo=UTC)
    """What `escalates_at` is where a team has no levels."""

    objects = CaseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="case_kind_known", condition=Q(kind__in=sorted(CaseKind))),
            models.CheckConstraint(
                name="case_escalated_whole",
                condition=Q(level=0, escalated_at__isnull=True, escalated_to="")
                | Q(level__gt=0, escalated_at__isnull=False) & ~Q(escalated_to=""),
            ),
            models.UniqueConstraint(
                name="case_one_open", fields=["operation"], condition=Q(closed_at__isnull=True)
            ),
        ]
        indexes = [
            models.Index(
                name="case_of_person",
                fields=["assignee"],
                condition=Q(closed_at__isnull=True) & ~Q(assignee=""),
            ),
            models.Index(
                NEXT_LEVEL_AT,
                name="case_to_escalate",
                condition=Q(closed_at__isnull=True) & (Q(level=0) | Q(escalates_at__isnull=False)),
            ),
            models.Index(
                name="case_escalated",
                fields=["escalated_to"],
                condition=Q(closed_at__isnull=True, level__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} {self.kind}"

    def is_snoozed(self, now: datetime, revision: int | None) -> bool:
        """Say whether it is put off, its operation being at this revision (None: it has no operation)."""
        put_off = self.snoozed_until is not None and self.snoozed_until > now
        return put_off and self.snoozed_revision == revision


class Command(models.Model):
    """One human click. Pressing twice is one command; a later deliberate one has another id."""

    command_id = models.UUIDField(unique=True)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="commands")
    action = models.CharField(max_length=30)
    actor = models.CharField(max_length=150)
    given_at = models.DateTimeField(db_default=TieoutNow())

    def __str__(self) -> str:
        return f"{self.action} {self.command_id}"


BY_A_PERSON = ~(
    Q(actor__contains=":") | Q(actor__startswith=actors.RUN) | Q(actor__in=sorted(actors.RESERVED))
)
"""What people did; automations and workers, who write far more, pay nothing for its index."""


CLOCKS = timedelta(hours=1)
"""How far the order of events may differ from that of their times, where a clock was set."""


def _loose_cases(sight: Sight) -> QuerySet[Any]:
    found = Case._base_manager.filter(CaseQuerySet.loose(sight), operation=None)
    return found.values(text=Cast("uid", models.CharField()))


class EventQuerySet(Seen, models.QuerySet["Event"]):
    """Questions about events."""

    told_by: ClassVar[dict[str, Callable[[Sight], QuerySet[Any] | list[str]]]] = {
        "case": _loose_cases,
        "type": lambda sight: sight.names,
    }
    """What an event without an operation may name in its data, and which of these a sight sees.

    Each floor adds its own; what names none of them is the whole installation's.
    """

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        told, seen = {}, Q()
        for name, known in self.told_by.items():
            told[f"told_{name}"] = KT(f"data__{name}")
            seen |= Q(**{f"told_{name}__in": known(sight)})
        # Asked for each event by its operation: a list of all that are seen would be made for a page of them.
        its_own = Exists(Operation.objects.filter(pk=OuterRef("operation")))
        return self.alias(**told).filter(its_own | Q(operation=None) & seen)

    def by_people(self) -> Self:
        """What people did."""
        return self.filter(BY_A_PERSON)

    def by_software(self) -> Self:
        """What automations, destinations, commands and workers did."""
        return self.exclude(BY_A_PERSON)

    def between(self, since: datetime | None, until: datetime | None) -> Self:
        """Events from one instant on and before another; two quick queries find where those are."""
        found = self
        if since is not None:
            found = found.filter(at__gte=since, pk__gte=_first(since - CLOCKS))
        if until is not None:
            found = found.filter(at__lt=until, pk__lt=_first(until + CLOCKS))
        return found


def _first(at: datetime) -> int:
    """Return the number of the first event that is as late as an instant."""
    with connection.cursor() as cursor:
        cursor.execute(statement("since"), {"at": at})
        row = cursor.fetchone()
    return row[0] if row else 0


class Event(models.Model):
    """What happened, who did it and why; the database refuses to change, remove or truncate it."""

    # Nobody looks for one by it, and 122 random bits need no index to differ.
    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    # That both are there, and belong together, a guard proves; events are found by their operation.
    operation = models.ForeignKey(
        Operation,
        null=True,
        on_delete=models.PROTECT,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    attempt = models.ForeignKey(
        Attempt,
        null=True,
        on_delete=models.PROTECT,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    kind = models.CharField(max_length=30)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    state_from = models.CharField(max_length=10, blank=True)
    state_to = models.CharField(max_length=10, blank=True)
    command_id = models.UUIDField(null=True)
    revision = models.PositiveIntegerField(null=True)
    """The operation's revision that this event tells of; the database wants one for each."""
    data = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=TieoutNow())

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="event_has_actor", condition=~Q(actor="")),
            models.CheckConstraint(name="event_has_reason", condition=~Q(reason="")),
        ]
        indexes = [
            models.Index(name="event_of_operation", fields=["operation", "id"]),
            models.Index(name="event_of_people", fields=["id"], condition=BY_A_PERSON),
            models.Index(name="event_revealed", fields=["at"], condition=Q(kind="revealed")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.operation_id}"
