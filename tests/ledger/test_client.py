"""The one-file Python client: claim, start, act, say; lost answers, and exceptions by their kind."""

import hashlib
import importlib
import logging
import pickle
import socket
import ssl
import threading
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xmlrpc.client import ServerProxy

import httpx
import pytest

from ledger.door import client
from ledger.models import Attempt, Event, Operation
from tests.clients import CLIENT, Shop, way_to
from tests.clients import books as books
from tests.clients import shop as shop
from tests.doors import PAYLOAD, Api, at_once, new_key
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.wires import answering, certificate, reset
from tests.ledger.wires import serving as wired

SERVED = {"tieout_client.py": CLIENT, "tieout_client.mjs": CLIENT.with_suffix(".mjs")}


def operation(shop: Shop, key: str, **members: Any) -> client.Operation:
    tieout = members.pop("tieout", None) or shop.client()
    return tieout.operation("reminder.send", key=key, payload=members.pop("payload", PAYLOAD), **members)


def stored(key: str) -> Operation:
    return Operation.objects.get(key=key)


# --- the answers


def test_claimed_started_done_and_said(shop: Shop) -> None:
    key = new_key()
    with operation(shop, key, amount="75.00", currency="ZAR", source={"system": "webshop"}) as op:
        assert (op.decision, op.proceed, op.said, op.lost, op.open) == ("proceed", True, None, False, False)
        attempt = Attempt.objects.get(operation__key=key)
        assert attempt.started_at is not None
        assert attempt.idempotency_key == op.idempotency_key
        assert 30 < op.lease_left_s <= 60
        op.succeeded("MSG-1")
        assert stored(key).state == "completed"
    assert (stored(key).destination_reference, op.said) == ("MSG-1", "succeeded")
    assert shop.files() == []


def test_what_is_done_is_skipped_with_its_reference(shop: Shop) -> None:
    key = new_key()
    with operation(shop, key) as op:
        op.succeeded("MSG-1")
    with operation(shop, key) as again:
        assert (again.decision, again.proceed, again.reference) == ("skip", False, "MSG-1")
        assert again.why == "It is done: MSG-1."
        with pytest.raises(client.TieoutError, match="not yours to do"):
            again.succeeded("MSG-2")
    with pytest.raises(client.Done) as done, operation(shop, key, or_raise=True):
        pytest.fail("It is done.")
    assert done.value.op.reference == "MSG-1"


def test_in_flight_it_waits_and_on_hold_it_names_the_case(shop: Shop) -> None:
    key = new_key()
    with operation(shop, key) as op:
        with operation(shop, key) as second:
            assert (second.decision, second.case) == ("wait", None)
            assert second.retry_at is not None
            assert "Ask again at" in second.why
        op.uncertain(message="No answer.")
    with operation(shop, key) as third:
        assert (third.decision, third.case) == (
            "hold",
            f"{shop.api.server.url}/operations/{stored(key).uid}/",
        )
    with pytest.raises(client.Hold, match="Decide at http") as hold, operation(shop, key, or_raise=True):
        pytest.fail("It is held.")
    assert str(hold.value).count(third.case or "") == 1
    sent = pickle.loads(pickle.dumps(hold.value))  # noqa: S301 - its own
    assert (str(sent), sent.op.case, sent.op.decision) == (str(hold.value), third.case, "hold")
    problem = pickle.loads(pickle.dumps(client.Problem(404, {"detail": "Gone."})))  # noqa: S301
    assert (problem.status, str(problem)) == (404, "Tieout answered 404: Gone.")


def test_another_payload_is_refused_with_its_paths_and_never_a_value(shop: Shop) -> None:
    key = new_key()
    with operation(shop, key) as op:
        op.succeeded("MSG-1")
    with operation(shop, key, payload={**PAYLOAD, "total": "9.00"}) as other:
        assert (other.decision, other.changed) == ("refuse", ["total"])
    with pytest.raises(client.Refused), operation(shop, key, payload={}, or_raise=True):
        pytest.fail("It is refused.")


@pytest.mark.parametrize(
    ("word", "members", "state"),
    [
        ("accepted", {"reference": "MSG-1", "http_status": 202}, "uncertain"),
        ("retryable", {"http_status": 429, "retry_after_s": 30.0}, "pending"),
        ("rejected", {"http_status": 422, "error_code": "blocked", "message": "Blocked."}, "failed"),
        ("uncertain", {"error_code": "silent"}, "uncertain"),
    ],
)
def test_each_word_is_an_outcome(shop: Shop, word: str, members: dict[str, Any], state: str) -> None:
    key = new_key()
    with operation(shop, key) as op:
        getattr(op, word)(**members)
        with pytest.raises(client.TieoutError, match=f"{word} was said already, and stands"):
            op.succeeded("MSG-2")
    attempt = Attempt.objects.get(operation__key=key)
    assert (stored(key).state, attempt.outcome) == (state, word)


def test_what_tieout_refuses_is_raised_in_its_words_and_asked_once(shop: Shop) -> None:
    with pytest.raises(client.Problem, match="currency") as wrong, operation(shop, new_key(), currency="ZAR"):
        pytest.fail("It cannot be read.")
    assert wrong.value.status == 400
    with pytest.raises(client.Problem) as nobody, operation(shop, new_key(), tieout=shop.client(token="x")):
        pytest.fail("Nobody knows this token.")
    assert (nobody.value.status, nobody.value.type) == (401, "unauthenticated")
    with wired(answering(b"<html>", "302 Found", "Location: http://127.0.0.1:1/")) as wire:
        elsewhere = shop.client(url=wire.url)
        with (
            pytest.raises(client.Problem, match="does TIEOUT_URL lead"),
            operation(shop, new_key(), tieout=elsewhere),
        ):
            pytest.fail("It leads elsewhere.")
        assert len(wire.requests) == 1


def test_no_token_stands_in_what_is_printed_or_logged(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    key, tieout = new_key(), shop.client()
    with caplog.at_level(logging.DEBUG), operation(shop, key, tieout=tieout) as op:
        token = op.token or ""
        op.succeeded("MSG-1")
    assert token.startswith("tieout_")
    shown = f"{op!r} {tieout!r} {caplog.text}"
    assert repr(op) == f"<Operation reminder.send {key}: succeeded>"
    assert token not in shown
    assert shop.api.token not in shown


def test_the_token_may_stand_in_a_file(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIEOUT_TOKEN", "TIEOUT_TOKEN_FILE", "TIEOUT_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(client.TieoutError, match="TIEOUT_URL"):
        client.Tieout(token="x")
    with pytest.raises(client.TieoutError, match="TIEOUT_TOKEN_FILE"):
        client.Tieout(shop.api.server.url)
    file = tmp_path / "token"
    file.write_text(f"{shop.api.token}\n")
    monkeypatch.setenv("TIEOUT_TOKEN_FILE", str(file))
    monkeypatch.setenv("TIEOUT_URL", shop.api.server.url)
    monkeypatch.setenv("TIEOUT_SPOOL", str(shop.spool))
    with operation(shop, new_key(), tieout=client.Tieout()) as op:
        op.succeeded()
    assert op.said == "succeeded"


# --- lost answers


@pytest.mark.parametrize("before", [True, False], ids=["the request", "the answer"])
@pytest.mark.parametrize("lost", ["operations/claim", "/start", "/outcome"])
def test_what_is_lost_on_the_way_is_said_again_and_is_one(shop: Shop, lost: str, before: bool) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut(lost, before=before, count=1)
        with operation(shop, key, tieout=shop.client(url=way.url)) as op:
            op.succeeded("MSG-1")
    assert op.said == "succeeded"
    attempts = Attempt.objects.filter(operation__key=key)
    assert [(one.outcome, one.destination_reference) for one in attempts] == [("succeeded", "MSG-1")]
    assert not Event.objects.filter(attempt__in=attempts, kind__in=["late", "stray"]).exists()
    assert shop.files() == []


def test_it_waits_as_long_as_tieout_asks_and_no_longer_than_it_may(shop: Shop) -> None:
    body = b'{"type": "/problems/unavailable", "retry": "wait", "decision": null}'
    with wired(answering(body, "503 Unavailable", "Retry-After: 3600")) as wire:
        tieout = shop.client(url=wire.url, patience_s=60)
        with (
            pytest.raises(client.TieoutUnavailable, match="answered 503"),
            operation(shop, new_key(), tieout=tieout),
        ):
            pytest.fail("Nothing was claimed.")
        assert len(wire.requests) == 1


def test_where_the_start_is_not_confirmed_nothing_is_done_and_that_is_told_later(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/start", before=False)
        tieout = shop.client(url=way.url, patience_s=0.3)
        with (
            pytest.raises(client.TieoutUnavailable, match="Nothing was done"),
            operation(shop, key, tieout=tieout),
        ):
            pytest.fail("It was not started.")
        assert Attempt.objects.get(operation__key=key).started_at is not None
        assert tieout.flush() == []
    assert stored(key).state == "pending"
    assert Attempt.objects.get(operation__key=key).error_code == "not_started"


# --- an exception becomes an outcome by its kind


def refused() -> None:
    socket.create_connection(("127.0.0.1", 1))


def refused_by_name() -> None:
    urllib.request.urlopen("http://127.0.0.1:1/")


def refused_by_httpx() -> None:
    httpx.post("http://127.0.0.1:1/")


def unknown_host() -> None:
    socket.getaddrinfo("nobody.invalid", 80)


def not_trusted(folder: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate(folder))
    with wired(answering(b""), tls=tls) as wire:
        urllib.request.urlopen(wire.url)


def no_tls() -> None:
    with wired(answering(b""), read=False) as wire:
        urllib.request.urlopen(wire.url.replace("http:", "https:"))


def reset_after_it_was_sent() -> None:
    with wired(lambda connection, _: reset(connection)) as wire:
        urllib.request.urlopen(wire.url, b"x")


def closed_after_it_was_sent() -> None:
    with wired(lambda *_: None) as wire:
        connection = HTTPConnection(urlsplit(wire.url).netloc)
        try:
            connection.request("POST", "/", b"x")
            connection.getresponse()
        finally:
            connection.close()


def no_answer_in_time() -> None:
    def silent(connection: socket.socket, request: bytes) -> None:
        wire.stop.wait(5)

    with wired(silent) as wire:
        httpx.post(wire.url, timeout=0.1)


requests, urllib3 = (importlib.import_module(name) for name in ("requests", "urllib3"))
SENDERS: dict[str, Callable[[str], Any]] = {
    "urllib": lambda url: urllib.request.urlopen(url, b"{}"),
    "requests": lambda url: requests.post(url, json={}),
    "httpx": lambda url: httpx.post(url, json={}, follow_redirects=True),
    "urllib3": lambda url: urllib3.PoolManager(retries=urllib3.Retry(connect=0)).request("POST", url),
}
REPEATERS: dict[str, Callable[[str], Any]] = {
    "urllib3": lambda url: urllib3.PoolManager().request("PUT", url, body=b"{}"),
    "requests": lambda url: persistent().put(url, json={}),
    "xmlrpc": lambda url: ServerProxy(url).invoice.create(),
}


def persistent() -> Any:
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(2, backoff_factor=0.01)))
    return session


@pytest.mark.parametrize("send", SENDERS.values(), ids=list(SENDERS))
def test_2_a_redirect_that_is_refused_proves_nothing_of_what_came_before_it(shop: Shop, send: Any) -> None:
    key = new_key()
    answer = answering(b"", "303 See Other", "Location: http://127.0.0.1:1/")
    with wired(answer) as wire, pytest.raises(Exception, match="refused"), operation(shop, key):
        send(wire.url)
    assert len(wire.requests) == 1
    assert Attempt.objects.get(operation__key=key).outcome == "uncertain"


@pytest.mark.parametrize("send", [SENDERS["requests"], SENDERS["urllib3"]], ids=["requests", "urllib3"])
def test_2_one_request_that_is_refused_was_not_sent(shop: Shop, send: Any) -> None:
    key = new_key()
    with pytest.raises(Exception, match="refused"), operation(shop, key):
        send("http://127.0.0.1:1/")
    assert Attempt.objects.get(operation__key=key).outcome == "retryable"


@pytest.mark.parametrize("send", REPEATERS.values(), ids=list(REPEATERS))
def test_2_a_repetition_that_is_refused_proves_nothing_of_the_first_request(shop: Shop, send: Any) -> None:
    key, received = new_key(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def once() -> None:
            connection, _ = listener.accept()
            listener.close()
            received.append(connection.recv(65536))
            reset(connection)

        thread = threading.Thread(target=once)
        thread.start()
        with pytest.raises(Exception, match="refused"), operation(shop, key):
            send(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        thread.join()
    assert len(received) == 1
    assert Attempt.objects.get(operation__key=key).outcome == "uncertain"


def test_2_a_library_that_may_repeat_by_itself_proves_nothing(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "site-packages" / "mailer"
    folder.mkdir(parents=True)
    file = folder / "__init__.py"
    file.write_text("def send(connect):\n    connect()\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)  # noqa: S102 - it stands in for an installed one
    key = new_key()
    with pytest.raises(ConnectionRefusedError), operation(shop, key):
        names["send"](refused)
    assert Attempt.objects.get(operation__key=key).outcome == "uncertain"


def refused_while_another_was_lost() -> None:
    try:
        reset_after_it_was_sent()
    except OSError:
        refused()


def refused_as_somebody_elses_words() -> None:
    try:
        refused()
    except OSError as error:
        raise RuntimeError("Their library tried thrice.") from error


@pytest.mark.parametrize(
    ("happens", "outcome"),
    [
        (refused, "retryable"),
        (refused_by_name, "retryable"),
        (refused_by_httpx, "retryable"),
        (unknown_host, "retryable"),
        (not_trusted, "retryable"),
        (no_tls, "retryable"),
        (reset_after_it_was_sent, "uncertain"),
        (closed_after_it_was_sent, "uncertain"),
        (no_answer_in_time, "uncertain"),
        (refused_while_another_was_lost, "uncertain"),
        (refused_as_somebody_elses_words, "uncertain"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_2_an_exception_is_retryable_only_before_the_first_byte(
    shop: Shop, tmp_path: Path, happens: Any, outcome: str
) -> None:
    key = new_key()
    with pytest.raises((OSError, httpx.HTTPError, RuntimeError, ssl.SSLError)), operation(shop, key):
        happens(*([tmp_path] if happens is not_trusted else []))
    attempt = Attempt.objects.get(operation__key=key)
    assert attempt.outcome == outcome, (attempt.error_code, attempt.message)


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_2_whatever_else_ends_the_block_may_have_happened(shop: Shop, error: BaseException) -> None:
    key = new_key()
    with pytest.raises(type(error)), operation(shop, key):
        raise error
    assert stored(key).state == "uncertain"


def test_an_error_with_a_status_tells_it(shop: Shop) -> None:
    key = new_key()
    with (
        wired(answering(b"no", "422 No")) as wire,
        pytest.raises(urllib.error.HTTPError),
        operation(shop, key),
    ):
        urllib.request.urlopen(wire.url, b"x")
    attempt = Attempt.objects.get(operation__key=key)
    assert (attempt.outcome, attempt.http_status, attempt.error_code) == ("uncertain", 422, "HTTPError")


def test_a_block_that_says_nothing_is_uncertain_and_says_so_loudly(shop: Shop) -> None:
    key = new_key()
    with pytest.raises(client.NothingSaid, match="did not say what came back"), operation(shop, key):
        pass
    assert Attempt.objects.get(operation__key=key).error_code == "nothing_said"


def test_what_was_said_stands_whatever_comes_after(shop: Shop) -> None:
    def broken_afterwards(op: client.Operation) -> None:
        op.succeeded("MSG-1")
        raise ZeroDivisionError

    key = new_key()
    with pytest.raises(ZeroDivisionError), operation(shop, key) as op:
        broken_afterwards(op)
    assert stored(key).state == "completed"


class Überlauf(Exception):
    """Its name is none that a report may have as it is."""


@pytest.mark.parametrize(("given", "kept"), [(12345, "12345"), (" INV-1 ", "INV-1"), ("  ", "")], ids=repr)
def test_a_reference_is_made_text(shop: Shop, given: Any, kept: str) -> None:
    key = new_key()
    with operation(shop, key) as op:
        op.succeeded(given)
    assert (stored(key).state, stored(key).destination_reference) == ("completed", kept)
    assert shop.files() == []


class Silent:
    """What cannot even say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("given", "without"),
    [
        (b"MSG-1", "destination_reference: it is text or a whole number, and no bytes."),
        (["MSG-1"], "destination_reference: it is text or a whole number, and no list."),
        (True, "destination_reference: it is text or a whole number, and no bool."),
        ("x" * 201, "destination_reference: Tieout answered 400: "),
        ("MSG\t1", "destination_reference: Tieout answered 400: "),
        ("MSG\0", "destination_reference: Tieout answered 400: "),
        ("\ud800", "destination_reference: Tieout answered 400: "),
        ("x" * (2 << 20), "destination_reference: Tieout answered 413: "),
        ({"http_status": 99, "retry_after_s": -1}, "http_status, retry_after_s: Tieout answered 400: "),
        ({"http_status": float("nan")}, "http_status: "),
        ({"response": object(), "message": Silent()}, "message: ZeroDivisionError."),
        ({"answer": "201"}, "answer: Tieout answered 400: "),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_goes_along_with_a_success_does_not_undo_it(
    shop: Shop, caplog: pytest.LogCaptureFixture, given: Any, without: str
) -> None:
    """`given` is a reference, or the other members beside one that is well."""
    key, beside = new_key(), isinstance(given, dict)

    @shop.client().once("reminder.send", key=key, payload=PAYLOAD)
    def remind(op: client.Operation) -> Any:
        return op.succeeded("MSG-1", **given) if beside else given

    remind()
    assert f"reminder.send {key}: told without {without}" in caplog.text
    assert (stored(key).state, stored(key).destination_reference) == ("completed", "MSG-1" if beside else "")
    assert shop.files() == []


def test_words_are_kept_within_what_tieout_takes(shop: Shop) -> None:
    keys = [new_key(), new_key()]
    with operation(shop, keys[0]) as op:
        op.rejected(error_code=" not here " + "x" * 200, message="\0\ud800" + "x" * 10_001)
    with pytest.raises(Überlauf), operation(shop, keys[1]):
        raise Überlauf
    codes = [Attempt.objects.get(operation__key=key).error_code for key in keys]
    assert codes == ["not_here" + "_" + "x" * 91, "_berlauf"]
    assert shop.files() == []


# --- the decorator, and what Tieout performs


def test_a_function_does_it_once_and_always_returns_the_reference(shop: Shop) -> None:
    key, calls = new_key(), []

    @shop.client().once("reminder.send", key=lambda order: order["key"], payload=lambda order: order["body"])
    def remind(op: client.Operation, order: dict[str, Any]) -> str:
        calls.append(op.idempotency_key)
        return f"MSG-{len(calls)}"

    order = {"key": key, "body": PAYLOAD}
    assert (remind(order), remind(order)) == ("MSG-1", "MSG-1")
    assert len(calls) == 1
    with pytest.raises(client.Refused):
        remind({**order, "body": {}})


@pytest.mark.parametrize(
    ("word", "raised"), [("retryable", client.Wait), ("rejected", client.Hold), ("uncertain", client.Hold)]
)
def test_a_function_that_says_it_is_not_done_does_not_end_as_if_it_were(
    shop: Shop, word: str, raised: type[client.NotNow]
) -> None:
    key = new_key()

    @shop.client().once("reminder.send", key=key, payload=PAYLOAD)
    def remind(op: client.Operation) -> None:
        getattr(op, word)()

    with pytest.raises(raised, match=rf"{key}: (wait|hold)\. It was {word}\.") as said:
        remind()
    assert said.value.exit_status == (75 if raised is client.Wait else 76)
    assert ("Decide at http" in str(said.value)) == (raised is client.Hold)


def test_two_at_once_make_one(shop: Shop) -> None:
    key, calls = new_key(), []

    def work(_: int) -> str:
        with operation(shop, key) as op:
            if op.proceed:
                calls.append(op.idempotency_key)
                op.succeeded("MSG-1")
        return op.decision

    decisions = at_once(8, work)
    assert len(calls) == 1
    assert decisions.count("proceed") == 1
    assert set(decisions) <= {"proceed", "wait", "skip"}
    assert shop.files() == []


def test_hand_over_read_and_correct(shop: Shop) -> None:
    key, tieout = new_key(), shop.client()
    told = tieout.submit("invoice.create", key=key, payload=PAYLOAD, amount="75.00", currency="ZAR")
    assert (told["decision"], told["operation"]["state"]) == ("proceed", "pending")
    again = tieout.submit("invoice.create", key=key, payload=PAYLOAD, amount="75.00", currency="ZAR")
    assert again["operation"]["id"] == told["operation"]["id"]
    with operation(shop, new_key()) as op:
        op.rejected(http_status=422)
    wrong = op.operation["id"]
    assert tieout.get(wrong)["state"] == "failed"
    made = [
        tieout.correction(wrong, payload={"order": "484"}, who="ann", why="Wrong order.") for _ in range(2)
    ]
    assert len({one["operation"]["id"] for one in made}) == 1
    with tieout.operation("reminder.send", key=f"{op.key}/c1", payload=None) as corrected:
        assert corrected.payload == {"order": "484"}
        corrected.succeeded("MSG-2")
    with pytest.raises(client.Problem, match="404"):
        tieout.get(str(uuid.uuid4()))


# --- how it is downloaded: whole, with version and digest


@pytest.mark.parametrize("name", SERVED)
def test_it_is_served_whole_with_version_and_digest_and_not_twice(api: Api, name: str) -> None:
    address = f"{api.server.url}/client/{name}"
    answer = httpx.get(address)
    first, _, text = answer.content.partition(b"\n")
    assert text == SERVED[name].read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    assert first.decode().lstrip("#/ ").startswith(f"Tieout client {client.__version__}; SHA-256")
    assert first.decode().endswith(digest)
    assert answer.headers["ETag"] == f'"{digest}"'
    again = httpx.get(address, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_both_languages_have_one_version() -> None:
    assert f'VERSION = "{client.__version__}"' in SERVED["tieout_client.mjs"].read_text()


def test_no_other_file_is_served(api: Api) -> None:
    for name in ("client.py", "api.py", "..%2fapi.py"):
        assert httpx.get(f"{api.server.url}/client/{name}").status_code == 404
    assert httpx.post(f"{api.server.url}/client/tieout_client.py").status_code in (403, 405)
