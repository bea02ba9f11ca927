"""What waits for a second person, whatever it is, in one list: what should be answered first stands first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.contrib.auth.models import User
from django.urls import reverse

from ledger.models import Approval
from reconcile.models import Decision, Proposal, SignOff
from review import approvers, asked, difference, proposing, signing_off, wording
from review.bulk import controls
from review.models import Bulk


class _Row(approvers.Asked, Protocol):
    @property
    def due_at(self) -> datetime | None:
        """When it should be answered."""


@dataclass(frozen=True)
class Ask:
    """A request for a second person."""

    title: str
    address: str
    asks: str
    due_at: datetime
    left: str
    """How long is left until it is due, or how late it is."""
    late: bool
    mine: bool


def first(person: User, now: datetime, *, most: int) -> list[Ask]:
    """Return the open requests that are due first; one query for each kind."""
    kinds = (_of_operations, _of_differences, _of_lists, _of_rules, _of_signatures)
    found = (
        Ask(title, address, asks, due_at, *asked.left(due_at, now), approvers.is_own(row, person))
        for kind in kinds
        for row, title, address, asks in kind(now, most)
        if (due_at := row.due_at) is not None
    )
    return sorted(found, key=lambda ask: ask.due_at)[:most]


_Found = Iterator[tuple[_Row, str, str, str]]
"""Each request with its title, its address, and who asks for what."""


def _of_operations(now: datetime, most: int) -> _Found:
    found = Approval.objects.waiting(now).defer("meant_sealed").due_first()
    for one in found.select_related("operation__operation_type__destination")[:most]:
        address = reverse("operation", args=[one.operation.uid])
        yield one, wording.title(one.operation), address, f"{asked.maker(one)} asks {asked.asks(one)}"


def _of_differences(now: datetime, most: int) -> _Found:
    for one in Decision.objects.waiting(now).filter(approval=None).due_first()[:most]:
        address = reverse("difference-asked", args=[one.uid])
        yield one, difference.named(one), address, f"{one.maker} asks {difference.asks(one, now)}"


def _of_lists(now: datetime, most: int) -> _Found:
    for one in Bulk.objects.waiting(now).due_first()[:most]:
        asks = f"{one.maker} asks to {controls.phrase(one)}"
        yield one, f"Bulk action {one.pk}", reverse("bulk", args=[one.uid]), asks


def _of_rules(now: datetime, most: int) -> _Found:
    for one in Proposal.objects.waiting(now).defer("meant_sealed").due_first()[:most]:
        address = reverse("proposal", args=[one.uid])
        yield one, proposing.title(one), address, f"{one.maker} proposes it"


def _of_signatures(now: datetime, most: int) -> _Found:
    for one in SignOff.objects.waiting(now).select_related("plan", "period").due_first()[:most]:
        address = reverse("signature", args=[one.uid])
        yield one, signing_off.named(one), address, f"{one.maker} asks {signing_off.asks(one)}"
