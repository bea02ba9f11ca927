"""The queue, and where the front door leads."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from ledger.models import Operation, database_now
from reconcile.models import History
from review import choices, filters, histories, pausing, queue
from review.access import people_only
from review.place import carry
from review.row import rows

WITH_REPEATS = ("open", "person")
"""The views in which triggers that ran more than once stand, too."""


@people_only
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Invite on an empty system; else lead to the queue."""
    if Operation.objects.exists() or History.objects.exists():
        return redirect("queue")
    return render(request, "review/empty.html")


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the operations of one address: a saved view, filters, an order."""
    now = database_now()
    chosen = filters.Filter.read(request.GET)
    found = list(queue.rows(chosen, now)[: queue.SHOWN + 1])
    counted, types = queue.counts(now), queue.types()
    offered = choices.offered(chosen, counted.currencies, types)
    tabs = [
        (words, chosen.at(view).address, counted.views.get(view), view == chosen.view)
        for view, words in filters.VIEWS.items()
    ]
    context = {
        "section": "queue",
        "now": now,
        "chosen": chosen,
        "tabs": tabs,
        "counted": counted,
        "rows": [
            (row, carry(chosen, number)) for number, row in enumerate(rows(found[: queue.SHOWN], now), 1)
        ],
        "pauses": pausing.open_pauses(),
        "repeats": histories.waiting(now) if counted.repeated and chosen.view in WITH_REPEATS else [],
        "more": len(found) > queue.SHOWN,
        "shown": queue.SHOWN,
        "choices": offered,
        "chips": choices.chips(chosen, offered),
    }
    return render(request, "review/queue.html", context)
