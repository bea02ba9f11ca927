"""The contents of a record beside those that were meant, field by field, for who may see a payload."""

from collections.abc import Iterator, Mapping

from django.contrib.auth.models import User

from ledger import actions
from ledger.models import Operation
from ledger.rules import digests, paths
from ledger.rules.errors import TieoutError
from reconcile import contents
from reconcile.models import Finding, Record
from review import access, payloads
from review.beside import Compared
from review.payloads import Path, Private

SHOWN = 50
"""Values that are shown of one record."""
NOT_YOURS = "for who may correct it"
NOT_KEPT = "not kept here"


def beside(finding: Finding, operation: Operation, person: User) -> list[Compared]:
    """Return each value of the fields that differ, as it was meant and as it is there.

    To others than those who may correct it, and of what is not kept any more, the fields by name alone.
    """
    fields = list(finding.contents)
    if not access.may(person, "correct"):
        return [Compared(_named(field), NOT_YOURS, NOT_YOURS, True) for field in fields]
    private = Private.of(finding.run.plan.operation_type)
    meant, there = _meant(operation), _there(finding)
    if meant is None and there is None:
        return [Compared(_named(field), NOT_KEPT, NOT_KEPT, True) for field in fields]
    return list(_side_by_side(fields, meant, there, private))[:SHOWN]


def _meant(operation: Operation) -> dict[Path, object] | None:
    try:
        return dict(digests.leaves(actions.open_payload(operation)))
    except TieoutError:
        return None


def _there(finding: Finding) -> dict[Path, object] | None:
    """Return what the run has kept of the compared record, until a later one is done."""
    lines = Record.objects.filter(run=finding.run, side=Record.Side.DESTINATION)
    record = lines.filter(external_id=finding.destination[0]["id"]).first()
    held = None if record is None else contents.there(finding.run.plan.operation_type, record)
    if held is None:
        return None
    return {path: value for field, inner in held.items() for path, value in _under(field, inner)}


def _under(field: str, value: object) -> Iterator[tuple[Path, object]]:
    return digests.leaves(value, paths.split(field))


def _side_by_side(
    fields: list[str],
    meant: Mapping[Path, object] | None,
    there: Mapping[Path, object] | None,
    private: Private,
) -> Iterator[Compared]:
    for field in fields:
        under = paths.split(field)
        every = {path for path in (*(meant or {}), *(there or {})) if path[: len(under)] == under}
        for path in sorted(every, key=lambda path: [(isinstance(part, str), part) for part in path]):
            if meant is None or there is None or not payloads.same(meant, there, path):
                before, after = (_told(side, path, private) for side in (meant, there))
                yield Compared(_named(paths.dotted(path)), before, after, True)


def _named(field: str) -> str:
    return f"contents, {field}"


def _told(side: Mapping[Path, object] | None, path: Path, private: Private) -> str:
    return NOT_KEPT if side is None else payloads.told(side, path, private)
