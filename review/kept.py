"""Comparisons kept as evidence, as people read them: who sees which, and what is given of one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q

from ledger.rules import actors
from reconcile.models import Kept, Piece
from reconcile.statements import telling
from reconcile.statements.evidence import actions
from review.access import entities, may

SHOWN = 50


@dataclass(frozen=True)
class Evidence:
    """One of them."""

    kept: Kept

    @classmethod
    def seen_by(cls, person: User) -> list[Self]:
        """Return what somebody may see, the latest first."""
        rows = Kept.objects.filter(_seen(person)).order_by("-kept_at", "-pk")[:SHOWN]
        return [cls(kept) for kept in rows]

    @classmethod
    def one(cls, person: User, uid: UUID) -> Self | None:
        """Return one that somebody may see; None where there is none such."""
        found = Kept.objects.filter(_seen(person), uid=uid).first()
        return None if found is None else cls(found)

    @property
    def names(self) -> list[str]:
        """What both files are called."""
        return [str(self.kept.told["files"][side]["name"]) for side in ("source", "destination")]

    @property
    def headline(self) -> str:
        """What the comparison came to."""
        return str(self.kept.told["report"]["headline"])

    @property
    def keeper(self) -> str:
        """Who has kept it."""
        return self.kept.keeper

    def document(self) -> Iterator[str]:
        """Yield what the command would print of it as JSON."""
        return telling.document(telling.head_of(self.kept.told["report"]), self._found())

    def file(self, side: str) -> Iterator[bytes]:
        """Yield one of the files as it came."""
        return actions.parts(self.kept, side)

    def _found(self) -> Iterator[dict[str, Any]]:
        for part in actions.parts(self.kept, Piece.Of.DIFFERENCES):
            yield from json.loads(part)


def _seen(person: User) -> Q:
    """Ask for one's own, and for who looks at personal values and at every entity for all of them."""
    if may(person, "reveal") and entities(person) is None:
        return Q()
    return Q(keeper=actors.person(person.get_username()))
