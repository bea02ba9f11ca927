"""Segregation of duties in a month: who could have done two that are kept apart, and who did."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import CharField, Count, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from ledger.models import Approval, Event, database_now
from ledger.rules import actors
from ledger.rules.approvals import Answer
from ledger.rules.leaves import Action
from reconcile import tables
from reconcile.differences.models import Decision, Way
from reconcile.models import Proposal, SignOff
from reconcile.proposals.roles import in_force
from review.access import AUDITOR, RIGHTS
from review.instants import day, zone
from review.models import AuditorTerm, Bulk

_WEEK = timedelta(days=7)
DECIDES = frozenset(
    {
        *("asked", "permitted", "attested", "ended", "cancelled", "corrected", "reopened", "chosen"),
        *("withdrawn", "bulk_asked", "bulk_started"),
        *("difference_asked", "difference_waived", "difference_closed", "difference_taken_in"),
        *("difference_ended", "prepared", "reopening_asked"),
    }
)
APPROVES = frozenset(
    {
        *("ask_approved", "ask_refused", "proposal_approved", "proposal_refused"),
        *("bulk_approved", "bulk_refused", "difference_approved", "difference_refused"),
        *("signing_approved", "signing_refused", "reopening_approved", "reopening_refused"),
    }
)
_LOOKS = Q(kind="bulk_started", data__action=Action.CHECK)
"""A list that is only checked: nothing is decided by it."""
_ON_ITS_OPERATION = Q(kind__startswith="difference_", data__way=Way.MATCH)
"""A match by hand: it is decided, asked and approved on its operation, and counted there."""
ADMINISTERS = frozenset(
    {
        *(
            "resumed",
            "told_again",
            "person_made",
            "roles_changed",
            "teams_changed",
            "entities_limited",
            "person_ended",
            "person_let_back",
        ),
        *("password_reset", "second_factor_reset", "proposed", "auditor_let_in", "auditor_ended"),
    }
)
CARRIED_OUT = ("difference_waived", "difference_closed", "difference_taken_in")
DUTIES = {"decides": DECIDES, "approves": APPROVES, "administers": ADMINISTERS}
COLUMNS = ("person", "roles_now", "could", "decided", "approved", "administered", "approved_of", "did")


@dataclass
class Line:
    """One person in one month: what their roles allow now, and what they did, by duty."""

    name: str
    roles: list[str]
    could: list[str]
    did: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DUTIES, 0))
    approved_of: dict[str, int] = field(default_factory=dict)
    """Whose requests they approved, and how many."""
    mutual: list[str] = field(default_factory=list)
    """With whom they approved each other's."""

    @property
    def combined(self) -> bool:
        """Say whether they did what is kept apart."""
        return sum(bool(count) for count in self.did.values()) > 1

    @property
    def pairs(self) -> str:
        """Say whose requests they approved."""
        return ", ".join(f"{maker} ({count})" for maker, count in sorted(self.approved_of.items()))

    @property
    def words(self) -> str:
        """Say what they did that is kept apart; empty where nothing is."""
        done = [duty for duty, count in self.did.items() if count]
        parts = [f"{' and '.join(done)} in this month"] if self.combined else []
        parts += [f"{self.name} and {other} approved each other’s requests" for other in self.mutual]
        return "; ".join(parts)


@dataclass(frozen=True)
class Report:
    """The report of a month, in a zone."""

    month: date
    begins: datetime
    ends: datetime
    made_at: datetime
    lines: list[Line]

    @property
    def value(self) -> str:
        """Return the month as an address has it."""
        return f"{self.month:%Y-%m}"

    @property
    def could(self) -> list[Line]:
        """Return those whose roles combine duties that are kept apart."""
        return [line for line in self.lines if line.could]

    @property
    def did(self) -> list[Line]:
        """Return those who did two of them, or approved one another's."""
        return [line for line in self.lines if line.words]


def read(month: str) -> Report:
    """Read a month, "2026-11", in the reader's zone; what is none is the month of now.."""
    now = database_now()
    first = day(f"{month}-01") or now.astimezone(zone()).date().replace(day=1)
    following = (first.replace(day=28) + _WEEK).replace(day=1)
    begins, ends = (datetime.combine(on, time.min, zone()) for on in (first, following))
    lines = {line.name: line for line in _people()}
    done = Event.objects.by_people().between(begins, ends).filter(kind__in=DECIDES | APPROVES | ADMINISTERS)
    # What two have decided is counted where it was asked for; what carries it out is no second decision.
    asked = Event.objects.filter(kind__in=["asked", "ask_approved"], operation=OuterRef("operation"))
    asked = asked.filter(command_id=OuterRef("command_id")).exclude(pk=OuterRef("pk"))
    by_two = Decision.objects.filter(answer=Answer.APPROVED).values(text=Cast("uid", CharField()))
    carried_out = Q(kind__in=CARRIED_OUT, decision__in=by_two)
    done = done.alias(decision=KT("data__decision")).exclude(_LOOKS | _ON_ITS_OPERATION | carried_out)
    done = done.exclude(Exists(asked))
    for name, kind, count in done.order_by().values_list("actor", "kind").annotate(count=Count("pk")):
        duty = next(duty for duty, kinds in DUTIES.items() if kind in kinds)
        lines.setdefault(name, Line(name, [], [])).did[duty] += count
    _pair(lines, begins, ends)
    return Report(first, begins, ends, now, sorted(lines.values(), key=lambda line: line.name))


def _people() -> Iterator[Line]:
    audits = Exists(AuditorTerm.objects.open().filter(person=OuterRef("pk")))
    for user in User.objects.filter(is_active=True).annotate(audits=audits).prefetch_related("groups"):
        roles = sorted(group.name for group in user.groups.all()) + [AUDITOR] * user.audits
        yield Line(user.get_username(), roles, list(_combined(roles)))


def _combined(roles: list[str]) -> Iterator[str]:
    """Say which duties somebody's roles put into one hand."""
    counting = in_force(frozenset(roles))
    if counting != {*roles}:
        yield "has both an administrator’s role and one that decides: decides nothing until one goes"
    rights = {right for role in counting for right in RIGHTS.get(role, ())}
    if {"ask", "approve"} <= rights:
        yield "asks and approves (never the same request)"


def _pair(lines: dict[str, Line], begins: datetime, ends: datetime) -> None:
    """Note who approved whose requests, and who did so for each other."""
    pairs: dict[tuple[str, str], int] = defaultdict(int)
    for asked in (
        Approval.objects,
        Proposal.objects,
        Decision.objects.filter(approval=None),
        SignOff.objects,
    ):
        agreed = asked.filter(answer=Answer.APPROVED, decided_at__gte=begins, decided_at__lt=ends)
        _count(pairs, agreed.values_list("decided_by", "maker"))
    lists = Bulk.objects.filter(approved_at__gte=begins, approved_at__lt=ends)
    _count(pairs, lists.values_list("approved_by", "maker"))
    for (checker, maker), count in pairs.items():
        line = lines.setdefault(checker, Line(checker, [], []))
        line.approved_of[maker] = count
        if (maker, checker) in pairs and not actors.is_software(maker):
            line.mutual.append(maker)


def _count(pairs: dict[tuple[str, str], int], agreed: QuerySet[Any, tuple[str, ...]]) -> None:
    for checker, maker, count in agreed.order_by().annotate(count=Count("pk")):
        pairs[checker, maker] += count


def table(report: Report, *, author: str) -> tables.Table:
    """Return the report as a table."""
    about = tables.About(
        what="Segregation of duties: who could, and who did",
        asked=f"from {report.begins.isoformat()} up to {report.ends.isoformat()}; roles as they are now",
        as_of=report.made_at,
        author=author,
        count=len(report.lines),
    )
    rows = (
        (
            line.name,
            ", ".join(line.roles),
            "; ".join(line.could),
            *line.did.values(),
            line.pairs,
            line.words,
        )
        for line in report.lines
    )
    return tables.Table(about, COLUMNS, rows)
