"""The rules of operation types, remembered by each process and never believed without a proof.

What is remembered has the version that the database itself gives its rows: whoever changes one changes that.
The statement that accepts an operation compares it, and a refusal stands only by rules that were read anew.
"""

from collections.abc import Callable
from typing import TypeVar

from django.db import models
from django.db.models.expressions import RawSQL

from ledger.models import OperationType
from ledger.rules.errors import NotFound, TieoutError

Told = TypeVar("Told")

_VERSION = RawSQL(
    "ledger_operationtype.xmin::text || '/' || ledger_destination.xmin::text",
    (),
    output_field=models.TextField(),
)
_remembered: dict[str, OperationType] = {}


def by_rules(name: str, act: Callable[[OperationType], Told]) -> Told:
    """Act by the rules of the type with this name; by newer ones where it was refused by outdated ones.

    `act` must raise LostRace where the statement that writes finds another version. Raises NotFound, and
    whatever `act` raises by the rules in force.
    """
    kind = remembered(name)
    while True:
        try:
            return act(kind)
        except TieoutError:
            present = read(name)
            if version(present) == version(kind):
                raise
            kind = present


def remembered(name: str) -> OperationType:
    """Return an operation type as this process knows it, which the database may know better; NotFound."""
    return _remembered.get(name) or read(name)


def version(kind: OperationType) -> str:
    """Return the version of a type's and its destination's rows, as the database tells them apart."""
    found: str = kind.version  # type: ignore[attr-defined]  # read with the row
    return found


def read(name: str) -> OperationType:
    """Read an operation type anew, with its destination; NotFound names it."""
    kinds = OperationType.objects.configured().select_related("destination").annotate(version=_VERSION)
    kind = kinds.filter(name=name).first()
    if kind is None:
        raise NotFound(f'There is no operation type "{name}". An administrator adds it with `configure`.')
    _remembered[name] = kind
    return kind
