"""What declared rules have to tie, asked pair by pair: each record beside each operation, in no other way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tests.reconcile.worlds import NOW, Declared, Meant, Rules, There

if TYPE_CHECKING:
    from tests.reconcile.oracle import Known

POSSIBLE = ("completed", "uncertain", "running")
STANDING = ("done", "pending")


@dataclass(frozen=True)
class Group:
    """What a rule takes together: its name, what becomes of it, and what is there less what was meant."""

    name: str
    item_class: str
    apart: int


@dataclass(frozen=True)
class Free:
    """A record that is nobody's, and in which order it stands."""

    place: int
    record: There


def tied(rules: Rules, known: "Sequence[Known]") -> "list[Known]":
    """Return all orders with the records that rules have tied to them, and what is unclear marked."""
    now = list(known)
    for rule in rules.declared:
        if rule.split:
            now = grouped(rules, rule, now)
            continue
        ours = [place for place, one in enumerate(now) if is_free(rules, rule, one)]
        theirs = [free for place, one in enumerate(now) for free in free_records(place, one)]
        pairs = [
            (place, free)
            for place in ours
            for free in theirs
            if fits(rules, rule, now[place].order.meant, free.record)
        ]
        sole = [
            (place, free)
            for place, free in pairs
            if sum(place == other for other, _ in pairs) == 1
            and sum(free == other for _, other in pairs) == 1
        ]
        for place, free in pairs:
            if (place, free) in sole:
                now[free.place] = without(now[free.place], free.record)
                now[place] = replace(now[place], held=(free.record,), tied=True)
            else:
                now[place] = replace(now[place], unclear_itself=True)
                marked = now[free.place].unclear | {free.record.number}
                now[free.place] = replace(now[free.place], unclear=marked)
    return now


def grouped(rules: Rules, rule: Declared, known: "Sequence[Known]") -> "list[Known]":
    """Return all orders with what this rule takes together, and the class that its sums make of it."""
    now = list(known)
    ours: dict[tuple[str, str], list[int]] = {}
    theirs: dict[tuple[str, str], list[Free]] = {}
    for place, one in enumerate(now):
        meant = one.order.meant
        if is_free(rules, rule, one) and meant and meant.subject and meant.amount is not None:
            ours.setdefault((meant.subject, meant.currency), []).append(place)
        for free in free_records(place, one):
            if free.record.payer:
                theirs.setdefault((free.record.payer, free.record.currency), []).append(free)
    for name in ours.keys() & theirs.keys():
        meants = [own for place in ours[name] if (own := now[place].order.meant) is not None]
        records = [free.record for free in theirs[name]]
        days = {_day(rules, one.accepted) for one in meants} | {day(rules, one.made) for one in records}
        reached = {one for one in days if one is None or goes_on(rules, rule, one, days)}
        ours[name] = [at for at in ours[name] if accepted_on(rules, now[at]) in reached]
        theirs[name] = [free for free in theirs[name] if day(rules, free.record.made) in reached]
        meants = [one for one in meants if _day(rules, one.accepted) in reached]
        records = [free.record for free in theirs[name]]
        if not meants or not records:
            continue
        here = any(in_window(rules, one.accepted) for one in meants)
        if not here and not any(in_window(rules, one.made) for one in records):
            continue
        apart = sum(one.amount for one in records) - sum(one.amount or 0 for one in meants)
        group = Group(f"subject = {name[0]} {name[1]}", class_of(rules, apart, meants), apart)
        for place in ours[name]:
            now[place] = replace(now[place], group=group)
        for free in theirs[name]:
            now[free.place] = without(now[free.place], free.record)
            there = [*now[free.place].grouped, (group, free.record)]
            now[free.place] = replace(now[free.place], grouped=tuple(there))
    return now


def goes_on(rules: Rules, rule: Declared, one: date, days: "set[date | None]") -> bool:
    """Say whether a day is in the window, or reached from it by steps of at most the rule's days."""
    first, last = rules.days
    most = rule.days or 0
    if first <= one <= last:
        return True
    edge = first if one < first else last
    if abs((one - edge).days) > 2 * most:
        return False
    between = [other for other in days if other is not None and min(one, edge) < other < max(one, edge)]
    path = sorted([one, *between, edge])
    return all((later - earlier).days <= most for earlier, later in pairwise(path))


def accepted_on(rules: Rules, one: "Known") -> date | None:
    """Return the day on which an operation was accepted."""
    return None if one.order.meant is None else _day(rules, one.order.meant.accepted)


def class_of(rules: Rules, apart: int, meants: Sequence[Meant]) -> str:
    """Return what becomes of a group: matched by exact sums alone, in flight while some may come."""
    if not apart:
        return "matched"
    if any(
        one.state == "running" or (fresh(rules, one) and in_window(rules, one.accepted)) for one in meants
    ):
        return "in_flight"
    return "amount_over" if apart > 0 else "amount_under"


def fresh(rules: Rules, meant: Meant) -> bool:
    """Say whether it was accepted, or last tried, within the grace."""
    since = NOW - rules.grace
    return meant.accepted > since or (meant.tried is not None and meant.tried > since)


def in_window(rules: Rules, moment: datetime | date | None) -> bool:
    """Say whether a moment is told and within the window."""
    if isinstance(moment, datetime):
        return rules.window_from <= moment < rules.window_to
    return moment is not None and rules.days[0] <= moment <= rules.days[1]


def is_free(rules: Rules, rule: Declared, one: "Known") -> bool:
    """Say whether nothing is known to be there of an operation, and this rule may be asked about it."""
    meant = one.order.meant
    if one.group is not None:
        return False
    if meant is None or one.held or one.unclear_itself or meant.cancelled or meant.state not in POSSIBLE:
        return False
    if meant.known and not rule.renumbered:
        return False
    if rule.days is None:
        return True
    reach = timedelta(days=rule.days * (2 if rule.split else 1) + 1)
    return rules.window_from - reach <= meant.accepted < rules.window_to + reach


def free_records(place: int, one: "Known") -> list[Free]:
    """Return the readable and standing records of an order that are nobody's."""
    if one.order.meant is not None or one.order.carries not in ("key", "nothing"):
        return []
    return [
        Free(place, record)
        for record in one.held
        if not record.trouble and record.standing in STANDING and record.number not in one.unclear
    ]


def fits(rules: Rules, rule: Declared, meant: Meant | None, record: There) -> bool:
    """Say whether all that a rule says is so."""
    assert meant is not None
    if meant.amount is None or meant.currency != record.currency:
        return False
    if rule.subject and (not meant.subject or meant.subject != record.payer):
        return False
    if abs(record.amount - meant.amount) > allowed(rule, meant):
        return False
    if rule.days is None:
        return True
    made = day(rules, record.made)
    return made is not None and abs((made - _day(rules, meant.accepted)).days) <= rule.days


def allowed(rule: Declared, meant: Meant) -> int:
    """Return by how many minor units the amounts may differ."""
    if rule.percent is not None:
        return math.floor(abs(meant.amount or 0) * rule.percent / 100)
    return (rule.tolerance or {}).get(meant.currency, 0)


def day(rules: Rules, made: datetime | date | None) -> date | None:
    """Return the day of the plan's zone."""
    return _day(rules, made) if isinstance(made, datetime) else made


def _day(rules: Rules, moment: datetime) -> date:
    return moment.astimezone(ZoneInfo(rules.zone)).date()


def without(one: "Known", record: There) -> "Known":
    """Return an order without one of its records."""
    return replace(one, held=tuple(other for other in one.held if other is not record))
