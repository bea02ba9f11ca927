"""Which operation a trigger is, if Tieout has it: by its key, or else by its source record."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC

from django.db.models import QuerySet

from ledger.models import Lookup, Operation, OperationType
from ledger.rules.errors import TieoutError
from ledger.rules.keys import from_template
from ledger.rules.register.entries import several
from ledger.rules.states import LIVE, State, Verdict
from reconcile.classes import ItemClass
from reconcile.histories.models import Repeat


def whole(repeats: QuerySet[Repeat]) -> list[Repeat]:
    """Return findings with all that their rows say, in the order of their triggers."""
    rows = repeats.select_related("operation_type__destination", "operation", "case", "history")
    return list(rows.order_by("reference", "version"))


def key_of(repeat: Repeat) -> str:
    """Return the key that the type's template makes of the trigger; empty where a part is missing."""
    parts = {"system": repeat.system, "reference": repeat.reference, "version": repeat.version}
    try:
        return from_template(repeat.operation_type.key_template, parts)
    except (TieoutError, ValueError):
        return ""


def link(repeats: Iterable[Repeat]) -> None:
    """Note on findings of one type and source system which operation each is, as things stand now."""
    rows = list(repeats)
    if not rows:
        return
    kind, system = rows[0].operation_type, rows[0].system
    for repeat in rows:
        repeat.key = key_of(repeat)
    ours = Operation.objects.filter(operation_type=kind, corrects=None)
    by_key = {one.key: one for one in ours.filter(key__in=[row.key for row in rows if row.key])}
    by_source: dict[str, list[Operation]] = {}
    references = [row.reference for row in rows if row.key not in by_key]
    for one in ours.filter(source_system=system, source_reference__in=references):
        by_source.setdefault(one.source_reference, []).append(one)
    for repeat in rows:
        known = by_key.get(repeat.key)
        _link(repeat, [known] if known else _of_version(by_source.get(repeat.reference, []), repeat.version))


def _of_version(operations: Sequence[Operation], version: str) -> Sequence[Operation]:
    return [one for one in operations if not version or one.source_version == version]


def _link(repeat: Repeat, operations: Sequence[Operation]) -> None:
    repeat.operation = operations[0] if len(operations) == 1 else None
    if repeat.operation is not None:
        repeat.key = repeat.operation.key
    if repeat.item_class in (ItemClass.UNCERTAIN, ItemClass.AMBIGUOUS):
        repeat.item_class = ItemClass.AMBIGUOUS if len(operations) > 1 else ItemClass.UNCERTAIN


def without_key(kind: OperationType, *, versions: bool) -> str:
    """Say why no key can be made of a file's triggers, with what helps; empty where one can."""
    template = kind.key_template
    if not template:
        return f"{kind.name} has no template for keys: only triggers of what Tieout has can be checked."
    if versions or "{source.version}" not in template:
        return ""
    return (
        f"Keys of {kind.name} are made as {template}, and this file has no versions: what Tieout does not"
        " have cannot be checked. Say --source-version 1, or name its column: --columns version=…."
    )


def checks(repeats: Iterable[Repeat]) -> Mapping[int, Lookup]:
    """Return the latest check of each of their operations."""
    known = [repeat.operation_id for repeat in repeats if repeat.operation_id is not None]
    latest = Lookup.objects.filter(operation__in=known).order_by("operation_id", "-id")
    return {check.operation_id: check for check in latest.distinct("operation_id")}


def words(repeat: Repeat, check: Lookup | None) -> str:
    """Say why it is a finding, before anybody has looked, beside what is known of its operation."""
    many = f"{repeat.runs} runs of it are marked successful"
    if repeat.item_class == ItemClass.AMBIGUOUS:
        return f"{many}, and it is more than one operation: say its version."
    there = repeat.operation_type.destination.title
    if repeat.operation is None:
        return f"{many}. Whether {there} holds more than one is not known until somebody looks."
    known = f"Tieout has it {_standing(repeat.operation)}{_checked(check)}"
    return f"{many}. {known}. Whether the other runs made more is not known until somebody looks."


def _standing(operation: Operation) -> str:
    number = f" as {operation.destination_reference}" if operation.destination_reference else ""
    standing = {
        State.COMPLETED: f"done{number}",
        State.FAILED: "as not done",
        State.UNCERTAIN: "in doubt",
        State.RUNNING: "in progress",
    }
    tries = operation.attempt_count
    after = f", after {several(tries, 'try')}" if tries else ""
    return standing.get(State(operation.state), "as waiting") + after


def _checked(check: Lookup | None) -> str:
    if check is None:
        return ", never checked"
    live = sum(record["standing"] in LIVE for record in check.records)
    found = (
        "could not look" if check.verdict == Verdict.COULD_NOT_LOOK else f"found {live or 'none'} that stands"
    )
    return f", and the check of {check.asked_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC {found}"
