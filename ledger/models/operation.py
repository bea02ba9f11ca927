"""Operations and their attempts: what was meant, what was tried, and what is known."""

import uuid
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Collate, Lower

from ledger.models.clock import TieoutNow
from ledger.models.destination import OperationType
from ledger.models.pause import Pause
from ledger.models.permit import Permit
from ledger.rules.states import EFFECT, UNFINISHED, CaseKind, Evidence, Outcome, State
from ledger.sight import Seen, Sight

GOES_ON = (State.UNCERTAIN, State.FAILED)
"""States from which a permit leads to another try."""
NONE = -1
"""No operation's own number: a question about none is a question all the same."""


REFERENCES = (
    "key",
    "source_reference",
    "description",
    "subject",
    "destination_reference",
    "idempotency_key",
)
"""What a person may hold of an operation, and finds it by."""


def folded(text: str | models.expressions.Combinable) -> Collate:
    """Return text as it is found by: in small letters, and ordered so that a beginning is a range."""
    return Collate(Lower(text), "C")


def _found_by(name: str) -> models.Index:
    """Make the index that a column is found by, without what is empty; the newest of alike ones first."""
    index = f"operation_find_{name.removesuffix('_reference').removesuffix('_key')}"
    return models.Index(folded(name), F("id").desc(), name=index, condition=~Q(**{name: ""}))


def _first(is_so: Callable[[str], Q]) -> Q:
    """Ask what comes first, or what stands in its place: `is_so` makes the question of a row at a prefix.

    Which one stands there the database says (`ledger_first`), and is asked only where the one named was
    corrected: it would be asked of each row that waits.
    """
    stands = models.Func(models.OuterRef("after"), function="ledger_first")
    instead = Operation.objects.filter(is_so(""), pk=stands)
    itself = Q(after__corrected_at=None) & is_so("after__")
    return itself | (Q(after__corrected_at__isnull=False) & Q(models.Exists(instead)))


def _settled(state: State) -> Callable[[str], Q]:
    """Ask whether it has a state and no case."""
    return lambda at: Q(**{f"{at}state": state, f"{at}held_at": None})


def _useless() -> Q:
    """Ask whether what comes first is done, and nothing can be built on it (`following.First.useless`)."""
    done = _settled(State.COMPLETED)
    # Read first: what the calls of a type name only Python can tell.
    kinds = OperationType.objects.select_related("destination")
    naming = [kind.pk for kind in kinds if not kind.trouble and kind.names_first]
    nameless = _first(lambda at: done(at) & Q(**{f"{at}destination_reference": ""}))
    account = "operation_type__destination__account"
    moved = _first(
        lambda at: done(at) & ~Q(**{f"{at}account_first": ""}) & ~Q(**{f"{at}account_first": F(at + account)})
    )
    return moved | (nameless & Q(operation_type__in=naming))


class OperationQuerySet(Seen, models.QuerySet["Operation"]):
    """Questions about operations."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)

    def reachable(self) -> Self:
        """Operations that no pause of their destination keeps waiting."""
        stopping = Pause.objects.open().stopping(models.OuterRef("pk"))
        stopped = OperationType.objects.filter(models.Exists(stopping)).values_list("pk", flat=True)
        # Read first, for they are few: how the operations are found must not hang on them.
        return self.exclude(operation_type__in=[*stopped])

    def by_tieout(self) -> Self:
        """Operations that Tieout sends, rather than their caller."""
        return self.filter(operation_type__performed_by="tieout")

    def ready(self, now: datetime) -> Self:
        """Operations whose next try is due and possible; only what waits has one."""
        return self.reachable().filter(next_try_at__lte=now, held_at=None)

    def allowed(self, now: datetime) -> Self:
        """Operations whose open permit has taken effect, has not lapsed and can be used."""
        # Read first as well: the database might look for a permit of every operation.
        permits = Permit.objects.in_effect(now).values_list("operation_id", flat=True)
        return self.reachable().filter(pk__in=[*permits, NONE])

    def due(self, now: datetime) -> Self:
        """Waiting operations whose next try is due and possible."""
        return self.ready(now).filter(state=State.PENDING)

    def permitted(self, now: datetime) -> Self:
        """Operations that a permit in effect leads to another try."""
        return self.allowed(now).filter(state__in=GOES_ON)

    def to_follow(self) -> Self:
        """Waiting operations that may go, wait again or need a person, because of what they come after.

        That is the operation named, or the latest correction in its place.
        """
        original = Coalesce(models.OuterRef("after__corrects"), models.OuterRef("after"))
        permits = Permit.objects.open().filter(
            Q(operation=models.OuterRef("after")) | Q(operation__corrects=original)
        )
        # Held for anything else, it waits for a person, whatever becomes of the first.
        itself = Operation.objects.filter(pk=models.OuterRef("pk"))
        asked = itself.filter(cases__kind=CaseKind.FIRST, cases__closed_at=None)
        done, failed = _first(_settled(State.COMPLETED)), _first(_settled(State.FAILED))
        useless = _useless()
        return self.filter(state=State.PENDING, after__isnull=False).filter(
            Q(done | failed, held_at=None, next_try_at=None)
            | Q(~done | useless, held_at=None, next_try_at__isnull=False)
            | Q(~(failed | useless) | models.Exists(permits), models.Exists(asked), held_at__isnull=False)
        )

    def out_of_lease(self, now: datetime) -> Self:
        """Running operations whose lease has ended."""
        return self.filter(state=State.RUNNING, lease_until__lte=now)

    def to_look_up(self, now: datetime) -> Self:
        """Uncertain operations whose next look-up, or other resolution, is due and possible; none is held."""
        return self.reachable().filter(state=State.UNCERTAIN, look_at__lte=now, held_at=None)

    def told_of(self, now: datetime) -> Self:
        """Operations that their destination spoke of, and whose look-up for that is due and possible."""
        return self.reachable().filter(told_look_at__lte=now).exclude(state=State.RUNNING)

    def past_keeping(self, now: datetime) -> Self:
        """Operations done, cancelled or corrected so long ago that their payload need no longer be kept."""
        types: dict[float, list[int]] = defaultdict(list)
        for pk, keep_s in OperationType.objects.values_list("pk", "payload_keep_s"):
            types[keep_s].append(pk)
        over = Q(pk__in=[])
        for keep_s, kinds in types.items():
            until = now - timedelta(seconds=keep_s)
            never_sent = Q(cancelled_at__lte=until) | Q(corrected_at__lte=until)
            finished = Q(operation_type__in=kinds, finished_at__lte=until)
            over |= finished & (Q(state=State.COMPLETED, held_at=None) | never_sent)
        return self.filter(over, payload_sealed__isnull=False)

    def held(self) -> Self:
        """Operations that wait for a person."""
        return self.filter(held_at__isnull=False)

    def waiting(self) -> Self:
        """Operations that software takes further by itself: they wait for their turn, or are under way."""
        return self.filter(state__in=sorted({State.PENDING, State.RUNNING}), held_at=None)

    def open(self) -> Self:
        """Operations that somebody or something still has to finish."""
        return self.filter(Q(held_at__isnull=False) | Q(state__in=sorted(UNFINISHED)))


class Operation(models.Model):
    """One unit of work that a person would recognise. Written by `ledger.actions` only."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    operation_type = models.ForeignKey(
        OperationType, on_delete=models.PROTECT, related_name="operations", db_index=False
    )
    key = models.CharField(max_length=200)
    state = models.CharField(max_length=10)
    description = models.CharField(max_length=300, blank=True)
    subject = models.CharField(max_length=300, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True)
    source_system = models.CharField(max_length=100, blank=True)
    source_reference = models.CharField(max_length=200, blank=True)
    source_version = models.CharField(max_length=100, blank=True)
    payload_digest = models.CharField(max_length=100)
    leaf_digests = models.JSONField()
    payload_sealed = models.BinaryField(null=True)
    idempotency_key = models.CharField(max_length=255)
    generation = models.PositiveSmallIntegerField(default=1)
    first_sent_at = models.DateTimeField(null=True)
    """The first start under the present key; the window's clock counts from here."""
    contract_first = models.JSONField(null=True)
    account_first = models.CharField(max_length=200, blank=True)
    accepted_at = models.DateTimeField(db_default=TieoutNow())
    changed_at = models.DateTimeField(db_default=TieoutNow())
    revision = models.PositiveIntegerField(default=1)
    """Counts every write; a write that read an older one finds nothing to change."""
    attempt_count = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    taken_at = models.DateTimeField(null=True)
    """When the destination first said *accepted*."""
    settles_at = models.DateTimeField(null=True)
    """From when on absence is proof: the sender's end plus the settle time."""
    look_at = models.DateTimeField(null=True)
    """When the sweep takes it up again; empty once it is held."""
    look_count = models.PositiveSmallIntegerField(default=0)
    """Look-ups in a row that could not look."""
    told_at = models.DateTimeField(null=True)
    """When its destination last spoke of it in an event of its own."""
    told_look_at = models.DateTimeField(null=True)
    """When it is looked up for that, whatever its state; empty once that is done."""
    nudged_at = models.DateTimeField(null=True)
    held_at = models.DateTimeField(null=True)
    """Exactly while a case is open."""
    cancelled_at = models.DateTimeField(null=True)
    destination_reference = models.CharField(max_length=200, blank=True)
    evidence = models.CharField(max_length=10, blank=True)
    evidence_by = models.CharField(max_length=150, blank=True)
    finished_at = models.DateTimeField(null=True)
    corrects = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="corrections", db_index=False
    )
    """The operation that this one was made to put right; never a correction itself."""
    correction_number = models.PositiveSmallIntegerField(null=True)
    reverses = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="reversals", db_index=False
    )
    reversed_reference = models.CharField(max_length=200, blank=True, db_default="")
    """The destination's id of the record that this one reverses, of those that `reverses` has too many of."""
    after = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="followers", db_index=False
    )
    """The operation that has to be done first; it was there before this one, so none waits in a circle."""
    after_reference = models.CharField(max_length=200, blank=True, db_default="")
    """The reference of what it comes after, as its latest try named it."""
    corrected_at = models.DateTimeField(null=True)
    """When a correction, or another reversal, first took its place; from then on it never runs again."""
    first_cause = models.CharField(max_length=300, blank=True)
    """What went wrong first, redacted; it stays on top."""

    objects = OperationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="operation_once", fields=["operation_type", "key"]),
            models.CheckConstraint(name="operation_state_known", condition=Q(state__in=sorted(State))),
            models.CheckConstraint(
                name="operation_lease_while_running",
                condition=(Q(state=State.RUNNING) & Q(lease_until__isnull=False))
                | (~Q(state=State.RUNNING) & Q(lease_until__isnull=True)),
            ),
            models.CheckConstraint(name="operation_key_not_blank", condition=~Q(key__regex=r"^\s*$")),
            models.CheckConstraint(
                name="operation_amount_with_currency",
                condition=Q(amount__isnull=True, currency="") | (Q(amount__isnull=False) & ~Q(currency="")),
            ),
            models.CheckConstraint(
                name="operation_completed_has_evidence",
                condition=~Q(state=State.COMPLETED) | Q(evidence__in=sorted(Evidence)),
            ),
            models.CheckConstraint(
                name="operation_correction_numbered",
                condition=Q(corrects__isnull=True, correction_number__isnull=True)
                | Q(corrects__isnull=False, correction_number__isnull=False),
            ),
            models.UniqueConstraint(
                name="operation_one_reversal",
                fields=["reverses", "reversed_reference"],
                condition=Q(reverses__isnull=False, corrected_at__isnull=True),
            ),
            models.UniqueConstraint(
                name="operation_one_correction",
                fields=["corrects"],
                condition=Q(corrects__isnull=False, corrected_at__isnull=True),
            ),
        ]
        indexes = [
            models.Index(name="operation_due", fields=["next_try_at"], condition=Q(state=State.PENDING)),
            models.Index(name="operation_lease", fields=["lease_until"], condition=Q(state=State.RUNNING)),
            models.Index(name="operation_look", fields=["look_at"], condition=Q(state=State.UNCERTAIN)),
            models.Index(
                name="operation_told", fields=["told_look_at"], condition=Q(told_look_at__isnull=False)
            ),
            models.Index(
                name="operation_open_unfinished", fields=["id"], condition=Q(state__in=sorted(UNFINISHED))
            ),
            models.Index(
                name="operation_waits",
                fields=["id"],
                condition=Q(state__in=sorted({State.PENDING, State.RUNNING}), held_at__isnull=True),
            ),
            models.Index(name="operation_held", fields=["held_at"], condition=Q(held_at__isnull=False)),
            models.Index(name="operation_after", fields=["after"], condition=Q(after__isnull=False)),
            models.Index(
                name="operation_follows",
                fields=["id"],
                condition=Q(state=State.PENDING, after__isnull=False),
            ),
            models.Index(name="operation_corrects", fields=["corrects"], condition=Q(corrects__isnull=False)),
            models.Index(name="operation_reverses", fields=["reverses"], condition=Q(reverses__isnull=False)),
            models.Index(
                name="operation_payload",
                fields=["operation_type", "finished_at"],
                condition=Q(payload_sealed__isnull=False)
                & (Q(state=State.COMPLETED) | Q(cancelled_at__isnull=False) | Q(corrected_at__isnull=False)),
            ),
            models.Index(name="operation_source", fields=["source_system", "source_reference"]),
            models.Index(name="operation_listed", fields=["operation_type", "state", "changed_at", "uid"]),
            models.Index(name="operation_window", fields=["operation_type", "accepted_at"]),
            *(_found_by(name) for name in REFERENCES),
            models.Index(
                name="operation_find_amount", fields=["amount", "-id"], condition=Q(amount__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.key


class AttemptQuerySet(models.QuerySet["Attempt"]):
    """Questions about attempts."""

    def in_doubt(self) -> Self:
        """Attempts that may have had an effect, as far as anyone has proved."""
        doubtful = Q(outcome__in=sorted(EFFECT)) | Q(worded_at__isnull=False)
        return self.filter(doubtful, cleared_at__isnull=True)


class Attempt(models.Model):
    """One attempt to finish an operation, fenced by its token."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    # That it is there, the guard proves that compares their payloads; it is found by its numbers' index.
    operation = models.ForeignKey(
        Operation, on_delete=models.PROTECT, related_name="attempts", db_constraint=False, db_index=False
    )
    number = models.PositiveSmallIntegerField()
    caller_id = models.UUIDField(null=True, unique=True)
    """The caller's own `attempt_id`, under which a lost claim may be asked for again."""
    start_id = models.UUIDField(null=True)
    token_hash = models.CharField(max_length=64)
    actor = models.CharField(max_length=150)
    run = models.CharField(max_length=200, blank=True)
    idempotency_key = models.CharField(max_length=255)
    key_apart = models.BooleanField(default=False, db_default=False)
    """Its key does not cover it: by its rules none was sent as at the first try, or to another account."""
    payload_digest = models.CharField(max_length=100)
    rules_version = models.PositiveIntegerField(null=True)
    """Which version of its type's rules it went by; None before versions were counted."""
    claimed_at = models.DateTimeField(db_default=TieoutNow())
    lease_until = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    sender_ended_at = models.DateTimeField(null=True)
    """When the sender could last have sent: its reported end, or the lease's end plus the time-out."""
    closed_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, null=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    error_code = models.CharField(max_length=100, blank=True)
    message = models.CharField(max_length=300, blank=True)
    destination_reference = models.CharField(max_length=200, blank=True)
    retry_after_s = models.FloatField(null=True)
    replayed = models.BooleanField(default=False, db_default=False)
    """The answer says itself that the destination gave it before under this key."""
    outcome_digest = models.CharField(max_length=64, blank=True)
    """Digest of the outcome as reported; tells a repetition from another one."""
    cleared_at = models.DateTimeField(null=True)
    """When absence was proved for it."""
    worded_at = models.DateTimeField(null=True)
    """When two people said that it did nothing: a word, and no proof; it stays in doubt."""

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(name="attempt_number_once", fields=["operation", "number"]),
            models.UniqueConstraint(
                name="attempt_one_open", fields=["operation"], condition=Q(closed_at__isnull=True)
            ),
            models.CheckConstraint(
                name="attempt_outcome_known",
                condition=Q(outcome__isnull=True) | Q(outcome__in=sorted(Outcome)),
            ),
            models.CheckConstraint(
                name="attempt_closed_with_outcome",
                condition=Q(closed_at__isnull=True, outcome__isnull=True)
                | Q(closed_at__isnull=False, outcome__isnull=False),
            ),
            models.CheckConstraint(
                name="attempt_word_is_no_proof",
                condition=Q(worded_at__isnull=True) | Q(cleared_at__isnull=True, closed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} try {self.number}"

    @property
    def in_doubt(self) -> bool:
        """Say whether this attempt may have had an effect, as far as anyone has proved."""
        return (self.outcome in EFFECT or self.worded_at is not None) and self.cleared_at is None
