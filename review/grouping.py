"""The queue by cause and destination: what is one decision is one line, with its count and its money."""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from django.db.models import BooleanField, Count, ExpressionWrapper, F, FloatField, Min, Q, Sum, Value
from django.urls import reverse

from ledger.models import Destination, OperationType
from ledger.rules.leaves import Action
from ledger.rules.states import CaseKind
from review import amounts, narrowing
from review.counting import COUNTED, figure
from review.filters import CAUSES, DIFFERENCE, DOUBT, Filter
from review.instants import span
from review.queue import Queue
from review.row import checkable

_PROVED_NOT_DONE = (CaseKind.ABSENT, CaseKind.LIMIT, CaseKind.LAPSED)
"""What many at once begins with for these is another try."""
_A_CHECK_TELLS = (
    *(DOUBT, CaseKind.COULD_NOT_LOOK, CaseKind.EXPIRED, CaseKind.ACCEPTED, CaseKind.UNPROVED),
    *(CaseKind.SEVERAL, CaseKind.DIFFERS, CaseKind.MISSING, CaseKind.THERE_AFTER_ALL, CaseKind.BOTH_THERE),
)
"""For these it is a check, where anybody can look; all else is decided one by one."""


@dataclass(frozen=True)
class Group:
    """One cause at one destination: how much of it stands in the list, and where it does."""

    cause: str
    there: str
    count: int
    resting: int
    """How many of them are snoozed."""
    sums: list[str]
    """The money at risk in each currency: nothing is added across."""
    age: str
    """That of the oldest."""
    address: str
    action: str
    """What many at once begins with; empty where there is one only, or where each is decided by itself."""
    ask: str
    """The words on that button, with the number."""
    fields: list[tuple[str, str]]
    """What the button carries: the filter that finds the group."""


@dataclass(frozen=True)
class Groups:
    """All of a list that asks for somebody, in groups; the riskiest first, as in the list."""

    lines: list[Group]
    count: int
    resting: int
    """How many of all are snoozed: they stand in every total."""
    sums: list[str]
    waiting: str
    """How many wait for their turn beside them; empty where none does, or none is asked for."""
    waits_at: str


def of(queue: Queue) -> Groups:
    """Group what an address finds; two queries beside those of the types and the rates."""
    kinds = {kind.pk: kind for kind in queue.types}
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _counted(queue):
        found[row["cause"], kinds[row["operation_type"]].destination.name].append(row)
    places = {kind.destination.name: kind.destination for kind in kinds.values()}
    ranked = sorted(found.items(), key=lambda one: -sum(row["risk"] for row in one[1]))
    rows = [row for _, each in ranked for row in each]
    waiting = _waiting(queue)
    return Groups(
        lines=[_group(queue, cause, places[name], each) for (cause, name), each in ranked],
        count=sum(row["count"] for row in rows),
        resting=sum(row["resting"] for row in rows),
        sums=_sums(rows),
        waiting=figure(waiting) if waiting else "",
        waits_at=_at(replace(queue.chosen, group="", state=queue.chosen.state or "pending")),
    )


def _counted(queue: Queue) -> list[dict[str, Any]]:
    """Count by cause, type and currency: so few rows, however much there is, that the rest is done here.

    What a unit weighs follows from these, too: it is not worked out for each item.
    """
    alone = ExpressionWrapper(Q(operation=None), BooleanField())
    age_s = Value(queue.at.timestamp(), FloatField()) - F("since_s")
    items = replace(queue, chosen=queue.chosen.whole).items
    rows = list(
        items.values("kind", "operation_type", "currency", alone=alone).annotate(
            count=Count("pk"),
            resting=Count("pk", filter=Q(rests_s__gt=queue.at.timestamp())),
            money=Sum("at_risk"),
            oldest_s=Min("since_s"),
            risk=Sum(F("size") * age_s),
        )
    )
    for row in rows:
        row["cause"] = DIFFERENCE if row["alone"] else row["kind"] or DOUBT
        row["risk"] *= queue.scale.weight(row["currency"], row["operation_type"])
    return rows


def _group(queue: Queue, cause: str, there: Destination, rows: list[dict[str, Any]]) -> Group:
    count, resting = (sum(row[name] for row in rows) for name in ("count", "resting"))
    # What is snoozed is counted, and taken only where the rows have it.
    taken = count if queue.chosen.whole == queue.chosen else count - resting
    chosen = replace(queue.chosen, group="", reason=cause, destination=there.name)
    own = {row["operation_type"] for row in rows}
    action = _action(cause, [kind for kind in queue.types if kind.pk in own])
    oldest_s = min(row["oldest_s"] for row in rows)
    return Group(
        cause=CAUSES.get(cause, cause),
        there=there.title,
        count=count,
        resting=resting,
        sums=_sums(rows),
        age=span(timedelta(seconds=queue.at.timestamp() - oldest_s)),
        address=_at(chosen.whole),
        action=action if taken > 1 else "",
        ask=f"Send all {taken} again" if action == Action.SEND_AGAIN else f"Check all {taken}",
        fields=parse_qsl(chosen.address),
    )


def _action(cause: str, kinds: list[OperationType]) -> str:
    if cause in _PROVED_NOT_DONE:
        return Action.SEND_AGAIN
    return Action.CHECK if cause in _A_CHECK_TELLS and any(map(checkable, kinds)) else ""


def _sums(rows: list[dict[str, Any]]) -> list[str]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row["money"] is not None:
            sums[row["currency"]] += row["money"]
    return [amounts.whole(total, currency) for currency, total in sorted(sums.items())]


def _waiting(queue: Queue) -> int:
    """Count what waits for its turn, no further than a tab does; nobody has to decide it."""
    chosen = queue.chosen
    if not narrowing.with_waiting(chosen):
        return 0
    walked, wanted = narrowing.operations(chosen, queue.types, queue.at)
    return walked.filter(wanted).values("pk")[: COUNTED + 1].count()


def _at(chosen: Filter) -> str:
    return f"{reverse('queue')}?{chosen.address}"
