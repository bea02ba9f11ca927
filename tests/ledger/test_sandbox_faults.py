"""Durban Books misbehaves, as ordered.

| mode | done | what the caller sees |
|---|---|---|
| drop_before, drop_after | no, yes | the connection closes without an answer |
| delay_before, delay_after | late, at once | the answer comes `arg` seconds late |
| error_before, error_after | no, yes | status `arg` |
| throttle, key_in_use | no | 429, 409 with Retry-After |
| truncate, garble | yes | half a body; an unreadable one |
| deliver_twice | twice | the second answer |
| accept_only | begun | 202; it opens later |
| replay_error | no | the same error again for that key |
| ignore_keys, ignore_filter, substring_filter, restart_paging | yes | a destination of that habit |
"""

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any

import pytest

from ledger.sandbox.faults import MODES
from tests.sandboxes import Reply, Sandbox

KEY = "order/webshop/483/v1"
BODY = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": KEY}}


def post(books: Sandbox, *, key: str | None = "k1", body: object = BODY) -> Reply:
    """POST /invoices under a key."""
    return books.call("POST", "/invoices", body=body, headers={"Idempotency-Key": key} if key else {})


def listed(books: Sandbox, query: str) -> list[str]:
    """The references on one page of the list."""
    data: list[dict[str, Any]] = books.call("GET", f"/invoices?{query}").json["data"]
    return [record["metadata"]["operation"] for record in data]


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, ten seconds at most."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ({"mode": "explode"}, "drop_before"),
        ({"mode": ["drop_before"]}, "drop_before"),
        ({}, "drop_before"),
        ({"mode": "drop_before", "times": 2}, "count"),
        ({"mode": "drop_before", "count": 0}, "count"),
        ({"mode": "drop_before", "count": True}, "count"),
        ({"mode": "drop_before", "match": 1}, "match"),
        ({"mode": "error_before", "arg": 200}, "status"),
        ({"mode": "error_after", "arg": 1.5}, "status"),
        ({"mode": "delay_before", "arg": -1}, "seconds"),
        ({"mode": "delay_before", "arg": "3"}, "arg"),
    ],
)
def test_a_wrong_order_is_refused_with_what_is_known(
    sandbox: Sandbox, rule: dict[str, object], named: str
) -> None:
    reply = sandbox.call("POST", "/_faults", body=rule)
    assert reply.status == 400
    assert named in reply.json["error"]["message"]
    assert sandbox.pending_faults() == []


def test_an_order_is_shown_until_it_is_used_up_or_cleared(sandbox: Sandbox) -> None:
    sandbox.faults("throttle", "POST", count=2)
    sandbox.faults("drop_before", count=None)
    assert [(rule["mode"], rule["count"]) for rule in sandbox.pending_faults()] == [
        ("throttle", 2),
        ("drop_before", None),
    ]
    post(sandbox)
    post(sandbox)
    assert [rule["mode"] for rule in sandbox.pending_faults()] == ["drop_before"]
    sandbox.clear_faults()
    assert sandbox.pending_faults() == []
    assert post(sandbox).status == 201


def test_orders_are_used_up_in_their_order_each_by_one_request(sandbox: Sandbox) -> None:
    sandbox.faults("error_before", arg=502)
    sandbox.faults("throttle")
    sandbox.faults("error_before", arg=504)
    assert [post(sandbox).status for _ in range(4)] == [502, 429, 504, 201]


def test_an_order_waits_for_a_request_that_matches(sandbox: Sandbox) -> None:
    sandbox.faults("error_before", f"GET /invoices?reference={KEY}")
    sandbox.faults("error_before", '"total": "9.00"')
    assert post(sandbox, key=None).status == 201
    assert sandbox.call("GET", "/invoices").status == 200
    assert post(sandbox, key=None, body=BODY | {"total": "9.00"}).status == 503
    assert sandbox.call("GET", "/invoices?reference=order%2Fwebshop%2F483%2Fv1").status == 503


def test_orders_are_gone_with_the_process(sandbox: Sandbox) -> None:
    sandbox.faults("drop_before", count=None)
    sandbox.restart()
    assert sandbox.pending_faults() == []


def test_drop_before_hangs_up_and_makes_nothing(sandbox: Sandbox) -> None:
    sandbox.faults("drop_before")
    with pytest.raises(RemoteDisconnected):
        post(sandbox)
    assert (sandbox.effects(KEY), sandbox.deliveries(KEY)) == (0, 1)
    again = post(sandbox)
    assert again.status == 201
    assert "idempotent-replayed" not in again.headers


def test_drop_after_makes_it_and_hangs_up(sandbox: Sandbox) -> None:
    sandbox.faults("drop_after")
    with pytest.raises(RemoteDisconnected):
        post(sandbox)
    assert sandbox.effects(KEY) == 1
    assert post(sandbox).headers["idempotent-replayed"] == "true"
    assert (sandbox.effects(KEY), sandbox.deliveries(KEY)) == (1, 2)


def test_delay_before_waits_then_makes_it(sandbox: Sandbox) -> None:
    sandbox.faults("delay_before", "POST", arg=0.7)
    with ThreadPoolExecutor(1) as callers:
        started = time.monotonic()
        slow = callers.submit(post, sandbox)
        until(lambda: sandbox.deliveries(KEY) == 1)
        assert sandbox.effects(KEY) == 0
        assert slow.result().status == 201
        assert time.monotonic() - started >= 0.7
    assert sandbox.effects(KEY) == 1


def test_delay_after_makes_it_then_waits(sandbox: Sandbox) -> None:
    sandbox.faults("delay_after", "POST", arg=0.7)
    with ThreadPoolExecutor(1) as callers:
        started = time.monotonic()
        slow = callers.submit(post, sandbox)
        until(lambda: sandbox.effects(KEY) == 1)
        assert not slow.done()
        assert post(sandbox).headers["idempotent-replayed"] == "true"
        assert slow.result().status == 201
        assert time.monotonic() - started >= 0.7


@pytest.mark.parametrize("mode", ["delay_before", "delay_after"])
def test_a_caller_who_gives_up_does_not_stop_the_effect(sandbox: Sandbox, mode: str) -> None:
    sandbox.faults(mode, "POST", arg=0.4)
    body = json.dumps(BODY).encode()
    head = f"POST /invoices HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", sandbox.port)) as caller:
        caller.sendall(head.encode() + body)
    until(lambda: sandbox.effects(KEY) == 1)
    sandbox.faults("delay_before", "GET", arg=0.5)  # longer than the other wait, which is over after it
    assert sandbox.call("GET", "/invoices").status == 200
    assert sandbox.log.read_text() == ""


def test_error_before_makes_nothing_and_saves_nothing(sandbox: Sandbox) -> None:
    sandbox.faults("error_before")
    sandbox.faults("error_before", arg=404)
    assert [post(sandbox).status for _ in range(2)] == [503, 404]
    assert sandbox.effects(KEY) == 0
    made = post(sandbox)
    assert made.status == 201
    assert "idempotent-replayed" not in made.headers


def test_error_after_makes_it_and_the_key_knows(sandbox: Sandbox) -> None:
    sandbox.faults("error_after")
    sandbox.faults("error_after", arg=520)
    assert [post(sandbox).status for _ in range(2)] == [500, 520]
    assert sandbox.effects(KEY) == 1
    assert post(sandbox).status == 201
    assert sandbox.effects(KEY) == 1


def test_throttle_makes_nothing_and_says_when(sandbox: Sandbox) -> None:
    sandbox.faults("throttle")
    sandbox.faults("throttle", arg=7)
    refused = [post(sandbox) for _ in range(2)]
    assert [(r.status, r.headers["retry-after"]) for r in refused] == [(429, "1"), (429, "7")]
    assert sandbox.effects(KEY) == 0
    assert post(sandbox).status == 201


def test_key_in_use_makes_nothing_and_says_when(sandbox: Sandbox) -> None:
    sandbox.faults("key_in_use")
    sandbox.call("GET", "/invoices")
    refused = post(sandbox)
    assert (refused.status, refused.headers["retry-after"]) == (409, "5")
    assert refused.json["error"]["code"] == "key_in_use"
    assert sandbox.effects(KEY) == 0
    assert post(sandbox).status == 201


def test_truncate_makes_it_and_breaks_off_half_way(sandbox: Sandbox) -> None:
    sandbox.faults("truncate")
    with pytest.raises(IncompleteRead) as broken:
        post(sandbox)
    whole = post(sandbox).body
    assert broken.value.partial == whole[: len(whole) // 2]
    assert sandbox.effects(KEY) == 1


def test_garble_makes_it_and_answers_200_unreadably(sandbox: Sandbox) -> None:
    sandbox.faults("garble")
    reply = post(sandbox)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html")
    with pytest.raises(UnicodeDecodeError):
        json.loads(reply.body)
    assert sandbox.effects(KEY) == 1


def test_deliver_twice_makes_one_under_a_key_and_two_without(sandbox: Sandbox) -> None:
    sandbox.faults("deliver_twice", count=2)
    kept = post(sandbox)
    assert (kept.status, kept.headers["idempotent-replayed"]) == (201, "true")
    assert (sandbox.effects(KEY), sandbox.deliveries(KEY)) == (1, 1)
    assert post(sandbox, key=None).status == 201
    assert sandbox.effects(KEY) == 3


def test_deliver_twice_makes_two_where_keys_are_ignored(sandbox: Sandbox) -> None:
    sandbox.faults("ignore_keys", count=None)
    sandbox.faults("deliver_twice")
    assert post(sandbox).status == 201
    assert sandbox.effects(KEY) == 2


def test_ignore_keys_makes_another_and_forgets_the_key(sandbox: Sandbox) -> None:
    sandbox.faults("ignore_keys", count=2)
    made = [post(sandbox) for _ in range(4)]
    assert ["idempotent-replayed" in reply.headers for reply in made] == [False, False, False, True]
    assert sandbox.effects(KEY) == 3


def test_accept_only_opens_by_itself_also_after_a_kill(sandbox: Sandbox) -> None:
    sandbox.faults("accept_only", arg=0.5)
    accepted = post(sandbox)
    assert (accepted.status, accepted.json["status"]) == (202, "processing")
    assert sandbox.effects(KEY) == 1
    sandbox.kill()
    sandbox.restart()
    address = f"/invoices/{accepted.json['id']}"
    until(lambda: sandbox.call("GET", address).json["status"] == "open")
    assert sandbox.call("GET", address).json["updated_at"] > accepted.json["updated_at"]
    again = post(sandbox)
    assert (again.status, again.body) == (202, accepted.body)


@pytest.mark.parametrize(("status", "effects"), [("open", 1), ("paid", 1), ("declined", 0)])
def test_accept_only_waits_to_be_settled(sandbox: Sandbox, status: str, effects: int) -> None:
    sandbox.faults("accept_only")
    identity = post(sandbox).json["id"]
    assert sandbox.settle(KEY, status) == 1
    assert sandbox.call("GET", f"/invoices/{identity}").json["status"] == status
    assert sandbox.effects(KEY) == effects
    twice = sandbox.call("POST", "/_settle", body={"reference": KEY, "status": status})
    assert twice.status == 404
    assert sandbox.call("POST", "/_settle", body={"reference": KEY, "status": "lost"}).status == 400


def test_replay_error_repeats_the_saved_error_also_for_a_corrected_body(sandbox: Sandbox) -> None:
    sandbox.faults("replay_error")
    sandbox.faults("replay_error", arg=400)
    first = post(sandbox)
    again = post(sandbox, key="other")
    assert (first.status, again.status) == (500, 400)
    for _ in range(2):
        corrected = post(sandbox, body=BODY | {"total": "9.00"})
        assert (corrected.status, corrected.body) == (500, first.body)
        assert corrected.headers["idempotent-replayed"] == "true"
    assert sandbox.effects(KEY) == 0
    assert post(sandbox, key="fresh").status == 201


def test_ignore_filter_lists_everything(sandbox: Sandbox) -> None:
    post(sandbox)
    sandbox.faults("ignore_filter")
    assert listed(sandbox, "limit=10") == [KEY]
    assert listed(sandbox, "reference=other") == [KEY]
    assert listed(sandbox, "reference=other") == []


def test_substring_filter_lists_what_contains_the_reference(sandbox: Sandbox) -> None:
    for reference in ("order/48", "order/483", "order/999"):
        post(sandbox, key=None, body=BODY | {"metadata": {"operation": reference}})
    sandbox.faults("substring_filter")
    assert listed(sandbox, "reference=order/48") == ["order/48", "order/483"]
    assert listed(sandbox, "reference=order/48") == ["order/48"]


def test_restart_paging_begins_again_at_page_one(sandbox: Sandbox) -> None:
    for reference in ("a", "b"):
        post(sandbox, key=None, body=BODY | {"metadata": {"operation": reference}})
    sandbox.faults("restart_paging")
    cursor = sandbox.call("GET", "/invoices?limit=1").json["next_cursor"]
    assert sandbox.call("GET", "/invoices?limit=1&cursor=nonsense").status == 400
    sandbox.faults("restart_paging")
    assert listed(sandbox, f"limit=1&cursor={cursor}") == ["a"]
    assert listed(sandbox, f"limit=1&cursor={cursor}") == ["b"]


def test_reads_can_go_wrong_too(sandbox: Sandbox) -> None:
    post(sandbox)
    for mode in ("drop_before", "truncate"):
        sandbox.faults(mode, "GET /invoices")
        with pytest.raises((RemoteDisconnected, IncompleteRead)):
            sandbox.call("GET", "/invoices")
    sandbox.faults("garble", "GET /invoices")
    assert sandbox.call("GET", "/invoices").headers["content-type"] == "text/html"
    sandbox.faults("throttle", "GET /invoices")
    assert sandbox.call("GET", "/invoices/INV-1101").status == 429


def test_every_mode_of_the_interface_is_known() -> None:
    promised = """
        drop_before drop_after delay_before delay_after error_before error_after throttle truncate garble
        deliver_twice accept_only replay_error key_in_use ignore_keys ignore_filter substring_filter
        restart_paging"""
    assert sorted(MODES) == sorted(promised.split())
