"""What a person's daily digest says, and when it comes: counts and the pages behind them, nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.urls import reverse

from ledger.models import Case
from ledger.rules.escalating import ADMINISTRATORS, APPROVERS
from ledger.rules.hours import is_within
from review import access, approvals, expected, narrowing, pausing, wording, zones
from review.filters import Filter
from review.models import Notice, Reader

COUNTED = 1000
DAYS = 8
PERSON, LATE = Filter(view="person", order="due"), Filter(view="late", order="due")
ROLES = {APPROVERS: "approver", ADMINISTRATORS: "administrator"}
Line = tuple[str, str]
"""Words with a count, and the path of a page."""


def lines(person: User, now: datetime) -> list[Line]:
    """Say what waits for a person, what is late, what went to them and which runs did not run."""
    if not access.may(person, "look"):
        return []
    asks = [*_asked(person), *_answered(person)]
    return [*_waiting(person, now), *_escalated(person), *asks, *_runs(now)]


def _waiting(person: User, now: datetime) -> Iterator[Line]:
    whose = [("me", "for you"), ("team", "for your teams")]
    whose += [("nobody", "for somebody to take them")] if access.may(person, "assign") else []
    for who, words in whose:
        if who == "team" and not access.teams(person):
            continue
        for plain, verb in ((PERSON, "waiting"), (LATE, "late")):
            chosen = replace(plain, who=who, reader=access.reader(person))
            count, resting = (
                _count(chosen.whole, now),
                _count(chosen.resting, now) if verb == "waiting" else "",
            )
            if count:
                of_them = f", {resting} of them snoozed" if resting else ""
                yield f"{count} {verb} {words}{of_them}", f"{reverse('queue')}?{chosen.whole.address}"


def _count(chosen: Filter, now: datetime) -> str:
    count = narrowing.items(chosen, [], now).values("pk")[: COUNTED + 1].count()
    return wording.bounded(count, COUNTED) if count else ""


def _escalated(person: User) -> Iterator[Line]:
    held = access.roles(person)
    names = access.teams(person) | {name for name, role in ROLES.items() if role in held}
    open_ = Case.objects.open().filter(level__gt=0, escalated_to__in=sorted(names))
    count = open_.values("pk")[: COUNTED + 1].count()
    if count:
        words = f"{wording.bounded(count, COUNTED)} passed on to you"
        yield words, f"{reverse('queue')}?view=escalated&order=due"


def _asked(person: User) -> Iterator[Line]:
    asked = approvals.figure() if access.may(person, "approve") else ""
    if asked:
        yield f"{asked} for a second person", reverse("approvals")


def _answered(person: User) -> Iterator[Line]:
    found = Notice.objects.unread().filter(person=person, kind=Notice.Kind.ANSWERED)
    count = found.aggregate(count=Sum("count"))["count"] or 0
    if count:
        yield f"{count} of your requests answered", reverse("notices")


def _runs(now: datetime) -> Iterator[Line]:
    paused = {one.destination_id for one in pausing.open_pauses() if not one.callers_only}
    did_not = sum(line.standing == "did not" for line in expected.read(now, paused=paused).lines)
    if did_not:
        yield f"{figures(did_not, 'reconciliation')} did not run", reverse("home")


def figures(count: int, noun: str) -> str:
    """Write a count in figures, as what is read at a glance: "1 item", "12 items"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def next_at(reader: Reader, after: datetime) -> datetime:
    """Return when a reader's next digest comes, after an instant; once a day, whatever clocks do."""
    here = zone_of(reader)
    today = after.astimezone(here).date()
    for number in range(DAYS):
        day = today + timedelta(days=number)
        at = datetime.combine(day, reader.digest_at, here)
        if at > after and (reader.weekends or day.weekday() < 5):
            return at
    raise AssertionError("a week has a working day")


def quiet_until(reader: Reader, now: datetime) -> datetime | None:
    """Return until when nothing is sent to a reader; None where it may be sent now."""
    begin, end = reader.quiet_from, reader.quiet_until
    if begin is None or end is None:
        return None
    here = now.astimezone(zone_of(reader))
    at = here.time()
    if not is_within(at, begin, end):
        return None
    over = datetime.combine(here.date(), end, here.tzinfo)
    return over if over > here else over + timedelta(days=1)


def zone_of(reader: Reader) -> ZoneInfo:
    """Return the zone by whose clock a reader is told."""
    return zones.known(reader.zone) or settings.DISPLAY_ZONE
