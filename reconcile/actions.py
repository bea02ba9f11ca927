"""Start a run, and settle in the ledger what it found: evidence is kept there, and moves what it proves."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType

from django.db import IntegrityError, transaction
from django.db.models import Q

from ledger import actions
from ledger.models import Case, Operation, TieoutNow
from ledger.rules.errors import Conflict, TieoutError
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import UNFINISHED, CaseKind, Evidence, Standing, State, Verdict
from reconcile import carrying, leasing
from reconcile.classes import ItemClass
from reconcile.differences import actions as differences
from reconcile.differences import matching
from reconcile.models import Finding, Plan, Record, Run
from reconcile.signing import actions as signing
from reconcile.sources import telling

TOLD = frozenset(
    {
        ItemClass.DUPLICATE,
        ItemClass.CURRENCY_DIFFERS,
        ItemClass.AMOUNT_OVER,
        ItemClass.AMOUNT_UNDER,
        ItemClass.PAYLOAD_DIFFERS,
        ItemClass.STATUS_DIFFERS,
        ItemClass.UNEXPECTED,
    }
)
"""Classes whose records are evidence for their operation; absence was kept when it was looked up."""
OWNERLESS = (ItemClass.UNEXPECTED, ItemClass.DUPLICATE)
"""Classes whose findings become cases of their own where there is no operation; what only the source says
does in every class, and whatever operation there is."""
CHUNK = 10_000
"""References that are read in one pass over the lines of a run."""

Days = tuple[date | None, date | None]
"""The days that a run was asked for, the last one included; None where the plan's own window sets the end."""
OWN_WINDOW: Days = (None, None)

Held = Mapping[str, Sequence[Record]]
"""What the list holds under each reference, in its order."""


class AlreadyRunning(Conflict):
    """Another run of the plan is at work."""

    type = "already-running"
    title = "Another run of this plan is at work"
    retry = "wait"


def start(
    plan: Plan,
    *,
    window_from: datetime,
    window_to: datetime,
    actor: str,
    days: Days = OWN_WINDOW,
    dry_run: bool = False,
    waits: bool = False,
) -> Run:
    """Begin a run over a half-open window; AlreadyRunning where one is at work, or waits for a process.

    The run is this process's own, or with `waits` nobody's until a process takes it.
    """
    leasing.bury()
    try:
        with transaction.atomic():
            run = Run.objects.create(
                plan=plan,
                actor=actor,
                window_from=window_from,
                window_to=window_to,
                first_day=days[0],
                last_day=days[1],
                dry_run=dry_run,
                grace_s=plan.grace_s,
                rules_version=plan.rules_version,
                type_version=plan.operation_type.rules_version,
                lease_until=TieoutNow() + leasing.length(plan),
                **({} if waits else leasing.session()),
            )
    except IntegrityError as error:
        if "run_one_running" not in str(error):
            raise
        raise AlreadyRunning(who_runs(plan)) from None
    run.refresh_from_db()
    return run


def who_runs(plan: Plan) -> str:
    """Say who is at work on a plan and since when."""
    other = Run.objects.running().filter(plan=plan).first()
    if other is None:
        return f"Another run of {plan.name} was at work a moment ago; start it again."
    if other.pk in leasing.abandoned():
        return (
            f"Run {other.pk} of {plan.name} is not done and no process is at it. A worker goes on with it,"
            f" and so does: python manage.py reconcile {plan.name}"
        )
    since = other.started_at.astimezone(plan.zone)
    what = "a dry run" if other.dry_run else f"run {other.pk}"
    return (
        f"Another run of {plan.name} is at work: {what}, started by {other.actor}"
        f" on {since:%Y-%m-%d} at {since:%H:%M %Z}. Wait for its end."
    )


def settle(run: Run, findings: Sequence[Finding], *, actor: str) -> None:
    """Carry to the ledger what the run proved, item by item; the run counts how many of what were done.

    Each item and its count are one transaction in which the run is ours: a process that takes the run over
    finds each item done or not done, and one that has lost it does no more.
    """
    confirmable, to_tell = (
        _confirmable(run),
        [finding for finding in findings if _to_be_told(finding)],
    )
    held = _held(run, [line.reference for line in confirmable] + [finding.reference for finding in to_tell])
    for line in confirmable:
        with leasing.held(run):
            _count(run, _confirm(run, line, held, actor=actor))
    told: set[int] = set()
    cases = {finding.reference: finding.case for finding in findings if _bare(finding) and finding.case}
    for finding in findings:
        operation = finding.operation
        if finding.case is None and _has_own_case(finding):
            with leasing.held(run):
                _count(run, _open_case(run, finding, cases, actor=actor))
        elif operation is not None and _to_be_told(finding) and operation.pk not in told:
            told.add(operation.pk)
            with leasing.held(run):
                _count(run, _tell(run, finding, operation, held, actor=actor))
    for start in range(0, len(findings), CHUNK):
        _keep_cases(run, findings[start : start + CHUNK])
    carrying.let_go(run)
    for case in carrying.cases_over(run):
        with leasing.held(run):
            reason = f"Run {run.pk} of {run.plan.name}: it is no longer there."
            actions.close_case(case.pk, actor=actor, reason=reason)
            _count(run, ["closed"])
    with leasing.held(run):
        matching.take_effect()
        differences.follow(run.plan_id, run.pk, actor=actor)
        matching.follow(run.plan_id, run.pk, actor=actor)
        signing.follow(run, actor=actor)


def _count(run: Run, done: Sequence[str]) -> None:
    """Count on the run what was done, in the transaction in which it was done."""
    if done:
        run.settled = dict(Counter(run.settled) + Counter(done))
        run.save(update_fields=["settled"])


def _to_be_told(finding: Finding) -> bool:
    # What a rule has tied is told to people alone: it is no evidence that moves an operation.
    told = not _bare(finding) and finding.case is None and finding.item_class in TOLD
    return told and not finding.rule


def _bare(finding: Finding) -> bool:
    """Say whether no operation carries its case."""
    return finding.operation is None or finding.by_source


def _has_own_case(finding: Finding) -> bool:
    ownerless = finding.item_class in OWNERLESS or finding.meant is not None
    return finding.by_source or (finding.operation is None and ownerless)


def _held(run: Run, references: Sequence[str]) -> Held:
    """Read what the list holds under many references at once: a run's lines have no index by them."""
    held: dict[str, list[Record]] = defaultdict(list)
    wanted = sorted(set(references))
    for start in range(0, len(wanted), CHUNK):
        leasing.keep(run)
        part = wanted[start : start + CHUNK]
        lines = Record.objects.filter(run=run, side=Record.Side.DESTINATION, reference__in=part)
        for line in lines.order_by("number"):
            held[line.reference].append(line)
    return held


def _confirmable(run: Run) -> list[Record]:
    """Return matched lines whose operation waits for such evidence: in doubt, on a person's word, or held.

    What only the source makes differ is as good as matched for its operation.
    """
    alone = Finding.objects.filter(run=run, by_source=True).exclude(operation=None).values("operation")
    alike = Q(item_class=ItemClass.MATCHED) | Q(side=Record.Side.LEDGER, operation__in=alone)
    waiting = Q(operation__state=State.UNCERTAIN) | Q(
        operation__state=State.COMPLETED, operation__held_at__isnull=False
    )
    on_a_word = Q(operation__state=State.COMPLETED, operation__evidence=Evidence.ATTESTED)
    lines = Record.objects.filter(waiting | on_a_word, alike, run=run)
    return list(lines.exclude(pair=None).filter(pair__rule="").select_related("operation"))


def _confirm(run: Run, line: Record, held: Held, *, actor: str) -> list[str]:
    """Let exactly one match answer; one that is matched only within the plan's tolerance answers nothing."""
    operation = line.operation
    assert operation is not None  # every line of the ledger has one: a constraint
    lines = held[line.reference]
    found = _found(operation, lines, ItemClass.MATCHED)
    if found is None or found.verdict is not Verdict.ONE_MATCH:
        return []
    return _keep(run, operation, found, lines, actor=actor) or ["confirmed"]


def _tell(run: Run, finding: Finding, operation: Operation, held: Held, *, actor: str) -> list[str]:
    """Keep what was found as evidence; it stops its operation for a person."""
    lines = held[finding.reference]
    found = _found(
        operation, lines, ItemClass(finding.item_class), why=finding.why, contents=_contents(finding)
    )
    if found is None:
        return []
    done = _keep(run, operation, found, lines, actor=actor)
    if operation.state == State.PENDING and operation.held_at is None:
        kind = CaseKind.THERE_AFTER_ALL
        actions.hold(operation.pk, kind=kind, actor=actor, reason=_reason(run))
        done.append("held")
    # So that a process which takes the run over does not keep the same evidence again.
    finding.case = operation.cases.order_by("-id").first()
    finding.save(update_fields=["case"])
    return done


def _found(
    operation: Operation,
    lines: Sequence[Record],
    item_class: ItemClass,
    *,
    why: str = "",
    contents: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Found | None:
    """Judge what the list holds for one operation; None where a record of it cannot be read.

    `contents`: of a record, by its id, the fields that it has otherwise than meant.
    """
    records = tuple(
        _seen(line, operation, item_class, contents=contents.get(line.external_id, ())) for line in lines
    )
    if not records or not all(line.readable for line in lines):
        return None
    standing = [record for record in records if record.live]
    verdict = Verdict.SEVERAL if len(standing) > 1 else Verdict.ONE_MATCH
    if verdict is Verdict.ONE_MATCH and any(record.differs for record in standing or records):
        verdict = Verdict.DIFFERS
    return Found(verdict, complete=True, records=records, why=why)


def _contents(finding: Finding) -> dict[str, Sequence[str]]:
    """Return which fields differ of the record that was compared: the first of a finding's."""
    return {finding.destination[0]["id"]: finding.contents} if finding.contents else {}


def _seen(
    line: Record, operation: Operation, item_class: ItemClass, *, contents: Sequence[str]
) -> RecordSeen:
    differs = []
    if operation.amount is not None:
        if line.currency and line.currency != operation.currency:
            differs.append("currency")
        if line.amount is not None and line.amount != operation.amount:
            differs.append("amount")
    not_final = item_class is ItemClass.STATUS_DIFFERS and line.standing == Standing.PENDING
    if line.standing == Standing.VOID or not_final:
        differs.append("status")
    if contents:
        differs.append("contents")
    return RecordSeen(
        id=line.external_id,
        reference=line.reference,
        amount=line.amount,
        currency=line.currency,
        status=line.status,
        standing=Standing(line.standing),
        occurred_at=line.occurred_at,
        differs=tuple(differs),
        contents=tuple(contents),
    )


def _keep(run: Run, operation: Operation, found: Found, lines: Sequence[Record], *, actor: str) -> list[str]:
    """Keep evidence off the list, which moves the operation as decisions say; returns what came of it."""
    state, held = operation.state, operation.held_at is not None
    asked_at = min(line.seen_at for line in lines if line.seen_at is not None)
    try:
        actions.keep_lookup(
            operation.pk, found=found, asked_at=asked_at, actor=actor, reason=_reason(run), listed=True
        )
    except TieoutError:
        return ["changed_meanwhile"]
    operation.refresh_from_db()
    if operation.state != state:
        return ["reopened" if operation.state == State.UNCERTAIN else str(operation.state)]
    if held != (operation.held_at is not None):
        return ["closed" if held else "held"]
    return []


def _open_case(run: Run, finding: Finding, cases: dict[str, Case], *, actor: str) -> list[str]:
    """Open a case for what no operation carries; one for each reference, and none that was opened before."""
    kind = run.plan.operation_type
    with transaction.atomic():
        finding.case = cases.get(finding.reference)
        opened = finding.case is None
        if finding.case is None:
            finding.case = actions.open_case(
                kind=CaseKind.NEVER_SUBMITTED,
                owner=kind.owner,
                due_s=kind.reviewing.due_s,
                at=kind.destination,
                actor=actor,
                reason=_reason_of(run, finding),
                data={"run": str(run.uid), "records": len(finding.destination)},
            )
        finding.save(update_fields=["case"])
    cases[finding.reference] = finding.case
    return ["opened"] if opened else []


def _keep_cases(run: Run, findings: Sequence[Finding]) -> None:
    """Note on findings whose case each is, and whether anybody still has to answer it."""
    known = [finding.operation_id for finding in findings if finding.operation_id is not None]
    states = dict(Operation.objects.filter(pk__in=known).values_list("pk", "state"))
    cases = {case.operation_id: case for case in Case.objects.filter(operation__in=known).order_by("pk")}
    for finding in findings:
        operation = finding.operation
        if operation is not None:
            operation.state = states[operation.pk]
        if operation is not None and not finding.by_source:
            finding.case = cases.get(operation.pk)
        unfinished = not finding.by_source and operation is not None and operation.state in UNFINISHED
        finding.is_open = finding.case is None or finding.case.closed_at is None or unfinished
    with leasing.held(run):
        Finding.objects.bulk_update(findings, ["case", "is_open"], batch_size=500)


def _reason_of(run: Run, finding: Finding) -> str:
    """Say where it was found: on the source's side, or on the destination's list."""
    if not finding.by_source:
        return _reason(run)
    return f"Run {run.pk} of {run.plan.name}: beside {telling.name(run)}."


def _reason(run: Run) -> str:
    return f"Run {run.pk} of {run.plan.name}: on the list of {run.plan.operation_type.destination.title}."
