"""What a run has to say of the source's rows: which of them counts, and what that changes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tests.reconcile.worlds import NOW, Meant, Order, Row, Rules, There, key_from


@dataclass
class Rows:
    """The source's rows under one key."""

    rows: list[Row] = field(default_factory=list)

    def first(self, rules: Rules) -> Row:
        """Return the one that is beside their operation: readable before others, standing, the earliest."""
        return min(
            self.rows, key=lambda row: (bool(row.trouble), row.cancelled, _when(rules, row), row.number)
        )

    @property
    def alike(self) -> bool:
        """Say whether those that stand tell one thing."""
        standing = [row for row in self.rows if not row.trouble and not row.cancelled]
        return len({(row.amount, row.currency) for row in standing}) <= 1


def by_key(orders: Sequence[Order]) -> dict[str, Rows]:
    """Return the rows under each key; those whose key cannot be read stand under none."""
    found: dict[str, Rows] = defaultdict(Rows)
    for order in orders:
        for row in order.rows:
            found["" if row.trouble == "key" else key_of(order)].rows.append(row)
    return found


def key_of(order: Order) -> str:
    """Return the key that its rows name."""
    return key_from(order.source) if order.source else order.name


def amount_of(row: Row) -> int | None:
    """Return a row's amount, if it can be read."""
    return None if row.trouble in ("amount", "currency") else row.amount


def currency_of(row: Row) -> str:
    """Return the currency that a row counts in."""
    return "" if amount_of(row) is None else row.currency


def of_operation(
    rules: Rules, item_class: str, *, meant: Meant, pair: There | None, told: Rows, grace: bool
) -> str:
    """Return the class of an operation's item, with its row beside what ledger and destination say."""
    row = told.first(rules) if told.rows else None
    if item_class == "missing_at_destination":
        void = row is not None and row.cancelled and not row.trouble and meant.state == "failed"
        return "out_of_scope" if void else item_class
    if item_class != "matched" or pair is None:
        return item_class
    if row is None:
        too_early = grace or meant.accepted >= NOW - rules.lag
        return "in_flight" if too_early else "unexpected_at_destination"
    if row.trouble:
        return "unreadable"
    if not told.alike:
        return "ambiguous"
    if row.cancelled:
        return "status_differs"
    if row.currency != pair.currency:
        return "currency_differs"
    if difference(rules, meant, pair, row):
        return "amount_over" if difference(rules, meant, pair, row) > 0 else "amount_under"
    return item_class


def difference(rules: Rules, meant: Meant, pair: There, row: Row) -> int:
    """Return by how much what is there or was meant is more than the source says, or less; 0 if alike."""
    amounts = [pair.amount, *([meant.amount] if meant.amount is not None else [])]
    allowed = (rules.tolerance or {}).get(pair.currency, 0)
    if max(amounts) - row.amount > allowed:
        return max(amounts) - row.amount
    return min(min(amounts) - row.amount, 0) if row.amount - min(amounts) > allowed else 0


def of_row(rules: Rules, row: Row, *, alone: bool, operation: bool, here: bool, in_window: bool) -> str:
    """Return the class of a row that is beside nothing.

    `alone`: no other says anything else, or the same before it. `here`: its operation is of the window.
    """
    if not in_window and not here:
        return "out_of_scope"
    if row.trouble:
        return "unreadable"
    if row.cancelled:
        return "out_of_scope"
    if not alone:
        return "ambiguous"
    if operation:
        return "out_of_scope"
    return "in_flight" if _fresh(rules, row) else "never_submitted"


def _fresh(rules: Rules, row: Row) -> bool:
    if row.dated is None:
        return False
    if isinstance(row.dated, datetime):
        return row.dated > NOW - rules.grace
    over = datetime.combine(row.dated + timedelta(days=1), time.min, tzinfo=ZoneInfo(rules.zone))
    return over > NOW - rules.grace


def _when(rules: Rules, row: Row) -> datetime:
    dated: datetime | date | None = row.dated
    if dated is None:
        return datetime.max.replace(tzinfo=UTC)
    if isinstance(dated, datetime):
        return dated
    return datetime.combine(dated, time.min, tzinfo=ZoneInfo(rules.zone)).astimezone(UTC)
