"""What carries a reference and is no operation: differences without one, runs, bulk actions and samples.

A difference is found by its reference, as operations are, and by what stands in it between strokes, such as
the number of an order; by the id of a record there, typed whole; and by its number. The others are found by
their number or id, a run also by its plan, whose latest it is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, Func, Q, QuerySet, Value
from django.db.models.functions import Concat, Length, Lower
from django.urls import reverse

from ledger.models import folded, record_ids
from reconcile.models import Finding, Run, reference_parts
from review import amounts, difference, runs
from review.built import built
from review.bulk.reading import badge
from review.bulk.reading import name as does
from review.instants import instant
from review.models import Bulk, Sample

SHOWN = 20
LAST = "\U0010ffff"
"""Ends what begins so."""
_NUMBER = re.compile(r"(difference|run|bulk action|sample)?\s*#?(\d{1,9})", re.IGNORECASE)
_KINDS = ("difference", "run", "bulk action", "sample")
_NONE = 0
"""The number of no row."""

Row = tuple[str, int, str, int]
"""Its kind, its number, what it carries, folded, and 1 where that is its number alone."""


@dataclass(frozen=True)
class Also:
    """One that was found: what it is, where it stands, and its address."""

    name: str
    icon: str
    says: str
    amount: str
    url: str


@dataclass(frozen=True)
class Found:
    """What was found, at most one more than is shown; `weak` where only a bare number leads there."""

    lines: Sequence[Also]
    weak: bool


def found(asked: str, one: UUID | None, now: datetime) -> Found:
    """Return what carries it, exactly it first; one query, and one for each kind that was found.

    `one` is what is asked, read as an id.
    """
    matched = _NUMBER.fullmatch(asked)
    word, number = ((matched[1] or "").lower(), int(matched[2])) if matched else ("", _NONE)
    words = "/".join(re.findall(r"[^\s/]+", asked.lower())) or asked
    held = _carrying(asked, words, one or UUID(int=0), number)
    rows = [row for row in held if not row[3] or word in ("", row[0])]
    carried = [row for row in rows if not row[3]]
    kept = sorted(set(carried or rows), key=lambda row: (row[2] != asked.lower(), -row[1]))
    return Found(_told(kept, now)[: SHOWN + 1], weak=not carried and not word)


@built
def _carrying(asked: str, words: str, one: UUID, number: int) -> QuerySet[Any, Row]:
    """Ask each kind; each part is read off an index and stops at what is shown.

    What has all `words` between its strokes comes shortest first: no index has that order, so that the
    words' own is read.
    """
    exactly = Lower(Value(asked))
    bare = Finding.objects.filter(
        Q(lives=True) | Q(gone_in__isnull=False), operation=None, run__state=Run.State.DONE
    )
    begins = bare.exclude(reference="").annotate(text=folded("reference"))
    begins = begins.filter(text__gte=folded(Value(asked)), text__lt=folded(Concat(Value(asked), Value(LAST))))
    parts = bare.exclude(reference="").annotate(parts=reference_parts(), text=folded("reference"))
    inside = parts.filter(parts__contains=Func(Value(words), Value("/"), function="string_to_array"))
    there = bare.annotate(ids=record_ids("destination")).filter(ids__contains=[exactly])
    latest = Run.objects.annotate(plan_name=Lower("plan__name")).filter(plan_name=exactly)
    first, *others = (
        _some(_KINDS[0], begins.order_by("text", "-id"), F("text")),
        _some(_KINDS[0], inside.order_by(Length("reference"), "-id"), F("text")),
        _some(_KINDS[0], there.order_by("-id"), exactly),
        _some(_KINDS[0], Finding.objects.filter(pk=number), exactly, alone=1),
        _some(_KINDS[1], latest.order_by("-id"), exactly, most=1),
        _some(_KINDS[1], Run.objects.filter(uid=one), exactly),
        _some(_KINDS[1], Run.objects.filter(pk=number), exactly, alone=1),
        _some(_KINDS[2], Bulk.objects.filter(uid=one), exactly),
        _some(_KINDS[2], Bulk.objects.filter(pk=number), exactly, alone=1),
        _some(_KINDS[3], Sample.objects.filter(uid=one), exactly),
        _some(_KINDS[3], Sample.objects.filter(pk=number), exactly, alone=1),
    )
    every: QuerySet[Any, Row] = first.union(*others, all=True)
    return every


def _some(kind: str, rows: Any, text: Any, *, alone: int = 0, most: int = SHOWN + 1) -> Any:
    told = rows.annotate(kind=Value(kind, CharField()), carries=text, alone=Value(alone))
    return told.values_list("kind", "pk", "carries", "alone")[:most]


def _told(rows: Sequence[Row], now: datetime) -> list[Also]:
    """Read rows in their order; of what was gone and came back, the latest alone."""
    known: dict[tuple[str, int], Also] = {}
    for kind, read in (
        (_KINDS[0], _differences),
        (_KINDS[1], _runs),
        (_KINDS[2], _bulks),
        (_KINDS[3], _samples),
    ):
        if pks := [pk for its, pk, *_ in rows if its == kind]:
            known |= {(kind, pk): line for pk, line in read(pks, now)}
    return [known[it] for it in dict.fromkeys((its, pk) for its, pk, *_ in rows) if it in known]


def _differences(pks: Sequence[int], now: datetime) -> Iterator[tuple[int, Also]]:
    read = Finding.objects.select_related("run__plan__operation_type__destination", "operation", "case")
    seen = set()
    for one in read.filter(pk__in=pks).order_by("-pk"):
        it = (one.run.plan_id, one.item_class, one.reference or one.fingerprint, one.currency)
        if it not in seen:
            seen.add(it)
            yield one.pk, _difference(one, now)


def _difference(one: Finding, now: datetime) -> Also:
    line = runs.Difference.of(one, one.run, now)
    ended = ", gone since" if one.gone_in_id else "" if one.is_open else ", closed"
    says = f"{line.title}, first seen {line.first_seen}{ended}"
    amount = amounts.whole(one.amount, one.currency)
    return Also(line.name, line.icon, says, amount, difference.address(one))


def _runs(pks: Sequence[int], now: datetime) -> Iterator[tuple[int, Also]]:
    for run in Run.objects.filter(pk__in=pks).select_related("plan"):
        says = f"{run.get_state_display()}, begun {instant(run.started_at, now)}"
        url = reverse("run", args=[run.uid])
        yield run.pk, Also(f"Run {run.pk} · {run.plan.name}", "completed", says, "", url)


def _bulks(pks: Sequence[int], now: datetime) -> Iterator[tuple[int, Also]]:
    for bulk in Bulk.objects.filter(pk__in=pks):
        mark, url = badge(bulk), reverse("bulk", args=[bulk.uid])
        says = f"{mark.words}, {bulk.frozen} items, frozen by {bulk.maker} {instant(bulk.frozen_at, now)}"
        yield bulk.pk, Also(f"Bulk action {bulk.pk}: {does(bulk)}", mark.icon, says, "", url)


def _samples(pks: Sequence[int], now: datetime) -> Iterator[tuple[int, Also]]:
    for one in Sample.objects.filter(pk__in=pks):
        says = f"{len(one.items)} drawn by {one.drawn_by} {instant(one.drawn_at, now)}"
        yield one.pk, Also(f"Sample {one.pk}", "completed", says, "", reverse("sample", args=[one.uid]))
