"""What a look-up or a list carries in its body, and how it goes on from there: at real sockets."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.destinations.connectors.base import IncompletePull, Looked
from ledger.rules.contracts import Contract
from tests.ledger.odd_books import Asked, asked, replying
from tests.ledger.test_http_lists import CURSOR, PAGES, by_offset, item, listing, verdict
from tests.ledger.wires import KEY, VALUES, answering, connector, looking, sending, serving

ROWS = [row for page in PAGES for row in page]
Answer = Callable[[Asked], object]


def look(answer: Answer, **call: Any) -> tuple[Looked, list[Asked]]:
    """One look-up by POST, and what its server was asked."""
    with serving(replying(answer)) as wire:
        looked = connector(wire.url).look_up(looking(method="POST", **call))
    return looked, [asked(request) for request in wire.requests]


def test_a_body_has_nested_tables_and_lists_and_only_its_texts_are_filled() -> None:
    body = {
        "method": "search_read",
        "params": {"args": [[["ref", "=", "{key}"]], {"limit": 80, "archived": False, "ratio": 0.5}]},
        "note": "{key}: {amount} {currency}",
    }
    _, [question] = look(lambda _: {"data": []}, body=body)
    assert question.body == {
        "method": "search_read",
        "params": {"args": [[["ref", "=", KEY]], {"limit": 80, "archived": False, "ratio": 0.5}]},
        "note": f"{KEY}: 1240.00 ZAR",
    }
    assert question.headers["content-type"] == "application/json"


def test_what_a_value_says_is_neither_a_placeholder_nor_a_secret_nor_the_end_of_a_text() -> None:
    request = looking(method="POST", body={"a": "{key}", "b": {"{key}": "{key}"}})
    odd = "env:HOME {amount} \"} or '1'='1"
    with serving(answering(b'{"data": []}')) as wire:
        connector(wire.url).look_up(replace(request, values={**VALUES, "key": odd}))
    assert asked(wire.requests[0]).body == {"a": odd, "b": {"{key}": odd}}


@pytest.mark.parametrize(
    "call",
    [
        {"body": {"query": '{ invoice(ref: "{key}") { id } }'}},
        {"path": "/query?query=select * from Invoice where DocNumber = '{key}'"},
    ],
)
def test_a_value_that_would_end_the_quoted_text_around_it_is_not_asked_with(call: dict[str, Any]) -> None:
    with serving(answering(b'{"data": []}')) as wire:
        request = looking(method="POST", **call)
        looked = connector(wire.url).look_up(replace(request, values={**VALUES, "key": "x' or 'a'='a\\"}))
        assert (looked.complete, "quote" in looked.why, wire.requests) == (False, True, [])
        assert connector(wire.url).look_up(request).complete


def test_a_secret_in_a_body_is_read_from_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODOO_KEY", "s3cret")
    body = {"args": ["db", 2, "env:ODOO_KEY"]}
    _, [question] = look(lambda _: {"data": []}, body=body)
    assert question.body == {"args": ["db", 2, "s3cret"]}
    monkeypatch.delenv("ODOO_KEY")
    looked, asked_for = look(lambda _: {"data": []}, body=body)
    assert (looked.complete, "ODOO_KEY is not set" in looked.why, asked_for) == (False, True, [])


def test_a_secret_in_a_header_is_read_from_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tenant").write_text("t3nant\n")
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    headers = {"X-Token": "env:SHOP_TOKEN", "X-Tenant": f"file:{tmp_path}/tenant", "X-Ours": "{key}"}
    _, [question] = look(lambda _: {"data": []}, headers=headers)
    for got in (question, sent({}, headers=headers)):
        assert (got.headers["x-token"], got.headers["x-tenant"]) == ("s3cret", "t3nant")
        assert got.headers["x-ours"] == KEY
    monkeypatch.delenv("SHOP_TOKEN")
    looked, asked_for = look(lambda _: {"data": []}, headers=headers)
    assert (looked.complete, "SHOP_TOKEN is not set" in looked.why, asked_for) == (False, True, [])


def test_a_question_may_be_a_form() -> None:
    body = {"filter": {"ref": "{key}", "states": ["open", "paid"]}, "all": True}
    for arrays, field in (("index", "filter[states][{}]"), ("empty", "filter[states][]")):
        _, [question] = look(lambda _: {"data": []}, body=body, body_as="form", form_arrays=arrays)
        states = [(field.format(number), state) for number, state in enumerate(("open", "paid"))]
        assert question.body == [("all", "true"), ("filter[ref]", KEY), *states]
        assert question.headers["content-type"] == "application/x-www-form-urlencoded"


# --- an error in a 200


@pytest.mark.parametrize(
    "answer",
    [
        {"data": {"invoices": {"nodes": []}}, "errors": [{"message": "timeout"}]},
        {"data": None, "errors": [{"message": "Throttled"}]},
        {"jsonrpc": "2.0", "error": {"code": 200, "message": "Odoo Server Error"}},
        {"error": "slow down", "data": {"invoices": {"nodes": []}}},
    ],
)
def test_an_error_in_a_200_is_could_not_look_and_never_absence(answer: dict[str, Any]) -> None:
    looked, _ = look(lambda _: answer, items="data.invoices.nodes")
    assert (looked.complete, looked.items) == (False, ())
    assert "with an error" in looked.why
    assert "Throttled" not in looked.why
    with serving(replying(lambda _: answer)) as wire:
        lists = connector(wire.url).pages(listing(method="POST", items="data.invoices.nodes"))
        with pytest.raises(IncompletePull, match="with an error"):
            list(lists)


def test_where_failures_stand_may_be_said() -> None:
    answer = {"data": [], "error": "none", "status": "failed"}
    assert look(lambda _: answer, fails="status == 'failed'")[0].complete is False
    assert look(lambda _: answer, fails="status == 'down'")[0].complete is True


@pytest.mark.parametrize("body", [{}, {"message": "try later"}, {"id": None}])
def test_one_object_that_is_no_record_is_no_list(body: dict[str, Any]) -> None:
    assert look(lambda _: body, items=None, paging=CURSOR)[0].complete is False


# --- going on, inside the body


def by_graphql(question: Asked) -> object:
    number = int((question.body["variables"].get("after") or "page0").removeprefix("page"))
    info = {"hasNextPage": number + 1 < len(PAGES), "endCursor": f"page{number + 1}"}
    return {"data": {"invoices": {"nodes": PAGES[number], "pageInfo": info}}}


GRAPHQL: dict[str, Any] = {
    "body": {"query": "query ($after: String) { invoices(after: $after) { nodes { id } } }",
             "variables": {"ref": "{key}"}},
    "items": "data.invoices.nodes",
    "paging": {"style": "cursor", "next": "data.invoices.pageInfo.endCursor", "in": "body",
               "more": "data.invoices.pageInfo.hasNextPage", "parameter": "variables.after"},
}  # fmt: skip


def by_body_offset(question: Asked) -> object:
    start = question.body["params"]["args"][1]["offset"]
    return {"result": ROWS[start : start + 2]}


OFFSET: dict[str, Any] = {
    "body": {"params": {"args": [[], {"limit": 80}]}},
    "items": "result",
    "paging": {"style": "offset", "in": "body", "parameter": "params.args.1.offset"},
}


def by_body_page(question: Asked) -> object:
    number = question.body["page"]
    return {"data": PAGES[number - 1], "pages": len(PAGES)}


def by_last_id(question: Asked) -> object:
    ids = [row["id"] for row in ROWS]
    start = ids.index(question.body["after"]) + 1 if "after" in question.body else 0
    return {"data": ROWS[start : start + 2], "has_more": start + 2 < len(ROWS)}


LAST_ID = {"style": "last_id", "parameter": "after", "more": "has_more", "in": "body"}
INSIDE: list[tuple[Answer, dict[str, Any]]] = [
    (by_graphql, GRAPHQL),
    (by_body_offset, OFFSET),
    (by_body_page, {"paging": {"style": "page", "in": "body", "parameter": "page", "pages": "pages"}}),
    (by_last_id, {"paging": LAST_ID}),
]


@pytest.mark.parametrize(("answer", "call"), INSIDE, ids=[answer.__name__ for answer, _ in INSIDE])
def test_a_list_goes_on_inside_the_body_also_from_the_place_of_each_page(
    answer: Answer, call: dict[str, Any]
) -> None:
    looked, questions = look(answer, **call)
    assert (looked.why, looked.complete, looked.items) == ("", True, tuple(ROWS))
    assert all(not question.query.keys() - {"reference"} for question in questions)
    body = {"since": "{since}", **call.get("body", {}), "variables": {}}
    whole = listing(method="POST", path="/l", **{**call, "body": body})
    with serving(replying(answer)) as wire:
        pages = list(connector(wire.url).pages(whole))
        assert [page.items for page in pages] == PAGES
        for number, page in enumerate(pages[:-1], start=1):
            place = json.loads(json.dumps(page.place))
            rest = list(connector(wire.url).pages(replace(whole, place=place)))
            assert [one.items for one in rest] == PAGES[number:]


def test_a_place_of_another_version_is_begun_anew() -> None:
    with serving(replying(by_graphql)) as wire, pytest.raises(IncompletePull, match="cannot be read"):
        list(connector(wire.url).pages(replace(listing(method="POST", **GRAPHQL), place={"path": "/l"})))


# --- what a list says of itself


def paged(**rules: Any) -> dict[str, Any]:
    return {"paging": {"style": "page", "parameter": "page", **rules}}


def page_of(question: Asked, pages: list[list[dict[str, Any]]] = PAGES) -> list[dict[str, Any]]:
    number = int(question.query["page"]) - 1
    return pages[number] if number < len(pages) else []


def short(question: Asked) -> object:
    return {"data": page_of(question, PAGES[:2]), "total": len(ROWS), "pages": 3, "more": True}


def shrinking(question: Asked) -> object:
    return {"data": page_of(question), "total": 5 if question.query["page"] == "1" else 4}


def pushed(question: Asked) -> object:
    """A record came in at the front while pages were read, and one is never shown."""
    shown = [ROWS[:2], ROWS[1:3], ROWS[3:4]]
    return {"data": page_of(question, shown), "total": 5}


SHORT: list[tuple[Answer, dict[str, Any], str]] = [
    (short, paged(total="total"), "5 items by its own count, and 4 came"),
    (short, paged(pages="pages"), "3 pages by its own count, and one of them was empty"),
    (short, paged(more="nothing"), "whether there is more"),
    (short, paged(pages="more"), "how many pages"),
    (short, paged(total="header:X-Total"), "how many items"),
    (shrinking, paged(total="total"), "Records went while the list was read"),
    (pushed, paged(total="total"), "5 items by its own count, and 4 came"),
    (
        lambda _: {"data": ROWS[:1], "more": True, "next": None},
        {"paging": {"style": "cursor", "next": "next", "parameter": "c", "more": "more"}},
        "There is more, and nothing to go on from",
    ),
]


@pytest.mark.parametrize(("answer", "call", "why"), SHORT, ids=[row[2] for row in SHORT])
def test_a_list_that_says_it_has_more_is_never_silently_short(
    answer: Answer, call: dict[str, Any], why: str
) -> None:
    looked, _ = look(answer, **call)
    assert (looked.complete, why in looked.why) == (False, True), looked.why


GOES_ON: list[dict[str, Any]] = [
    {"paging": CURSOR},
    {"paging": {"style": "link", "next": "link"}},
    {"paging": {"style": "last_id", "parameter": "after", "more": "more"}},
    paged(more="more"),
    paged(pages="pages"),
]


@pytest.mark.parametrize("call", GOES_ON, ids=str)
def test_no_such_where_a_list_was_to_go_on_is_no_end(call: dict[str, Any]) -> None:
    def answer(question: Asked) -> object:
        later = {"cursor", "after"} & question.query.keys() or question.query.get("page", "1") != "1"
        if question.path == "/more" or later:
            return ("404 Not Found", {})
        return {"data": PAGES[0], "next_cursor": "2", "link": "/more", "more": True, "pages": 3}

    looked, questions = look(answer, contract=Contract(absent=(404,)), **call)
    assert (looked.complete, len(looked.items), len(questions)) == (False, 2, 2)


def test_more_without_a_way_to_ask_for_it_is_no_end() -> None:
    answer = {"data": ROWS, "more": True}
    assert look(lambda _: answer, paging={"style": "none", "more": "more"})[0].complete is False
    assert look(lambda _: answer, paging={"style": "none"})[0].complete is True


def headed(question: Asked) -> object:
    number = int(question.query["page"])
    told = (f"X-Pages: {len(PAGES)}", f"X-Total: {len(ROWS)}", f"X-More: {number < len(PAGES)}")
    return ("200 OK", {"data": page_of(question)}, *told)


def by_header(question: Asked) -> object:
    number = int(question.query.get("cursor", "0"))
    more = (f"X-Next: {number + 1}",) if number + 1 < len(PAGES) else ()
    return ("200 OK", {"data": PAGES[number]}, *more)


def by_link_header(question: Asked) -> object:
    number = int(question.query.get("page", "0"))
    more = (f"X-Next-Page: /invoices?page={number + 1}",) if number + 1 < len(PAGES) else ()
    return ("200 OK", {"data": PAGES[number]}, *more)


def from_nought(question: Asked) -> object:
    number = int(question.query["page"])
    return {"data": PAGES[number] if number < len(PAGES) else []}


def starting(question: Asked) -> object:
    cursor = question.query["cursor"]
    number = 0 if cursor == "*" else int(cursor)
    return {"data": PAGES[number], "next": number + 1 if number + 1 < len(PAGES) else None}


TOLD: list[tuple[Answer, dict[str, Any], int]] = [
    (headed, paged(pages="header:X-Pages"), 3),
    (headed, paged(more="header:x-more"), 3),
    (headed, paged(total="header:X-Total"), 4),
    (by_header, {"paging": {"style": "cursor", "next": "header:X-Next", "parameter": "cursor"}}, 3),
    (by_link_header, {"paging": {"style": "link", "next": "header:X-Next-Page"}}, 3),
    (from_nought, paged(first=0), 4),
    (starting, {"paging": {"style": "cursor", "next": "next", "parameter": "cursor", "first": "*"}}, 3),
]


@pytest.mark.parametrize(
    ("answer", "call", "requests"), TOLD, ids=[f"{row[0].__name__} {row[1]['paging']}" for row in TOLD]
)
def test_a_list_is_read_as_far_as_it_says(answer: Answer, call: dict[str, Any], requests: int) -> None:
    looked, questions = look(answer, **call)
    assert (looked.why, looked.items, len(questions)) == ("", tuple(ROWS), requests)


def test_a_list_that_went_on_later_still_knows_how_many_there_were() -> None:
    whole = listing(path="/l", **paged(total="total"))
    with serving(replying(shrinking)) as wire:
        first = next(connector(wire.url).pages(whole))
        with pytest.raises(IncompletePull, match="Records went"):
            list(connector(wire.url).pages(replace(whole, place=first.place)))


def test_a_page_asked_for_in_the_query_leaves_the_body_as_it_is() -> None:
    looked, questions = look(from_nought, body={"ref": "{key}"}, **paged(first=0))
    assert looked.complete
    assert [question.body for question in questions] == [{"ref": KEY}] * 4


def test_a_place_may_stand_within_a_text() -> None:
    """As in a query language, which counts from 1."""

    def answer(question: Asked) -> object:
        start = int(question.query["query"].split("STARTPOSITION ")[1].split(" ")[0])
        return {"data": ROWS[start - 1 : start + 1]}

    path = "/query?query=select * from Invoice STARTPOSITION {position} MAXRESULTS 2"
    looked, _ = look(answer, path=path, paging={"style": "offset", "first": 1})
    assert (looked.why, looked.items) == ("", tuple(ROWS))


# --- rows that move while they are read

OVERLAPPING = {"style": "offset", "parameter": "offset", "overlap": 1}


def test_pages_that_overlap_prove_that_no_row_moved() -> None:
    looked, questions = look(lambda question: by_offset("", question.query), paging=OVERLAPPING)
    assert (looked.why, looked.items) == ("", tuple(ROWS))
    assert [question.query["offset"] for question in questions] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("first", [None, 0, 1])
def test_a_list_of_as_many_items_as_pages_share_is_read_to_its_end(first: int | None) -> None:
    looked, questions = look(lambda _: {"data": ROWS[:1]}, paging={**OVERLAPPING, "first": first})
    assert (looked.why, looked.items, len(questions)) == ("", tuple(ROWS[:1]), 2)


def test_a_row_that_went_is_seen_by_the_overlap_alone() -> None:
    def answer(question: Asked) -> object:
        start = int(question.query["offset"])
        rows = ROWS if start == 0 else ROWS[1:]  # the first one was removed after the first page
        return {"data": rows[start : start + 2]}

    looked, _ = look(answer, paging=OVERLAPPING)
    assert (looked.complete, "moved while it was read" in looked.why) == (False, True)
    careless, _ = look(answer, paging={**OVERLAPPING, "overlap": None})
    assert (careless.complete, len(careless.items)) == (True, 4)


# --- sends


def sent(answer: object, **call: Any) -> Asked:
    with serving(replying(lambda _: answer)) as wire:
        connector(wire.url).send(sending(**call))
    return asked(wire.requests[0])


PAYLOAD = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": KEY}}


def test_a_payload_goes_out_inside_what_the_rules_put_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODOO_KEY", "s3cret")
    wrap = {"args": ["db", 2, "env:ODOO_KEY", "account.move", "create", ["{payload}"]], "id": "{key}"}
    got = sent({}, wrap=wrap, contract=Contract(idempotency="field", key_name="context.request"))
    assert got.body == {
        "args": ["db", 2, "s3cret", "account.move", "create", [PAYLOAD]],
        "id": KEY,
        "context": {"request": "t1-g1-abc"},
    }


def test_a_payload_that_looks_like_a_template_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = {"a": "env:HOME", "b": "{payload}", "c": "{key}"}
    with serving(answering(b"{}")) as wire:
        connector(wire.url).send(replace(sending(wrap={"input": "{payload}"}), payload=odd))
    assert asked(wire.requests[0]).body == {"input": odd}


def test_lists_in_forms_are_written_as_the_destination_reads_them() -> None:
    payload = {"deep": {"n": [1, True, 2.5]}, "none": None, "tags": ["a"]}
    for arrays, want in (
        ("index", [("deep[n][0]", "1"), ("deep[n][1]", "true"), ("deep[n][2]", "2.5"), ("tags[0]", "a")]),
        ("empty", [("deep[n][]", "1"), ("deep[n][]", "true"), ("deep[n][]", "2.5"), ("tags[]", "a")]),
    ):  # fmt: skip
        with serving(answering(b"{}")) as wire:
            request = sending(body="form", form_arrays=arrays)
            connector(wire.url).send(replace(request, payload=payload))
        assert asked(wire.requests[0]).body == want


def test_items_with_parts_under_empty_brackets_are_not_sent() -> None:
    with serving(answering(b"{}")) as wire:
        request = replace(sending(body="form", form_arrays="empty"), payload={"l": [{"a": 1, "b": 2}]})
        answer = connector(wire.url).send(request)
    assert (answer.stage, "l.0" in answer.detail, wire.requests) == ("not_sent", True, [])


def test_our_record_is_found_on_a_later_page_of_a_body() -> None:
    def answer(question: Asked) -> object:
        reply: Any = by_graphql(question)
        if question.body["variables"].get("after") == "page2":
            reply["data"]["invoices"]["nodes"] = [item(9)]
        return reply

    assert verdict(look(answer, **GRAPHQL)[0]).value == "one_match"
