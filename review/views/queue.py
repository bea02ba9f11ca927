"""The queue, and where the front door leads."""

from collections import Counter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from ledger.models import Operation, OperationType, database_now
from reconcile.models import History
from review import filters, histories, pausing, queue
from review.access import people_only
from review.place import carry
from review.row import Row

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
            (Row.of(row, now), carry(chosen, number)) for number, row in enumerate(found[: queue.SHOWN], 1)
        ],
        "pauses": pausing.open_pauses(),
        "repeats": histories.waiting(now) if counted.repeated and chosen.view in WITH_REPEATS else [],
        "more": len(found) > queue.SHOWN,
        "shown": queue.SHOWN,
        "choices": _choices(chosen, counted, types),
    }
    return render(request, "review/queue.html", context)


def _told_apart(types: list[OperationType]) -> list[tuple[str, str]]:
    """Return names and labels; two that are called alike carry their names as well."""
    often = Counter(kind.label for kind in types)
    return [
        (kind.name, f"{kind.label} ({kind.name})" if often[kind.label] > 1 else kind.label) for kind in types
    ]


def _choices(
    chosen: filters.Filter, counted: queue.Counts, types: list[OperationType]
) -> list[tuple[str, str, str, list[tuple[str, str]], str]]:
    """Return the select boxes: label, name, the words for no choice, the choices, and the chosen one."""
    owners = sorted({kind.owner for kind in types})
    currencies = sorted({*counted.currencies, chosen.currency} - {""})
    choices = [
        ("State", "state", "Any state", list(filters.STATES.items()), chosen.state),
        ("Found", "found", "Anything found", list(filters.FOUND.items()), chosen.found),
        ("Type", "type", "Any type", _told_apart(types), chosen.type),
        ("Owner", "owner", "Any owner", [(owner, owner) for owner in owners], chosen.owner),
        ("Currency", "currency", "Any currency", [(code, code) for code in currencies], chosen.currency),
    ]
    if chosen.view != "latest":
        choices.append(("Order", "order", "", list(filters.ORDERS.items()), chosen.order))
    return choices
