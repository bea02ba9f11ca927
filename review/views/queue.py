"""The queue."""

from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from review import access, choices, cursors, filters, histories, listing, pausing, saved
from review.access import people_only
from review.counting import counts
from review.cursors import Cursor
from review.queue import Queue
from review.views.operation import UNCHANGED, wants_fragment

WITH_REPEATS = ("open", "person")
"""The views in which triggers that ran more than once stand, too."""


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show one page of an address: a saved view, filters, an order, as of an instant."""
    now = database_now()
    queue = Queue(
        filters.Filter.read(request.GET, access.reader(request.user)),
        cursors.instant(request.GET.get("at", ""), now),
    )
    if wants_fragment(request):
        return _news(request, queue)
    after, before = (Cursor.read(request.GET.get(name, "")) for name in ("after", "before"))
    page = queue.page(after=after, before=before)
    listed = listing.listed(queue, page, now, number=listing.number(request.GET.get("n", "")))
    return render(
        request, "review/queue.html", _context(queue, now, request.user) | {"listed": listed, "now": now}
    )


def _news(request: HttpRequest, queue: Queue) -> HttpResponse:
    """Say how many are new; a page that says so already gets nothing."""
    news = listing.news(queue, database_now())
    if request.GET.get("new") == str(news.count):
        return HttpResponse(status=UNCHANGED)
    return render(request, "review/_news.html", {"news": news})


def _context(queue: Queue, now: Any, person: Any) -> dict[str, Any]:
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
