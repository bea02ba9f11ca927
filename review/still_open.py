"""All that is open of whatever run: how old it is, outside any filter, and the list of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Self
from urllib.parse import urlencode

from django.db.models import Q

from reconcile.classes import ItemClass
from reconcile.differences import ageing, waivers
from reconcile.differences.ageing import Aged, Ageing
from reconcile.displaying import Display
from reconcile.models import Finding, FindingQuerySet
from review import amounts
from review.ages import Ages
from review.runs import Difference, drawn

SHOWN = 100
"""How many differences stand on one page."""
READ = ("run__plan__operation_type__destination", "operation__operation_type", "case")


@dataclass(frozen=True)
class Chosen:
    """What of the list an address asks for; what is not known counts as not given."""

    entity: str = ""
    item_class: str = ""
    currency: str = ""
    age: str = ""
    """The place among the ages, as text."""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read an address."""
        asked = {one.name: query.get(one.name, "")[:200] for one in fields(cls)}
        asked = {name: text for name, text in asked.items() if text.isprintable()}
        if asked.get("item_class") not in list(ItemClass):
            asked["item_class"] = ""
        if asked.get("age") not in [str(place) for place in range(len(ageing.BUCKETS))]:
            asked["age"] = ""
        return cls(**asked)

    @property
    def address(self) -> str:
        """Return it as a query."""
        return urlencode({one.name: text for one in fields(self) if (text := getattr(self, one.name))})

    @property
    def held(self) -> list[tuple[str, str]]:
        """What is asked for beside the age, as a form carries it along."""
        return [(name, getattr(self, name)) for name in ("entity", "item_class", "currency")]

    @property
    def ages(self) -> list[tuple[str, str]]:
        """The ages that can be asked for."""
        return [(str(place), days) for place, (_, days) in enumerate(ageing.BUCKETS)]

    @property
    def words(self) -> str:
        """Say what is asked for; empty where that is everything."""
        days = f"{ageing.BUCKETS[int(self.age)][1]} days" if self.age else ""
        title = ageing.title_of(self.item_class) if self.item_class else ""
        return ", ".join(text for text in (self.entity, title, self.currency, days) if text)

    def among(self, at: datetime) -> FindingQuerySet:
        """Return what of all that is open is asked for."""
        asked = {ageing.ENTITY: self.entity, "item_class": self.item_class, "currency": self.currency}
        found = ageing.still().annotate(days=ageing.days(at))
        found = found.filter(**{name: text for name, text in asked.items() if text})
        if self.age:
            place = int(self.age)
            found = found.filter(days__gte=ageing.BUCKETS[place][0])
            if place + 1 < len(ageing.BUCKETS):
                found = found.filter(days__lt=ageing.BUCKETS[place + 1][0])
        return found


@dataclass(frozen=True)
class Row:
    """One line of the ageing as the page shows it."""

    entity: str
    title: str
    currency: str
    cells: list[tuple[str, int, str]]
    """What each age is called, how many are open of it, and how much."""
    count: int
    amount: str
    days: str
    rated: str
    address: str

    @classmethod
    def of(cls, aged: Aged, display: Display | None) -> Self:
        """Read one."""
        chosen = Chosen(aged.entity, aged.item_class, aged.currency)
        rated = ageing.at_rate(display, aged.whole.amount, aged.currency)
        return cls(
            entity=aged.entity,
            title=ageing.title_of(aged.item_class) if aged.item_class else "All",
            currency=aged.currency or "no amount",
            cells=[
                (days, cell.count, amounts.show(cell.amount, aged.currency) if aged.currency else "")
                for (_, days), cell in zip(ageing.BUCKETS, aged.cells, strict=True)
            ],
            count=aged.whole.count,
            amount=amounts.show(aged.whole.amount, aged.currency) if aged.currency else "–",
            days="–" if aged.days is None else f"{aged.days}",
            rated="–" if rated is None or display is None else amounts.show(rated, display.currency),
            address=chosen.address,
        )


@dataclass(frozen=True)
class Old:
    """How old all is that is open, as pages show it."""

    ageing: Ageing

    @classmethod
    def of(cls, now: datetime) -> Self:
        """Read it, in one query; where rates are asked for, in one more."""
        return cls(ageing.read(now))

    @cached_property
    def display(self) -> Display | None:
        """The rates that are set."""
        return Display.objects.order_by("pk").first()

    @property
    def rows(self) -> list[Row]:
        """A line for each entity, class and currency."""
        return [Row.of(aged, self.display) for aged in self.ageing.rows]

    @property
    def sums(self) -> list[Row]:
        """A line for all of each currency."""
        return [Row.of(self.ageing.of(currency), self.display) for currency in self.ageing.currencies]

    @property
    def charts(self) -> list[tuple[Ages, Decimal | None]]:
        """A chart of each currency, and how old that is in days, weighed by value."""
        alls = [self.ageing.of(currency) for currency in self.ageing.currencies if currency]
        return [(drawn(aged), aged.days) for aged in alls]

    @property
    def without_amount(self) -> int:
        """How many have no amount, and stand in no chart."""
        return self.ageing.of("").whole.count

    @property
    def heads(self) -> list[str]:
        """What the ages are called."""
        return [days for _, days in ageing.BUCKETS]

    @property
    def rates(self) -> str:
        """Say by which rates amounts are shown in another currency; empty where none is."""
        return ageing.rates_named(self.display, self.ageing.currencies) if self.display else ""

    @property
    def rated(self) -> str:
        """What all of it comes to at those rates."""
        if self.display is None:
            return ""
        alls = (self.ageing.of(currency) for currency in self.ageing.currencies)
        parts = [ageing.at_rate(self.display, aged.whole.amount, aged.currency) for aged in alls]
        known = [part for part in parts if part is not None]
        return amounts.whole(sum(known, Decimal(0)), self.display.currency) if known else ""


@dataclass(frozen=True)
class Reading:
    """What the page shows: how old everything is, and the differences that an address asks for."""

    old: Old
    chosen: Chosen
    now: datetime
    after: int | None = None
    """The last difference of the page before."""

    @cached_property
    def count(self) -> int:
        """How many the address asks for, over all pages."""
        return self.chosen.among(self.now).count() if self.chosen.address else self.old.ageing.count

    @cached_property
    def _listed(self) -> list[Finding]:
        rows = self.chosen.among(self.now)
        before = Finding.objects.filter(pk=self.after).first() if self.after else None
        if before is not None:
            same = Q(first_seen_at=before.first_seen_at, pk__gt=before.pk)
            rows = rows.filter(Q(first_seen_at__gt=before.first_seen_at) | same)
        return list(rows.select_related(*READ).order_by("first_seen_at", "pk")[: SHOWN + 1])

    @property
    def differences(self) -> list[Difference]:
        """Those of this page, the oldest first."""
        rows = self._listed[:SHOWN]
        known = waivers.standing(rows, self.now)
        return [Difference.of(one, one.run, self.now, known.get(one.pk), at=self.now) for one in rows]

    @property
    def last(self) -> int | None:
        """The last difference of this page, where there are more."""
        return self._listed[SHOWN - 1].pk if len(self._listed) > SHOWN else None
