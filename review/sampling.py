"""Samples that anybody can draw again: a population frozen by a seal, a seed, and a stated way to choose.

Random: the `size` operations whose SHA-256 of "SEED:ID" comes first. By value (monetary unit sampling): in
that order amounts, without their sign, are laid end to end, corrections’ and reversals’ as well; of the
sum of these every part of total/size is hit once, beginning at U × total/size, where U is the first 12 hex
digits of SHA-256(SEED) as a fraction. What is larger than a part is always drawn, and may be hit more than
once.
"""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, Self

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Case, Exists, OuterRef, QuerySet, Subquery, Value, When

from ledger import audit, sight
from ledger.actions.changing import once
from ledger.actions.noting import note
from ledger.models import Event, Operation, OperationType, Seal
from ledger.rules import actors, money
from ledger.rules.errors import Malformed, NotNow
from ledger.rules.states import State
from review.access import require
from review.instants import FIRST_DAY, LAST_DAY, day, zone
from review.models import Sample

MOST = 500
"""Operations in one sample: as many packs are in one archive."""
POPULATION_MOST = 1_000_000
NOW = 2**63 - 1
"""Stands for the latest event, sealed or not."""
NO_TYPE = 0
"""Stands for no type at all: Django makes no SQL of an empty list."""
_ORDER = "encode(sha256(convert_to(%(seed)s || ':' || uid::text, 'UTF8')), 'hex')"
_COUNTED = """
    SELECT kind, currency, count(*), count(amount), sum(amount) FROM ({rows}) AS p
    GROUP BY kind, currency ORDER BY kind, currency
"""
_DIGEST = """
    SELECT encode(sha256(convert_to(coalesce(string_agg(uid::text || ' ' || coalesce(amount::text, ''), E'\\n'
        ORDER BY uid), ''), 'UTF8')), 'hex') FROM ({rows}) AS p
"""
_RANDOM = """
    SELECT uid::text, amount, currency, 1 FROM ({rows}) AS p ORDER BY {order}, uid LIMIT %(size)s
"""
_BY_VALUE = """
    WITH laid AS (
        SELECT uid, amount, currency, abs(amount) AS part,
            sum(abs(amount)) OVER (ORDER BY {order}, uid) AS upto, {order} AS place
        FROM ({rows}) AS p WHERE amount <> 0
    ), hit AS (
        SELECT *, ceil(upto * %(size)s / total - %(start)s)
            - ceil((upto - part) * %(size)s / total - %(start)s) AS hits
        FROM laid CROSS JOIN (SELECT max(upto) AS total FROM laid) AS all_of_it
    )
    SELECT uid::text, amount, currency, hits::int FROM hit WHERE hits > 0 ORDER BY place, uid
"""
ORIGINALS, CORRECTIONS, REVERSALS = "originals", "corrections", "reversals"
_KIND = Case(
    When(reverses__isnull=False, then=Value(REVERSALS)),
    When(corrects__isnull=False, then=Value(CORRECTIONS)),
    default=Value(ORIGINALS),
)
"""What an operation is to others: nothing is added across, and nothing nets."""
Way = Literal["random", "value"]


@dataclass(frozen=True)
class Population:
    """Which operations are drawn from: by type, entity, currency, days, and state as of a seal."""

    types: tuple[str, ...]
    entity: str
    currency: str
    state: str
    since: datetime
    until: datetime

    @classmethod
    def read(cls, asked: Mapping[str, str]) -> Self:
        """Read what a form says, days in the reader's zone with the last included; raises Malformed."""
        since, until = day(asked.get("since", "")), day(asked.get("until", ""))
        if since is None or until is None or until < since:
            raise Malformed(f"Choose the first and the last day, {FIRST_DAY.year} to {LAST_DAY.year}.")
        kinds = OperationType.objects.order_by("name")
        here = sight.present()
        entity = asked.get("entity", "") or (min(here.entities or {""}) if here else "")
        if asked.get("type"):
            kinds = kinds.filter(name=asked["type"])
        if entity:
            kinds = kinds.filter(destination__entity=entity)
        state, currency = asked.get("state", ""), asked.get("currency", "").strip().upper()
        return cls(
            types=tuple(kinds.values_list("name", flat=True)),
            entity=entity,
            currency=currency[:3],
            state=state if state in set(State) else "",
            since=datetime.combine(since, time.min, zone()).astimezone(UTC),
            until=datetime.combine(until + timedelta(days=1), time.min, zone()).astimezone(UTC),
        )

    @classmethod
    def stored(cls, row: Mapping[str, Any]) -> Self:
        """Read it as a sample keeps it."""
        instants = {name: datetime.fromisoformat(row[name]) for name in ("since", "until")}
        return cls(**{**row, "types": tuple(row["types"]), **instants})

    @property
    def document(self) -> dict[str, Any]:
        """Return it as a sample keeps it."""
        whole = {name: getattr(self, name) for name in ("entity", "currency", "state")}
        whole |= {name: getattr(self, name).isoformat() for name in ("since", "until")}
        return {"types": list(self.types), **whole}

    def rows(self, through: int) -> QuerySet[Operation]:
        """Return the operations that were on record at an event, in the state of then."""
        kinds = list(OperationType.objects.filter(name__in=self.types).values_list("pk", flat=True))
        found = Operation.objects.filter(
            Exists(Event.objects.filter(operation=OuterRef("pk"), pk__lte=through)),
            operation_type__in=kinds or [NO_TYPE],
            accepted_at__gte=self.since,
            accepted_at__lt=self.until,
        )
        if self.currency:
            found = found.filter(currency=self.currency)
        if self.state:
            moves = Event.objects.filter(operation=OuterRef("pk"), pk__lte=through).exclude(state_to="")
            found = found.annotate(then=Subquery(moves.order_by("-pk").values("state_to")[:1])).filter(
                then=self.state
            )
        return found.order_by()


@dataclass(frozen=True)
class Counted:
    """How many a population has, how many of them without an amount, and the originals' total by currency.

    `apart` has the count and the totals of its corrections and of its reversals, where there are any; None
    where nobody has told them apart, so that the totals are of all of them.
    """

    count: int
    without_amount: int
    totals: dict[str, str]
    apart: dict[str, dict[str, Any]] | None

    @property
    def _apart(self) -> list[tuple[str, dict[str, Any]]]:
        apart = self.apart or {}
        return [(name, apart[name]) for name in (CORRECTIONS, REVERSALS) if name in apart]

    @property
    def counts(self) -> str:
        """Say how many operations there are, and of what kind."""
        said = [f"{self.count} operation{'s' * (self.count != 1)}"]
        if self.apart:
            originals = self.count - sum(one["count"] for one in self.apart.values())
            said.append(f"{originals} original{'s' * (originals != 1)}")
            said += [
                f"{one['count']} {name if one['count'] != 1 else name[:-1]}" for name, one in self._apart
            ]
        said += [f"{self.without_amount} without an amount"] if self.without_amount else []
        return ", ".join(said)

    @property
    def sums(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return what is added up, each kind by itself: its words, and currencies with amounts."""
        if self.apart is None:
            return [("Total of all, corrections and reversals among them", [*self.totals.items()])]
        named = [("Total of the originals" if self.apart else "Total", [*self.totals.items()])]
        named += [(f"{name.capitalize()} apart", [*one["totals"].items()]) for name, one in self._apart]
        return named


@dataclass(frozen=True)
class Drawn:
    """What a seed draws: the population counted, its digest, and the items."""

    counted: Counted
    digest: str
    items: list[dict[str, Any]]

    def same(self, sample: Sample) -> bool:
        """Say whether it is what a sample has kept."""
        return (self.digest, self.items) == (sample.digest, sample.items)


def counted(population: Population, through: int) -> Counted:
    """Count a population as of an event; raises Malformed where it is too large to draw from."""
    if population.rows(through).values("pk")[: POPULATION_MOST + 1].count() > POPULATION_MOST:
        raise Malformed(f"It has more than {POPULATION_MOST:,} operations: choose fewer days or a type.")
    rows = _ask(_COUNTED, population, through)
    count = sum(row[2] for row in rows)
    totals: dict[str, dict[str, str]] = {ORIGINALS: {}}
    counts: dict[str, int] = {}
    for kind, currency, number, _, total in rows:
        counts[kind] = counts.get(kind, 0) + number
        totals.setdefault(kind, {})
        if currency:
            totals[kind][currency] = _written(total, currency)
    originals = totals.pop(ORIGINALS)
    apart = {kind: {"count": counts[kind], "totals": sums} for kind, sums in totals.items()}
    return Counted(count, count - sum(row[3] for row in rows), originals, apart)


def drawn(population: Population, through: int, *, way: Way, seed: str, size: int) -> Drawn:
    """Draw from a population as of an event; the same seed draws the same."""
    known = counted(population, through)
    values = {"seed": seed, "size": size, "start": start(seed)}
    chosen = _ask(_RANDOM if way == "random" else _BY_VALUE, population, through, **values)
    items = [
        {
            "id": uid,
            "amount": None if amount is None else money.written(amount, currency),
            "currency": currency,
            "hits": hits,
        }
        for uid, amount, currency, hits in chosen
    ]
    return Drawn(known, _ask(_DIGEST, population, through)[0][0], items)


def _written(total: Decimal, currency: str) -> str:
    """Write a total in its currency's decimals, also one that is larger than any amount may be."""
    try:
        return money.written(total, currency)
    except money.MoneyError:
        return str(total)


def start(seed: str) -> Decimal:
    """Return where sampling by value begins in its first part, from 0 up to 1."""
    return Decimal(int(hashlib.sha256(seed.encode()).hexdigest()[:12], 16)) / Decimal(16**12)


def draw(
    population: Population,
    *,
    person: User,
    way: Way,
    seed: str,
    size: int,
    purpose: str,
    command_id: uuid.UUID,
) -> Sample:
    """Draw a sample and keep it, with its event. Raises Malformed, and NotNow while nothing can be sealed."""
    require(person, "sample")
    seed = seed.strip()
    if not 1 <= size <= MOST:
        raise Malformed(f"A sample has 1 to {MOST} operations.")
    if way == "value" and not population.currency:
        raise Malformed("By value it is drawn from one currency: choose it.")
    if not seed.isprintable() or not 1 <= len(seed) <= 100:
        raise Malformed("A seed has 1 to 100 characters.")
    seal = audit.seal_all()
    if seal is None:
        raise NotNow("The trail could not be sealed just now; try again in a moment.")

    def make() -> Sample:
        found = drawn(population, seal.through, way=way, seed=seed, size=size)
        if not found.items:
            raise Malformed("This population has nothing to draw from.")
        how = {"way": way, "seed": seed, "size": size, "uid": command_id}
        return _kept(population, found, seal, person=person, how=how, purpose=purpose)

    return once(Sample.objects.filter(uid=command_id, drawn_by=person.get_username()), make)


def _kept(
    population: Population, found: Drawn, seal: Seal, *, person: User, how: dict[str, Any], purpose: str
) -> Sample:
    actor = actors.person(person.get_username())
    made = Sample(
        drawn_by=actor,
        population=population.document,
        seal=seal.number,
        head=seal.head,
        through=seal.through,
        count=found.counted.count,
        without_amount=found.counted.without_amount,
        totals=found.counted.totals,
        apart=found.counted.apart,
        digest=found.digest,
        items=found.items,
        **how,
    )
    told = {"sample": str(made.uid), "drawn": len(found.items), "count": made.count, "seal": seal.number}
    told |= {name: getattr(made, name) for name in ("way", "seed", "size")}
    made.purpose = note(kind="sampled", actor=actor, reason=purpose, data=told)
    made.save(force_insert=True)
    return made


def again(sample: Sample) -> Drawn:
    """Draw a sample again from the population as it was frozen."""
    way: Way = "value" if sample.way == "value" else "random"
    return drawn(
        Population.stored(sample.population), sample.through, way=way, seed=sample.seed, size=sample.size
    )


def _told(rows: QuerySet[Operation]) -> QuerySet[Any, Any]:
    return rows.annotate(kind=_KIND).values("uid", "amount", "currency", "kind")


def _ask(sql: str, population: Population, through: int, **values: Any) -> list[tuple[Any, ...]]:
    rows, given = _told(population.rows(through)).query.sql_with_params()
    # The rows' own values have no names; those of the question around them have.
    names: dict[str, Any] = {f"row_{place}": value for place, value in enumerate(given)}
    rows = rows % tuple(f"%(row_{place})s" for place in range(len(given)))
    with connection.cursor() as cursor:
        cursor.execute(sql.format(rows=rows, order=_ORDER), {**names, **values})
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
