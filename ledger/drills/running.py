"""One drill from its leave to its end: at a test account, one at a time, every record named."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from django.db import InterfaceError, OperationalError, connection

from ledger import actions
from ledger.destinations.connectors.guarded import connector_for
from ledger.drills import judging, trying
from ledger.drills.probe import Range
from ledger.drills.trying import Evidence
from ledger.models import Drill, DrillStep, OperationType, database_now
from ledger.rules.calls import DrillSample
from ledger.rules.drills import Promise, Result, Tried
from ledger.rules.errors import TieoutError

DESTINATION = 0x74696504
"""Our number among PostgreSQL's advisory locks, with a second one for the destination's row."""
ACTOR = "command line"

Say = Callable[[str], object]


class NotAllowed(TieoutError):
    """No drill may be made of this type, or none now."""

    type = "not-allowed"
    title = "This drill is not allowed"
    retry = "after-review"


@dataclass(frozen=True)
class Left:
    """A record that a drill has made; `void` once that is seen. Without a name it only may be there."""

    reference: str
    record: str
    void: bool = False


@dataclass(frozen=True)
class Done:
    """What came of one drill."""

    kind: OperationType
    drill: Drill
    results: list[Result] = field(default_factory=list)
    records: list[Left] = field(default_factory=list)


def refusal(kind: OperationType) -> str:
    """Say why a type is not drilled, and what to add; empty where it is."""
    there, name = kind.destination, f'[operation_types."{kind.name}"'
    if not kind.by_tieout:
        return f"{kind.name} is performed by its caller; Tieout sends nothing that it could try."
    if kind.how.send is None:
        return f"{kind.name} cannot be sent: add a section {name}.send]."
    wanted = []
    if not there.drills:
        wanted.append(f"drills = true to [destinations.{there.name}], where its account is one for tests")
    if kind.sample is None:
        wanted.append(f"a section {name}.drill] with a payload that may be sent")
    return f"{kind.name} is not allowed: add {', and '.join(wanted)}." if wanted else ""


def run(kind: OperationType, *, actor: str = ACTOR, say: Say) -> Done:
    """Drill one type and keep what came of it.

    Raises NotAllowed, and ConfigurationError or Malformed where the sample cannot be sent at all.
    """
    why = refusal(kind)
    if why or kind.sample is None:
        raise NotAllowed(why)
    if kind.destination.pauses.open().of_all().exists():
        raise NotAllowed(f"{kind.destination.title} is paused: an administrator resumes it first.")
    connector_for(kind.destination)
    _check_sample(kind, kind.sample)
    with _alone(kind):
        for earlier in Drill.objects.filter(operation_type=kind).exclude(steps__kind=DrillStep.Kind.ENDED):
            _take_up(Range(kind, kind.sample, earlier), actor=actor, say=say)
        return _drilled(
            Range(kind, kind.sample, actions.begin_drill(kind, actor=actor)), actor=actor, say=say
        )


@contextmanager
def _alone(kind: OperationType) -> Iterator[None]:
    """Hold the destination for one drill, for as long as this session lasts; NotAllowed where it is taken."""
    key = [DESTINATION, kind.destination_id % 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
        (mine,) = cursor.fetchone()
    if not mine:
        raise NotAllowed(f"{kind.destination.title} is being drilled already; wait for the end of that.")
    try:
        yield
    finally:
        with suppress(OperationalError, InterfaceError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)


def _drilled(there: Range, *, actor: str, say: Say) -> Done:
    kind, evidence = there.kind, _evidence(there)
    say(f"{kind.name} at {kind.destination.title}: what it makes carries {there.drill.stem}/…")
    trying.send_all(there, evidence)
    _wait_for(there.kind.promises.settle_s, say)
    trying.look_at_all(there, evidence)
    left = _clean(there, evidence)
    results = judging.judge(kind, evidence)
    finds = any(one == _FINDS for one in ((result.promise, result.tried) for result in results))
    actions.end_drill(there.drill, results, actor=actor, why="", finds=finds)
    return Done(kind, there.drill, results, left)


def _evidence(there: Range) -> Evidence:
    """Begin with whether look-up and list are known to show what is there: only then their silence counts."""
    kind, known = there.kind, actions.drilled(there.kind)
    same_rules = there.drill.begun_at >= kind.lookup_changed_at
    finds = same_rules and kind.lookup_proved_at is not None and known.lookup_broken_on is None
    void = there.drill.steps.filter(kind=DrillStep.Kind.VOIDED).values_list("record", flat=True)
    return Evidence(voided=dict.fromkeys(void, True), finds=finds, lists=Promise.LIST_WHOLE in known.held)


_FINDS = (Promise.LOOKUP_FINDS, Tried.HELD)


def _wait_for(seconds: float, say: Say) -> None:
    """Wait until what was sent must be seen: no absence is proof before."""
    if seconds >= 1:
        say(f"What was sent is looked for after {seconds:.0f} s, the settle time.")
    time.sleep(max(seconds, 0))


def _silent_s(drill: Drill) -> float:
    """Return for how many seconds a drill that was cut off has done nothing."""
    last = drill.steps.order_by("id").last()
    return (database_now() - (last.at if last else drill.begun_at)).total_seconds()


def _clean(there: Range, evidence: Evidence) -> list[Left]:
    """Note every record that was made, void what can be voided; name them all, and what may be there."""
    made = [
        (probe.reference, record) for name, probe in evidence.probes.items() for record in evidence.made(name)
    ]
    noted = there.drill.steps.filter(kind=DrillStep.Kind.MADE).values_list("reference", "record")
    for reference, record in sorted(set(made) - set(noted)):
        actions.note_made(there.drill, reference, record=record)
    trying.void_all(there, evidence)
    left = [Left(reference, record, evidence.voided.get(record, False)) for reference, record in made]
    names = {probe.reference: name for name, probe in evidence.probes.items()}
    return left + [Left(one, "") for one in _sent(there.drill) if not evidence.accounted(names[one])]


def _sent(drill: Drill) -> list[str]:
    """Return the references under which something may have gone out."""
    sent = drill.steps.filter(kind=DrillStep.Kind.SENDING).values_list("reference", flat=True)
    return list(sent.order_by("reference").distinct())


def _take_up(there: Range, *, actor: str, say: Say) -> None:
    """Look for what a drill whose process has died may have made, void it and name it.

    It ends once all of it was counted where it was sent; until then each later drill looks again. Where
    nothing could ever count it, it ends at once, and what it may have made is for people.
    """
    evidence, here = _evidence(there), actions.is_still_there(there.drill)
    for reference in _sent(there.drill):
        name = reference.rpartition("/")[2]
        evidence.probes[name] = there.probe(name)
    if here:
        _wait_for(there.kind.promises.settle_s - _silent_s(there.drill), say)
        trying.look_at_all(there, evidence)
    left = _clean(there, evidence)
    where = "" if here else " while the type went to another place"
    said = told(left) or "Nothing of it was found."
    say(f"An earlier drill, {there.drill.stem}, was cut off{where}. {said}")
    counted = all(one.record for one in left)
    if counted or not _can_be_counted(there):
        why = "It was cut off, and taken up later." if counted else f"It was cut off. {said}"
        actions.end_drill(there.drill, [], actor=actor, why=why, finds=False)


def _can_be_counted(there: Range) -> bool:
    """Say whether the type has, or had when it was drilled, a way to see what was made."""
    calls, before = there.kind.how, there.drill.rules["calls"]
    return bool(calls.lookup or calls.list or before.get("lookup") or before.get("list"))


def told(left: list[Left]) -> str:
    """Name every record that drills have left, for people."""
    stands = [f"{one.record} ({one.reference})" for one in left if one.record and not one.void]
    unknown = [one.reference for one in left if not one.record]
    void = [one.record for one in left if one.void]
    parts = (
        f"Void again: {', '.join(void)}." if void else "",
        f"Left there, for people to reverse: {', '.join(stands)}." if stands else "",
        f"Sent and not counted, so a record may be there: {', '.join(unknown)}." if unknown else "",
    )
    return " ".join(filter(None, parts))


def _check_sample(kind: OperationType, sample: DrillSample) -> None:
    """Raise Malformed where the sample could not be sent as an operation."""
    actions.rehearsed(
        kind,
        key="drill/sample/key",
        payload=sample.payload,
        amount=sample.amount,
        currency=sample.currency,
        at=database_now(),
    )
