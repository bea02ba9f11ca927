"""The queue's items in an order, page by page; also by money at risk × age among a hundred thousand.

That order turns with the clock, so no index holds it. But of items whose amounts lie between one power of two
and the next, those of the highest product are among the oldest: an index by currency, such a band, and age is
read in shells of the product, from the largest down, until a page is full. What is few is simply sorted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connection
from django.db.models import Case, ExpressionWrapper, F, FloatField, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest

from review.cursors import Cursor
from review.models import Item
from review.sql import statement

FEW = 8000
"""Up to about so many items are sorted, by the database's own estimate."""
COUNTED = 2000
"""The same where it has none, and they are counted: of more, a page is full before many are read."""
LEAST = 1e-6
"""What is worth nothing stands in the order of its age."""
STORED = {"due": "due_s", "age": "since_s", "amount": "lightness"}
"""Orders that an index holds."""


@dataclass(frozen=True)
class Scale:
    """What weighs how much in the order: a unit of each currency, an operation of a type without amounts."""

    rates: Mapping[str, float] = field(default_factory=dict)
    """A currency without one counts by its figures."""
    priorities: Mapping[int, float] = field(default_factory=dict)
    """By the operation type's pk; without one, nothing."""

    def weight(self, currency: str, kind: int) -> float:
        """Return the weight of size 1 in a currency, or without one of this operation type."""
        return self.rates.get(currency, 1.0) if currency else self.priorities.get(kind, 0.0)

    def unit(self) -> Combinable:
        """Return the weight of an item's size 1."""
        whens = [When(currency=currency, then=Value(rate)) for currency, rate in self.rates.items()]
        whens += [
            When(currency="", operation_type=pk, then=Value(weight)) for pk, weight in self.priorities.items()
        ]
        whens.append(When(currency="", then=Value(0.0)))
        return Case(*whens, default=Value(1.0), output_field=FloatField())


@dataclass(frozen=True)
class Order:
    """An order of items as of an instant (seconds since 1970)."""

    name: str
    at_s: float
    scale: Scale
    few: bool
    """There are so few items that they are simply sorted."""
    currency: str = ""
    """The only one among them, where one is asked for."""

    def ranked(self, items: QuerySet[Item]) -> QuerySet[Any]:
        """Add each item's rank; the smallest comes first."""
        if self.name in STORED:
            return items.annotate(rank=F(STORED[self.name]))
        weight = Greatest(F("size") * self.scale.unit(), Value(LEAST), output_field=FloatField())
        age_s = Value(self.at_s) - F("since_s")
        return items.annotate(rank=ExpressionWrapper(Value(-1.0) * weight * age_s, output_field=FloatField()))

    def key(self, items: QuerySet[Item]) -> Cursor | None:
        """Return the key of the one item there is; None where there is none."""
        stored = STORED.get(self.name, "since_s")
        columns = "pk", "operation", stored, "size", "currency", "operation_type"
        for pk, operation, at_s, size, currency, kind in items.values_list(*columns)[:1]:
            weight = max(size * self.scale.weight(currency, kind), LEAST)
            rank = at_s if self.name in STORED else -1.0 * weight * (self.at_s - at_s)
            return Cursor("i", rank, pk, operation)
        return None

    def page(
        self, items: QuerySet[Item], beyond: Cursor | None, *, backwards: bool = False, length: int
    ) -> list[Cursor]:
        """Return the keys of the items next to one of them, the nearest first; from the end without one."""
        if self.few:
            found = list(self._beyond(items, beyond, backwards=backwards)[:length])
        else:
            found = self._by_shells(items, beyond, backwards=backwards, length=length)
        return [Cursor("i", *row) for row in found]

    def _beyond(self, items: QuerySet[Item], beyond: Cursor | None, *, backwards: bool) -> QuerySet[Any]:
        ranked, sign = self.ranked(items), "-" if backwards else ""
        if beyond is not None:
            side = "lt" if backwards else "gt"
            # The first of the two is what an index can begin at.
            ranked = ranked.filter(**{f"rank__{side}e": beyond.rank}).filter(
                Q(**{f"rank__{side}": beyond.rank}) | Q(rank=beyond.rank, **{f"pk__{side}": beyond.pk})
            )
        return ranked.order_by(f"{sign}rank", f"{sign}pk").values_list("rank", "pk", "operation")

    def beside(self, items: QuerySet[Item], key: Cursor) -> tuple[list[Cursor], list[Cursor]] | None:
        """Return the key right before one and the one right after it, by one query; None where two."""
        if self.few or key.rank >= 0:
            return None
        found = self._read("beside", items, key)
        before, after = (
            [Cursor("i", *row) for is_after, *row in found if is_after is side] for side in (False, True)
        )
        return before, after

    def _by_shells(
        self, items: QuerySet[Item], beyond: Cursor | None, *, backwards: bool, length: int
    ) -> list[tuple[Any, ...]]:
        return self._read("shells_back" if backwards else "shells", items, beyond, length=length)

    def _read(
        self, name: str, items: QuerySet[Item], beyond: Cursor | None, **more: int
    ) -> list[tuple[Any, ...]]:
        where, given = _condition(items)
        values: dict[str, Any] = {
            "rates": json.dumps(dict(self.scale.rates)),
            "priorities": json.dumps({str(pk): weight for pk, weight in self.scale.priorities.items()}),
            "least": LEAST,
            "at": self.at_s,
            "currency": self.currency,
            "rank": None if beyond is None else beyond.rank,
            "pk": None if beyond is None else beyond.pk,
        }
        with connection.cursor() as cursor:
            cursor.execute(statement(name).replace("/* where */ TRUE", where), values | more | given)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def estimate(items: QuerySet[Item], *, counts: bool) -> int:
    """Return how many items the database expects there to be, by reading nothing; or counts, to COUNTED.

    Where it counted to its end there are more than FEW for all that is known.
    """
    if counts:
        found = _counted(items)
        return found if found <= COUNTED else FEW + 1
    try:
        asked, values = items.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {asked}", values)
        found = cursor.fetchone()[0]
    plan = json.loads(found) if isinstance(found, str) else found
    return int(plan[0]["Plan"]["Plan Rows"])


_COUNT = """
SELECT CASE WHEN (
    SELECT count(*) FROM (SELECT * FROM review_item ORDER BY id DESC LIMIT 50) AS review_item WHERE ({where})
) > 25 THEN %(most)s ELSE (
    SELECT count(*) FROM (SELECT FROM review_item WHERE ({where}) LIMIT %(most)s) AS counted
) END
"""
"""What most of the latest have is many: an index of words is read to its end before the first is counted."""


def _counted(items: QuerySet[Item]) -> int:
    where, given = _condition(items)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(where=where), {"most": COUNTED + 1} | given)
        (found,) = cursor.fetchone()
    return int(found)


def _condition(items: QuerySet[Item]) -> tuple[str, dict[str, Any]]:
    """Return the condition of a question about items alone, as SQL with named values."""
    query = items.query
    joined = {alias for alias, count in query.alias_refcount.items() if count} - {Item._meta.db_table}
    assert not joined, "what is joined has no place in the statement"
    try:
        where, given = query.where.as_sql(query.get_compiler(connection=connection), connection)
    except FullResultSet:
        return "TRUE", {}
    except EmptyResultSet:
        return "FALSE", {}
    named = {f"given_{number}": value for number, value in enumerate(given)}
    return where % tuple(f"%({name})s" for name in named), named
