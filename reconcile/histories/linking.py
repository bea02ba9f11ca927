"""Which operation a trigger is, if Tieout has it: by its key, or else by its source record."""

from collections.abc import Iterable, Sequence

from django.db.models import QuerySet

from ledger.models import Operation
from ledger.rules.errors import TieoutError
from ledger.rules.keys import from_template
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


def words(repeat: Repeat) -> str:
    """Say why it is a finding, before anybody has looked."""
    many = f"{repeat.runs} runs of it are marked successful"
    if repeat.item_class == ItemClass.AMBIGUOUS:
        return f"{many}, and it is more than one operation: say its version."
    there = repeat.operation_type.destination.title
    return f"{many}. Whether {there} holds more than one is not known until somebody looks."
