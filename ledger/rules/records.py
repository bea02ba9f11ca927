"""Reading a destination's records, and judging what it holds for one operation: pure, and never a guess."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from ledger.rules import moments, money
from ledger.rules.calls import RecordMap
from ledger.rules.digests import canonical
from ledger.rules.keys import has_controls
from ledger.rules.redaction import redact_text
from ledger.rules.states import LIVE, Standing, Verdict

_BY_REFERENCE: Mapping[str, str] = {}
TEXT_MAX = 200
"""The longest id, reference or status that is read; the columns hold as much."""
MORE = ("paid", "sent", "period")
"""What a record may say besides, for who chooses one of several."""
DELETED = "deleted"
"""The status of a record that its list calls gone, where it has none of its own."""
CLOSED = "closed"
"""What `period` says of a record whose period takes no more entries."""


class Unreadable(ValueError):
    """A record has a part that cannot be read; the words name the part, never its value."""


@dataclass(frozen=True)
class RecordSeen:
    """One record of a destination, normalised; the amount is in major units.

    `differs` names what is not as meant: "amount", "currency", "status", "contents". An amount that the
    record does not carry is None, and so is a time that cannot be placed exactly, for want of a zone or hour.
    """

    id: str
    reference: str
    amount: Decimal | None
    currency: str
    status: str
    standing: Standing
    occurred_at: datetime | None
    differs: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    """What else its rules read of it, in words: paid, sent, period."""
    contents: tuple[str, ...] = ()
    """Fields of the payload that it has otherwise; `differs` then has "contents"."""

    @property
    def live(self) -> bool:
        """Say whether it stands: neither reversed nor declined."""
        return self.standing in LIVE

    def stored(self) -> dict[str, object]:
        """Return it as the database keeps it; the amount is text."""
        return {
            "id": self.id,
            "reference": self.reference,
            "amount": None if self.amount is None else f"{self.amount:f}",
            "currency": self.currency,
            "status": self.status,
            "standing": str(self.standing),
            "occurred_at": None if self.occurred_at is None else self.occurred_at.isoformat(),
            "differs": list(self.differs),
            **({"contents": list(self.contents)} if self.contents else {}),
            **dict(self.more),
        }


@dataclass(frozen=True)
class Found:
    """What a look-up found: our records only; `others` counts the items that carry another reference."""

    verdict: Verdict
    complete: bool
    records: tuple[RecordSeen, ...] = ()
    others: int = 0
    why: str = ""
    refused: bool = False
    """Whether the destination refused our credentials instead of telling."""
    status: int | None = None
    """That of the answer which ended the look-up, where no list or record did."""

    @property
    def by_status(self) -> bool:
        """Whether only a status says that there is no such record: anything on the way has one, too."""
        return self.verdict is Verdict.ABSENT and self.status is not None

    @property
    def match(self) -> RecordSeen | None:
        """The one match: the record that stands, or else the one that was declined."""
        if self.verdict is not Verdict.ONE_MATCH:
            return None
        return next((record for record in self.records if record.live), self.records[-1])

    @property
    def standing(self) -> Standing | None:
        """What the destination's status says of the one match."""
        return self.match.standing if self.match else None

    @property
    def content_digest(self) -> str:
        """Digest of the records found, whatever their order; it changes when what is there changes."""
        parts = ("id", "reference", "amount", "currency", "status")
        rows = sorted(
            [
                *(str(record.stored()[part]) for part in parts),
                *(f"{name}={said}" for name, said in record.more),
            ]
            for record in self.records
        )
        return hashlib.sha256(canonical(rows)).hexdigest()

    def stored(self) -> list[dict[str, object]]:
        """Return the records as the database keeps them; amounts are text."""
        return [record.stored() for record in self.records]


def search(expression: str | None, value: object) -> object:
    """Return what a JMESPath finds in decoded JSON; None where there is none, or it does not apply."""
    if expression is None:
        return None
    try:
        found: object = jmespath.search(expression, value)
    except JMESPathError:
        return None
    return found


def holds(value: object) -> bool:
    """Say whether what an expression found counts as said: JMESPath's own idea, where 0 is true."""
    return value is not None and value is not False and value not in ("", [], {})


def read_text(value: object, part: str) -> str:
    """Read a name or number that identifies something, "" for null and for what is blank; raises Unreadable.

    An id must be one that a caller may report, too: all of it can be seen.
    """
    if value is None:
        return ""
    text = _written(value, part)
    if len(text) > TEXT_MAX:
        raise Unreadable(f"{part} is longer than {TEXT_MAX} characters")
    if has_controls(text) or (part == "id" and not text.isprintable()):
        raise Unreadable(f"{part} has control characters, or some that cannot be seen")
    return text if text.strip() else ""


def _written(value: object, part: str) -> str:
    """Write text or a whole number as text; more digits than Python writes are none that name anything."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unreadable(f"{part} is neither text nor a whole number")
    try:
        return str(value)
    except ValueError:
        raise Unreadable(f"{part} is longer than {TEXT_MAX} characters") from None


def read_status(map: RecordMap, item: object) -> str:
    """Read a record's status as text, "" where it carries none; true and false are statuses, too."""
    value = search(map.status, item)
    return str(value).lower() if isinstance(value, bool) else read_text(value, "status")


def is_deleted(map: RecordMap, item: object) -> bool:
    """Say whether a record is listed as one that is there no more."""
    return map.deleted is not None and holds(search(map.deleted, item))


def shown(status: str) -> str:
    """Return a status as it may be kept and shown; its standing is read from the words as they came."""
    return redact_text(status, limit=TEXT_MAX)


def _more(map: RecordMap, item: object) -> tuple[tuple[str, str], ...]:
    """Read what tells of several records which one to keep; what cannot be read tells nothing."""
    told = ((name, _said(search(getattr(map, name), item), name)) for name in MORE)
    return tuple((name, words) for name, words in told if words)


def _said(value: object, name: str) -> str:
    """Write what a record says in words: yes and no, open and closed, or what stands there."""
    if isinstance(value, bool):
        return (CLOSED if value else "open") if name == "period" else ("yes" if value else "no")
    return redact_text(str(value), limit=TEXT_MAX) if isinstance(value, str | int | Decimal) else ""


def standing_of(map: RecordMap, status: str) -> Standing | None:
    """Say what a status means by the type's rules; None where they do not list it."""
    for standing, statuses in (
        (Standing.VOID, map.void_statuses),
        (Standing.FAILED, map.failed_statuses),
        (Standing.PENDING, map.pending_statuses),
        (Standing.DONE, map.done_statuses),
    ):
        if statuses is not None and status in statuses:
            return standing
    return Standing.DONE if map.done_statuses is None else None


def read_money(map: RecordMap, item: object, *, assumed_currency: str = "") -> tuple[Decimal | None, str]:
    """Read a record's amount in major units and its currency; None and "" where it does not carry them.

    `assumed_currency` counts where the record names none. Raises Unreadable.
    """
    try:
        named = search(map.currency, item)
        currency = "" if named is None else money.read_currency(named)
        value = search(map.amount, item)
        if value is None:
            return None, currency
        if not (currency or assumed_currency):
            raise Unreadable("amount: the record names no currency")
        read = money.read(
            value,
            map.amount_unit,
            currency=currency or assumed_currency,
            minor_decimals=map.minor_decimals,
        )
    except money.MoneyError as error:
        raise Unreadable(f"amount: {error.detail}") from None
    amount = read.amount if map.amount_sign is None else money.Money(-read.amount, read.currency).amount
    return amount, read.currency


def read_record(map: RecordMap, item: object, *, assumed_currency: str = "") -> RecordSeen:
    """Read one record of a destination; raises Unreadable with the reason.

    A status that the rules do not list is kept as not final, and named in `differs`. `assumed_currency`
    counts where the record names no currency.
    """
    if not isinstance(item, dict):
        raise Unreadable("it is not an object with members")
    identity = read_text(search(map.id, item), "id")
    if not identity:
        raise Unreadable("it has no id")
    status = read_status(map, item)
    deleted = is_deleted(map, item)
    if deleted:
        status = status or DELETED
    if map.status is not None and not status:
        raise Unreadable("it has no status")
    standing = standing_of(map, status) if map.status is not None else Standing.DONE
    if deleted:
        standing = Standing.VOID
    amount, currency = read_money(map, item, assumed_currency=assumed_currency)
    return RecordSeen(
        id=identity,
        reference=read_text(search(map.reference, item), "reference"),
        amount=amount,
        currency=currency,
        status=shown(status),
        standing=standing or Standing.PENDING,
        occurred_at=read_moment(map, item)[0],
        differs=() if standing else ("status",),
        more=_more(map, item),
    )


def read_moment(map: RecordMap, item: object) -> tuple[datetime | None, date | None]:
    """Read when a record was made: an instant, or the day of what tells no time; raises Unreadable."""
    value = search(map.occurred_at, item)
    try:
        return moments.read(value, form=map.time_format, zone=map.timezone)
    except moments.NoMoment as error:
        raise Unreadable(f"occurred_at: {error}") from None


def judge(
    items: Iterable[object],
    *,
    map: RecordMap,
    reference: str,
    amount: Decimal | None,
    currency: str | None,
    complete: bool,
    match: Mapping[str, str] = _BY_REFERENCE,
    contents: Callable[[object], tuple[str, ...]] = lambda item: (),
    why: str = "",
    single_page: bool = False,
) -> Found:
    """Say what the items prove of one operation; each item's own reference is compared, filtered or not.

    `match`: what must stand at several places of an item instead, all of it and exactly.
    `contents` returns the fields of an item that are not as the payload has them; it may raise Unreadable.
    `complete`: the answer was read to its end; `why` it was not. `single_page`: only one page was asked for,
    so that an item with another reference shows that the filter was ignored, and the end is not known.
    """
    wanted = match or {map.reference: reference}
    ours, others, problem = _ours(items, map=map, match=wanted, currency=currency or "", contents=contents)
    if single_page and others and complete:
        complete, why = False, "The filter was ignored, and only one page was read."
    if problem and complete:
        complete, why = False, problem
    records, problem = _once(ours)
    if problem and complete:
        complete, why = False, problem
    compared = tuple(
        _compare(replace(record, reference=reference), amount=amount, currency=currency or "")
        for record in records
    )
    wants = amount is not None and map.amount is not None
    lacking = [one for one in compared if wants and one.amount is None and one.standing is not Standing.VOID]
    if lacking and complete:
        complete, why = False, f"A record that carries our reference has no amount: {lacking[0].id}."
    verdict = _verdict(compared, complete=complete)
    return Found(verdict, complete, compared, others, redact_text(why or _words(verdict, compared)))


def _ours(
    items: Iterable[object],
    *,
    map: RecordMap,
    match: Mapping[str, str],
    currency: str,
    contents: Callable[[object], tuple[str, ...]],
) -> tuple[list[tuple[RecordSeen, object]], int, str]:
    ours: list[tuple[RecordSeen, object]] = []
    others, problem = 0, ""
    for item in items:
        try:
            if _matches(match, item):
                record = read_record(map, item, assumed_currency=currency)
                ours.append((replace(record, contents=contents(item) if record.live else ()), item))
            else:
                others += 1
        except Unreadable as error:
            problem = problem or f"A record in the answer cannot be read: {error}."
    return ours, others, problem


def _matches(match: Mapping[str, str], item: object) -> bool:
    if not isinstance(item, dict):
        raise Unreadable("it is not an object with members")
    return all(mark(item, place) == value for place, value in match.items())


def mark(item: object, place: str) -> str:
    """Read what tells a record apart at one of several expressions, "" for nothing; raises Unreadable."""
    value = search(place, item)
    return "" if value is None else _written(value, "what tells records apart")


def _once(ours: Sequence[tuple[RecordSeen, Any]]) -> tuple[list[RecordSeen], str]:
    """Return each record once: pages may overlap. One id with two contents proves nothing."""
    seen: dict[str, tuple[RecordSeen, Any]] = {}
    problem = ""
    for record, item in ours:
        if record.id in seen and seen[record.id][1] != item:
            problem = f"One id came with two contents: {record.id}."
        seen[record.id] = (record, item)
    return [record for record, _ in seen.values()], problem


def _compare(record: RecordSeen, *, amount: Decimal | None, currency: str) -> RecordSeen:
    differs = list(record.differs)
    if amount is not None:
        if record.currency and record.currency != currency:
            differs.append("currency")
        if record.amount is not None and record.amount != amount:
            differs.append("amount")
    if record.standing is Standing.VOID:
        differs.append("status")
    if record.contents:
        differs.append("contents")
    return replace(record, differs=tuple(dict.fromkeys(differs)))


def _verdict(records: Sequence[RecordSeen], *, complete: bool) -> Verdict:
    live = [record for record in records if record.live]
    if len(live) > 1:
        return Verdict.SEVERAL
    if not complete:
        return Verdict.COULD_NOT_LOOK
    if not records:
        return Verdict.ABSENT
    # Reversed or declined records beside the one that stands are history; without it they are the answer.
    answer = live or records
    return Verdict.DIFFERS if any(record.differs for record in answer) else Verdict.ONE_MATCH


def _words(verdict: Verdict, records: Sequence[RecordSeen]) -> str:
    match verdict:
        case Verdict.DIFFERS:
            names = sorted({name for record in records for name in record.differs} - {"contents"})
            fields = sorted({field for record in records for field in record.contents})
            other = [*([f"another {' and '.join(names)}"] if names else []), *_otherwise(fields)]
            return f"It is there, with {' and '.join(other)}."
        case Verdict.SEVERAL:
            return f"{sum(record.live for record in records)} records carry our reference."
        case _:
            return ""


def _otherwise(fields: Sequence[str]) -> list[str]:
    return [f"other contents than were meant: {', '.join(fields)}"] if fields else []
