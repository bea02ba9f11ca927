"""Durban Books behaves: keys, lists, voids, reminders, and a file that loses nothing."""

import itertools
import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.sandboxes import NO_ANSWER, ROOT, Reply, Sandbox, running_sandbox

KEY = "order/webshop/483/v1"


def invoice(reference: str = KEY, **other: object) -> dict[str, object]:
    """A body that the books accept."""
    return {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": reference}, **other}


def post(books: Sandbox, body: object, *, key: str | None = None) -> Reply:
    """POST /invoices, under an idempotency key where one is given."""
    return books.call("POST", "/invoices", body=body, headers={"Idempotency-Key": key} if key else {})


def code(reply: Reply) -> str:
    """The error code that an answer carries."""
    return str(reply.json["error"]["code"])


def pages(books: Sandbox, query: str) -> Iterator[list[str]]:
    """The ids of each page of a list, followed by its cursor to the end."""
    cursor = ""
    while True:
        page = books.call("GET", f"/invoices?{query}{cursor}").json
        yield [record["id"] for record in page["data"]]
        if page["next_cursor"] is None:
            return
        cursor = f"&cursor={page['next_cursor']}"


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"total": 1240}, 400, "invalid_request"),
        ({"total": "1240.001"}, 400, "invalid_request"),
        ({"total": "1e3"}, 400, "invalid_request"),
        ({"total": None}, 400, "invalid_request"),
        ({"currency": None}, 400, "invalid_request"),
        ({"currency": "rand"}, 400, "invalid_request"),
        ({"metadata": "483"}, 400, "invalid_request"),
        ({"customer": {"name": "Naidoo", "blocked": True}}, 422, "customer_blocked"),
        ({"customer": {"name": "Blocked Traders"}}, 422, "customer_blocked"),
    ],
)
def test_a_wrong_invoice_is_refused_and_nothing_is_made(
    sandbox: Sandbox, change: dict[str, object], status: int, error: str
) -> None:
    reply = post(sandbox, invoice() | change)
    assert (reply.status, code(reply)) == (status, error)
    assert sandbox.call("GET", "/invoices").json == {"data": [], "next_cursor": None}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"total": NaN}', b'"\\ud800"', b"\xff", b"[" * 200_000])
def test_a_body_that_is_no_json_object_is_refused(sandbox: Sandbox, body: bytes) -> None:
    reply = post(sandbox, body)
    assert (reply.status, code(reply)) == (400, "invalid_json")


def test_unknown_addresses_records_and_methods_are_refused(sandbox: Sandbox) -> None:
    for path in ("/", "/invoice", "/invoices/INV-1", "/invoices/1101", "/invoices/INV-01101", "//[", "/_x"):
        assert sandbox.call("GET", path).status == 404, path
    assert sandbox.call("POST", "/invoices/INV-1101/void").status == 404
    wrong = sandbox.call("DELETE", "/invoices")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, POST")
    assert sandbox.call("GET", "/reminders").status == 405


def test_a_token_is_asked_for_where_one_was_given(tmp_path: Path) -> None:
    with running_sandbox(tmp_path, token="s3cret") as books:
        assert post(books, invoice()).status == 201
        for wrong in ("", "Bearer other", "s3cret"):
            refused = books.call("GET", "/invoices", headers={"Authorization": wrong})
            assert (refused.status, code(refused)) == (401, "unauthorized")
        control = books.call("GET", f"/_effects?key={quote(KEY)}", headers={"Authorization": ""})
        assert control.json["count"] == 1


def test_a_body_over_one_mebibyte_or_without_its_length_is_refused(sandbox: Sandbox) -> None:
    too_long = sandbox.call("POST", "/invoices", headers={"Content-Length": str((1 << 20) + 1)})
    assert (too_long.status, too_long.headers["connection"]) == (413, "close")
    assert sandbox.call("POST", "/invoices", headers={"Content-Length": "-1"}).status == 400
    assert sandbox.call("POST", "/invoices", headers={"Transfer-Encoding": "chunked"}).status == 411


def test_an_invoice_without_a_currency_is_in_the_accounts_own(sandbox: Sandbox) -> None:
    made = sandbox.call("POST", "/invoices", body={"order": "483", "total": "1240.00"})
    assert (made.status, made.json["currency"]) == (201, "ZAR")


def test_a_record_is_answered_listed_and_shown_alike(sandbox: Sandbox) -> None:
    made = post(sandbox, invoice(customer={"name": "Naidoo"}, order="483", lines=[{"sku": "A"}], id="mine"))
    record = made.json
    assert made.status == 201
    assert record["id"] == "INV-1101"
    assert record["status"] == "open"
    assert (record["total"], record["currency"], record["order"]) == ("1240.00", "ZAR", "483")
    assert record["customer"] == {"name": "Naidoo"}
    assert record["metadata"] == {"operation": KEY}
    assert record["lines"] == [{"sku": "A"}]
    assert record["created_at"] == record["updated_at"]
    assert record["created_at"].endswith("Z")
    assert sandbox.call("GET", "/invoices/INV-1101").json == record
    assert sandbox.call("GET", "/invoices").json["data"] == [record]
    assert post(sandbox, invoice()).json["id"] == "INV-1102"


def test_the_same_key_and_body_replays_the_first_answer(sandbox: Sandbox) -> None:
    first = post(sandbox, invoice(), key="k1")
    respaced = json.dumps(dict(reversed(invoice().items())), indent=2).encode()
    again = post(sandbox, respaced, key="k1")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert (sandbox.effects(KEY), sandbox.deliveries(KEY), sandbox.deliveries("k1")) == (1, 2, 2)


def test_the_same_key_with_another_body_is_a_problem(sandbox: Sandbox) -> None:
    post(sandbox, invoice(), key="k1")
    reply = post(sandbox, invoice(total="9.00"), key="k1")
    assert reply.status == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.json["status"], code(reply)) == (422, "idempotency_key_reused")
    assert sandbox.effects(KEY) == 1


def test_a_refusal_is_saved_under_its_key_too(sandbox: Sandbox) -> None:
    refused = post(sandbox, invoice(total="x"), key="k1")
    again = post(sandbox, invoice(total="x"), key="k1")
    assert (again.status, again.body) == (400, refused.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert post(sandbox, invoice(), key="k1").status == 422


def test_a_key_over_255_characters_is_refused_and_a_blank_one_is_none(sandbox: Sandbox) -> None:
    refused = post(sandbox, invoice(), key="k" * 256)
    assert (refused.status, code(refused)) == (400, "key_too_long")
    blank = {"Idempotency-Key": ""}
    assert [sandbox.call("POST", "/invoices", body=invoice(), headers=blank).status for _ in range(2)] == [
        201,
        201,
    ]
    assert sandbox.effects(KEY) == 2


def test_a_key_is_forgotten_when_its_retention_is_over(tmp_path: Path) -> None:
    with running_sandbox(tmp_path, "--retention", "0.5") as books:
        post(books, invoice(), key="k1")
        deadline = time.monotonic() + 10
        while "idempotent-replayed" in post(books, invoice(), key="k1").headers:
            assert time.monotonic() < deadline
        assert books.effects(KEY) == 2


def test_twenty_posts_at_once_under_one_key_make_one_invoice(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(20) as callers:
        replies = list(callers.map(lambda _: post(sandbox, invoice(), key="k1"), range(20)))
    assert {reply.status for reply in replies} == {201}
    assert len({reply.body for reply in replies}) == 1
    assert sum("idempotent-replayed" in reply.headers for reply in replies) == 19
    assert (sandbox.effects(KEY), sandbox.deliveries(KEY)) == (1, 20)


def test_ten_posts_at_once_without_a_key_make_ten(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(10) as callers:
        replies = list(callers.map(lambda _: post(sandbox, invoice()), range(10)))
    assert len({reply.json["id"] for reply in replies}) == 10
    assert sandbox.effects(KEY) == 10


def test_a_reference_is_matched_exactly(sandbox: Sandbox) -> None:
    for reference in ("a/1", "a/10", "A/1", "a/1 & more=1"):
        post(sandbox, invoice(reference))
    post(sandbox, {"total": "1", "currency": "ZAR"})
    assert list(pages(sandbox, "reference=a/1")) == [["INV-1101"]]
    assert list(pages(sandbox, f"reference={quote('a/1 & more=1', safe='')}")) == [["INV-1104"]]
    assert list(pages(sandbox, "reference=")) == [[]]
    assert [len(page) for page in pages(sandbox, "")] == [5]


def test_pages_follow_the_last_change_and_lose_nothing(sandbox: Sandbox) -> None:
    ids = [post(sandbox, invoice()).json["id"] for _ in range(7)]
    assert list(pages(sandbox, "limit=3")) == [ids[:3], ids[3:6], ids[6:]]
    sandbox.call("POST", f"/invoices/{ids[0]}/void")
    assert [i for page in pages(sandbox, "limit=2") for i in page] == [*ids[1:], ids[0]]


def test_a_list_since_an_instant_holds_what_changed_from_then_on(sandbox: Sandbox) -> None:
    post(sandbox, invoice())
    second = post(sandbox, invoice()).json
    since = second["updated_at"]
    assert list(pages(sandbox, f"updated_since={since}")) == [[second["id"]]]
    elsewhere = quote(f"{since[:-1]}+00:00")
    assert list(pages(sandbox, f"updated_since={elsewhere}")) == [[second["id"]]]


def test_a_page_holds_two_hundred_at_most(sandbox: Sandbox) -> None:
    connection = HTTPConnection("127.0.0.1", sandbox.port, timeout=30)
    for _ in range(201):  # all on one connection: it is kept open
        connection.request("POST", "/invoices", json.dumps(invoice()))
        assert connection.getresponse().read()
        assert connection.sock is not None
    connection.close()
    assert [len(page) for page in pages(sandbox, "limit=1000")] == [200, 1]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("cursor=nonsense", "bad_cursor"),
        ("cursor=", "bad_cursor"),
        ("cursor=WzEsMl0", "bad_cursor"),
        ("cursor=%C3%A9", "bad_cursor"),
        ("limit=0", "invalid_request"),
        ("limit=many", "invalid_request"),
        ("updated_since=yesterday", "invalid_request"),
        ("updated_since=2026-11-27T15:00:00", "invalid_request"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused(sandbox: Sandbox, query: str, error: str) -> None:
    reply = sandbox.call("GET", f"/invoices?{query}")
    assert (reply.status, code(reply)) == (400, error)


def test_a_voided_invoice_is_no_effect_and_is_voided_once(sandbox: Sandbox) -> None:
    kept, surplus = (post(sandbox, invoice()).json["id"] for _ in range(2))
    voided = sandbox.call("POST", f"/invoices/{surplus}/void")
    assert (voided.status, voided.json["status"]) == (200, "void")
    assert voided.json["updated_at"] > voided.json["created_at"]
    again = sandbox.call("POST", f"/invoices/{surplus}/void")
    assert (again.status, code(again)) == (409, "not_voidable")
    assert [record["id"] for record in sandbox.records(KEY)] == [kept]


def test_reminders_are_kept_without_keys(sandbox: Sandbox) -> None:
    body = {"to": "thandi@example.com", "text": "Please pay.", "metadata": {"operation": "reminder/483/1"}}
    headers = {"Idempotency-Key": "r1"}
    ids = [sandbox.call("POST", "/reminders", body=body, headers=headers).json["id"] for _ in range(2)]
    assert ids == ["REM-1", "REM-2"]
    assert sandbox.effects("reminder/483/1") == 2
    assert sandbox.call("POST", "/reminders", body={"to": "x"}).status == 400


def test_the_shop_beside_it_lists_and_counts_its_orders(sandbox: Sandbox) -> None:
    old = {"number": "1", "total": "10.50", "currency": "ZAR", "placed_at": "2026-11-01T10:00:00Z"}
    new = {"number": "2", "total": "7.00", "currency": "EUR", "placed_at": "2026-11-02T10:00:00+02:00"}
    for order in (old, new, old | {"status": "cancelled", "placed_at": "2026-11-09T10:00:00Z"}):
        assert sandbox.call("POST", "/orders", body=order).status == 201
    listed = sandbox.call("GET", "/orders").json["data"]
    assert [(one["number"], one["status"]) for one in listed] == [("1", "cancelled"), ("2", "paid")]
    assert listed[0]["placed_at"] == "2026-11-01T10:00:00.000000Z"
    since = "since=2026-11-02T08:00:00Z"
    assert [one["number"] for one in sandbox.call("GET", f"/orders?{since}").json["data"]] == ["2"]
    assert sandbox.call("GET", f"/orders/count?{since}").json == {"count": 1, "total": "7.00"}
    for wrong in ({}, old | {"total": 10}, old | {"currency": "rand"}, old | {"placed_at": "2026-11-01"}):
        assert sandbox.call("POST", "/orders", body=wrong).status == 400
    assert sandbox.call("DELETE", "/orders").status == 405
    with closing(sqlite3.connect(sandbox.file)) as books:
        assert books.execute("SELECT count(*) FROM deliveries").fetchone() == (0,), (
            "the books were sent nothing"
        )


def test_a_kill_loses_nothing_that_was_answered(sandbox: Sandbox) -> None:
    answered: list[bytes] = []
    enough = threading.Event()

    def keep_posting(caller: int) -> None:
        for number in itertools.count():
            try:
                answered.append(post(sandbox, invoice(), key=f"{caller}-{number}").body)
            except NO_ANSWER:
                return
            if len(answered) >= 20:
                enough.set()

    with ThreadPoolExecutor(4) as callers:
        posting = [callers.submit(keep_posting, caller) for caller in range(4)]
        assert enough.wait(20)
        sandbox.kill()
    assert not any(done.exception() for done in posting)
    sandbox.restart()
    kept = {record["id"]: record for record in sandbox.records(KEY)}
    for body in answered:
        record = json.loads(body)
        assert kept[record["id"]] == record
    assert sandbox.deliveries(KEY) >= len(answered)
    again = post(sandbox, invoice(), key="0-0")
    assert again.headers["idempotent-replayed"] == "true"
    assert again.body in answered
    assert post(sandbox, invoice()).json["id"] not in kept


def test_stopping_is_prompt_while_requests_hang(sandbox: Sandbox) -> None:
    sandbox.faults("delay_before", "POST /invoices", arg=600)
    with ThreadPoolExecutor(1) as callers:
        hanging = callers.submit(post, sandbox, invoice())
        wait_for_deliveries(sandbox, 1)
        assert sandbox.stop() == 0, "it is given fifteen seconds, and the request ten minutes"
        assert isinstance(hanging.exception(), NO_ANSWER)


def wait_for_deliveries(books: Sandbox, count: int) -> None:
    """Wait until so many requests for KEY have arrived."""
    deadline = time.monotonic() + 10
    while books.deliveries(KEY) < count:
        assert time.monotonic() < deadline


def test_a_taken_port_is_said_plainly(sandbox: Sandbox) -> None:
    other = start_and_fail("--port", str(sandbox.port), "--file", str(sandbox.folder / "other.sqlite3"))
    assert f"Port {sandbox.port} is taken" in other
    assert not (sandbox.folder / "other.sqlite3").exists()


def test_a_file_that_cannot_be_used_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir or Madam, " * 100)
    assert "cannot be used" in start_and_fail("--port", "0", "--file", str(tmp_path / "letter.txt"))
    assert "cannot be used" in start_and_fail("--port", "0", "--file", str(tmp_path / "no" / "folder"))


def start_and_fail(*options: str) -> str:
    """What a sandbox says that does not start."""
    command = [sys.executable, "-m", "ledger.sandbox", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_it_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-I", "-c", ISOLATED.format(root=str(ROOT))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["ledger", "ledger.sandbox"]), done.stderr


ISOLATED = """
import sys
sys.path.insert(0, {root!r})
import ledger.sandbox.__main__
ours = ("ledger", "django", "config")
print(*sorted({{name for name in sys.modules if name.startswith(ours) and name.count(".") < 2}}))
"""


def test_a_caller_who_goes_away_within_its_body_makes_nothing(sandbox: Sandbox) -> None:
    head = b"POST /invoices HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"
    with socket.create_connection(("127.0.0.1", sandbox.port)) as caller:
        caller.sendall(head)
        caller.shutdown(socket.SHUT_WR)
        assert caller.recv(1) == b""
    assert sandbox.call("GET", "/invoices").json["data"] == []


def test_the_file_is_written_through_to_the_disk(sandbox: Sandbox) -> None:
    post(sandbox, invoice())
    with closing(sqlite3.connect(sandbox.file)) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert file.execute("SELECT number, operation FROM invoices").fetchall() == [(1101, KEY)]
