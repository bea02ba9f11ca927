"""What a difference says of the source, field by field, where a run has read one."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from ledger.rules.states import LIVE, Standing, State
from reconcile.classes import ItemClass
from reconcile.models import Record, Run
from reconcile.telling import record_shown, shown

NOT_DONE = (State.FAILED, State.PENDING)


def name(run: Run) -> str:
    """Return the source as people call it, within a sentence."""
    told: str = run.sides["source"]["name"]
    return "the source" if told == "The source" else told


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def rows_of(run: Run, classes: Collection[str]) -> Mapping[int, Record]:
    """Return the source's rows of items that are in some classes, by the number of the item's line."""
    if not run.has_source:
        return {}
    items = Record.objects.filter(run=run, item_class__in=classes).values("pk")
    rows = Record.objects.filter(run=run, side=Record.Side.SOURCE, backs__in=items)
    return {row.backs_id: row for row in rows if row.backs_id is not None}


def row_shown(row: Record) -> dict[str, str | None]:
    """Return a row as the outside reads it: its operation's key, and what a record tells, too."""
    told = record_shown(row)
    standing = "cancelled" if row.standing == Standing.VOID else "stands"
    return {**told, "id": told["id"] or None, "key": row.reference or None, "standing": standing}


def apart(run: Run, line: Record, pair: Record, row: Record | None) -> Decimal:
    """Return by how much an item is over or under: there and meant, or else both and the source."""
    if line.capped:
        return abs((pair.amount or Decimal(0)) - (line.amount or Decimal(0)))
    both = _amounts(line, pair)
    if row is None or row.amount is None or not _within(run, line, pair):
        return max(both) - min(both)
    over = line.item_class == ItemClass.AMOUNT_OVER
    return max(both) - row.amount if over else row.amount - min(both)


def alone(run: Run, line: Record, pair: Record | None, row: Record | None) -> bool:
    """Say whether only the source makes an operation's item differ: what is there is what was meant."""
    if not run.has_source or pair is None or pair.standing != Standing.DONE or line.state in NOT_DONE:
        return False
    if line.capped:
        return False
    match ItemClass(line.item_class or ""):
        case ItemClass.UNEXPECTED:
            return row is None
        case ItemClass.UNREADABLE | ItemClass.AMBIGUOUS:
            return row is not None and row.why != ""
        case ItemClass.STATUS_DIFFERS:
            return row is not None and row.standing not in LIVE
        case ItemClass.CURRENCY_DIFFERS:
            return line.currency in ("", pair.currency)
        case ItemClass.AMOUNT_OVER | ItemClass.AMOUNT_UNDER:
            return _within(run, line, pair)
        case _:
            return False


def why_alone(run: Run, line: Record, pair: Record, row: Record | None) -> str:
    """Say why the source alone makes an item differ; empty where the amounts on all sides say so."""
    if row is None:
        return f"{pair.external_id} is there, and {name(run)} has no row of it."
    if row.why:
        return f"{pair.external_id} is there. {_begin(name(run))}: {row.why}"
    if line.item_class == ItemClass.STATUS_DIFFERS:
        return f"{pair.external_id} stands there, and {name(run)} has it as {row.status or 'cancelled'}."
    return ""


def _within(run: Run, line: Record, pair: Record) -> bool:
    """Say whether what is there and what was meant are as good as one amount."""
    both = _amounts(line, pair)
    allowed = Decimal(run.plan.tolerance.get(line.currency or pair.currency, "0"))
    return not both or max(both) - min(both) <= allowed


def _amounts(line: Record, pair: Record) -> list[Decimal]:
    """Return the amounts that have to be alike; what a rule has tied is as good as what was meant."""
    return [one.amount for one in ([line] if pair.rule else [line, pair]) if one.amount is not None]


def with_row(run: Run, why: str, row: Record | None) -> str:
    """Add to the words about an item what its row says."""
    if row is None:
        return why
    if row.why:
        return f"{why} {_begin(name(run))}: {row.why}"
    status = "" if row.standing in LIVE else f", {row.status or 'cancelled'}"
    return f"{why} {_begin(name(run))} has it: {shown(row)}{status}."


def why_of_rows(run: Run, rows: Sequence[Record]) -> str:
    """Say why rows that stand beside no operation are a difference."""
    first, there = rows[0], _begin(name(run))
    if first.item_class == ItemClass.UNREADABLE:
        return f"A row of {name(run)}{f' ({first.reference})' if first.reference else ''}: {first.why}"
    if first.item_class == ItemClass.NEVER_SUBMITTED:
        cancelled = "" if first.standing in LIVE else ", cancelled"
        return f"{there} has it: {shown(first)}{cancelled}. No operation of this type carries its key."
    if not first.why:
        return f"{there} lists it {len(rows) + 1} times, alike: {len(rows)} too many."
    return f"{there} lists it more than once. {first.why}"
