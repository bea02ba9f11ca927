"""A case as people hand it on: what it is about, whose it is, who could take it, and until when it rests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Self

from django.db.models import Count, QuerySet
from django.urls import reverse

from ledger import actions
from ledger.models import Case, Operation, OperationType
from reconcile.models import Finding, Repeat
from reconcile.proposals import roles
from review import wording
from review.instants import instant, zone

HANDED_AT_ONCE = 500
"""The most that one click hands over."""
MORNING = time(8)


@dataclass(frozen=True)
class Subject:
    """What a case is about: its name and the page where it is decided."""

    name: str
    url: str


@dataclass(frozen=True)
class Sheet:
    """What the page of one case shows."""

    case: Case
    operation: Operation | None
    now: datetime
    subject: Subject
    passing: list[actions.Passing]
    people: list[str]
    teams: list[str]

    @classmethod
    def of(cls, case: Case, now: datetime) -> Self:
        """Read one case."""
        operation = case.operation
        return cls(
            case=case,
            operation=operation,
            now=now,
            subject=subject(case),
            passing=[] if case.closed_at else actions.passing(case, operation, now),
            people=takers(),
            teams=teams(case.owner),
        )

    @property
    def snoozed(self) -> bool:
        """Say whether it is put off now."""
        return rests(self.case, self.now)

    @property
    def passes(self) -> str:
        """Say what comes to its end, and when: "its due time (17:00)"; empty where nothing does."""
        said = [f"{one.what} ({instant(one.at, self.now)})" for one in self.passing]
        return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else "".join(said)

    def moments(self, chosen: str = "") -> list[tuple[str, str]]:
        """Return the instants that are offered, as the form sends them, with their words.

        What was `chosen` a minute ago stays among them where it is offered no more.
        """
        offered = [(_sent(at), words) for at, words in _moments(self.now)]
        if chosen in ("", *(value for value, _ in offered)):
            return offered
        try:
            at = datetime.fromisoformat(chosen).replace(tzinfo=zone())
        except ValueError:
            return offered
        return [(chosen, f"As chosen, {instant(at, self.now)}"), *offered]


def _sent(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M")


def _moments(now: datetime) -> Iterator[tuple[datetime, str]]:
    here = now.astimezone(zone())
    soon = here + timedelta(hours=2)
    yield soon, f"In two hours, {soon:%H:%M}"
    tomorrow = datetime.combine(here.date() + timedelta(days=1), MORNING, here.tzinfo)
    yield tomorrow, f"Tomorrow, {tomorrow:%a %H:%M}"
    monday = tomorrow + timedelta(days=-tomorrow.weekday() % 7 or 7)
    yield monday, f"Next week, {monday:%a} {monday.day}\u00a0{monday:%b %H:%M}"


def takers() -> list[str]:
    """Return who can be given a case, by name."""
    able = roles.having(*roles.DECIDING)
    return list(able.order_by("username").values_list("username", flat=True).distinct())


def teams(owner: str = "") -> list[str]:
    """Return the teams: whatever operation types name as their owner, and the present one."""
    named = OperationType.objects.order_by().values_list("owner", flat=True).distinct()
    return sorted({*named, owner} - {""})


def subject(case: Case) -> Subject:
    """Say what a case is about, and where that is decided."""
    return subjects([case])[0]


def subjects(found: Sequence[Case]) -> list[Subject]:
    """Say so of several; two queries, where some have no operation."""
    bare = [case.pk for case in found if case.operation_id is None]
    latest = Finding.objects.filter(case__in=bare).order_by("case", "-pk").distinct("case")
    findings = {one.case_id: one for one in latest.select_related("run")}
    repeats = {one.case_id: one for one in Repeat.objects.filter(case__in=bare)}
    return [_subject(case, findings.get(case.pk), repeats.get(case.pk)) for case in found]


def _subject(case: Case, finding: Finding | None, repeat: Repeat | None) -> Subject:
    if case.operation is not None:
        return Subject(wording.title(case.operation), reverse("operation", args=[case.operation.uid]))
    if finding is not None:
        there = reverse("difference", args=[finding.run.uid, finding.pk])
        return Subject(f"Difference: {finding.reference or finding.why}", there)
    if repeat is not None:
        name = f"{repeat.system} {repeat.reference}, ran more than once"
        return Subject(name, reverse("repeat", args=[repeat.uid]))
    pause = getattr(case, "pause", None)
    if pause is not None:
        return Subject(f"{pause.destination.title} is paused", reverse("pause", args=[pause.uid]))
    return Subject("Found by a reconciliation", reverse("runs"))


def rests(case: Case, now: datetime) -> bool:
    """Say whether a case is put off now; its operation is read with it."""
    return case.is_snoozed(now, case.operation.revision if case.operation else None)


def of_person(name: str) -> QuerySet[Case]:
    """Return the open cases that a person has, the first due first."""
    found = Case.objects.open().filter(assignee=name)
    found = found.select_related("operation__operation_type", "pause__destination")
    return found.order_by("due_at", "pk")


def of_operations(pks: Sequence[int]) -> QuerySet[Case]:
    """Return the open cases of some operations, the first due first."""
    found = Case.objects.open().filter(operation__in=pks)
    found = found.select_related("operation__operation_type", "pause__destination")
    return found.order_by("due_at", "pk")


def loads() -> list[tuple[str, int]]:
    """Return everybody who has open cases, with how many."""
    held = Case.objects.open().exclude(assignee="").order_by("assignee").values_list("assignee")
    return list(held.annotate(count=Count("pk")))
