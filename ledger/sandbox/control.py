"""The doors for tests, drills and the demo: order faults, settle what was accepted, count effects."""

from ledger.sandbox.books import Books
from ledger.sandbox.faults import Faults, rule_from
from ledger.sandbox.messages import Answer, RefusedError, Request, refuse, tell

FINAL = ("open", "paid", "declined", "void")


def is_control(request: Request) -> bool:
    """Whether the request is for these doors and not for the books."""
    return request.path.startswith("/_")


def answer(books: Books, request: Request, *, faults: Faults) -> Answer:
    """Do what the test asks."""
    try:
        match [request.method, *request.segments]:
            case ["GET", "_effects"]:
                return _effects(books, request)
            case ["POST", "_settle"]:
                return _settle(books, request)
            case ["GET", "_faults"]:
                return tell(200, {"rules": faults.told()})
            case ["POST", "_faults"]:
                return _order(request, faults)
            case ["DELETE", "_faults"]:
                return tell(200, {"cleared": faults.clear()})
    except RefusedError as refused:
        return refused.answer
    known = "GET /_effects?key=, POST /_settle, GET, POST and DELETE /_faults"
    return refuse(404, "not_found", message=f"Known are {known}.")


def _order(request: Request, faults: Faults) -> Answer:
    rule = rule_from(request.document())
    told = rule.told()  # before it is queued: a request may use it up at once
    faults.add(rule)
    return tell(201, told)


def _effects(books: Books, request: Request) -> Answer:
    key = request.query.get("key")
    if not key:
        return refuse(400, "invalid_request", message="key is required: the operation's key.")
    with books.transaction():
        effects, deliveries = books.effects(key), books.deliveries(key)
    return tell(200, {"count": len(effects), "effects": effects, "deliveries": deliveries})


def _settle(books: Books, request: Request) -> Answer:
    document = request.document()
    unknown = sorted(set(document) - {"reference", "status"})
    reference, status = document.get("reference"), document.get("status", "open")
    if unknown or not isinstance(reference, str) or status not in FINAL:
        message = f"Send reference, and status: one of {', '.join(FINAL)}; nothing else."
        return refuse(400, "invalid_request", message=message)
    with books.transaction():
        settled = books.settle(reference, status=str(status))
    if not settled:
        return refuse(404, "not_found", message=f"Nothing of {reference} is processing.")
    return tell(200, {"count": len(settled), "settled": settled})
