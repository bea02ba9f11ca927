"""Two sides into staging: the destination's list page by page, the ledger's operations in one go.

No transaction is open while the destination is waited for; each page is written with its count before the
next one is asked for, together with the place where the list goes on: a process that takes the run over reads
no page again. A record that comes twice, because it changed while the list was read, counts once, as it came
last.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Self, TypeVar

from django.db import OperationalError, connection, transaction
from django.db.models import Max
from psycopg.errors import SerializationFailure

from ledger.destinations import listing
from ledger.destinations.connectors.base import IncompletePull, Place
from ledger.models import Operation, database_now
from ledger.rules import records
from ledger.rules.calls import RecordMap
from ledger.rules.records import Unreadable
from ledger.rules.states import Standing
from reconcile import comparing, contents, leasing, marking, tying
from reconcile.models import Plan, Record, Run
from reconcile.rules import declared, payouts
from reconcile.rules.declared import NO_REFERENCE
from reconcile.rules.payouts import Parts, Payout
from reconcile.sources import comparing as links
from reconcile.sums import Side, Totals, read_totals, store_totals

T = TypeVar("T")

BY_REFERENCE: Mapping[str, str] = {}
SNAPSHOTS = 5
"""So often the ledger is copied anew before the run is given up."""
PROVED, NOT_PROVED = "proved", "not proved"
"""Whether something counted a side beside its own rows."""
NO_MONEY: tuple[Decimal | None, str] = (None, "")
NO_MOMENT: tuple[datetime | None, date | None] = (None, None)

COLUMNS = (
    "run_id",
    "side",
    "number",
    "external_id",
    "reference",
    "amount",
    "currency",
    "status",
    "standing",
    "occurred_at",
    "occurred_on",
    "seen_at",
    "readable",
    "why",
    "own",
    "state",
    "cancelled",
    "held",
    "fresh",
    "looked",
    "marks",
    "contents",
    "parts",
    "gross",
    "unexplained",
)
COPY = f"COPY reconcile_record ({', '.join(COLUMNS)}) FROM STDIN"
COME_AGAIN = (
    "DELETE FROM reconcile_record WHERE run_id = %(run)s AND side = %(side)s AND external_id = ANY(%(ids)s)"
    " AND (NOT %(both)s OR (external_id, reference) IN"
    " (SELECT * FROM unnest(%(ids)s::text[], %(references)s::text[])))"
    " RETURNING amount, currency, standing"
)


@dataclass(frozen=True)
class Listed:
    """One record of the list, each part read by itself, so that one odd part does not hide the others."""

    id: str = ""
    reference: str = ""
    amount: Decimal | None = None
    currency: str = ""
    status: str = ""
    standing: str = ""
    occurred_at: datetime | None = None
    occurred_on: date | None = None
    """The day of a record that tells no more than a day."""
    why: str = ""
    """Why it cannot be read; empty where it can."""
    marks: Mapping[str, str] | None = None
    """What stands at the places that a rule of the plan reads."""
    deleted: bool = False
    """The list says that it is there no more."""
    contents: Mapping[str, Any] | None = None
    """What its contents are compared by: see `reconcile.contents`."""
    parts: Parts | None = None
    """Of a payout, what its net was made of."""

    @property
    def stands(self) -> bool:
        """Say whether it counts on its side: reversed, declined and cancelled ones do not."""
        return self.standing not in (Standing.VOID, Standing.FAILED)


@dataclass
class Staging:
    """The destination's side as it comes in, totalled record by record beside what is written."""

    run: Run
    number: int = 0
    pages: list[int] = field(default_factory=list)
    records: int = 0
    repeated: int = 0
    totals: Totals = field(default_factory=dict)
    side: ClassVar[Record.Side] = Record.Side.DESTINATION
    known_by_reference: ClassVar[bool] = False
    """Whether what has one id and another reference is another one: the id may be that of a table beside."""

    @classmethod
    def of(cls, run: Run) -> Self:
        """Return a side of a run as far as it has come in."""
        lines = Record.objects.filter(run=run, side=cls.side)
        return cls(
            run,
            number=lines.aggregate(last=Max("number"))["last"] or 0,
            totals=read_totals(run.counted.get(cls.side.value, {})),
            **cls.so_far(run),
        )

    @staticmethod
    def so_far(run: Run) -> dict[str, Any]:
        """Return what the run has kept of it: pages, records, repeated."""
        return {"pages": list(run.pages), "records": run.records, "repeated": run.repeated}

    def page(self, listed: Sequence[Listed], *, seen_at: datetime, place: Place | None) -> None:
        """Write one page, its count and where the list goes on; LostRun where the run is no longer ours."""
        self.pages.append(len(listed))
        self.run.place = None if place is None else dict(place)
        self.note_as_of(seen_at)
        with leasing.held(self.run):
            self.add(listed, seen_at=seen_at)

    def note_as_of(self, at: datetime) -> None:
        """Note the earliest instant that the side tells of: what came later may not be in it."""
        mine = self.run.sides.get(self.side.value, {})
        first = min(at, datetime.fromisoformat(mine["as_of"])) if "as_of" in mine else at
        self.tell(as_of=first.isoformat())

    def tell(self, **facts: Any) -> None:
        """Note facts about the side on the run; the caller saves it."""
        mine = self.run.sides.get(self.side.value, {})
        self.run.sides = {**self.run.sides, self.side.value: {**mine, **facts}}

    def add(self, listed: Sequence[Listed], *, seen_at: datetime) -> None:
        """Write records and count them, each id once, as it came last; the caller has a transaction open."""
        latest: dict[object, Listed] = {
            (record.id, record.reference if self.known_by_reference else "") if record.id else place: record
            for place, record in enumerate(listed)
        }
        self.repeated += len(listed) - len(latest)
        self._forget([record for record in latest.values() if record.id])
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            for record in latest.values():
                self.number += 1
                copy.write_row(self._row(record, seen_at))
                self.count(record.amount, record.currency, stands=record.stands)
        self.note()

    def _row(self, record: Listed, seen_at: datetime) -> tuple[object, ...]:
        return (
            self.run.pk,
            self.side.value,
            self.number,
            record.id,
            record.reference,
            record.amount,
            record.currency,
            record.status,
            record.standing,
            record.occurred_at,
            record.occurred_on,
            seen_at,
            not record.why,
            record.why,
            *(False, "", False, False, False, ""),
            json.dumps(record.marks) if record.marks else None,
            None if record.contents is None else json.dumps(record.contents),
            *_told_parts(record.parts),
        )

    def _forget(self, again: Sequence[Listed]) -> None:
        """Take out what came under the same ids before: the list has moved on meanwhile."""
        values: dict[str, Any] = {
            "run": self.run.pk,
            "side": self.side.value,
            "ids": [record.id for record in again],
            "references": [record.reference for record in again],
            "both": self.known_by_reference,
        }
        with connection.cursor() as cursor:
            cursor.execute(COME_AGAIN, values)
            for amount, currency, standing in cursor.fetchall():
                self.repeated += 1
                self.count(amount, currency, stands=Listed(standing=standing).stands, times=-1)

    def count(self, amount: Decimal | None, currency: str, *, stands: bool, times: int = 1) -> None:
        """Count a record in, or with -1 out."""
        self.records += times
        if stands:
            side = self.totals.setdefault(currency if amount is not None else "", Side())
            side.add(amount, times)

    def note(self) -> None:
        """Keep on the run what has come in so far."""
        self.run.counted = {**self.run.counted, self.side.value: store_totals(self.totals)}
        self.keep()
        self.run.save(update_fields=["pages", "records", "repeated", "counted", "place", "sides"])

    def keep(self) -> None:
        """Write pages, records and repeated ones where the run has them."""
        self.run.pages, self.run.records, self.run.repeated = self.pages, self.records, self.repeated


def pull(run: Run) -> None:
    """Read the destination's list into the run's lines; raises IncompletePull or ConfigurationError.

    Goes on after the last page that an earlier process of the run has written, and from the start where the
    list does not go on from there any more.
    """
    if run.place is not None:
        with suppress(IncompletePull):
            _read_on(run)
            return
    with leasing.held(run):
        leasing.drop_lines([run.pk], side=Staging.side)
        run.place = None
        run.sides = {name: side for name, side in run.sides.items() if name != Staging.side}
        Staging(run).note()
    _read_on(run)


def _read_on(run: Run) -> None:
    kind, staging = run.plan.operation_type, Staging.of(run)
    compared_by = contents.reader(kind)
    asked_at, rules = database_now(), declared.of(run.plan)
    for page in listing.pages(kind, since=since(run), place=run.place):
        assert kind.how.record is not None  # a list is refused without it
        currencies = _assumed(run, kind.how.record, page.items)
        match = kind.how.lookup.match if kind.how.lookup is not None else {}
        listed = [
            read(kind.how.record, item, currencies, match=match, compared_by=compared_by)
            for item in page.items
        ]
        if marked := declared.places(rules):
            listed = [
                replace(one, marks=marks(marked, item)) for one, item in zip(listed, page.items, strict=True)
            ]
        if (payout := declared_payout(run.plan)) is not None:
            read_by = kind.how.record
            listed = [
                with_parts(one, payout, read_by, item) for one, item in zip(listed, page.items, strict=True)
            ]
        staging.page(_named(run, listed), seen_at=page.as_of or asked_at, place=page.place)
        asked_at = database_now()
    staging.note_as_of(asked_at)
    counts_itself = kind.how.list is not None and kind.how.list.paging.total is not None
    staging.tell(complete=PROVED if counts_itself else NOT_PROVED)


def since(run: Run) -> datetime:
    """Return from when on the list is asked for: its overlap before the window, or as long as rules reach."""
    call = run.plan.operation_type.how.list
    overlap = timedelta(seconds=call.overlap_s if call is not None else 0)
    return run.window_from - max(overlap, declared.reach(declared.of(run.plan)))


def declared_payout(plan: Plan) -> Payout | None:
    """Return where a plan's records tell of their parts; None where they do not."""
    return None if plan.payout is None else Payout.read(plan.payout)


def _told_parts(parts: Parts | None) -> tuple[str | None, Decimal | None, Decimal | None]:
    if parts is None:
        return None, None, None
    return json.dumps(parts.stored()), parts.gross, parts.unexplained


def with_parts(one: Listed, rules: Payout, map: RecordMap, item: object) -> Listed:
    """Read of a payout what its net was made of; where that cannot be read, neither can the record."""
    if one.amount is None:
        return one
    try:
        return replace(one, parts=payouts.read(rules, map, item, one.amount, currency=one.currency))
    except Unreadable as error:
        why = unreadable({"parts": f"of its parts, {error}".partition(". ")[0].rstrip(".")}, ())
        return replace(one, why=one.why if one.why not in ("", NO_REFERENCE) else why)


def marks(places: Iterable[str], item: object) -> dict[str, str]:
    """Return the texts at some places of a record; what is no text there, or cannot be read, is left out."""
    found = {}
    for place in places:
        with suppress(Unreadable):
            found[place] = records.read_text(records.search(place, item), place)
    return {place: text for place, text in found.items() if text}


def _named(run: Run, listed: Sequence[Listed]) -> Sequence[Listed]:
    """Give what is deleted, and has no more than its id, the reference that its record had."""
    bare = [one.id for one in listed if one.deleted and not one.reference]
    if not bare:
        return listed
    ours = Operation.objects.filter(operation_type=run.plan.operation_type_id, destination_reference__in=bare)
    before = Record.objects.filter(run=run, side=Staging.side, external_id__in=bare)
    known = dict(ours.values_list("destination_reference", "key"))
    known |= dict(before.exclude(reference="").values_list("external_id", "reference"))
    return [
        replace(one, reference=known.get(one.id, "")) if one.deleted and not one.reference else one
        for one in listed
    ]


def _assumed(run: Run, map: RecordMap, items: Sequence[object]) -> Mapping[str, str]:
    """Return the currency of each operation on a page, where the destination's records name none."""
    if map.currency is not None:
        return {}
    references = [text for item in items if isinstance(text := records.search(map.reference, item), str)]
    ours = Operation.objects.filter(operation_type=run.plan.operation_type_id, key__in=references)
    return dict(ours.values_list("key", "currency"))


def read(
    map: RecordMap,
    item: object,
    currencies: Mapping[str, str],
    *,
    match: Mapping[str, str] = BY_REFERENCE,
    compared_by: contents.Read = lambda item, identity: None,
) -> Listed:
    """Read one record of the list, part by part; what cannot be read is left empty, and said.

    `match`: where the type's look-up tells a record by several places, and this one has them all.
    `compared_by` reads what its contents are compared by.
    """
    wrong: dict[str, str] = {}

    def part(name: str, value: Callable[[], T], otherwise: T) -> T:
        try:
            return value()
        except Unreadable as error:
            wrong[name] = str(error).partition(". ")[0].rstrip(".")  # what is wrong, not how to write it
            return otherwise

    identity = part("id", lambda: records.read_text(records.search(map.id, item), "id"), "")
    reference = part("reference", lambda: marking.written_out(match, item) if match else "", "") or part(
        "reference", lambda: records.read_text(records.search(map.reference, item), "reference"), ""
    )
    status = part("status", lambda: records.read_status(map, item), "")
    assumed = currencies.get(reference, "")
    amount, currency = part(
        "amount", lambda: records.read_money(map, item, assumed_currency=assumed), NO_MONEY
    )
    occurred_at, occurred_on = part("occurred_at", lambda: records.read_moment(map, item), NO_MOMENT)
    compared = part("contents", lambda: compared_by(item, identity), None)
    blank = {"id": not identity, "status": map.status and not status, "amount": map.amount and amount is None}
    deleted = records.is_deleted(map, item)
    if deleted:
        # Of what is gone no more than its id is left, and nothing else has to be.
        wrong, blank = {name: why for name, why in wrong.items() if name == "id"}, {"id": not identity}
    unread = unreadable(wrong, filter(blank.get, blank))
    standing = records.standing_of(map, status) if map.status is not None else Standing.DONE
    if deleted:
        standing, status = Standing.VOID, status or records.DELETED
    return Listed(
        id=identity,
        reference=reference,
        amount=amount,
        currency=currency,
        status=records.shown(status),
        standing=(standing or Standing.PENDING).value,
        occurred_at=occurred_at,
        occurred_on=occurred_on,
        why=unread or ("" if reference or deleted else NO_REFERENCE),
        deleted=deleted,
        contents=None if deleted else compared,
    )


def unreadable(wrong: Mapping[str, str], blank: Iterable[str]) -> str:
    """Say what of a record cannot be read, or is not there; empty where all of it is."""
    said = {**wrong, **{name: f"it has no {name}" for name in blank if name not in wrong}}
    return f"It cannot be read: {'; '.join(said.values())}."[:300] if said else ""


def stage_ledger(run: Run) -> None:
    """Copy the window's operations, and total them another way, in one snapshot of the database.

    It is taken again where a row that this writes has changed since, as the run's own when it is nudged.
    """
    for left in reversed(range(SNAPSHOTS)):
        try:
            _stage_ledger(run)
        except OperationalError as error:
            if not left or not isinstance(error.__cause__, SerializationFailure):
                raise
        else:
            return


def _stage_ledger(run: Run) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with leasing.held(run):
            comparing.stage_ledger(run)
            links.link(run)
            run.counted = {**run.counted, "ledger": store_totals(tying.count_ledger(run))}
            run.step, run.place = Run.Step.COMPARING, None
            run.save(update_fields=["counted", "step", "place", "sides"])
