"""Run histories as people read them: what was taken in, and which triggers somebody has to look up."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.db.models import Q

from ledger import sight
from ledger.models import Event
from reconcile.classes import ItemClass
from reconcile.histories import telling
from reconcile.models import History, PastRun, Repeat
from review import amounts, trail, wording
from review.instants import instant
from review.runs import stamp

SHOWN = 200
IMPORTS_SHOWN = 50
RUNS_SHOWN = 50
IN_QUEUE = 20

_NAMES = {
    ItemClass.UNCERTAIN: ("May be doubled", "uncertain"),
    ItemClass.AMBIGUOUS: ("More than one operation", "could_not_look"),
    ItemClass.DUPLICATE: ("Doubled at {there}", "several"),
    ItemClass.MISSING: ("Missing at {there}", "absent"),
    ItemClass.STATUS_DIFFERS: ("Does not stand at {there}", "differs"),
    ItemClass.MATCHED: ("There once", "one_match"),
}


@dataclass(frozen=True)
class Line:
    """One trigger that ran more than once, as a list shows it."""

    repeat: Repeat
    title: str
    icon: str
    tries: str
    amount: str
    late: bool

    @classmethod
    def of(cls, repeat: Repeat, now: datetime) -> Self:
        """Read a finding that came with its operation, type, case and file; no query."""
        title, icon = _NAMES[ItemClass(repeat.item_class)]
        return cls(
            repeat=repeat,
            title=title.format(there=repeat.operation_type.destination.title),
            icon=icon,
            tries=_tries(repeat),
            amount=amounts.whole(repeat.amount, repeat.currency),
            late=repeat.is_open and repeat.case.due_at < now,
        )

    @property
    def name(self) -> str:
        """Name the trigger as a person would: its operation, or its source record."""
        repeat = self.repeat
        if repeat.operation is not None:
            return wording.name(repeat.operation)
        return f"{repeat.system} {repeat.reference}" + (f" v{repeat.version}" if repeat.version else "")


def _tries(repeat: Repeat) -> str:
    """Say what Tieout knows of it beside what its platform says."""
    known, operation = telling.effects(repeat), repeat.operation
    effects = "" if known is None else f", {wording.several(known, 'effect')} known"
    if operation is None:
        return f"not handed to Tieout{effects}"
    tries = wording.several(operation.attempt_count, "try") if operation.attempt_count else "no try"
    return f"{tries} by Tieout’s record{effects or ', effects not known'}"


def _whole(repeats: Any) -> Any:
    return repeats.select_related("operation_type__destination", "operation", "case", "history")


@dataclass(frozen=True)
class Listing:
    """The page of run histories, at a fixed number of queries."""

    open: list[Line]
    more: bool
    closed: list[Line]
    imports: list[History]


def listing(now: datetime) -> Listing:
    """Read what is open, the oldest first, what was answered last, and the latest files."""
    found = list(_whole(Repeat.objects.open()).order_by("first_seen_at", "pk")[: SHOWN + 1])
    closed = _whole(Repeat.objects.closed()).order_by("-case__closed_at", "-pk")[:IMPORTS_SHOWN]
    return Listing(
        open=[Line.of(repeat, now) for repeat in found[:SHOWN]],
        more=len(found) > SHOWN,
        closed=[Line.of(repeat, now) for repeat in closed],
        imports=list(History.objects.select_related("operation_type").order_by("-pk")[:IMPORTS_SHOWN]),
    )


def waiting(now: datetime) -> list[Line]:
    """Return the first that nobody has answered, and that are no operation's case, by when they are due."""
    rows = _whole(Repeat.objects.open()).filter(case__operation=None).order_by("case__due_at", "pk")
    return [Line.of(repeat, now) for repeat in rows[:IN_QUEUE]]


@dataclass(frozen=True)
class Reading:
    """The page of one trigger that ran more than once."""

    line: Line
    now: datetime

    @property
    def there(self) -> str:
        """The destination's own name."""
        return self.line.repeat.operation_type.destination.title

    @property
    def snoozed(self) -> bool:
        """Say whether it is put off."""
        return self.line.repeat.case.is_snoozed(
            self.now, self.line.repeat.operation.revision if self.line.repeat.operation else None
        )

    @property
    def said(self) -> list[str]:
        """Say what is known, in sentences."""
        repeat = self.line.repeat
        first, last = stamp(repeat.first_run_at), stamp(repeat.last_run_at)
        lines = [repeat.why]
        if repeat.looked_at is not None:
            who = wording.who(repeat.looked_by)
            lines.append(f"Looked up at {instant(repeat.looked_at, self.now)} by {who}.")
        runs = wording.first_up(wording.several(repeat.runs, "run"))
        lines.append(f"{runs} marked successful began from {first} to {last}; {self.line.tries}.")
        if repeat.came_back:
            lines.append("It was answered before, and ran again since.")
        if repeat.case.closed_at is not None:
            lines.append(f"{wording.who(repeat.case.closed_by)} closed it at {stamp(repeat.case.closed_at)}.")
        return lines

    @property
    def records(self) -> list[tuple[str, str, str, bool]]:
        """Return what the destination held: id, status, amount, and whether it is too many."""
        surplus = self.line.repeat.surplus
        return [
            (
                record["id"],
                record["status"] or record["standing"],
                amounts.whole(record["amount"], record["currency"]),
                0 < place <= surplus,
            )
            for place, record in enumerate(self.line.repeat.records)
        ]

    @property
    def runs(self) -> list[PastRun]:
        """Return the first of its successful runs."""
        repeat = self.line.repeat
        own = {name: getattr(repeat, name) for name in ("operation_type", "system", "reference", "version")}
        return list(PastRun.objects.filter(**own).order_by("started_at", "pk")[:RUNS_SHOWN])

    @property
    def trail(self) -> list[trail.Line]:
        """Return what was done about it, also where it stood in another case than now."""
        repeat = self.line.repeat
        its_own = Q(data__repeat=repeat.mark["repeat"]) | Q(data__case=str(repeat.case.uid))
        with sight.whole():
            told = Event.objects.filter(its_own, operation=None)
        return [trail.line(event, there=self.there) for event in told.order_by("pk")[:RUNS_SHOWN]]


def read(repeat: Repeat, now: datetime) -> Reading:
    """Read one finding."""
    return Reading(Line.of(repeat, now), now)
