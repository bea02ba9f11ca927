"""What of the queue an address asks for, as conditions on items and on operations without one."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import BooleanField, Func, Q, QuerySet, Value

from ledger.models import REFERENCES, Operation, OperationType
from ledger.rules.states import CaseKind, State
from review.cursors import seconds
from review.filters import DIFFERENCE, DOUBT, RESTING, Filter
from review.models import Item
from review.told import judged

WRONG = [CaseKind.SEVERAL, CaseKind.DIFFERS, CaseKind.BOTH_THERE]
WAITING = (State.PENDING, State.RUNNING)


def items(chosen: Filter, types: Sequence[OperationType], at: datetime) -> QuerySet[Item]:
    """Return the items that an address asks for, in no order."""
    found = Item.objects.filter(**_plain(chosen, types, at, since="since_s"))
    found = found.filter(**_given({"state": chosen.state, "owner": chosen.owner}))
    found = found.filter(_cause(chosen.reason))
    found = found.filter(**_light(chosen))
    match chosen.view:
        case "person":
            found = found.exclude(kind="", finding=None)
        case "late":
            found = found.filter(due_s__lt=seconds(at))
        case "escalated":
            found = found.filter(level__gt=0)
        case "wrong":
            found = found.filter(kind__in=WRONG)
        case "snoozed":
            found = found.filter(rests_s__gt=seconds(at))
    if chosen.view in RESTING and not chosen.rests:
        found = found.filter(rests_s__lte=seconds(at))
    if chosen.who:
        found = found.filter(_whose(chosen, "")).exclude(case=None)
    if chosen.found == "unchecked":
        found = found.filter(verdict="").exclude(state="")
    elif chosen.found:
        found = found.filter(verdict=chosen.found)
    return found.filter(_Held(chosen.text)) if chosen.text else found


def _cause(reason: str) -> Q:
    """Ask for the items of a cause: a case's, or none yet, or a difference that no operation carries."""
    if reason == DIFFERENCE:
        return Q(operation=None)
    if reason == DOUBT:
        return Q(kind="", operation__isnull=False)
    return Q(**_given({"kind": reason}))


def _light(chosen: Filter) -> dict[str, Any]:
    """Ask for the amounts once more as their index has them, which holds no sign: none below nothing then."""
    bounds = {"lightness__lte": chosen.least, "lightness__gte": chosen.least and chosen.most}
    return {name: -float(amount) for name, amount in bounds.items() if amount}


def with_waiting(chosen: Filter) -> bool:
    """Say whether what only waits for its turn is asked for: nobody has it, and nothing was found of it."""
    return chosen.view == "open" and not _told_of(chosen) and chosen.state in ("", *WAITING)


def _told_of(chosen: Filter) -> bool:
    """Say whether anything is asked for that an operation's own row does not tell: its case, its checks."""
    return bool(chosen.found or chosen.owner or chosen.who or chosen.reason)


def operations(chosen: Filter, types: Sequence[OperationType], at: datetime) -> tuple[QuerySet[Operation], Q]:
    """Return the operations to walk through, and what of them is asked for; see `queue.Queue`."""
    latest = chosen.view == "latest"
    walked: QuerySet[Operation] = Operation.objects.all() if latest else Operation.objects.waiting()
    if _told_of(chosen):
        walked = judged(walked)
    asked = _plain(chosen, types, at, since="accepted_at")
    asked |= _given({"state": chosen.state, "case_owner": chosen.owner})
    wanted = Q(**asked)
    if chosen.reason:
        wanted &= {DOUBT: Q(case_kind=None, state=State.UNCERTAIN), DIFFERENCE: Q(pk=None)}.get(
            chosen.reason, Q(case_kind=chosen.reason)
        )
    if chosen.who:
        wanted &= _whose(chosen, "case_")
    if chosen.found == "unchecked":
        wanted &= Q(seen__isnull=True)
    elif chosen.found:
        wanted &= Q(verdict=chosen.found)
    if chosen.text:
        wanted &= _holds(chosen.text)
    return walked, wanted


def _whose(chosen: Filter, prefix: str) -> Q:
    """Ask for what the reader has, what their teams have, what nobody has, or what somebody has by name."""
    if chosen.who == "team":
        return Q(**{f"{prefix}owner__in": sorted(chosen.reader.teams)})
    name = {"me": chosen.reader.name, "nobody": ""}.get(chosen.who, chosen.who)
    return Q(**{f"{prefix}assignee": name})


def by_type(chosen: Filter) -> bool:
    """Say whether anything is asked for that the operation types decide."""
    return bool(chosen.type or chosen.destination or chosen.entity)


def _plain(chosen: Filter, types: Sequence[OperationType], at: datetime, *, since: str) -> dict[str, Any]:
    """Return what items and operations are filtered by alike."""
    asked = _given({"currency": chosen.currency, "amount__gte": chosen.least, "amount__lte": chosen.most})
    spans = {"lte": chosen.age, "gt": chosen.younger}
    for side, hours in spans.items():
        if hours:
            then = at - timedelta(hours=int(hours))
            asked[f"{since}__{side}"] = seconds(then) if since == "since_s" else then
    if by_type(chosen):
        asked["operation_type__in"] = [kind.pk for kind in types if _is_of(kind, chosen)]
    return asked


def _is_of(kind: OperationType, chosen: Filter) -> bool:
    there = kind.destination
    asked = (chosen.type, kind.name), (chosen.destination, there.name), (chosen.entity, there.entity)
    return all(wanted in ("", own) for wanted, own in asked)


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value}


class _Held(Func):
    """Whether an item holds every word that is asked for, or one that begins with it; by an index."""

    template = "%(expressions)s"
    arg_joiner = " @@ "
    output_field = BooleanField()
    conditional = True

    def __init__(self, text: str) -> None:
        asked = Func(Value(text), function="review_asked")
        super().__init__("words", asked)


def _holds(text: str) -> Q:
    """Ask for every word, anywhere in what a person may hold: few are looked through for it."""
    words = "".join(one if one.isalnum() else " " for one in text).split()
    if not words:
        return Q(pk=None)
    return reduce(and_, (reduce(or_, (Q(**{f"{name}__icontains": w}) for name in REFERENCES)) for w in words))
