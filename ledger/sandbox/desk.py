"""What Durban Books offers to those who call it: invoices, voids and reminders; and the shop beside it."""

import base64
import hmac
import json
import re

from ledger.sandbox import shop
from ledger.sandbox.books import Books, Filter
from ledger.sandbox.faults import Orders
from ledger.sandbox.messages import Answer, RefusedError, Request, problem, refuse, tell
from ledger.sandbox.reading import AMOUNT, CURRENCY, instant, invalid

KEY_MAX = 255
PAGE, LARGEST_PAGE = 50, 200
HOME_CURRENCY = "ZAR"
"""What an invoice is in that names no currency: the account's own."""
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def answer(books: Books, request: Request, *, token: str | None, orders: Orders) -> Answer:
    """Do what is asked, under the orders to misbehave; for inside a transaction of the books."""
    if token is not None and not _holds(request, token):
        challenge = {"WWW-Authenticate": "Bearer"}
        return refuse(401, "unauthorized", message="The bearer token is missing or wrong.", headers=challenge)
    try:
        if request.segments in shop.PLACES:
            return shop.answer(books, request)
        return _route(books, request, orders=orders)
    except RefusedError as refused:
        return refused.answer


def _holds(request: Request, token: str) -> bool:
    return hmac.compare_digest(request.authorization.encode(), f"Bearer {token}".encode())


def _route(books: Books, request: Request, *, orders: Orders) -> Answer:
    match [request.method, *request.segments]:
        case ["POST", "invoices"]:
            return _create_once(books, request, orders=orders)
        case ["GET", "invoices"]:
            return _list(books, request, orders=orders)
        case ["GET", "invoices", reference]:
            return _show(books, reference)
        case ["POST", "invoices", reference, "void"]:
            return _void(books, reference)
        case ["POST", "invoices", reference, "credit"]:
            return _credit(books, reference)
        case ["POST", "reminders"]:
            return _remind(books, request)
        case [_, "invoices"]:
            return _wrong_method("GET, POST")
        case [_, "invoices", _]:
            return _wrong_method("GET")
        case [_, "invoices", _, "void" | "credit"] | [_, "reminders"]:
            return _wrong_method("POST")
        case _:
            return refuse(404, "not_found", message=f"There is nothing at {request.path}.")


def _wrong_method(allowed: str) -> Answer:
    message = f"This address takes {allowed} only."
    return refuse(405, "method_not_allowed", message=message, headers={"Allow": allowed})


def _create_once(books: Books, request: Request, *, orders: Orders) -> Answer:
    key = None if orders.get("ignore_keys") else request.key
    if key is not None and len(key) > KEY_MAX:
        return refuse(400, "key_too_long", message=f"Idempotency-Key has more than {KEY_MAX} characters.")
    if failing := orders.get("replay_error"):
        return _fail_for_good(books, key, status=int(failing.quantity or 500))
    saved = books.saved(key) if key is not None else None
    if saved is not None and saved.fingerprint in (None, request.fingerprint()):
        return saved.answer.replayed()
    if saved is not None:
        detail = "This Idempotency-Key was used with another body. Send that body, or use a new key."
        return problem(422, "idempotency_key_reused", title="Key used before", detail=detail)
    made = _create(books, request, orders=orders)
    if key is not None:
        books.save(key, made, fingerprint=request.fingerprint())
    return made


def _fail_for_good(books: Books, key: str | None, *, status: int) -> Answer:
    # Saved without a fingerprint: the corrected body gets the same error, as real destinations do it.
    failure = refuse(status, "internal_error", message="Something went wrong; nothing was made.")
    if key is not None:
        books.save(key, failure, fingerprint=None)
    return failure


def _create(books: Books, request: Request, *, orders: Orders) -> Answer:
    try:
        sent = request.document()
        _check_invoice(sent)
    except RefusedError as refused:
        return refused.answer
    if later := orders.get("accept_only"):
        return tell(202, books.add_invoice(sent, status="processing", opens_in_s=later.quantity))
    return tell(201, books.add_invoice(sent, status="open", opens_in_s=None))


def _check_invoice(sent: dict[str, object]) -> None:
    total, currency = sent.get("total"), sent.setdefault("currency", HOME_CURRENCY)
    if not isinstance(total, str) or not AMOUNT.fullmatch(total):
        raise invalid("total is required: text, a decimal number with 2 places at most.")
    if not isinstance(currency, str) or not CURRENCY.fullmatch(currency):
        raise invalid("currency is three capital letters; left out, it is ZAR.")
    if not isinstance(sent.get("metadata", {}), dict):
        raise invalid("metadata must be an object.")
    if _is_blocked(sent.get("customer")):
        raise RefusedError(refuse(422, "customer_blocked", message="The customer is blocked."))


def _is_blocked(customer: object) -> bool:
    name = customer.get("name") if isinstance(customer, dict) else customer
    blocked = isinstance(customer, dict) and customer.get("blocked") is True
    return blocked or (isinstance(name, str) and name.startswith("Blocked"))


def _list(books: Books, request: Request, *, orders: Orders) -> Answer:
    limit = _limit(request.query.get("limit", str(PAGE)))
    after = _place(request.query["cursor"]) if "cursor" in request.query else None
    wanted = Filter(
        reference=None if orders.get("ignore_filter") else request.query.get("reference"),
        substring=orders.get("substring_filter") is not None,
        updated_since=instant(request.query["updated_since"], "updated_since")
        if "updated_since" in request.query
        else None,
        after=None if orders.get("restart_paging") else after,
    )
    rows = books.invoices(wanted, limit=limit + 1)
    page = rows[:limit]
    more = _cursor(page[-1][0]) if len(rows) > limit else None
    return tell(200, {"data": [record for _, record in page], "next_cursor": more})


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0):
        raise invalid("limit must be a whole number from 1 up.")
    return min(int(text[:9]), LARGEST_PAGE)


def _cursor(place: tuple[str, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[str, int]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        updated_at, number = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if type(number) is int and 0 < number < 10**15 and INSTANT.fullmatch(updated_at):
            return updated_at, number
    except (ValueError, TypeError, RecursionError):
        pass
    raise RefusedError(refuse(400, "bad_cursor", message="The cursor is not one that was given out here."))


def _show(books: Books, reference: str) -> Answer:
    record = books.invoice(reference)
    return _unknown(reference) if record is None else tell(200, record)


def _void(books: Books, reference: str) -> Answer:
    if voided := books.void(reference):
        return tell(200, voided)
    record = books.invoice(reference)
    if record is None:
        return _unknown(reference)
    return refuse(409, "not_voidable", message=f"{reference} is {record['status']} and cannot be voided.")


def _credit(books: Books, reference: str) -> Answer:
    if credited := books.credit(reference):
        return tell(200, credited)
    record = books.invoice(reference)
    if record is None:
        return _unknown(reference)
    return refuse(409, "not_creditable", message=f"{reference} is {record['status']} and cannot be credited.")


def _unknown(reference: str) -> Answer:
    return refuse(404, "not_found", message=f"There is no invoice {reference}.")


def _remind(books: Books, request: Request) -> Answer:
    sent = request.document()
    if not all(isinstance(sent.get(name), str) and sent[name] for name in ("to", "text")):
        raise invalid("to and text are required: text.")
    return tell(201, books.add_reminder(sent))
