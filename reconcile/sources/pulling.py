"""The source's rows into staging, page by page, and whether all of them came: counted by itself, beside them.

As with the destination's list, no transaction is open while the source is waited for, and each page is
written, with the place where the list goes on, before the next one is asked for.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import ValidationError

from ledger.destinations.connectors.base import (
    ConfigurationError,
    IncompletePull,
    ListPage,
    ListRequest,
    Target,
    refuse_open_transaction,
)
from ledger.destinations.connectors.guarded import connector_to
from ledger.destinations.pacing import NoRoom, OwnTurns
from ledger.models import database_now
from ledger.rules import money, records
from ledger.rules.calls import ListCall, RecordMap
from ledger.rules.contracts import Contract
from reconcile import leasing
from reconcile.models import Plan, Record, Run
from reconcile.pulling import NOT_PROVED, PROVED, Staging
from reconcile.sources import rows
from reconcile.sources.rules import Control, SourceRules
from reconcile.sums import NOUGHT, Side, Totals, read_totals, shown, store_totals

NO_CONTROL = "nothing counts them beside the rows themselves"
MOVED = "they changed while they were read"
NO_AMOUNTS = "some rows have no amount that can be read, so that only their number is"
ONE_TOTAL = "its control adds several currencies up as one, so that only their number is"
NO_COUNT = "its control brings no count: the number of rows first, then their total."
DIGITS = 30
"""The most that a count or total of a control has on either side of its point."""

Counted = list[tuple[int, str | None, str]]
"""What a source says of itself: how many rows, what they come to as text, and of which currency, or ""."""


@dataclass
class Rows(Staging):
    """The source's side as it comes in; beside what stands, all rows are totalled, cancelled ones too."""

    every: Totals = field(default_factory=dict)
    side: ClassVar[Record.Side] = Record.Side.SOURCE
    known_by_reference: ClassVar[bool] = True

    @staticmethod
    def so_far(run: Run) -> dict[str, Any]:
        """Return what the run has kept of it."""
        mine = run.sides.get(Record.Side.SOURCE, {})
        return {
            "pages": list(mine.get("pages", [])),
            "records": mine.get("rows", 0),
            "repeated": mine.get("repeated", 0),
            "every": read_totals(mine.get("every", {})),
        }

    def count(self, amount: Decimal | None, currency: str, *, stands: bool, times: int = 1) -> None:
        """Count a row in, or with -1 out."""
        super().count(amount, currency, stands=stands, times=times)
        self.every.setdefault(currency if amount is not None else "", Side()).add(amount, times)

    def keep(self) -> None:
        """Write pages, rows and repeated ones where the run has them."""
        self.tell(
            pages=self.pages,
            rows=self.records,
            repeated=self.repeated,
            every=store_totals(self.every),
        )


def pull(run: Run) -> None:
    """Read the source's rows into the run's lines; raises IncompletePull or ConfigurationError.

    Nothing where the plan has none, or an earlier process of the run has read it to its end.
    """
    rules = rules_of(run.plan)
    if rules is None or run.sides.get(Record.Side.SOURCE, {}).get("complete"):
        return
    with _named(rules):
        if run.place is not None:
            with suppress(IncompletePull):
                _read_on(run, rules)
                return
        with leasing.held(run):
            leasing.drop_lines([run.pk], side=Record.Side.SOURCE)
            run.place, run.sides = None, {}
            Rows(run).note()
        _read_on(run, rules)


def rules_of(plan: Plan) -> SourceRules | None:
    """Return a plan's source; raises ConfigurationError where what is kept of it cannot be read."""
    try:
        return plan.third
    except ValidationError:
        raise ConfigurationError(f"The source of {plan.name} cannot be read: configure it anew.") from None


@contextmanager
def _named(rules: SourceRules) -> Iterator[None]:
    """Say of what goes wrong that it went wrong with the source."""
    try:
        yield
    except IncompletePull as error:
        raise IncompletePull(f"{rules.name}: {error.reason}", status=error.status) from None


def _read_on(run: Run, rules: SourceRules) -> None:
    staging, template = Rows.of(run), run.plan.operation_type.key_template
    if run.place is None:
        staging.tell(name=rules.name, before=_counted(run, rules))
    asked_at = database_now()
    for page in _pages(run, rules, rules.list):
        listed = [rows.read(rules.record, item, template=template) for item in page.items]
        staging.page(listed, seen_at=page.as_of or asked_at, place=page.place)
        asked_at = database_now()
    staging.note_as_of(asked_at)
    before: Counted = [tuple(one) for one in run.sides[Record.Side.SOURCE]["before"]]
    complete, why = judged(staging, rules, before=before, after=_counted(run, rules))
    with leasing.held(run):
        run.place = None
        staging.tell(complete=complete, why=why)
        staging.note()


def since(run: Run, rules: SourceRules) -> datetime:
    """Return from when on a run asks its source: lead and overlap before its window."""
    return run.window_from - timedelta(seconds=rules.lead_s + rules.list.overlap_s)


def _pages(run: Run, rules: SourceRules, call: ListCall) -> Iterator[ListPage]:
    record = rules.record.as_record
    if isinstance(call, Control):
        record = RecordMap(id=call.count, reference=call.count)  # what an answer that is no list has to have
    request = ListRequest(
        call=call,
        contract=Contract(),
        record=record,
        since=since(run, rules),
        timeout_s=rules.connection.timeout_s,
        place=run.place if call is rules.list else None,
    )
    turns = OwnTurns(rules.name, rules.connection.rate.per_second)
    target = Target(run.plan.name, rules.name, "", rules.connection, turns)
    refuse_open_transaction()
    try:
        for page in connector_to(target, rules.connector).pages(request):
            yield page
            refuse_open_transaction()
    except NoRoom as error:
        raise IncompletePull(error.detail) from None


def _counted(run: Run, rules: SourceRules) -> Counted:
    """Ask how many rows there are and what they come to; nothing where nothing counts them."""
    if rules.control is None:
        return []
    items = [item for page in _pages(run, rules, rules.control) for item in page.items]
    return [_count(rules, item) for item in items]


def _count(rules: SourceRules, item: object) -> tuple[int, str | None, str]:
    """Read one count; raises IncompletePull where it is none, or has a total or currency that is none."""
    control = rules.control
    assert control is not None  # asked before
    if control.query is not None and isinstance(item, Mapping):
        count, total, currency = [*item.values(), None, None, None][:3]
    else:
        count, currency = records.search(control.count, item), None
        total = records.search(control.total, item) if control.total else None
    number, whole = _number(count), None if total is None else _number(total)
    if number is None or number < 0 or number != number.to_integral_value():
        raise IncompletePull(NO_COUNT)
    if total is not None and whole is None:
        raise IncompletePull("its control brings a total that is no number.")
    if total is None and number == 0:
        whole = NOUGHT
    return int(number), None if whole is None else f"{whole:f}", _currency(currency)


def _number(value: object) -> Decimal | None:
    """Return a number that can be reckoned with; None for all else, as NaN, true, or one without an end."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        number = Decimal(str(value))
    except (ValueError, ArithmeticError):  # more digits than are ever read; no number
        return None
    if not number.is_finite():
        return None
    digits, exponent = number.as_tuple()[1:]
    assert isinstance(exponent, int)  # it is finite
    kept = number.adjusted() < DIGITS and len(digits) <= 2 * DIGITS and exponent >= -DIGITS
    return number if kept else None


def _currency(value: object) -> str:
    """Return the currency that a count is of, "" for none; raises IncompletePull."""
    try:
        return money.read_currency(value) if records.holds(value) else ""
    except money.MoneyError:
        raise IncompletePull("its control names a currency that is none.") from None


def judged(staging: Rows, rules: SourceRules, *, before: Counted, after: Counted) -> tuple[str, str]:
    """Say whether all rows came, "proved" or "not proved", and why; raises IncompletePull where some did not.

    `before` and `after`: what the source counted of itself around the pull.
    """
    if rules.control is None:
        return NOT_PROVED, NO_CONTROL
    fits = [_fits(staging, rules, said) for said in (before, after)]
    if all(fits):
        why_not = _why_not_totalled(staging, rules, before) or _why_not_totalled(staging, rules, after)
        return (NOT_PROVED, why_not) if why_not else (PROVED, _proved_by(staging, rules, after))
    if before != after:
        return NOT_PROVED, MOVED
    raise IncompletePull(
        f"it counts {_in_words(after)}, and {_came(staging)} came in. The pull is incomplete, so that nothing"
        " is called missing."
    )


def _fits(staging: Rows, rules: SourceRules, said: Counted) -> bool:
    """Say whether what came in is what was counted: the total of each currency, or of the only one."""
    came = {currency: side for currency, side in staging.every.items() if side.count}
    known = {currency: (count, total) for count, total, currency in said}
    by_number = not any(known) and (len(came) > 1 or not rules.record.amounts)
    if by_number or _why_not_totalled(staging, rules, said):
        return sum(count for count, _, _ in said) == staging.records
    if len(known) != len(said):
        return False
    if not any(known):
        known = {next(iter(came), ""): known.get("", (0, "0"))}
    return all(
        _same(rules, came.get(currency, Side()), known.get(currency, (0, "0")), currency)
        for currency in known.keys() | came.keys()
    )


def _why_not_totalled(staging: Rows, rules: SourceRules, said: Counted) -> str:
    """Say why a total cannot be compared that has to be; empty where it can, or where none is said."""
    if not rules.record.amounts:
        return ""
    if staging.every.get("", Side()).count:
        return NO_AMOUNTS
    several = sum(bool(side.count) for side in staging.every.values()) > 1
    return ONE_TOTAL if several and any(total is not None and not cur for _, total, cur in said) else ""


def _same(rules: SourceRules, came: Side, said: tuple[int, str | None], currency: str) -> bool:
    count, total = said
    if count != came.count:
        return False
    if total is None or not rules.record.amounts:
        return True
    return Decimal(total) == _as_counted(rules, came.amount, currency)


def _as_counted(rules: SourceRules, amount: Decimal, currency: str) -> Decimal:
    """Return a sum as the source counts it: in the unit of its rows, and by their sign."""
    record = rules.record
    if record.amount_sign:
        amount = amount.copy_negate()
    if record.amount_unit != "minor" or not amount:
        return amount
    return Decimal(money.minor(money.Money(amount, currency), minor_decimals=record.minor_decimals))


def _proved_by(staging: Rows, rules: SourceRules, said: Counted) -> str:
    """Say what came in as it was counted; in our words where a total names no currency, or is in cents."""
    named = all(currency or total is None for _, total, currency in said)
    return _in_words(said) if named and rules.record.amount_unit == "major" else _came(staging)


def _in_words(said: Counted) -> str:
    counts = sum(count for count, _, _ in said)
    totals = [
        f"{currency} {total}" if currency else f"a total of {total} without currency"
        for _, total, currency in said
        if total is not None
    ]
    return f"{counts} row{'s' * (counts != 1)}{', ' if totals else ''}{', '.join(totals)}"


def _came(staging: Rows) -> str:
    totals = [shown(side.amount, currency) for currency, side in sorted(staging.every.items()) if currency]
    return f"{staging.records} row{'s' * (staging.records != 1)}{', ' if totals else ''}{', '.join(totals)}"
