"""Sending over HTTP: whether a byte went out, whether a whole answer came, and what exactly was asked."""

import json
import socket
import ssl
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.destinations.connectors.base import ConfigurationError, secret
from ledger.destinations.connectors.bodies import form_fields
from ledger.destinations.connectors.http import BODY_MAX_BYTES
from ledger.destinations.connectors.wire import ssl_context
from ledger.rules.contracts import Contract
from ledger.rules.errors import Malformed
from tests.ledger.wires import KEY, answering, certificate, connector, looking, reset, sending, serving
from tests.sandboxes import Sandbox


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def hang(connection: socket.socket, _: bytes) -> None:
    """Say nothing until the other side gives up."""
    while connection.recv(65536):
        pass


# --- before a byte was sent


def test_a_refused_connection_is_not_sent() -> None:
    answer = connector(f"http://127.0.0.1:{free_port()}").send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "The connection was refused.")


def test_a_name_that_is_not_known_is_not_sent() -> None:
    answer = connector("http://books.invalid").send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "The address is not known (DNS).")


def test_a_failed_handshake_is_not_sent() -> None:
    def plain(connection: socket.socket, _: bytes) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 This is not a secure port\r\n\r\n")

    with serving(plain, read=False) as wire:
        answer = connector(wire.url.replace("http:", "https:")).send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "No secure connection could be made (TLS).")


def test_connecting_that_takes_too_long_is_not_sent() -> None:
    # A full backlog: the kernel lets the connection wait.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        answer = connector(f"http://127.0.0.1:{listener.getsockname()[1]}").send(sending(timeout_s=0.3))
        for one in waiting:
            one.close()
    assert (answer.stage, answer.detail) == ("not_sent", "Connecting timed out after 0.3 s.")


def test_a_handshake_that_never_ends_is_not_sent() -> None:
    with serving(hang, read=False) as wire:
        answer = connector(wire.url.replace("http:", "https:")).send(sending(timeout_s=0.3))
        wire.stop.set()
    assert (answer.stage, answer.detail) == ("not_sent", "Connecting timed out after 0.3 s.")


def test_no_time_left_is_not_sent() -> None:
    with serving(answering(b"{}")) as wire:
        assert connector(wire.url).send(sending(timeout_s=0)).stage == "not_sent"
        assert connector(wire.url).send(sending(timeout_s=-1)).stage == "not_sent"
    assert [request for request in wire.requests if request] == []


def test_a_placeholder_without_a_value_is_not_sent() -> None:
    answer = connector("http://127.0.0.1:9").send(sending(path="/invoices/{source.reference}"))
    assert answer.stage == "not_sent"
    assert "source.reference" in answer.detail


def test_a_header_that_http_cannot_carry_is_not_sent() -> None:
    for value in ("a\nb: c", "ü€"):
        with serving(answering(b"{}")) as wire:
            answer = connector(wire.url).send(sending(headers={"X-Order": value}))
        assert (answer.stage, b"".join(wire.requests)) == ("not_sent", b"")


# --- after a byte was sent


def test_a_reset_after_the_request_is_silence() -> None:
    with serving(lambda connection, _: reset(connection)) as wire:
        answer = connector(wire.url).send(sending())
    assert (answer.stage, answer.status) == ("silent", None)


def test_a_reset_in_the_middle_of_the_request_is_silence() -> None:
    def half(connection: socket.socket, _: bytes) -> None:
        connection.recv(10)
        reset(connection)

    with serving(half, read=False) as wire:
        assert connector(wire.url).send(sending()).stage == "silent"


def test_a_close_without_an_answer_is_silence_and_is_not_tried_again() -> None:
    with serving(lambda connection, _: None) as wire:
        assert connector(wire.url).send(sending()).stage == "silent"
    assert len(wire.requests) == 1


def test_no_answer_in_time_is_silence() -> None:
    with serving(hang) as wire:
        answer = connector(wire.url).send(sending(timeout_s=0.3))
        wire.stop.set()
    assert (answer.stage, answer.detail) == ("silent", "Read time-out after 0.3 s.")


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-A: "]
)
def test_an_answer_that_drips_beyond_the_total_deadline_is_silence(head: bytes) -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head)
        while not wire.stop.wait(0.05):
            connection.sendall(b"x")

    with serving(drip) as wire:
        began = time.monotonic()
        answer = connector(wire.url).send(sending(timeout_s=0.6))
        took_s = time.monotonic() - began
    assert answer.stage == "silent"
    assert 0.5 < took_s < 20


def test_a_body_shorter_than_announced_is_silence_whatever_its_status() -> None:
    for status in (b"200 OK", b"422 No"):
        broken = b"HTTP/1.1 " + status + b"\r\nContent-Length: 100\r\n\r\n{"
        with serving(lambda connection, _, broken=broken: connection.sendall(broken)) as wire:  # type: ignore[misc]
            answer = connector(wire.url).send(sending())
        assert (answer.stage, answer.status) == ("silent", int(status[:3]))


def test_something_that_is_not_http_is_silence() -> None:
    with serving(lambda connection, _: connection.sendall(b"220 mail.example.com ESMTP\r\n")) as wire:
        assert connector(wire.url).send(sending()).stage == "silent"


# --- answers


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with serving(answering(b"", "307 Elsewhere", "Location: /other")) as wire:
        answer = connector(wire.url).send(sending())
    assert (answer.stage, answer.status, len(wire.requests)) == ("answered", 307, 1)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"<html>", ()),
        (b'{"id": 1, "id": 2}', ()),
        (b'{"id": "\xff"}', ()),
        (b"\x1f\x8b\x08", ("Content-Encoding: gzip",)),
        (b"[" + b"1," * (BODY_MAX_BYTES // 2) + b"1]", ()),
    ],
    ids=["html", "a member twice", "not UTF-8", "compressed", "huge"],
)
def test_a_body_that_cannot_be_read_is_said_to_be_so(body: bytes, headers: tuple[str, ...]) -> None:
    with serving(answering(body, "200 OK", *headers)) as wire:
        answer = connector(wire.url).send(sending())
    assert (answer.stage, answer.status, answer.readable, answer.body) == ("answered", 200, False, None)
    assert answer.detail


def test_an_empty_body_can_be_read() -> None:
    with serving(answering(b"", "204 No Content")) as wire:
        answer = connector(wire.url).send(sending())
    assert (answer.status, answer.readable, answer.body) == (204, True, None)


def test_amounts_in_an_answer_stay_exact() -> None:
    with serving(answering(b'{"total": 1240.10}')) as wire:
        answer = connector(wire.url).send(sending())
    assert str(answer.body) == "{'total': Decimal('1240.10')}"


def test_every_send_has_a_connection_of_its_own() -> None:
    seen: list[tuple[str, int]] = []

    def twice(connection: socket.socket, request: bytes) -> None:
        seen.append(connection.getpeername())
        answering(b"{}")(connection, request)

    with serving(twice) as wire:
        same = connector(wire.url)
        assert [same.send(sending()).status for _ in range(2)] == [200, 200]
    assert len(set(seen)) == 2


# --- what is sent


def test_the_canonical_bytes_are_sent_with_the_key_once() -> None:
    with serving(answering(b"{}")) as wire:
        connector(wire.url + "/v1/").send(sending())
    head, _, body = wire.requests[0].partition(b"\r\n\r\n")
    assert body == b'{"currency":"ZAR","metadata":{"operation":"order/webshop/483/v1"},"total":"1240.00"}'
    assert head.startswith(b"POST /v1/invoices HTTP/1.1\r\n")
    assert head.lower().count(b"\r\nidempotency-key: t1-g1-abc") == 1
    assert b"\r\ncontent-type: application/json" in head.lower()


def test_a_key_in_a_field_is_written_into_the_body_alone() -> None:
    contract = Contract(idempotency="field", key_name="request.id")
    with serving(answering(b"{}")) as wire:
        connector(wire.url).send(sending(contract=contract))
    head, _, body = wire.requests[0].partition(b"\r\n\r\n")
    assert json.loads(body)["request"] == {"id": "t1-g1-abc"}
    assert b"t1-g1-abc" not in head


def test_without_keys_none_is_sent() -> None:
    with serving(answering(b"{}")) as wire:
        connector(wire.url).send(sending(contract=Contract()))
    assert b"t1-g1-abc" not in wire.requests[0]


def test_a_send_is_made_by_the_stated_method() -> None:
    for method, request in (("POST", sending()), ("PUT", sending(method="PUT"))):
        with serving(answering(b"{}")) as wire:
            connector(wire.url).send(request)
        assert wire.requests[0].startswith(f"{method} /invoices HTTP/1.1".encode())


def test_placeholders_in_a_path_cannot_leave_their_place() -> None:
    with serving(answering(b"{}")) as wire:
        connector(wire.url).send(sending(path="/orders/{key}/x?total={amount}", method="PUT"))
    assert wire.requests[0].startswith(b"PUT /orders/order%2Fwebshop%2F483%2Fv1/x?total=1240.00 HTTP/1.1")


def test_a_form_carries_nested_fields_in_brackets() -> None:
    with serving(answering(b"{}")) as wire:
        connector(wire.url).send(sending(body="form"))
    head, _, body = wire.requests[0].partition(b"\r\n\r\n")
    assert body == b"currency=ZAR&metadata%5Boperation%5D=order%2Fwebshop%2F483%2Fv1&total=1240.00"
    assert b"\r\ncontent-type: application/x-www-form-urlencoded" in head.lower()
    fields = form_fields({"l": [{"a": True}, 1.50, 10], "a": {"b": {"c": "ä"}}})
    assert fields == [("a[b][c]", "ä"), ("l[0][a]", "true"), ("l[1]", "1.5"), ("l[2]", "10")]


@pytest.mark.parametrize("value", [[], {}, [None], {"c": []}])
def test_a_form_never_loses_what_it_cannot_carry(value: object) -> None:
    with pytest.raises(Malformed, match=r"a\.b"):
        form_fields({"a": {"b": value}})


# --- secrets


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        ({"kind": "bearer", "token": "env:BOOKS"}, b"authorization: Bearer s3cret"),
        ({"kind": "header", "name": "X-Api-Key", "value": "env:BOOKS"}, b"x-api-key: s3cret"),
        ({"kind": "basic", "user": "ann", "password": "env:BOOKS"}, b"authorization: Basic YW5uOnMzY3JldA=="),
    ],
)
def test_the_destination_is_told_who_we_are(
    auth: dict[str, str], header: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKS", "s3cret")
    with serving(answering(b'{"data": []}')) as wire:
        books = connector(wire.url, auth=auth)
        books.send(sending())
        books.look_up(looking())
    for request in wire.requests:
        name, _, value = header.partition(b":")
        lines = [line for line in request.split(b"\r\n") if line.lower().startswith(name + b":")]
        assert [line.partition(b":")[2] for line in lines] == [value]


def test_a_missing_secret_is_named_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("BOOKS", raising=False)
    bearer = {"kind": "bearer", "token": "env:BOOKS"}
    with pytest.raises(ConfigurationError, match="BOOKS"):
        connector("http://127.0.0.1:9", auth=bearer)
    monkeypatch.setenv("BOOKS", "two\nlines")
    with pytest.raises(ConfigurationError, match="BOOKS") as refusal:
        connector("http://127.0.0.1:9", auth=bearer)
    assert "two" not in str(refusal.value)
    file = tmp_path_factory.mktemp("secrets") / "token"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        secret(f"file:{file}")
    file.write_text(" \n")
    with pytest.raises(ConfigurationError, match="empty"):
        secret(f"file:{file}")
    file.write_text("s3cret\n")
    assert secret(f"file:{file}") == "s3cret"


def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with serving(answering(b'{"id": "INV-1"}'), tls=context) as wire:
        answer = connector(wire.url).send(sending())
        assert (answer.stage, answer.detail) == ("not_sent", "The certificate was not accepted (TLS).")
        assert wire.requests == []

        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        ssl_context.cache_clear()
        try:
            assert connector(wire.url).send(sending()).body == {"id": "INV-1"}
        finally:
            ssl_context.cache_clear()


# --- the real thing


def test_an_invoice_is_made_and_its_lost_answer_is_silence(sandbox: Sandbox) -> None:
    books = connector(sandbox.url)
    answer = books.send(sending())
    assert (answer.stage, answer.status) == ("answered", 201)
    sandbox.faults("drop_after", "POST")
    lost = books.send(replace(sending(), idempotency_key="another"))
    assert (lost.stage, lost.status) == ("silent", None)
    assert sandbox.effects(KEY) == 2
    again = books.send(replace(sending(), idempotency_key="another"))
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
    assert sandbox.effects(KEY) == 2
