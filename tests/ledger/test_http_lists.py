"""Look-ups and lists over HTTP: read to their end, page by page, or said not to be."""

import json
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from ledger.destinations.connectors.base import IncompletePull, ListRequest, Looked
from ledger.rules.calls import ListCall
from ledger.rules.contracts import Contract
from ledger.rules.records import judge
from ledger.rules.states import Verdict
from tests.ledger.wires import KEY, RECORD, Handler, answering, connector, looking, serving
from tests.sandboxes import Sandbox

CURSOR: dict[str, object] = {"style": "cursor", "next": "next_cursor", "parameter": "cursor"}


def item(number: int, reference: str = KEY) -> dict[str, Any]:
    total = {"total": "1240.00", "currency": "ZAR"}
    return {"id": f"INV-{number}", "metadata": {"operation": reference}, "status": "open", **total}


def scripted(answer: Callable[[str, dict[str, str]], object]) -> Handler:
    """Answer each request by its path and query with a JSON body, or with (status, body, *headers)."""

    def handle(connection: socket.socket, request: bytes) -> None:
        target = urlsplit(request.split(b" ")[1].decode())
        query = {name: values[0] for name, values in parse_qs(target.query).items()}
        result = answer(unquote(target.path), query)
        status, body, *headers = result if isinstance(result, tuple) else ("200 OK", result)
        answering(json.dumps(body).encode(), status, *headers)(connection, request)

    return handle


def look(handler: Handler, **call: Any) -> Looked:
    with serving(handler) as wire:
        return connector(wire.url).look_up(looking(**call))


def verdict(looked: Looked) -> Verdict:
    return judge(
        looked.items,
        map=RECORD,
        reference=KEY,
        amount=None,
        currency=None,
        complete=looked.complete,
        why=looked.why,
        single_page=looked.single_page,
    ).verdict


# --- what is not absence


def test_a_404_from_a_wrong_path_is_no_absence() -> None:
    looked = look(answering(b'{"error": "not found"}', "404 Not Found"))
    assert (looked.complete, looked.items) == (False, ())
    assert "404, which is no listed absence" in looked.why
    assert verdict(looked) is Verdict.COULD_NOT_LOOK


def test_a_404_that_the_contract_lists_is_an_empty_whole_answer() -> None:
    looked = look(answering(b"", "404 Not Found"), contract=Contract(absent=(404,)))
    assert looked == Looked((), complete=True, single_page=True, status=404)
    assert look(answering(b'{"code": "gone"}', "404 Not Found"), contract=Contract(absent=(404,))).complete


@pytest.mark.parametrize("body", [b"<html><h1>404 Not Found</h1></html>", b"no such route", b'{"error": "no'])
def test_a_listed_status_with_a_page_for_people_is_no_absence(body: bytes) -> None:
    """A gateway answers so while what stands behind it is exchanged."""
    looked = look(answering(body, "404 Not Found"), contract=Contract(absent=(404,)))
    assert (looked.complete, looked.status) == (False, 404)
    assert "answered with status 404, and not in its own words" in looked.why
    assert verdict(looked) is Verdict.COULD_NOT_LOOK


@pytest.mark.parametrize(
    "status", ["204 No Content", "206 Partial Content", "301 Moved", "401 Who", "429 Slow", "500 No"]
)
def test_any_other_status_is_no_absence(status: str) -> None:
    looked = look(answering(b'{"data": []}' if status[0] != "3" and status[:3] != "204" else b"", status))
    assert (looked.complete, bool(looked.why)) == (False, True)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b'{"data": null}', b'{"data": "none"}', b"[]", b'{"data": 0}']
)
def test_an_answer_without_a_list_is_no_absence(body: bytes) -> None:
    assert not look(answering(body)).complete


def test_a_destination_that_is_down_is_no_absence() -> None:
    looked = connector("http://books.invalid").look_up(looking())
    assert looked.why == "The address is not known (DNS)."


def test_an_answer_that_drips_is_no_absence() -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while not wire.stop.wait(0.05):
            connection.sendall(b" ")

    with serving(drip) as wire:
        looked = connector(wire.url).look_up(looking(timeout_s=1.0))
    assert (looked.complete, looked.why) == (False, "Read time-out after 1.0 s.")


def test_the_deadline_is_for_all_pages_together() -> None:
    def slow(_: str, query: dict[str, str]) -> object:
        wire.stop.wait(0.2)
        return {"data": [], "next_cursor": str(int(query.get("cursor", "0")) + 1)}

    with serving(scripted(slow)) as wire:
        looked = connector(wire.url).look_up(looking(timeout_s=0.7, paging=CURSOR))
    assert not looked.complete
    assert len(wire.requests) <= 4


def test_a_reference_that_is_not_known_yet_cannot_be_asked_for() -> None:
    looked = look(answering(b'{"data": []}'), path="/invoices/{source.reference}")
    assert (looked.complete, "source.reference" in looked.why) == (False, True)


# --- pages


def pages_of(count: int, size: int = 2) -> list[list[dict[str, Any]]]:
    rows = [item(number, f"order/webshop/{number}/v1") for number in range(count)]
    return [rows[start : start + size] for start in range(0, count, size)]


PAGES = pages_of(5)


def by_cursor(_: str, query: dict[str, str]) -> object:
    number = int(query.get("cursor", "0"))
    following = str(number + 1) if number + 1 < len(PAGES) else None
    return {"data": PAGES[number], "next_cursor": following}


def by_page(_: str, query: dict[str, str]) -> object:
    number = int(query["page"]) - 1
    return {"data": PAGES[number] if number < len(PAGES) else []}


def by_offset(_: str, query: dict[str, str]) -> object:
    rows = [row for page in PAGES for row in page]
    start = int(query["offset"])
    return {"data": rows[start : start + 2]}  # capped at two, whatever was asked for


def by_last_id(_: str, query: dict[str, str]) -> object:
    rows = [row for page in PAGES for row in page]
    ids = [row["id"] for row in rows]
    start = ids.index(query["after"]) + 1 if "after" in query else 0
    return {"data": rows[start : start + 2], "has_more": start + 2 < len(rows)}


def by_link(path: str, query: dict[str, str]) -> object:
    number = int(path.removeprefix("/p/")) if path.startswith("/p/") else 0
    following = f"/p/{number + 1}" if number + 1 < len(PAGES) else None
    return {"data": PAGES[number], "links": {"next": following}}


def by_header(path: str, query: dict[str, str]) -> object:
    number = int(path.removeprefix("/p/")) if path.startswith("/p/") else 0
    following = f', </p/{number + 1}>; rel="next"' if number + 1 < len(PAGES) else ""
    return ("200 OK", {"data": PAGES[number]}, f'Link: </p/0>; rel="first"{following}')


STYLES: list[tuple[dict[str, object], Callable[[str, dict[str, str]], object]]] = [
    (CURSOR, by_cursor),
    ({"style": "page", "parameter": "page"}, by_page),
    ({"style": "offset", "parameter": "offset", "size": 200}, by_offset),
    ({"style": "last_id", "parameter": "after", "more": "has_more"}, by_last_id),
    ({"style": "link", "next": "links.next"}, by_link),
    ({"style": "link", "next": "header"}, by_header),
]


@pytest.mark.parametrize(("paging", "answer"), STYLES, ids=[answer.__name__ for _, answer in STYLES])
def test_every_way_of_paging_is_read_to_its_end(
    paging: dict[str, object], answer: Callable[[str, dict[str, str]], object]
) -> None:
    looked = look(scripted(answer), paging=paging)
    assert (looked.why, looked.complete) == ("", True)
    assert looked.items == tuple(row for page in PAGES for row in page)
    assert verdict(looked) is Verdict.ABSENT


def test_an_ignored_filter_on_one_page_is_could_not_look_and_over_all_pages_is_absence() -> None:
    assert verdict(look(scripted(lambda *_: {"data": PAGES[0]}))) is Verdict.COULD_NOT_LOOK
    assert verdict(look(scripted(by_cursor), paging=CURSOR)) is Verdict.ABSENT


def test_our_record_is_found_on_a_later_page() -> None:
    def late(_: str, query: dict[str, str]) -> object:
        if "cursor" in query:
            return {"data": [item(9)], "next_cursor": None}
        return {"data": PAGES[0], "next_cursor": "2"}

    assert verdict(look(scripted(late), paging=CURSOR)) is Verdict.ONE_MATCH


LINK: dict[str, object] = {"style": "link", "next": "next"}
UNENDING: list[tuple[dict[str, object], Callable[[str, dict[str, str]], object], str]] = [
    (CURSOR, lambda _, q: {"data": PAGES[0], "next_cursor": "2"}, "started again"),
    (CURSOR, lambda _, q: {"data": [], "next_cursor": "2"}, "read before"),
    (CURSOR, lambda _, q: {"data": [], "next_cursor": {"a": 1}}, "neither text nor a number"),
    (CURSOR, lambda _, q: {"data": [], "next_cursor": q.get("cursor", "") + "x"}, "50 pages"),
    ({"style": "page", "parameter": "page"}, lambda _, q: {"data": PAGES[0]}, "started again"),
    (LINK, lambda _, q: {"data": [], "next": "http://books.invalid/"}, "another host"),
    (LINK, lambda _, q: {"data": [], "next": "http://127.0.0.1:x/"}, "cannot be read"),
    (STYLES[3][0], lambda _, q: {"data": PAGES[0]}, "whether there is more"),
    (STYLES[3][0], lambda _, q: {"data": [], "has_more": True}, "no last id"),
]


@pytest.mark.parametrize(("paging", "answer", "why"), UNENDING, ids=[row[2] for row in UNENDING])
def test_a_list_whose_end_is_not_reached_is_no_absence(
    paging: dict[str, object], answer: Callable[[str, dict[str, str]], object], why: str
) -> None:
    looked = look(scripted(answer), paging=paging)
    assert not looked.complete
    assert re.search(why, looked.why)


def test_a_failing_later_page_keeps_what_was_read() -> None:
    def broken(_: str, query: dict[str, str]) -> object:
        return ("500 No", {}) if "cursor" in query else {"data": [item(1), item(2)], "next_cursor": "2"}

    looked = look(scripted(broken), paging=CURSOR)
    assert (looked.complete, len(looked.items)) == (False, 2)
    assert verdict(looked) is Verdict.SEVERAL


def test_past_the_end_a_listed_absence_is_the_end() -> None:
    def ending(_: str, query: dict[str, str]) -> object:
        return {"data": PAGES[0]} if query["page"] == "1" else ("404 Not Found", {})

    paging = {"style": "page", "parameter": "page"}
    assert look(scripted(ending), paging=paging, contract=Contract(absent=(404,))).complete
    assert not look(scripted(ending), paging=paging).complete


def test_a_single_object_is_a_list_of_one() -> None:
    found = look(
        answering(json.dumps(item(1)).encode()), path="/invoices/{destination_reference}", items=None
    )
    assert verdict(found) is Verdict.ONE_MATCH


def test_a_question_may_be_a_post() -> None:
    with serving(answering(b'{"data": []}')) as wire:
        connector(wire.url).look_up(looking(method="POST", path="/search", body={"q": "{key}"}))
    assert wire.requests[0].startswith(b"POST /search HTTP/1.1")
    assert wire.requests[0].endswith(b'\r\n\r\n{"q":"order/webshop/483/v1"}')


# --- the real thing

MISBEHAVING = [
    "ignore_filter",
    "substring_filter",
    "garble",
    "drop_before",
    "error_before",
    "throttle",
    "truncate",
]


def listing(**changes: Any) -> ListRequest:
    call = {"path": "/invoices?updated_since={since}&limit=2", "items": "data", "paging": CURSOR, **changes}
    since = datetime(2020, 1, 1, tzinfo=UTC)
    return ListRequest(ListCall.read(call), Contract(absent=(404,)), RECORD, since, timeout_s=10)


def made(sandbox: Sandbox, reference: str) -> None:
    sent = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": reference}}
    assert sandbox.call("POST", "/invoices", body=sent).status == 201


def test_the_sandbox_is_looked_up_and_listed(sandbox: Sandbox) -> None:
    books = connector(sandbox.url)
    assert verdict(books.look_up(looking())) is Verdict.ABSENT
    for number in range(5):
        made(sandbox, f"{KEY}/{number}")
    made(sandbox, KEY)
    assert verdict(books.look_up(looking())) is Verdict.ONE_MATCH
    assert [len(page.items) for page in books.pages(listing())] == [2, 2, 2]


@pytest.mark.parametrize(
    "mode",
    MISBEHAVING,
)
def test_a_misbehaving_destination_is_could_not_look_never_absent(sandbox: Sandbox, mode: str) -> None:
    made(sandbox, KEY + "1")
    sandbox.faults(mode, "GET")
    assert verdict(connector(sandbox.url).look_up(looking())) is Verdict.COULD_NOT_LOOK


@pytest.mark.parametrize(("paging", "answer"), STYLES, ids=[answer.__name__ for _, answer in STYLES])
def test_a_list_goes_on_from_the_place_of_each_page_and_says_where_it_does_not(
    paging: dict[str, object], answer: Callable[[str, dict[str, str]], object]
) -> None:
    """Where the last page was not known to be the last, nothing comes from its place.

    That is the end where pages are counted, and none where a cursor may have lost its meaning.
    """
    with serving(scripted(answer)) as wire:
        http, whole = connector(wire.url), listing(paging=paging)
        pages = list(http.pages(whole))
        assert [page.items for page in pages] == PAGES
        for number, page in enumerate(pages, start=1):
            if page.place is None:
                assert number == len(PAGES)
                continue
            place = json.loads(json.dumps(page.place))
            assert wire.url not in json.dumps(place)
            rest = http.pages(replace(whole, place=place))
            assert [page.items for page in rest] == PAGES[number:]


def test_nothing_from_where_a_cursor_pointed_is_no_end() -> None:
    def forgets(path: str, query: dict[str, str]) -> object:
        return {"data": []} if "cursor" in query else by_cursor(path, query)

    with serving(scripted(forgets)) as wire:
        first = next(connector(wire.url).pages(listing()))
        with pytest.raises(IncompletePull, match="Nothing came"):
            list(connector(wire.url).pages(replace(listing(), place=first.place)))


def test_a_list_that_starts_again_where_it_was_to_go_on_is_incomplete() -> None:
    """A destination that no longer knows a cursor gives page one."""
    with serving(scripted(lambda path, query: by_cursor(path, {}))) as wire:
        first = next(connector(wire.url).pages(listing()))
        with pytest.raises(IncompletePull, match="started again"):
            list(connector(wire.url).pages(replace(listing(), place=first.place)))


def test_a_list_that_restarts_is_incomplete(sandbox: Sandbox) -> None:
    for number in range(5):
        made(sandbox, f"{KEY}/{number}")
    sandbox.faults("restart_paging", "cursor=")
    with pytest.raises(IncompletePull, match="started again"):
        list(connector(sandbox.url).pages(listing()))


def test_a_list_at_a_wrong_address_is_incomplete_even_where_404_means_absent(sandbox: Sandbox) -> None:
    with pytest.raises(IncompletePull, match="404"):
        list(connector(sandbox.url).pages(listing(path="/invoicez?updated_since={since}")))


def test_a_list_asks_for_what_changed_since(sandbox: Sandbox) -> None:
    made(sandbox, KEY)
    late = replace(listing(), since=datetime(2199, 1, 1, tzinfo=UTC))
    assert list(connector(sandbox.url).pages(late)) == []


def test_a_list_asks_since_an_instant_in_the_destinations_own_form() -> None:
    call = {"path": "/l?since={since}", "since_format": "%d.%m.%Y %H:%M", "timezone": "Africa/Johannesburg"}
    with serving(answering(b'{"data": []}')) as wire:
        list(connector(wire.url).pages(listing(**call, paging={"style": "none"})))
        list(connector(wire.url).pages(listing(path="/l?since={since}", since_format="epoch")))
    asked = [request.split(b" ")[1] for request in wire.requests]
    assert asked == [b"/l?since=01.01.2020%2002%3A00", b"/l?since=1577836800"]
