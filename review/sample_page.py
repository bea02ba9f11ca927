"""Samples as people read them: the list, one of them, and its table."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from ledger import audit
from ledger.models import Destination, Operation, OperationType, database_now
from ledger.rules.errors import Malformed
from ledger.rules.states import State
from reconcile import tables
from review import amounts, row, sampling, wording
from review.evidence.parts import moment
from review.filters import STATES
from review.instants import zone
from review.models import Sample
from review.sampling import Counted, Population

SHOWN = 50
MONTH = timedelta(days=30)
WAYS = {"random": "At random", "value": "By value, in one currency"}
COLUMNS = ("place", "key", "name", "subject", "amount", "currency", "state", "reference", "hits", "id")


@dataclass(frozen=True)
class Asked:
    """The form of a population: what was chosen, and what it comes to as of the last seal."""

    chosen: dict[str, str]
    population: Population | None
    counted: Counted | None
    refusal: str
    unsealed: int = 0
    """How many it would come to with what was never sealed, where none of it was."""

    @property
    def words(self) -> str:
        """Say what was chosen."""
        return said(self.population) if self.population else ""

    @property
    def kinds(self) -> list[OperationType]:
        """Return the types to choose from."""
        return list(OperationType.objects.order_by("label", "name"))

    @property
    def entities(self) -> list[str]:
        """Return the legal entities to choose from."""
        return sorted(set(Destination.objects.values_list("entity", flat=True)))

    @property
    def states(self) -> list[tuple[str, str]]:
        """Return the states to choose from."""
        return [(state, words) for state, words in STATES.items() if state in set(State)]


def asked(query: dict[str, str]) -> Asked:
    """Read the form, and count where it is whole; without days it suggests the last 31 and counts nothing."""
    chosen = {name: query.get(name, "") for name in ("type", "entity", "currency", "state", "since", "until")}
    if not (chosen["since"] or chosen["until"]):
        today = database_now().astimezone(zone()).date()
        month = {"since": (today - MONTH).isoformat(), "until": today.isoformat()}
        return Asked(chosen | month, None, None, "")
    last = audit.latest()
    try:
        population = Population.read(chosen)
        found = sampling.counted(population, last.through if last else 0)
        unsealed = 0 if found.count else sampling.counted(population, sampling.NOW).count
    except Malformed as error:
        return Asked(chosen, None, None, error.detail)
    return Asked(chosen, population, found, "", unsealed)


def said(population: Population) -> str:
    """Say which operations a population has, its days in the reader's zone."""
    parts = [
        ", ".join(population.types) or "no type",
        population.entity,
        population.currency and f"in {population.currency}",
        population.state and f"then “{STATES[population.state].lower()}”",
        f"handed over from {moment(population.since)} up to {moment(population.until)}",
    ]
    return " · ".join(part for part in parts if part)


@dataclass(frozen=True)
class Line:
    """One operation of a sample, as it stands now."""

    operation: Operation
    badge: wording.Badge
    name: str
    amount: str
    hits: int


@dataclass(frozen=True)
class Shown:
    """One sample as its page shows it; `again` says what came of drawing it once more."""

    sample: Sample
    again: str

    @property
    def population(self) -> str:
        """Say what it was drawn from."""
        return said(Population.stored(self.sample.population))

    @property
    def way(self) -> str:
        """Say how it was drawn."""
        return WAYS[self.sample.way]

    @property
    def counted(self) -> Counted:
        """Return how many the population has, and what it adds up to."""
        one = self.sample
        return Counted(one.count, one.without_amount, one.totals, one.apart)

    @property
    def lines(self) -> list[Line]:
        """Return what was drawn, in its order; a few queries, however many there are."""
        known = _operations(self.sample)
        badges = row.stamps(known.values(), database_now())
        return [
            Line(
                operation=(one := known[item["id"]]),
                badge=badges[one.pk],
                name=wording.name(one) + (f" · {one.subject}" if one.subject else ""),
                amount=amounts.whole(item["amount"], item["currency"]),
                hits=item["hits"],
            )
            for item in self.sample.items
        ]


def shown(sample: Sample, *, again: bool) -> Shown:
    """Read one sample, and draw it again where that is asked for."""
    if not again:
        return Shown(sample, "")
    drawn = sampling.again(sample)
    if drawn.same(sample):
        return Shown(
            sample, f"Drawn again: the same {len(drawn.items)} operations, from the same population."
        )
    same = "the same" if drawn.digest == sample.digest else "another"
    return Shown(
        sample, f"Drawn again, it is not the same: {len(drawn.items)} operations, from {same} population."
    )


def _operations(sample: Sample) -> dict[str, Operation]:
    found = Operation.objects.filter(uid__in=[item["id"] for item in sample.items])
    return {str(one.uid): one for one in found.defer("payload_sealed", "leaf_digests")}


def document(sample: Sample) -> dict[str, Any]:
    """Return a sample as JSON has it."""
    names = (
        "purpose",
        "population",
        "seal",
        "head",
        "through",
        "count",
        "without_amount",
        "totals",
        "apart",
        "digest",
    )
    whole = {name: getattr(sample, name) for name in (*names, "way", "seed", "size", "items")}
    drawn = {"id": str(sample.uid), "drawn_by": sample.drawn_by, "drawn_at": _instant(sample.drawn_at)}
    return {"format": "tieout-sample", "version": 1, **drawn, **whole, "how": sampling.__doc__}


def written(sample: Sample) -> str:
    """Return a sample's JSON as text."""
    return json.dumps(document(sample), indent=2, ensure_ascii=False)


def table(sample: Sample, person: User) -> tables.Table:
    """Return what was drawn as a table, in its order, as the operations stand now."""
    about = tables.About(
        what=f"Sample {sample.uid}, drawn by {sample.drawn_by} at {_instant(sample.drawn_at)}",
        asked=said(Population.stored(sample.population)),
        as_of=database_now(),
        author=person.get_username(),
        count=len(sample.items),
        totals=_totals(sample),
        more={
            "population": str(sample.count),
            "seed": sample.seed,
            "way": sample.way,
            "seal": f"{sample.seal}:{sample.head}",
        },
    )
    known = _operations(sample)
    return tables.Table(
        about, COLUMNS, (_row(place, item, known) for place, item in enumerate(sample.items, 1))
    )


def _totals(sample: Sample) -> dict[str, str]:
    """Name each sum by what it is of; where nobody has told them apart it is of all."""
    whole = "population" if sample.apart is None else "originals"
    found = {f"{whole} {currency}": total for currency, total in sample.totals.items()}
    for kind, one in (sample.apart or {}).items():
        found |= {f"{kind} {currency}": total for currency, total in one["totals"].items()}
    return found


def _row(place: int, item: dict[str, Any], known: dict[str, Operation]) -> tuple[object, ...]:
    one = known[item["id"]]
    amount = None if item["amount"] is None else Decimal(item["amount"])
    said = (one.state, one.destination_reference, item["hits"], item["id"])
    return place, one.key, wording.name(one), one.subject, amount, item["currency"], *said


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
