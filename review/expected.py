"""The reconciliations as the first screen tells them: which were due, which ran, and what those came to."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Abs

from reconcile import scheduling
from reconcile.expected import times
from reconcile.expected.standing import Standing, standing
from reconcile.expected.times import Unscheduled
from reconcile.models import ExpectedRun, Finding, Plan, Run
from review import amounts, wording
from review.instants import instant
from review.wording import Badge

COUNTED = 10_000
"""The most open differences that are added up, over all runs shown; what is more is said to be more."""
LATELY = timedelta(days=7)
"""So far back it is said which times nothing ran for."""
SOON = "soon"
DID_NOT_RUN = "Did not run"
"""What is said of a run that did not come to its end, wherever it stands: nothing of it counts."""
NOUGHT = Decimal(0)


@dataclass(frozen=True)
class Figures:
    """What runs came to in one currency; "" for what has no amount, of which what is open is counted."""

    currency: str
    items: int
    unexplained: Decimal
    open: Decimal

    @property
    def unexplained_words(self) -> str:
        """How much is unexplained; of what has no amount only items could be."""
        return amounts.show(self.unexplained, self.currency) if self.currency else "–"

    @property
    def open_words(self) -> str:
        """How much is open."""
        if self.currency:
            return amounts.show(self.open, self.currency)
        return wording.several(int(self.open), "item") if self.open else "–"


@dataclass(frozen=True)
class Line:
    """One plan: how its latest due time went, which run tells, and what that came to."""

    plan: Any
    """With its latest run over its own window as `last`: a number, or None."""
    badge: Badge
    note: str = ""
    """Why it did not run, or when it runs next."""
    run: Run | None = None
    figures: list[Figures] = field(default_factory=list)
    """Empty where nothing is known."""
    unexplained_items: int = 0
    """How many items no class explains; amounts that are explained do not make it nothing."""
    standing: str = ""
    """"ran", "did not" or "at work"; empty where no run was due."""

    @property
    def at(self) -> datetime | None:
        """When its run began, or else was due: in full on paper, where there is no today."""
        if not self.standing:
            return None
        found: datetime | None = self.run.started_at if self.run is not None else self.plan.due_at
        return found


@dataclass(frozen=True)
class Expected:
    """All plans, those that did not run first."""

    lines: list[Line]
    more: bool
    """Not all open differences were added up."""
    now: datetime

    @property
    def headline(self) -> str:
        """Say in one line which ran."""
        found = Counter(line.standing for line in self.lines if line.standing)
        if not found:
            return self._none_due
        due, did_not, at_work = found.total(), found["did not"], found["at work"]
        said = [f"{found['ran']} of {due} reconciliation{'s' * (due != 1)} ran"]
        said += [f"{did_not} did not"] if did_not else []
        said += [f"{at_work} {'is' if at_work == 1 else 'are'} at work"] if at_work else []
        return ", ".join(said)

    @property
    def _none_due(self) -> str:
        """Say that none was due, and how many somebody has run all the same."""
        asked = sum(line.run is not None for line in self.lines)
        if not asked:
            return "No reconciliation was due yet" if self.lines else "No reconciliation is set up"
        return f"No reconciliation was due yet, {asked} {'has' if asked == 1 else 'have'} run"

    @property
    def totals(self) -> list[Figures]:
        """What the runs came to together, currency by currency; nothing is netted."""
        found: dict[str, list[Figures]] = defaultdict(list)
        for line in self.lines:
            for figures in line.figures:
                found[figures.currency].append(figures)
        return [_sum(currency, found[currency]) for currency in sorted(found, key=_last_without)]

    @property
    def told(self) -> int:
        """How many reconciliations the totals add up."""
        return sum(bool(line.figures) for line in self.lines)

    @property
    def summary(self) -> list[str]:
        """Say as of which runs what is unexplained and what is open, in each currency."""
        money = [figures for figures in self.totals if figures.currency]
        if not money:
            return []
        more = "more than " if self.more else ""
        unexplained = ", ".join(_coded(figures.unexplained, figures.currency) for figures in money)
        items = sum(line.unexplained_items for line in self.lines)
        unexplained += f" and {wording.several(items, 'item')}" if items else ""
        held = ", ".join(_coded(figures.open, figures.currency) for figures in money)
        return [f"as of {self._as_of}: unexplained {unexplained}", f"open {more}{held}"]

    @property
    def _as_of(self) -> str:
        """Say when the runs began whose figures are added up: since then more has happened."""
        began = [line.run.started_at for line in self.lines if line.figures and line.run]
        first, last = instant(min(began), self.now), instant(max(began), self.now)
        return last if first == last else f"{first} to {last}"


def read(now: datetime, *, paused: Container[int]) -> Expected:
    """Read every plan with its runs, in four queries; `paused`: destinations that can be asked nothing."""
    own = Run.objects.filter(plan=OuterRef("pk"), dry_run=False, first_day=None, last_day=None).order_by(
        "-pk"
    )
    due = ExpectedRun.objects.due(now).filter(plan=OuterRef("pk")).order_by("-due_at")
    plans: list[Any] = list(
        Plan.objects.select_related("operation_type__destination")
        .annotate(last=Subquery(own.values("pk")[:1]))
        .annotate(done=Subquery(own.filter(state=Run.State.DONE).values("pk")[:1]))
        .annotate(
            due_at=Subquery(due.values("due_at")[:1]), report_by_at=Subquery(due.values("report_by")[:1])
        )
        .annotate(first=Subquery(_first_done().values("finished_at")[:1]), missed=Subquery(_missed(now)))
        .order_by("name")
    )
    runs = Run.objects.in_bulk({pk for plan in plans for pk in (plan.last, plan.done) if pk})
    busy = scheduling.is_busy()
    lines = [_Seen(one, runs.get(one.last), runs.get(one.done), paused, busy=busy).line(now) for one in plans]
    still, more = _open([line.run.pk for line in lines if line.run and line.run.state == Run.State.DONE])
    lines = [_with_figures(line, still) for line in lines]
    return Expected(sorted(lines, key=lambda line: line.standing != "did not"), more, now)


def _first_done() -> QuerySet[Run]:
    """Return the runs that have reported since a plan's latest time, the first of them first."""
    own = Run.objects.filter(plan=OuterRef("pk"), dry_run=False, first_day=None, last_day=None)
    return own.filter(state=Run.State.DONE, started_at__gte=OuterRef("due_at")).order_by("started_at", "pk")


def _missed(now: datetime) -> QuerySet[Any, Any]:
    """Count the times of the last days that were not run for, and that a later one has followed."""
    rows = ExpectedRun.objects.missed(now).filter(plan=OuterRef("pk"), due_at__gt=now - LATELY)
    return rows.order_by().values("plan").annotate(count=Count("pk")).values("count")


@dataclass(frozen=True)
class _Seen:
    """A plan with its latest run, and its latest one that is done."""

    plan: Any
    last: Run | None
    done: Run | None
    paused: Container[int]
    busy: bool

    def line(self, now: datetime) -> Line:
        """Say how its latest due time went."""
        if not self.plan.schedule:
            return self._not_due("Runs when asked", now)
        try:
            due = self._due(now)
        except Unscheduled as error:
            return self._did_not("Not started", f"It never runs by itself: {error}.")
        if due is None:
            return self._not_due(f"First due {self._next(now)}", now)
        since = [run for run in (self.done, self.last) if run is not None and run.started_at >= due[0]]
        how = standing(
            since[0] if since else None,
            reported=bool(since) and since[0].state == Run.State.DONE,
            due_at=due[0],
            report_by=due[1],
            over=False,
            now=now,
            busy=self.busy and self.plan.operation_type.destination_id not in self.paused,
        )
        return _and_missed(self._says(how, since[0] if since else None, due, now), self.plan.missed or 0)

    def _due(self, now: datetime) -> tuple[datetime, datetime] | None:
        """Return its latest time and until when it has to report, also where no worker wrote it down."""
        kept, last = self.plan.due_at, times.last_due(self.plan, now)
        if last > max(self.plan.changed_at, kept or self.plan.changed_at):
            return last, times.report_by(self.plan, last)
        return (kept, self.plan.report_by_at) if kept is not None else None

    def _says(self, how: Standing, run: Run | None, due: tuple[datetime, datetime], now: datetime) -> Line:
        if run is None:
            return self._never_began(how, due[0], now)
        at, by = instant(run.started_at, now), instant(due[1], now)
        match how:
            case Standing.REPORTED:
                late = self.plan.first is not None and self.plan.first > due[1]
                note = (
                    f"It was to report by {by}, and did at {instant(self.plan.first, now)}." if late else ""
                )
                words = Badge("completed", f"Ran {at}", "completed")
                return Line(self.plan, words, note, run=run, standing="ran")
            case Standing.RUNNING:
                words = Badge("running", f"Running since {at}", "running")
                return Line(self.plan, words, run=run, standing="at work")
            case Standing.LATE:
                return self._did_not("Late", f"Running since {at}; it was to report by {by}.", run)
        return self._did_not(DID_NOT_RUN, run.why_failed, run, now)

    def _never_began(self, how: Standing, due: datetime, now: datetime) -> Line:
        at, there = instant(due, now), self.plan.operation_type.destination
        if there.pk in self.paused:
            return self._did_not("Not started", f"Due {at}; {there.title} is paused.")
        if how is Standing.WAITS:
            note = "One runs at a time." if self.busy else ""
            return Line(self.plan, Badge("pending", f"Due {at}, waits", "pending"), note, standing="at work")
        return self._did_not("Not started", f"Due {at}; no worker has begun it.")

    def _did_not(self, word: str, why: str, run: Run | None = None, now: datetime | None = None) -> Line:
        again = f" Next {self._next(now)}." if now is not None and self._next(now) != SOON else ""
        return Line(self.plan, Badge("failed", word, "failed"), why + again, run, standing="did not")

    def _not_due(self, words: str, now: datetime) -> Line:
        note = f"Ran {instant(self.done.started_at, now)}" if self.done else ""
        if self.last is not None and self.last.state == Run.State.FAILED:
            why = f"{instant(self.last.started_at, now)}: {self.last.why_failed} {words}. {note}"
            return Line(self.plan, Badge("failed", DID_NOT_RUN, "failed"), why.strip(), self.done)
        return Line(self.plan, Badge("pending", words, "pending"), note, self.done)

    def _next(self, now: datetime) -> str:
        at = self.plan.next_run_at
        return instant(at, now) if at is not None and at > now else SOON


def _and_missed(line: Line, missed: int) -> Line:
    """Add how many earlier times nothing ran for: what was made up for later was not run then."""
    if not missed:
        return line
    count = wording.first_up(wording.several(missed, "earlier due time"))
    note = f"{count} of the last {LATELY.days} days: not started."
    return replace(line, note=f"{line.note} {note}".strip())


def _open(runs: list[int]) -> tuple[dict[tuple[int, str], Decimal], bool]:
    """Add up what is open of some runs, by run and currency, and say whether there is more than is added."""
    some = Finding.objects.filter(run__in=runs, is_open=True).order_by().values("pk")[: COUNTED + 1]
    rows = (
        Finding.objects.filter(pk__in=some)
        .order_by()
        .values_list("run_id", "currency")
        .annotate(number=Count("pk"), amount_open=Sum(Abs("amount")))
    )
    found = {(run, currency): (number, amount) for run, currency, number, amount in rows}
    still = {of: amount if of[1] else Decimal(number) for of, (number, amount) in found.items()}
    return still, sum(number for number, _ in found.values()) > COUNTED


def _with_figures(line: Line, still: dict[tuple[int, str], Decimal]) -> Line:
    run = line.run
    if run is None or run.state != Run.State.DONE:
        return line
    items: Counter[str] = Counter()
    for held in run.tie["lines"]:
        items[held["currency"]] += held["items"]
    figures = [
        Figures(
            currency,
            items[currency],
            Decimal(run.residual.get(currency, "0")),
            still.get((run.pk, currency), NOUGHT),
        )
        for currency in sorted(run.tie["currencies"], key=_last_without)
    ]
    left = run.totals["unexplained_items"]
    wrong = f"{wording.first_up(wording.several(left, 'item'))} unexplained." if left else ""
    return replace(line, figures=figures, unexplained_items=left, note=f"{wrong} {line.note}".strip())


def _sum(currency: str, parts: Iterable[Figures]) -> Figures:
    parts = list(parts)
    return Figures(
        currency,
        sum(part.items for part in parts),
        sum((part.unexplained for part in parts), NOUGHT),
        sum((part.open for part in parts), NOUGHT),
    )


def _last_without(currency: str) -> tuple[bool, str]:
    return not currency, currency


def _coded(amount: Decimal, currency: str) -> str:
    return f"{currency}\u00a0{amounts.show(amount, currency)}"
