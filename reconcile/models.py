"""Plans, their runs, what each run staged, and what it found."""

import uuid
from datetime import date, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Lower

from ledger.models import Case, Operation, OperationType, Pause, TieoutNow, folded, record_ids
from ledger.models.evidence import CaseQuerySet, EventQuerySet
from ledger.rules.states import Standing
from ledger.sight import Seen, Sight
from reconcile.classes import ItemClass
from reconcile.differences.models import Decision as Decision
from reconcile.differences.remarks import Remark as Remark
from reconcile.displaying import Display as Display
from reconcile.expected import times
from reconcile.expected.models import ExpectedRun as ExpectedRun
from reconcile.expected.times import UNKNOWN_ZONE as UNKNOWN_ZONE
from reconcile.histories.models import History as History
from reconcile.histories.models import PastRun as PastRun
from reconcile.histories.models import Repeat as Repeat
from reconcile.periods.models import LateItem as LateItem
from reconcile.periods.models import Period as Period
from reconcile.periods.models import PeriodLine as PeriodLine
from reconcile.periods.models import PeriodReport as PeriodReport
from reconcile.proposals.models import EntityLimit as EntityLimit
from reconcile.proposals.models import Proposal as Proposal
from reconcile.signing.models import SignOff as SignOff
from reconcile.sources.rules import SourceRules
from reconcile.statements.evidence.models import Kept as Kept
from reconcile.statements.evidence.models import KeptPiece as KeptPiece
from reconcile.statements.models import Comparison as Comparison
from reconcile.statements.models import Piece as Piece
from reconcile.statements.profiles.models import Profile as Profile


class PlanQuerySet(Seen, models.QuerySet["Plan"]):
    """Questions about plans."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)

    def scheduled(self) -> Self:
        """Plans that run by themselves."""
        return self.exclude(schedule="")

    def due(self, now: datetime) -> Self:
        """Plans whose time has come; those of a paused destination wait for its resuming."""
        paused = Pause.objects.open().of_all().values("destination")
        return self.scheduled().filter(next_run_at__lte=now).exclude(operation_type__destination__in=paused)


class Plan(models.Model):
    """A scheduled comparison of what was meant with what the destination holds."""

    name = models.SlugField(max_length=100, unique=True)
    operation_type = models.ForeignKey(OperationType, on_delete=models.PROTECT, related_name="plans")
    schedule = models.CharField(max_length=100, blank=True)
    """Cron, read in the plan's zone; blank: it runs only when asked."""
    timezone = models.CharField(max_length=64)
    window_s = models.FloatField()
    grace_s = models.FloatField()
    tolerance = models.JSONField(default=dict)
    """Currency to amount, as text: differences up to this much are matched."""
    tolerance_cap = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """Currency to amount, as text: what tolerances let pass in one run, of this much at most."""
    recipients = models.JSONField(default=list)
    attach = models.BooleanField(default=False, db_default=False)
    """Whether recipients who may see a run's differences get them with its mail."""
    report_by = models.CharField(max_length=10, default=times.REPORT_BY, db_default=times.REPORT_BY)
    """A time of day in the plan's zone, or a length after its time, as the file says it."""
    source = models.JSONField(null=True)
    """What should exist, the third side, as the file says it: see `reconcile.sources`; None without one."""
    rules = models.JSONField(default=list, db_default=[])
    """By what else than its reference a record is an operation's, in their order: see `reconcile.rules`."""
    period = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """How its months are closed, as the file says it: grace in business days, holidays, first month."""
    payout = models.JSONField(null=True)
    """Where a record tells what its net was made of; None where it does not."""
    next_run_at = models.DateTimeField(null=True)
    """Emptied when schedule or zone change; the next sweep computes it."""
    changed_at = models.DateTimeField(db_default=TieoutNow())
    rules_version = models.PositiveIntegerField(default=1, db_default=1)
    """Counted by the database with each change of the plan."""

    objects = PlanQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="plan_window_positive", condition=Q(window_s__gt=0)),
            models.CheckConstraint(name="plan_grace_not_negative", condition=Q(grace_s__gte=0)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which its days begin and end; raises one of UNKNOWN_ZONE."""
        return ZoneInfo(self.timezone)

    @property
    def third(self) -> SourceRules | None:
        """Its source, parsed; None where it has none."""
        return None if self.source is None else SourceRules.read(self.source)


class RunQuerySet(Seen, models.QuerySet["Run"]):
    """Questions about runs."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(plan__in=Plan.objects.all())

    def running(self) -> Self:
        """Runs that somebody is at work on, or was until the process stopped."""
        return self.filter(state=Run.State.RUNNING)


class Run(models.Model):
    """One execution of a plan; what it says is one snapshot, which page, command and export share."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    class Step(models.TextChoices):
        """How far it has come; a process that takes it over goes on from here."""

        LISTING = "listing"
        COMPARING = "comparing"
        SETTLING = "settling"

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="runs")
    actor = models.CharField(max_length=150)
    window_from = models.DateTimeField()
    window_to = models.DateTimeField()
    """The window is half-open: what is accepted at this very instant belongs to the next one."""
    first_day = models.DateField(null=True)
    last_day = models.DateField(null=True)
    """The days that were asked for; without them the window is the plan's own."""
    dry_run = models.BooleanField(default=False)
    """Nothing of it is kept, and the row is gone with its end."""
    grace_s = models.FloatField()
    rules_version = models.PositiveIntegerField(null=True)
    """Which version of its plan it went by; None before versions were counted."""
    type_version = models.PositiveIntegerField(null=True)
    """And which of its type's rules."""
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=10, choices=Step, default=Step.LISTING)
    place = models.JSONField(null=True)
    """Where the list goes on after the last page that was written; as its connector gave it.

    A destination may have put a secret into it: it is gone with the end of the list, or of the run.
    """
    started_at = models.DateTimeField(db_default=TieoutNow())
    finished_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    hold = models.PositiveSmallIntegerField(default=1)
    """Counts the processes that have had it; who holds an older number writes nothing any more."""
    session_pid = models.IntegerField(null=True)
    session_since = models.DateTimeField(null=True)
    """The database session of the process that has it; when the session is gone, so is the process."""
    nudged_at = models.DateTimeField(null=True)
    """When a worker was last told to take it; empty again once a process has it."""
    pages = models.JSONField(default=list)
    """How many records each page of the destination's list held."""
    records = models.PositiveIntegerField(default=0)
    repeated = models.PositiveIntegerField(default=0)
    """Records that came twice under one id, because they changed while the list was read; counted once."""
    made_with = models.JSONField(default=dict)
    """The rules and questions that it went by, and what it left untested: see `reconcile.provenance`."""
    sides = models.JSONField(default=dict)
    """Of source and destination the instant that each tells of, how it came, and what proves it complete."""
    counted = models.JSONField(default=dict)
    """The totals that were taken another way than by class: see `reconcile.tying`."""
    classes = models.JSONField(default=dict)
    tie = models.JSONField(default=dict)
    totals = models.JSONField(default=dict)
    residual = models.JSONField(default=dict)
    reversed = models.JSONField(default=list)
    """Surplus that linked voids and credits have offset: see `reconcile.reversals`."""
    matched = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    """How what is matched was matched: see `reconcile.rules.ways`."""
    settled = models.JSONField(default=dict)
    """What the run did in the ledger afterwards: completed, held and so on, each with a count."""
    digest = models.CharField(max_length=64, blank=True)
    why_failed = models.CharField(max_length=500, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="run_one_running", fields=["plan"], condition=Q(state="running")),
            models.CheckConstraint(
                name="run_state_known", condition=Q(state__in=["running", "done", "failed"])
            ),
            models.CheckConstraint(name="run_window_has_length", condition=Q(window_from__lt=F("window_to"))),
            models.CheckConstraint(
                name="run_lease_while_running",
                condition=Q(state="running", lease_until__isnull=False, finished_at__isnull=True)
                | (~Q(state="running") & Q(lease_until__isnull=True, finished_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="run_place_while_running", condition=Q(state="running") | Q(place__isnull=True)
            ),
            models.CheckConstraint(name="run_failure_has_words", condition=~Q(state="failed", why_failed="")),
            models.CheckConstraint(name="run_done_has_digest", condition=~Q(state="done", digest="")),
            models.CheckConstraint(
                name="run_step_known", condition=Q(step__in=["listing", "comparing", "settling"])
            ),
        ]
        indexes = [
            models.Index(name="run_of_plan", fields=["plan", "-id"]),
            models.Index(name="run_by_start", fields=["plan", "started_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.uid}"

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day of the plan's zone that its window touches."""
        zone = self.plan.zone
        last_moment = self.window_to.astimezone(zone) - timedelta(microseconds=1)
        return self.window_from.astimezone(zone).date(), last_moment.date()

    @property
    def explained(self) -> bool:
        """Say whether the classes add up to the totals that were taken another way."""
        return bool(self.tie) and bool(self.tie["ties"])

    @property
    def has_source(self) -> bool:
        """Say whether it has read a source, the third side."""
        return Record.Side.SOURCE in self.sides


class Record(models.Model):
    """One line of what a run staged: a row of its source, an operation of its window, a destination's record.

    An item is a line with a class; a record that is compared with an operation is that operation's `pair` and
    has no class of its own. Neither has a row of the source that `backs` such an item. Lines are removed when
    a later run of the plan is done.
    """

    class Side(models.TextChoices):
        SOURCE = "source"
        LEDGER = "ledger"
        DESTINATION = "destination"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="lines", db_index=False)
    side = models.CharField(max_length=11, choices=Side)
    number = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200, blank=True)
    """The record's id there; for an operation the one that it is known by there."""
    reference = models.CharField(max_length=200, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True)
    status = models.CharField(max_length=200, blank=True)
    standing = models.CharField(max_length=10, blank=True)
    occurred_at = models.DateTimeField(null=True)
    occurred_on = models.DateField(null=True)
    """The day of a record that tells no more than a day; it is never made an instant."""
    seen_at = models.DateTimeField(null=True)
    """When the page that it came in was asked for."""
    readable = models.BooleanField(default=True)
    why = models.CharField(max_length=300, blank=True)
    operation = models.ForeignKey(
        Operation, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    own = models.BooleanField(default=False)
    """The record is the one that its operation knows as its own."""
    state = models.CharField(max_length=10, blank=True)
    """The operation's state when the lines were written."""
    cancelled = models.BooleanField(default=False)
    held = models.BooleanField(default=False)
    fresh = models.BooleanField(default=False)
    """Accepted, or last tried, within the plan's grace."""
    contents = models.JSONField(null=True)
    """What its contents are compared by, digests alone: see `reconcile.contents`. None where none are."""
    looked = models.CharField(max_length=20, blank=True)
    """What a look-up of its own found in this run, where the list did not hold it."""
    marks = models.JSONField(null=True)
    """Of a record: the texts at those of its places that a rule of the plan reads."""
    parts = models.JSONField(null=True)
    """Of a payout: what its net was made of, each with its sign, as text."""
    gross = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """Of a payout: what it stands for on our side."""
    unexplained = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """Of a payout: what of its net its parts do not come to."""
    rule = models.CharField(max_length=60, blank=True, db_default="")
    """The rule that has tied a record to its operation, or that fits several."""
    carried = models.CharField(max_length=200, blank=True, db_default="")
    """The reference that a record carries itself, where a rule has tied it to the reference of another."""
    several = models.CharField(max_length=300, blank=True, db_default="")
    """What its rule fits, in words, where that is more than one: a person decides."""
    came_late = models.CharField(
        max_length=5,
        choices=[("run", "By a run"), ("grace", "By the grace")],
        blank=True,
        default="",
        db_default="",
    )
    """How it is known that the record came late: see `reconcile.lateness`."""
    missed_by = models.PositiveBigIntegerField(null=True)
    """The run that should have had it; nothing keeps that run for it."""
    capped = models.BooleanField(default=False, db_default=False)
    """Matched within a tolerance, and a difference because all that was let pass is too much."""
    grouped = models.CharField(max_length=300, blank=True, db_default="")
    """The group that its rule has put it into: the key in words, and the currency."""
    sum_apart = models.DecimalField(max_digits=24, decimal_places=4, null=True)
    """What its group comes to there less what was meant; nought where it is matched."""
    becomes = models.CharField(max_length=30, blank=True, db_default="")
    """The class that its group makes of it."""
    item_class = models.CharField(max_length=30, null=True)
    pair = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="paired_with")
    """The one record that an operation is compared with; the database lets no record be compared twice."""
    backs = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.DO_NOTHING,
        related_name="backed_by",
        db_constraint=False,
        db_index=False,
    )
    """Of the source: the item whose row it is. Both go in one statement, so that no key has to be asked."""

    class Meta:
        constraints = [
            models.UniqueConstraint(name="record_number_once", fields=["run", "side", "number"]),
            models.CheckConstraint(
                name="record_side_known", condition=Q(side__in=["source", "ledger", "destination"])
            ),
            models.CheckConstraint(
                name="record_class_known",
                condition=Q(item_class__isnull=True) | Q(item_class__in=sorted(map(str, ItemClass))),
            ),
            models.CheckConstraint(
                name="record_standing_known",
                condition=Q(standing="") | Q(standing__in=sorted(map(str, Standing))),
            ),
            models.CheckConstraint(
                name="record_ledger_has_operation", condition=~Q(side="ledger", operation__isnull=True)
            ),
            models.CheckConstraint(
                name="record_pair_of_ledger", condition=Q(side="ledger") | Q(pair__isnull=True)
            ),
            models.CheckConstraint(
                name="record_backs_from_source",
                condition=Q(backs__isnull=True) | Q(side="source", item_class__isnull=True),
            ),
            models.UniqueConstraint(
                name="record_backed_once", fields=["backs"], condition=Q(backs__isnull=False)
            ),
            models.CheckConstraint(
                name="record_late_by_known_run",
                condition=Q(came_late="run", missed_by__isnull=False)
                | Q(came_late__in=["", "grace"], missed_by__isnull=True),
            ),
            models.CheckConstraint(
                name="record_unreadable_says_why", condition=Q(readable=True) | ~Q(why="")
            ),
            models.CheckConstraint(
                name="record_rule_ties_or_fits_several",
                condition=Q(rule="", carried="", several="")
                | (~Q(rule="") & (Q(several="") | Q(side="ledger") | Q(operation=None))),
            ),
            models.CheckConstraint(
                name="record_group_by_rule",
                condition=Q(grouped="", sum_apart=None, becomes="")
                | (~Q(rule="") & ~Q(grouped="") & Q(sum_apart__isnull=False, several="") & ~Q(becomes="")),
            ),
            models.CheckConstraint(
                name="record_split_sums_exact", condition=~Q(becomes="matched") | Q(sum_apart=0)
            ),
            models.CheckConstraint(
                name="record_instant_or_day", condition=Q(occurred_at=None) | Q(occurred_on=None)
            ),
        ]
        indexes = [models.Index(name="record_by_id", fields=["run", "external_id"])]

    def __str__(self) -> str:
        return f"{self.side} {self.number}"


def reference_parts() -> Func:
    """Return what stands between the strokes of a reference, in small letters: the order in its key.

    The stroke is part of the statement, for a value that is given to it would fit no index.
    """
    template = "string_to_array(%(expressions)s, '/')"
    return Func(Lower("reference"), template=template, output_field=ArrayField(models.TextField()))


class FindingQuerySet(Seen, models.QuerySet["Finding"]):
    """Questions about differences."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(run__in=Run.objects.all())


class Finding(models.Model):
    """What a run found in one class under one reference; it is carried on from run to run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="findings")
    item_class = models.CharField(max_length=30)
    reference = models.CharField(max_length=200, blank=True)
    items = models.PositiveIntegerField(default=1)
    """How many items it stands for: of four records under one reference, three are duplicates."""
    operation = models.ForeignKey(Operation, null=True, on_delete=models.PROTECT, related_name="findings")
    state = models.CharField(max_length=10, blank=True)
    """The operation's state when it was compared."""
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """The difference for over and under, the surplus for duplicates, else the item's own."""
    currency = models.CharField(max_length=3, blank=True)
    why = models.CharField(max_length=500)
    destination = models.JSONField(default=list)
    """The destination's records under this reference, the compared one first; amounts are text."""
    source = models.JSONField(null=True)
    """The source's row of it, or the first of several; None where it has none, or the plan has no source."""
    meant = models.JSONField(null=True)
    """The operations of a group, where a rule has taken several together; amounts are text."""
    by_source = models.BooleanField(default=False, db_default=False)
    """Only the source makes it differ: its operation's own evidence is in order, and its case another one."""
    came_late = models.CharField(max_length=200, blank=True, default="", db_default="")
    """That its record came late, in words: whatever class it is in."""
    contents = models.JSONField(default=list, db_default=[])
    """Fields of the payload that the compared record has otherwise, by their names; no value is kept."""
    held = models.JSONField(null=True)
    """What its items hold on either side, as lines of the tie-out; None where that was not kept yet."""
    rule = models.CharField(max_length=60, blank=True, db_default="")
    """The rule by which its record is its operation's, or that fits several."""
    seen_at = models.DateTimeField(null=True)
    first_seen_at = models.DateTimeField(db_default=TieoutNow())
    came_back = models.BooleanField(default=False)
    """An earlier run had it, and one between them found it gone."""
    elsewhere = models.JSONField(default=list)
    """Operations of other types at the same address that carry it, where none of the plan's type does."""
    lives = models.BooleanField(default=True)
    """No later run has found it again, and none has found it gone."""
    gone_in = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="gone")
    """The run that looked again and found no difference there any more."""
    fingerprint = models.CharField(max_length=64)
    """Digest of what was found, so that a case that a person closed is opened again only by something new."""
    is_open = models.BooleanField(default=True)
    case = models.ForeignKey(Case, null=True, on_delete=models.PROTECT, related_name="findings")

    objects = FindingQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="finding_class_known", condition=Q(item_class__in=sorted(map(str, ItemClass)))
            ),
            models.CheckConstraint(name="finding_says_why", condition=~Q(why="")),
            models.CheckConstraint(name="finding_stands_for_items", condition=Q(items__gte=1)),
            models.CheckConstraint(name="finding_gone_lives_not", condition=Q(gone_in=None) | Q(lives=False)),
            models.CheckConstraint(
                name="finding_amount_with_currency",
                condition=Q(amount__isnull=True, currency="") | (Q(amount__isnull=False) & ~Q(currency="")),
            ),
        ]
        indexes = [
            models.Index(name="finding_latest", fields=["item_class", "reference", "-id"]),
            models.Index(
                name="finding_latest_unnamed",
                fields=["item_class", "fingerprint", "-id"],
                condition=Q(reference=""),
            ),
            models.Index(name="finding_living", fields=["run"], condition=Q(lives=True)),
            GinIndex(record_ids("destination"), name="finding_seen", fastupdate=False),
            models.Index(
                folded("reference"),
                F("id").desc(),
                name="finding_find_reference",
                condition=(Q(lives=True) | Q(gone_in__isnull=False)) & Q(operation=None) & ~Q(reference=""),
            ),
            GinIndex(
                reference_parts(),
                name="finding_find_parts",
                fastupdate=False,
                condition=(Q(lives=True) | Q(gone_in__isnull=False)) & Q(operation=None) & ~Q(reference=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_class} {self.reference}"


EventQuerySet.told_by["plan"] = lambda _: Plan.objects.values("name")
CaseQuerySet.found_by.append(lambda: Finding.objects.filter(case__isnull=False).order_by().values("case"))
