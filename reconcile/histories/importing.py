"""Take a file of runs in, whole or not at all: its successful runs, and the triggers that have several."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from django.db import connection, transaction

from ledger import actions
from ledger.models import Case, Event, Lookup, OperationType, database_now
from ledger.rules.errors import Conflict, Malformed, NotFound
from ledger.rules.states import CaseKind
from reconcile.classes import ItemClass
from reconcile.comparing import whole_sets
from reconcile.histories import files, linking, looking
from reconcile.histories.models import History, Repeat, unsettled
from reconcile.histories.reading import Read, Reader, Rules

Name = tuple[str, str]
"""A trigger's reference and version, which tell it from others of its source system and type."""

CHUNK = 10_000
REPEATS_MAX = 10_000
"""More triggers that ran again than this are a column that holds something else."""
IMPORTS = 0x7469650A
"""Our number among PostgreSQL's advisory locks: one file is taken in at a time."""

INSERT = """
INSERT INTO reconcile_pastrun
    (history_id, operation_type_id, automation, system, reference, version, run, started_at)
SELECT %(history)s, %(kind)s, %(automation)s, %(system)s, reference, version, run, started_at
FROM unnest(%(references)s::text[], %(versions)s::text[], %(runs)s::text[], %(times)s::timestamptz[])
    AS read (reference, version, run, started_at)
ON CONFLICT DO NOTHING
"""

SEVERAL = """
SELECT r.reference, r.version, count(*), min(r.started_at), max(r.started_at),
    max(r.started_at) FILTER (WHERE r.history_id = %(history)s)
FROM reconcile_pastrun AS r
JOIN (SELECT DISTINCT reference, version FROM reconcile_pastrun WHERE history_id = %(history)s) AS new
    ON new.reference = r.reference AND new.version = r.version
WHERE r.operation_type_id = %(kind)s AND r.system = %(system)s
GROUP BY r.reference, r.version
HAVING count(*) > 1
ORDER BY r.reference, r.version
LIMIT %(limit)s
"""


class ReadOtherwise(Conflict):
    """The file was taken in before and read in another way."""

    type = "file-read-otherwise"
    title = "The file was taken in before, and read in another way"
    retry = "never"


@dataclass(frozen=True)
class Source:
    """Whose runs a file holds: the automation, the type of operation that it performs, the source system."""

    automation: str
    kind: OperationType
    system: str


@dataclass
class Imported:
    """What came of one file."""

    history: History
    reader: Reader | None = None
    """How it was read; None where it had been taken in before."""
    repeats: list[Repeat] = field(default_factory=list)

    def reread(self) -> None:
        """Read the findings as they stand now."""
        self.repeats = linking.whole(Repeat.objects.filter(pk__in=[repeat.pk for repeat in self.repeats]))


@dataclass(frozen=True)
class Several:
    """A trigger with several successful runs, as the database counts them."""

    reference: str
    version: str
    runs: int
    first_run_at: datetime
    last_run_at: datetime
    newest_at: datetime
    """When the latest of those runs began that this file added."""

    @property
    def name(self) -> Name:
        """What tells it from other triggers of its source system and type."""
        return self.reference, self.version


def source(automation: str, type_name: str, *, system: str = "") -> Source:
    """Return whose runs they are; NotFound where the type is unknown, Malformed for a name that is none."""
    for name in (automation, system or automation):
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise Malformed("An automation and a source system have names of 1 to 100 characters.")
    kind = OperationType.objects.configured().select_related("destination").filter(name=type_name).first()
    if kind is None:
        known = ", ".join(OperationType.objects.order_by("name").values_list("name", flat=True)) or "none"
        raise NotFound(f'There is no operation type "{type_name}". Known types: {known}.')
    return Source(automation, kind, system or automation)


def take_in(path: Path, of: Source, rules: Rules, *, actor: str, check: bool = False) -> Imported:
    """Take a file in, or say with `check` what that would come to; the same file again adds nothing.

    Raises FileRefused, and nothing of it is kept; ReadOtherwise where it was taken in by other rules.
    """
    checksum = files.fingerprint(path)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [IMPORTS])
        known = History.objects.filter(
            operation_type=of.kind, automation=of.automation, checksum=checksum
        ).first()
        if known is not None:
            return _again(known, path, of=of, rules=rules)
        with files.opened(path, encoding=rules.encoding) as opened:
            done = _take_in(path.name, checksum, of=of, reader=Reader(opened, rules), actor=actor)
        if check:
            transaction.set_rollback(True)
    return done


def _again(known: History, path: Path, *, of: Source, rules: Rules) -> Imported:
    """Find what is known of the triggers in a file that was taken in; it is read again, and adds nothing."""
    if known.rules != _stored(rules) or known.system != of.system:
        raise ReadOtherwise(
            f"This file is import {known.pk}, and was read in another way then: {_told(known)}. One file is"
            " read one way; export it anew to read it in another."
        )
    there = _Known.of(known)
    with files.opened(path, encoding=rules.encoding) as opened:
        for _ in there.noted(Reader(opened, rules).runs()):
            pass
    return Imported(known, repeats=_repeats(known, there.met))


@dataclass
class _Known:
    """The triggers that have a finding already, and which of them a file has another or the same run of."""

    names: frozenset[Name]
    met: set[Name] = field(default_factory=set)

    @classmethod
    def of(cls, history: History) -> Self:
        found = Repeat.objects.filter(operation_type=history.operation_type_id, system=history.system)
        return cls(frozenset(found.values_list("reference", "version")))

    def noted(self, runs: Iterable[Read]) -> Iterator[Read]:
        for read in runs:
            if (name := (read.trigger, read.version)) in self.names:
                self.met.add(name)
            yield read


def _repeats(history: History, names: Collection[Name]) -> list[Repeat]:
    """Return the findings of these triggers, in their order."""
    found = Repeat.objects.filter(
        operation_type=history.operation_type_id,
        system=history.system,
        reference__in=[reference for reference, _ in names],
    )
    return [repeat for repeat in linking.whole(found) if (repeat.reference, repeat.version) in names]


def _told(known: History) -> str:
    said = {**known.rules["named"], **{name: text for name, text in known.rules.items() if name != "named"}}
    return ", ".join([f"system {known.system}", *(f"{name} {text}" for name, text in said.items() if text)])


def _stored(rules: Rules) -> dict[str, Any]:
    return {
        "named": dict(rules.named),
        "successful": None if rules.successful is None else sorted(rules.successful),
        "timezone": rules.timezone,
        "time_format": rules.time_format,
        "encoding": rules.encoding,
        "version": rules.version,
    }


def _take_in(name: str, checksum: str, *, of: Source, reader: Reader, actor: str) -> Imported:
    history = History.objects.create(
        automation=of.automation,
        operation_type=of.kind,
        system=of.system,
        file_name=name[:200],
        checksum=checksum,
        rules=_stored(reader.rules),
        actor=actor,
    )
    known = _Known.of(history)
    history.added = _insert(history, known.noted(reader.runs()))
    several = _several(history)
    if len(several) > REPEATS_MAX:
        raise files.FileRefused(
            f'More than {REPEATS_MAX} values of "{reader.columns.paths["trigger"]}" have several successful'
            " runs: that hardly names what started them. Name the column with --columns trigger=…, or export"
            " fewer days at a time."
        )
    history.rows, history.bad = reader.rows, reader.bad
    history.statuses, history.repeated = dict(reader.statuses), len(several)
    history.save(update_fields=["added", "rows", "bad", "statuses", "repeated"])
    data = {"history": str(history.uid), "rows": history.rows, "bad": history.bad, "added": history.added}
    reason = f"Import {history.pk}: runs of {of.automation}."
    Event.objects.create(kind="imported", actor=actor, reason=reason, data=data)
    _note(history, several, actor=actor)
    return Imported(history, reader, _repeats(history, known.met | {one.name for one in several}))


def _insert(history: History, runs: Iterator[Read]) -> int:
    """Write the runs that are not there yet, part by part, and return how many those were."""
    added = 0
    with connection.cursor() as cursor:
        while part := list(islice(runs, CHUNK)):
            values: dict[str, Any] = {
                "history": history.pk,
                "kind": history.operation_type_id,
                "automation": history.automation,
                "system": history.system,
                "references": [read.trigger for read in part],
                "versions": [read.version for read in part],
                "runs": [read.run for read in part],
                "times": [read.at for read in part],
            }
            cursor.execute(INSERT, values)
            added += cursor.rowcount
    return added


def _several(history: History) -> list[Several]:
    values: dict[str, Any] = {
        "history": history.pk,
        "kind": history.operation_type_id,
        "system": history.system,
        "limit": REPEATS_MAX + 1,
    }
    with whole_sets() as cursor:
        cursor.execute(SEVERAL, values)
        several = [Several(*row) for row in cursor.fetchall()]
        cursor.execute("SET LOCAL enable_nestloop TO DEFAULT")  # what follows asks for few rows
    return several


def _note(history: History, several: Sequence[Several], *, actor: str) -> None:
    """Make a finding of each trigger, or let the one that it has go on."""
    rows = _repeats(history, {one.name for one in several})
    known = {(repeat.reference, repeat.version): repeat for repeat in rows}
    found = [(known.get(one.name) or _new(history, one), one) for one in several]
    for repeat, one in found:
        repeat.runs, repeat.first_run_at, repeat.last_run_at = one.runs, one.first_run_at, one.last_run_at
    linking.link(repeat for repeat, _ in found)
    checks = linking.checks(repeat for repeat, _ in found)
    for repeat, one in found:
        check = checks.get(repeat.operation_id) if repeat.operation_id is not None else None
        _ask(history, repeat, one, check=check, actor=actor)


def _new(history: History, one: Several) -> Repeat:
    return Repeat(
        operation_type=history.operation_type,
        system=history.system,
        reference=one.reference,
        version=one.version,
    )


def _ask(history: History, repeat: Repeat, one: Several, *, check: Lookup | None, actor: str) -> None:
    """Open a case for what is new; what was answered is asked again unless its check came after the runs.

    Where the latest `check` of its operation found several, unanswered since, it begins with those.
    """
    if repeat._state.adding:
        repeat.case = _case(history, repeat, one, actor=actor)
    elif not repeat.is_open and not _answered(repeat, one):
        repeat.item_class, repeat.records, repeat.surplus = ItemClass.UNCERTAIN, [], 0
        repeat.amount, repeat.currency, repeat.looked_at, repeat.looked_by = None, "", None, ""
        repeat.came_back, repeat.first_seen_at = True, database_now()
        linking.link([repeat])
        repeat.case = _case(history, repeat, one, actor=actor)
    if repeat.looked_at is None:
        repeat.why = linking.words(repeat, check)
    repeat.history = history
    repeat.save()
    if repeat.looked_at is None and check is not None and looking.still_says(repeat, check):
        looking.begin_with(repeat, check, actor=actor)


def _answered(repeat: Repeat, one: Several) -> bool:
    """Say whether a check that was made after the new runs has found one record."""
    looked_at = repeat.looked_at if repeat.item_class == ItemClass.MATCHED else None
    return looked_at is not None and one.newest_at + unsettled(repeat.operation_type) <= looked_at


def _case(history: History, repeat: Repeat, one: Several, *, actor: str) -> Case:
    kind = history.operation_type
    return actions.open_case(
        kind=CaseKind.REPEATED,
        owner=kind.owner,
        due_s=kind.reviewing.due_s,
        at=kind.destination,
        actor=actor,
        reason=f"Import {history.pk}: {one.runs} successful runs of one trigger.",
        data={**repeat.mark, "history": str(history.uid), "runs": one.runs},
    )
