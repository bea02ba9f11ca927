"""The web shop beside Durban Books: the orders that it took, by its own list and its own count."""

from datetime import UTC, datetime
from decimal import Decimal

from ledger.sandbox.books import Books, written
from ledger.sandbox.messages import Answer, Request, refuse, tell
from ledger.sandbox.reading import AMOUNT, CURRENCY, instant, invalid

PLACES = (["orders"], ["orders", "count"])


def answer(books: Books, request: Request) -> Answer:
    """Do what is asked of the shop: take an order, list them, count them."""
    match [request.method, *request.segments]:
        case ["POST", "orders"]:
            return tell(201, books.keep_order(_order(request.document())))
        case ["GET", "orders"]:
            return tell(200, {"data": books.orders(_since(request))})
        case ["GET", "orders", "count"]:
            totals = [Decimal(str(order["total"])) for order in books.orders(_since(request))]
            return tell(200, {"count": len(totals), "total": f"{sum(totals, Decimal(0)):.2f}"})
        case [_, "orders"]:
            allowed = "GET, POST"
        case _:
            allowed = "GET"
    headers = {"Allow": allowed}
    return refuse(405, "method_not_allowed", message=f"This takes {allowed} only.", headers=headers)


def _order(sent: dict[str, object]) -> dict[str, str]:
    """Read an order: number, total, currency, status, and when it was placed, now where that is not said."""
    number, total, currency = (sent.get(name) for name in ("number", "total", "currency"))
    status, placed_at = sent.get("status", "paid"), sent.get("placed_at", written(datetime.now(UTC)))
    if not isinstance(number, str) or not number or not isinstance(status, str):
        raise invalid("number and status are text.")
    if not isinstance(total, str) or not AMOUNT.fullmatch(total):
        raise invalid("total is text: a decimal number with 2 places at most.")
    if not isinstance(currency, str) or not CURRENCY.fullmatch(currency):
        raise invalid("currency is three capital letters.")
    order = {"number": number, "total": total, "currency": currency, "status": status}
    return {**order, "placed_at": instant(str(placed_at), "placed_at")}


def _since(request: Request) -> str:
    """Return from when on orders are asked for; all of them where that is not said."""
    since = request.query.get("since")
    return "" if since is None else instant(since, "since")
