"""The queue."""

from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from reconcile.tables import Form
from review import (
    access,
    choices,
    cursors,
    filters,
    grouping,
    histories,
    listing,
    pausing,
    queue_export,
    saved,
)
from review.access import people_only
from review.counting import counts
from review.cursors import Cursor
from review.queue import Queue
from review.views.files import given
from review.views.operation import UNCHANGED, wants_fragment

WITH_REPEATS = ("open", "person")
"""The views in which triggers that ran more than once stand, too."""


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show one page of an address: a saved view, filters, an order, as of an instant."""
    now = database_now()
    queue = _asked(request, now)
    if wants_fragment(request):
        return _news(request, queue)
    context = _context(queue, now, request.user) | _rows(request, queue, now) | {"now": now}
    return render(request, "review/queue.html", context)


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the rows of an address as a file."""
    return given(_kept(request).table, "queue", form)


def _rows(request: HttpRequest, queue: Queue, now: datetime) -> dict[str, Any]:
    if queue.chosen.grouped:
        return {"groups": grouping.of(queue)}
    after, before = (Cursor.read(request.GET.get(name, "")) for name in ("after", "before"))
    page = queue.page(after=after, before=before)
    return {"listed": listing.listed(queue, page, now, number=listing.number(request.GET.get("n", "")))}


def _asked(request: HttpRequest, now: datetime) -> Queue:
    chosen = filters.Filter.read(request.GET, access.reader(request.user))
    return Queue(chosen, cursors.instant(request.GET.get("at", ""), now))


def _kept(request: HttpRequest) -> queue_export.Kept:
    now = database_now()
    queue = _asked(request, now)
    chips = choices.chips(queue.chosen, choices.offered(queue.chosen, [], queue.types))
    return queue_export.kept(queue, now, author=request.user.get_username(), chips=chips)


def _news(request: HttpRequest, queue: Queue) -> HttpResponse:
    """Say how many are new; a page that says so already gets nothing."""
    news = listing.news(queue, database_now())
    if request.GET.get("new") == str(news.count):
        return HttpResponse(status=UNCHANGED)
    return render(request, "review/_news.html", {"news": news})


def _context(queue: Queue, now: datetime, person: Any) -> dict[str, Any]:
    chosen, counted = queue.chosen, counts(now)
    offered = choices.offered(chosen, counted.currencies, queue.types)
    kept = saved.listed(person, chosen)
    repeated = counted.repeated if chosen.view in WITH_REPEATS else 0
    return {
        "section": "queue",
        "chosen": chosen,
        "tabs": listing.tabs(chosen, counted),
        "counted": counted,
        "head": listing.head(counted),
        "news": listing.news(queue, now, ask=False) if chosen.view != "latest" else None,
        "scale": listing.scale(queue, counted),
        "pauses": pausing.open_pauses(),
        "repeats": histories.waiting(now) if repeated else [],
        "picks": access.may(person, "check"),
        "carried": parse_qsl(chosen.address),
        "choices": offered,
        "chips": choices.chips(chosen, offered),
        "saved": kept,
        "kept_here": any(one.current for one in kept),
        "may_share": access.may(person, "share"),
    }
