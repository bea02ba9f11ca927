"""The connector for JSON over HTTP, driven by the configuration file alone."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import httpx

from ledger.destinations.connectors import bodies, paging, steps, wire
from ledger.destinations.connectors.access import Access
from ledger.destinations.connectors.base import (
    LOOK_ITEMS,
    PULL_ITEMS,
    ConfigurationError,
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
    secret,
)
from ledger.destinations.connectors.routes import route_of
from ledger.destinations.connectors.steps import Page, Step
from ledger.destinations.pacing import LIST_WAIT_S, MIND, NoRoom
from ledger.rules import moments, placeholders, strict_json
from ledger.rules.calls import COUNTED, FAILS, Paging
from ledger.rules.connections import Auth
from ledger.rules.errors import Malformed
from ledger.rules.outcomes import Answer, retry_after_s
from ledger.rules.records import holds, search

BODY_MAX_BYTES = 5 * 1024 * 1024
LOOK_PAGES, PULL_PAGES = 50, 20_000
_PARTIAL, _UNAUTHORIZED, _TOO_OFTEN = 206, 401, 429
FIRST_PAUSE_S = 0.5
LEFT_PART = 0.5
"""No send starts with less of its time left: it would only meet silence."""
_GENERAL = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "tieout"}


class HttpConnector:
    """Sends, looks up and lists over HTTP; secrets are read when it is made."""

    def __init__(self, target: Target) -> None:
        if target.reach.base_url is None:
            raise ConfigurationError(f"{target.title} has no base_url.")
        self._title, self._account = target.title, target.account
        self._base = target.reach.base_url.rstrip("/")
        self._auth = authorization(target.reach.auth)
        self._route = route_of(target.reach)
        self._pace = target.pace
        auth = target.reach.auth
        oauth2 = auth is not None and auth.kind == "oauth2"
        self._access = Access(target, auth, self._route) if auth is not None and oauth2 else None

    def send(self, request: SendRequest) -> Answer:
        """Send once, within the deadline; the answer says what is known of whether it arrived."""
        deadline = wire.Deadline(request.timeout_s)
        try:
            outgoing = self._outgoing_send(request)
            self._take_turn(deadline)
            self._authorize(outgoing, deadline)
            if self._access is not None and deadline.left_s() < deadline.total_s * LEFT_PART:
                raise wire.NotSent("Renewing its access token took most of the time; it is there now.")
        except (Malformed, ConfigurationError) as error:
            return Answer("not_sent", detail=error.detail)
        except wire.NotSent as error:
            return Answer("not_sent", detail=str(error))
        try:
            answer = answer_of(self._exchange(outgoing, deadline, hang_up=request.hang_up))
            lapsed = self._access is not None and answer.status == _UNAUTHORIZED and self._access.lapsed()
            return replace(answer, access_lapsed=lapsed)
        except wire.NotSent as error:
            return Answer("not_sent", detail=str(error))
        except wire.BrokenOff as error:
            return Answer("silent", status=error.status, detail=str(error))

    def look_up(self, request: LookRequest) -> Looked:
        """Ask for one operation, reading every page; a failure is part of the result."""
        deadline = wire.Deadline(request.timeout_s)
        single_page = request.call.paging.style == "none"
        items: list[object] = []
        told: int | None = None
        try:
            listing = self._listing(request, request.values, pages=LOOK_PAGES, items=LOOK_ITEMS)

            def fetch(step: Step, number: int) -> Page:
                nonlocal told
                outgoing = self._question(request, request.values, step)
                page = self._page(outgoing, deadline, absent=request.contract.absent)
                told = page.absent
                return self._refuse_failed(page, request.call.fails)

            for page in paging.walk(listing, fetch):
                items += page.items
        except IncompletePull as error:
            return Looked(
                tuple(items), complete=False, why=error.reason, single_page=single_page, status=error.status
            )
        except (Malformed, ConfigurationError) as error:
            return Looked((), complete=False, why=error.detail, single_page=single_page)
        return Looked(tuple(items), complete=True, single_page=single_page, status=told)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Yield what the destination holds, page by page; raises IncompletePull."""
        call = request.call
        since = moments.write(request.since, form=call.since_format, zone=call.timezone)
        values = {"since": since, "account": self._account}

        def fetch(step: Step, number: int) -> Page:
            # "No such" past the end is the end; of what was asked for first it is a wrong address or place.
            absent = () if number == 0 else request.contract.absent
            outgoing = self._question(request, values, step)

            def once(wait_s: float) -> Page:
                with nullcontext() if self._pace is None else self._pace.room(wait_s=wait_s):
                    return self._page(outgoing, wire.Deadline(request.timeout_s), absent=absent)

            return self._refuse_failed(_patiently(once), call.fails)

        try:
            listing = self._listing(request, values, pages=PULL_PAGES, items=PULL_ITEMS)
            yield from paging.walk(listing, fetch, place=request.place)
        except (Malformed, ConfigurationError) as error:
            raise IncompletePull(error.detail) from None

    def _outgoing_send(self, request: SendRequest) -> httpx.Request:
        values = {**request.values, "idempotency_key": request.idempotency_key}
        contract, call = request.contract, request.call
        keyed = {contract.key_name: request.idempotency_key} if contract.idempotency == "header" else {}
        content, kind = bodies.of_send(request, values)
        headers = {**self._headers(call.headers, values), **keyed, "Content-Type": kind}
        return _build(call.method, self._url(call.path, values), headers=headers, content=content)

    def _question(
        self, request: LookRequest | ListRequest, values: placeholders.Values, step: Step
    ) -> httpx.Request:
        """Return the request for one page, its place written where the rules say."""
        call, goes = request.call, request.call.paging
        filled = {**values, **_counted(goes, step)}
        url = self._url(call.path, filled)
        if step.path is not None:
            url = url.copy_with(raw_path=step.path.encode("ascii"))
        named = {} if step.value is None or goes.parameter is None else {goes.parameter: step.value}
        inside = goes.where == "body"
        for name, value in ({} if inside else named).items():
            url = url.copy_set_param(name, str(value))
        body = bodies.of_question(request, filled, at=named if inside else {})
        content, kind = body or (None, None)
        headers = self._headers(call.headers, filled, kind)
        return _build(call.method, url, headers=headers, content=content)

    def _listing(
        self, request: LookRequest | ListRequest, values: placeholders.Values, *, pages: int, items: int
    ) -> paging.Listing:
        call = request.call
        filled = {**values, **_counted(call.paging, steps.first(call.paging))}
        return paging.Listing(
            url=self._url(call.path, filled),
            paging=call.paging,
            items=call.items,
            id=request.record.id,
            max_pages=pages,
            max_items=items,
        )

    def _url(self, path: str | None, values: placeholders.Values) -> httpx.URL:
        if path is None:
            raise ConfigurationError(f"A call of {self._title} has no path.")
        try:
            return httpx.URL(self._base + placeholders.fill(path, values, encode=True))
        except httpx.InvalidURL:
            raise ConfigurationError(
                f"An address of {self._title} cannot be read: check base_url and path."
            ) from None

    def _headers(
        self, own: Mapping[str, str], values: placeholders.Values, kind: str | None = None
    ) -> dict[str, str]:
        filled = bodies.of_headers(own, values)
        body = {} if kind is None else {"Content-Type": kind}
        return {**_GENERAL, **body, **filled, **self._auth}

    def _refuse_failed(self, page: Page, fails: str | None) -> Page:
        """Refuse an answer that tells of a failure, unlike its status; raises IncompletePull."""
        if isinstance(page.body, dict) and holds(search(fails or FAILS, page.body)):
            raise IncompletePull(f"{self._title} answered with an error in place of what was asked for.")
        return page

    def _authorize(self, outgoing: httpx.Request, deadline: wire.Deadline) -> None:
        """Put the access token in that is good now; raises NotSent and ConfigurationError."""
        if self._access is not None:
            outgoing.headers["Authorization"] = f"Bearer {self._access.token(deadline)}"

    def _take_turn(self, deadline: wire.Deadline) -> None:
        """Wait until the destination may be called; raises NotSent where that is not in time."""
        if self._pace is None:
            return
        try:
            self._pace.turn(within_s=deadline.left_s())
        except NoRoom as error:
            raise wire.NotSent(error.detail) from None

    def _exchange(
        self, outgoing: httpx.Request, deadline: wire.Deadline, *, hang_up: bool = False
    ) -> wire.Whole:
        whole = wire.exchange(
            outgoing, deadline=deadline, limit_bytes=BODY_MAX_BYTES, route=self._route, hang_up=hang_up
        )
        if self._pace is not None and whole.status in MIND:
            self._pace.mind(_asked_to_wait(whole) or 0)
        return whole

    def _page(self, outgoing: httpx.Request, deadline: wire.Deadline, *, absent: tuple[int, ...]) -> Page:
        """Fetch one page of a list; whatever is not a whole, readable answer raises IncompletePull."""
        try:
            self._take_turn(deadline)
            self._authorize(outgoing, deadline)
            whole = self._exchange(outgoing, deadline)
            if self._access is not None and whole.status == _UNAUTHORIZED and self._access.lapsed():
                # Asking again makes no second effect.
                self._take_turn(deadline)
                self._authorize(outgoing, deadline)
                whole = self._exchange(outgoing, deadline)
        except (wire.NotSent, wire.BrokenOff) as error:
            raise IncompletePull(str(error)) from None
        if whole.status in absent:
            return self._absent(whole)
        if not 200 <= whole.status < 300 or whole.status == _PARTIAL:
            listed = ", which is no listed absence" if whole.status in (404, 410) else ""
            words = f"{self._title} answered with status {whole.status}{listed}."
            raise IncompletePull(words, status=whole.status, wait_s=_asked_to_wait(whole))
        body, readable, detail = _decode(whole)
        if not readable or not whole.body:
            raise IncompletePull(detail or f"{self._title} answered with nothing.")
        return Page(whole.headers, body)

    def _absent(self, whole: wire.Whole) -> Page:
        """Take a listed status as "no such record", unless a page for people came with it: a gateway's."""
        _, readable, detail = _decode(whole)
        if not readable:
            words = f"{self._title} answered with status {whole.status}, and not in its own words. {detail}"
            raise IncompletePull(words, status=whole.status)
        return Page(whole.headers, None, absent=whole.status)


def authorization(auth: Auth | None) -> dict[str, str]:
    """Return the headers by which a destination knows us; raises ConfigurationError."""
    if auth is None:
        return {}
    match auth.kind:
        case "bearer":
            return {"Authorization": f"Bearer {secret(auth.token or '')}"}
        case "header":
            return {auth.name or "": secret(auth.value or "")}
        case "basic":
            pair = f"{auth.user}:{secret(auth.password or '')}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}
        case "oauth2":
            return {}  # its token is asked for right before each call


def _asked_to_wait(whole: wire.Whole) -> float | None:
    """Return after how many seconds an answer wants to be asked again; None where it does not say so."""
    if whole.status not in MIND:
        return None
    said = retry_after_s(Answer("answered", headers=whole.headers, received_at=datetime.now(UTC)))
    return 0 if said is None and whole.status == _TOO_OFTEN else said


def _patiently(fetch: Callable[[float], Page]) -> Page:
    """Fetch a page of a list, and again as it asks to be, while that comes to no more than LIST_WAIT_S.

    `fetch` is given how long it may wait for room. Each pause is twice the one before at the least.
    """
    left_s, pause_s = LIST_WAIT_S, FIRST_PAUSE_S
    while True:
        try:
            return fetch(left_s)
        except IncompletePull as error:
            if error.wait_s is None:
                raise
            wait_s = max(error.wait_s, pause_s)
            if wait_s > left_s:
                raise IncompletePull(
                    f"{error.reason} It asks to wait for longer than a list waits.", status=error.status
                ) from None
        time.sleep(wait_s)
        left_s, pause_s = left_s - wait_s, pause_s * 2


def _counted(goes: Paging, step: Step) -> dict[str, str | int]:
    """Return the number of the page, or of its first item, as a placeholder's value."""
    return {"position": step.value} if goes.style in COUNTED and step.value is not None else {}


def _build(
    method: str, url: httpx.URL, *, headers: Mapping[str, str], content: bytes | None
) -> httpx.Request:
    try:
        return httpx.Request(method, url, headers=headers, content=content)
    except (UnicodeEncodeError, ValueError):
        raise Malformed("A header of the request has characters that HTTP cannot carry.") from None


def answer_of(whole: wire.Whole) -> Answer:
    """Return a whole answer with its body decoded, where it is JSON."""
    body, readable, detail = _decode(whole)
    return Answer(
        "answered",
        status=whole.status,
        headers=whole.headers,
        body=body,
        readable=readable,
        detail=detail,
        received_at=datetime.now(UTC),
    )


def _decode(whole: wire.Whole) -> tuple[object, bool, str]:
    """Return the decoded body, whether it can be read, and why not; an empty body can."""
    if whole.cut:
        return None, False, f"The answer is longer than {BODY_MAX_BYTES // 1024 // 1024} MB."
    if not whole.body.strip():
        return None, True, ""
    if whole.headers.get("content-encoding", "identity").lower() != "identity":
        return None, False, "The answer is compressed, which was not asked for."
    try:
        return strict_json.loads_decimal(whole.body), True, ""
    except Malformed:
        return None, False, "The answer is not JSON that can be read in one way only."
