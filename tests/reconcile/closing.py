"""A month of a plan that is over: its period, the run over its days, and what people do about both."""

import uuid
from datetime import date, datetime, timedelta
from pathlib import Path

from ledger.models import database_now
from ledger.rules.states import Outcome
from reconcile import asking
from reconcile.actions import start
from reconcile.models import ExpectedRun, Period, Plan, Run, SignOff
from reconcile.periods import actions, drifting, months
from reconcile.running import execute, window
from reconcile.signing import actions as signing
from tests.databases import Clock
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.signatures import seen


def at(text: str) -> datetime:
    """An instant in South Africa."""
    return datetime.fromisoformat(f"{text}+02:00")


def run_days(books: Books, period: Period) -> Run:
    """A run over a period's days, to its end."""
    days = (period.first_day, period.last_day)
    start_at, to = window(books.plan, *days)
    run = start(books.plan, window_from=start_at, window_to=to, days=days, actor="bob")
    execute(run)
    return run


def january(clock: Clock, folder: Path) -> Period:
    """Two orders of January; the invoice of one is dated after its cut-off. It is 3 February 2027, 08:00."""
    clock.set(at("2027-01-20T10:00"))
    books = Books.configured(folder, performed_by="caller")
    Plan.objects.update(schedule="")
    ExpectedRun.objects.all().delete()
    books.plan.refresh_from_db()
    books.claimed("401", Outcome.SUCCEEDED, reference="INV-1", amount="100.00")
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-2", amount="40.00")
    HELD.pages = [
        [
            record(1, key=key_of("401"), created_at="2027-01-20T10:01:00+02:00"),
            record(2, key=key_of("402"), total="40.00", created_at="2027-02-02T09:00:00+02:00"),
        ]
    ]
    clock.set(at("2027-02-03T08:00"))
    first = date(2027, 1, 1)
    bounds = drifting.bounds(books.plan, first)
    period = Period.objects.create(plan=books.plan, first_day=first, **bounds)
    run_days(books, period)
    return period


def last_month(books: Books) -> Period:
    """The period of the month that is over, with a report, and nothing prepared of it."""
    here = database_now().astimezone(books.plan.zone).date()
    first = months.first_of(months.first_of(here) - timedelta(days=1))
    bounds = drifting.bounds(books.plan, first)
    period, _ = Period.objects.get_or_create(plan=books.plan, first_day=first, defaults=bounds)
    for other in Run.objects.running():
        asking.stop(other, actor="eve", reason="Enough.")
    for one in SignOff.objects.open().filter(period=period):
        signing.take_back(one.uid, actor=one.maker, reason="Not yet.")
    run_days(books, period)
    return period


def prepared(period: Period, actor: str = "ann") -> SignOff:
    """What ann has prepared of a period."""
    return actions.prepare(period, actor=actor, note="", command_id=uuid.uuid4())


def sign(one: SignOff, actor: str = "bob") -> None:
    """Bob signs it, as he sees it."""
    signing.approve(one.uid, actor=actor, reason="", seen=seen(one.run))


def signed(period: Period) -> SignOff:
    """What bob has signed of a period."""
    one = prepared(period)
    sign(one)
    one.refresh_from_db()
    return one
