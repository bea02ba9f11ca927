"""Reading one row of a source, part by part: what cannot be read is left empty, and said."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TypeVar

from ledger.rules import keys, moments, records
from ledger.rules.calls import RecordMap
from ledger.rules.errors import TieoutError
from ledger.rules.records import Unreadable
from ledger.rules.states import Standing
from reconcile.pulling import NO_MOMENT, NO_MONEY, Listed, unreadable
from reconcile.sources.rules import RowMap

T = TypeVar("T")


def read(map: RowMap, item: object, *, template: str) -> Listed:
    """Read a row; its reference is its operation's key, by the type's template where it brings none."""
    wrong: dict[str, str] = {}
    record = map.as_record

    def part(name: str, value: Callable[[], T], otherwise: T) -> T:
        try:
            return value()
        except Unreadable as error:
            wrong[name] = str(error).partition(". ")[0].rstrip(".").replace("occurred_at", "date")
            return otherwise

    key = part("key", lambda: _key(map, item, template), "")
    status = part("status", lambda: records.read_status(record, item), "")
    nothing: tuple[Decimal | None, str] = NO_MONEY
    amount, currency = part("amount", lambda: records.read_money(record, item), nothing)
    no_moment: tuple[datetime | None, date | None] = NO_MOMENT
    occurred_at, occurred_on = part("date", lambda: _moment(record, item), no_moment)
    blank = {"amount": map.amounts and amount is None}
    standing = records.standing_of(record, status) or Standing.DONE
    return Listed(
        id=part("id", lambda: records.read_text(records.search(map.id, item), "id"), ""),
        reference=key,
        amount=amount,
        currency=currency if amount is not None else "",
        status=records.shown(status),
        standing=standing.value,
        occurred_at=occurred_at,
        occurred_on=occurred_on,
        why=unreadable(wrong, filter(blank.get, blank)),
    )


def _moment(record: RecordMap, item: object) -> tuple[datetime | None, date | None]:
    """Read when a row was made; raises Unreadable for what is no time in any zone, where no form is stated.

    It would be without a date, and so in every window.
    """
    found, value = records.read_moment(record, item), records.search(record.occurred_at, item)
    blank = value is None or (isinstance(value, str) and not value.strip())
    guessed = found == NO_MOMENT and not blank and record.time_format is None
    if guessed and moments.read(value, zone="UTC") == NO_MOMENT:
        raise Unreadable("date: it is no date that can be read")
    return found


def _key(map: RowMap, item: object, template: str) -> str:
    """Return the key that a row names; raises Unreadable where it names none that an operation can have."""
    try:
        if map.key is not None or not template:
            place, what = (map.key, "key") if map.key is not None else (map.reference, "reference")
            text = records.read_text(records.search(place, item), what)
            if not text:
                raise Unreadable(f"it has no {what}")
            return keys.check(text)
        places = {"system": map.system, "reference": map.reference, "version": map.version}
        parts = {name: records.read_text(records.search(place, item), name) for name, place in places.items()}
        lacking = [name for name in keys.needed(template) if not parts[name]]
        if lacking:
            raise Unreadable(f"it has no {' and no '.join(lacking)}")
        return keys.from_template(template, parts)
    except TieoutError as error:
        raise Unreadable(error.detail) from None
