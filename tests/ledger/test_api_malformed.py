"""What cannot be read, or could be read in two ways, is refused in words, and nothing is written."""

import http.client
import json
import socket
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from ledger.models import Operation
from tests.doors import PAYLOAD, Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

LIMIT = 1024 * 1024


@pytest.fixture
def nothing_written(api: Api) -> Iterator[None]:
    """Fails where a refusal has made an operation all the same."""
    before = Operation.objects.count()
    yield
    assert Operation.objects.count() == before


refuses = pytest.mark.usefixtures("nothing_written")


def handed(**members: Any) -> dict[str, Any]:
    return {"type": "invoice.create", "key": new_key(), "payload": PAYLOAD} | members


def without(name: str) -> dict[str, Any]:
    return {member: value for member, value in handed().items() if member != name}


# --- members


@refuses
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (without("type"), "malformed", "type is missing"),
        (without("payload"), "malformed", "payload is missing"),
        (without("key"), "key-missing", "source.system, source.reference, source.version is missing"),
        (handed(payload=[1]), "malformed", "payload must be an object"),
        (handed(payload="text"), "malformed", "payload must be an object"),
        (handed(payload=None), "malformed", "payload must be an object"),
        (handed(type=7), "malformed", "type must be text"),
        (handed(key=483), "malformed", "key must be text"),
        (handed(source="webshop"), "malformed", "source must be an object"),
        (handed(subject="\u202egnp.exe"), "malformed", "subject has a character that turns the reading"),
        (
            handed(source={"reference": "4\u202e38"}),
            "malformed",
            "source.reference has a character that turns",
        ),
        (handed(source={"reference": 483}), "malformed", "source.reference must be text"),
        (handed(source={"id": "483"}), "unknown-member", "source.id is not known"),
        (handed(ammount="1.00"), "unknown-member", 'ammount is not known; did you mean "amount"?'),
        (handed(attempt_id=str(uuid.uuid4())), "unknown-member", "attempt_id belongs to operations/claim"),
        (handed(lease_s=30), "unknown-member", "lease_s belongs to operations/claim"),
        (handed(amount=1240.0, currency="ZAR"), "amount-not-text", "amount must be text"),
        (handed(amount=1240, currency="ZAR"), "amount-not-text", "amount must be text"),
        (handed(amount=True, currency="ZAR"), "amount-not-text", "amount must be text"),
        (handed(amount="1240.001", currency="ZAR"), "too-many-decimals", "ZAR has 2"),
        (handed(amount="12.5", currency="JPY"), "too-many-decimals", "JPY has none"),
        (handed(amount="1e3", currency="ZAR"), "amount-malformed", "exponent"),
        (handed(amount="1 240.00", currency="ZAR"), "amount-malformed", "blanks"),
        (handed(amount="NaN", currency="ZAR"), "amount-malformed", "not a number"),
        (handed(amount="", currency="ZAR"), "amount-malformed", "blank"),
        (handed(amount="9" * 16, currency="ZAR"), "amount-malformed", "15 digits"),
        (handed(amount="1.00", currency="zar"), "unknown-currency", "capitals"),
        (handed(amount="1.00", currency="XXX"), "unknown-currency", "ISO 4217"),
        (handed(amount="1.00"), "malformed", "come together"),
        (handed(currency="ZAR"), "malformed", "come together"),
        (handed(description="x" * 301), "malformed", "description has more than 300 characters"),
        (handed(subject="x" * 301), "malformed", "subject has more than 300 characters"),
        (handed(type="x" * 101), "malformed", "type has more than 100 characters"),
        (handed(source={"system": "x" * 101}), "malformed", "source.system has more than 100 characters"),
        (handed(source={"reference": "x" * 201}), "malformed", "has more than 200 characters"),
        (handed(source={"version": "x" * 101}), "malformed", "has more than 100 characters"),
        (handed(source={"run": "x" * 201}), "malformed", "source.run has more than 200 characters"),
        (handed(payload={"a": "b\0c"}), "malformed", "payload.a has a NUL character"),
        (handed(payload={"a": [{"b\0": 1}]}), "malformed", "payload.a.0 has a member with a NUL"),
        (handed(description="a\0b"), "malformed", "description has a NUL character"),
    ],
)
def test_a_wrong_member_is_named_with_what_to_write(
    api: Api, body: dict[str, Any], kind: str, words: str
) -> None:
    told = problem(api.post("operations", body), 400, kind)
    assert words in told["detail"]
    assert (told["retry"], told["decision"], told["operation"]) == ("never", None, None)


@refuses
@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"lease_s": 0}, "lease_s must be at least 1"),
        ({"lease_s": 0.5}, "lease_s must be at least 1"),
        ({"lease_s": -1}, "lease_s must be at least 1"),
        ({"lease_s": 86401}, "lease_s must be at most 86400"),
        ({"lease_s": "60"}, "lease_s must be a number"),
        ({"lease_s": True}, "lease_s must be a number"),
        ({"attempt_id": "exec-9931"}, "attempt_id must be a UUID"),
        ({"attempt_id": 7}, "attempt_id must be a UUID"),
        ({"attempt_id": ""}, "attempt_id must be a UUID"),
    ],
)
def test_a_claims_own_members_are_held_to_their_bounds(api: Api, members: dict[str, Any], words: str) -> None:
    assert words in problem(api.claim(new_key(), **members), 400, "malformed")["detail"]


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"outcome": "done"}, "outcome must be one of 'succeeded', 'accepted'"),
        ({"outcome": None}, "outcome must be one of"),
        ({"token": 7}, "token must be text"),
        ({"http_status": 99}, "http_status must be at least 100"),
        ({"http_status": 600}, "http_status must be at most 599"),
        ({"http_status": "200"}, "http_status must be a whole number"),
        ({"http_status": 200.5}, "http_status must be a whole number"),
        ({"retry_after_s": -1}, "retry_after_s must be at least 0"),
        ({"retry_after_s": "5"}, "retry_after_s must be a number"),
        ({"error_code": "The customer is blocked."}, "error_code is a code without blanks"),
        ({"error_code": "x" * 101}, "error_code has more than 100 characters"),
        ({"destination_reference": "x" * 201}, "destination_reference has more than 200 characters"),
        ({"destination_reference": "INV-1\n"}, "destination_reference has control characters"),
        ({"message": "x" * 10_001}, "message has more than 10000 characters"),
        ({"status": 200}, "status is not known"),
    ],
)
def test_a_report_that_cannot_be_read_leaves_the_attempt_open(
    api: Api, members: dict[str, Any], words: str
) -> None:
    held = api.claimed(new_key())
    answer = api.post(
        f"attempts/{held['id']}/outcome", {"token": held["token"], "outcome": "succeeded"} | members
    )
    assert words in answer.json()["detail"]
    assert answer.status_code == 400
    assert api.outcome(held, "succeeded").status_code == 200


@pytest.mark.parametrize(
    "body", [{"token": "x"}, {"start_id": str(uuid.uuid4())}, {"token": "x", "start_id": "1"}]
)
def test_a_start_needs_its_token_and_its_id(api: Api, body: dict[str, Any]) -> None:
    held = api.claimed(new_key(), attempt_id=str(uuid.uuid4()))
    problem(api.post(f"attempts/{held['id']}/start", body), 400, "malformed")


@refuses
def test_everything_wrong_is_said_at_once_and_no_value_is_repeated(api: Api) -> None:
    body = {
        "key": 5,
        "payload": ["secret-one"],
        "amount": 12.5,
        "source": {"system": 4},
        "colour": "secret-two",
    }
    answer = api.post("operations", body)
    told = problem(answer, 400, "malformed")
    assert {wrong["path"] for wrong in told["errors"]} == {
        "type",
        "payload",
        "key",
        "source.system",
        "amount",
        "colour",
    }
    assert all(wrong["path"] in told["detail"] for wrong in told["errors"])
    assert "secret" not in answer.text
    assert "12.5" not in answer.text


@refuses
def test_a_flood_of_unknown_members_gets_a_short_answer(api: Api) -> None:
    body = handed() | {f"{'x' * 1_000}{number}": 1 for number in range(900)}
    answer = api.post("operations", body)
    assert problem(answer, 400, "unknown-member")["detail"].endswith("850 more are wrong.")
    assert len(answer.content) < 30_000


def test_what_is_null_was_not_said(api: Api) -> None:
    names = ("amount", "currency", "description", "subject")
    assert api.post("operations", handed(**dict.fromkeys(names))).status_code == 202
    assert api.claim(new_key(), attempt_id=None, lease_s=None).status_code == 201


# --- keys


@refuses
@pytest.mark.parametrize("key", ["", " ", "\u00a0\u200b", "\t\n"])
def test_known_failure_20_a_blank_key_is_refused_and_none_is_invented(api: Api, key: str) -> None:
    source = {"system": "webshop", "reference": "483", "version": "1"}
    problem(api.post("operations", handed(key=key, source=source)), 400, "key-missing")
    problem(api.post("operations", without("key"), Idempotency_Key=""), 400, "key-missing")
    part = {"system": "webshop", "reference": key, "version": "1"}
    problem(api.post("operations", without("key") | {"source": part}), 400, "key-missing")


@refuses
@pytest.mark.parametrize("key", ["a\u0007b", " a", "a ", "a\u202eb", "x" * 201])
def test_a_key_that_could_be_mistaken_is_refused(api: Api, key: str) -> None:
    problem(api.post("operations", handed(key=key)), 400, "key-malformed")


def raw(api: Api, *headers: tuple[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
    """Send headers exactly as they stand, also one twice."""
    connection = http.client.HTTPConnection(urlsplit(api.server.url).netloc, timeout=30)
    try:
        connection.putrequest("POST", "/api/v1/operations")
        for name, value in (
            ("Authorization", f"Bearer {api.token}"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            *headers,
        ):
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@refuses
@pytest.mark.parametrize("second", ["order/1", "order/2"])
def test_known_failure_21_two_headers_are_two_keys(api: Api, second: str) -> None:
    headers = [("Idempotency-Key", "order/1"), ("Idempotency-Key", second)]
    for body in (handed(key="order/1"), without("key")):
        status, told = raw(api, *headers, body=json.dumps(body).encode())
        assert (status, told["type"]) == (400, "/problems/two-keys")


@refuses
def test_a_comma_in_the_header_is_refused_in_words(api: Api) -> None:
    told = problem(api.post("operations", without("key"), Idempotency_Key="order/1,2"), 400, "two-keys")
    assert 'as "key"' in told["detail"]


@refuses
def test_a_header_that_differs_from_the_key_is_refused(api: Api) -> None:
    problem(api.post("operations", handed(key="order/1"), Idempotency_Key="order/2"), 400, "key-differs")
    problem(api.post("operations", handed(key="order/1"), Idempotency_Key=""), 400, "key-differs")


@refuses
@pytest.mark.parametrize("header", ['"order/1"', "b\u00fccher/1"])
def test_a_header_that_two_readers_read_differently_is_refused(api: Api, header: str) -> None:
    status, _ = raw(api, ("Idempotency-Key", header), body=json.dumps(without("key")).encode())
    assert status == 400


def test_header_and_body_may_name_the_same_key_and_either_may_be_alone(api: Api) -> None:
    key = new_key()
    ids = {
        api.post("operations", body, **headers).json()["operation"]["id"]
        for body, headers in (
            (handed(key=key), {}),
            (handed(key=key), {"Idempotency_Key": key}),
            (without("key"), {"Idempotency_Key": key}),
        )
    }
    assert len(ids) == 1


# --- JSON


@refuses
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"", "malformed", "body is missing"),
        (b"null", "malformed", "must be a JSON object"),
        (b"[]", "malformed", "must be a JSON object"),
        (b'"text"', "malformed", "must be a JSON object"),
        (b"{", "malformed", "not JSON"),
        (b"type=invoice.create", "malformed", "not JSON"),
        (b'{"type": "x"} {}', "malformed", "not JSON"),
        (b'{"type": "\xff"}', "malformed", "not UTF-8"),
        (b'\xef\xbb\xbf{"type": "x"}', "malformed", "not JSON"),
        ('{"type": "x"}'.encode("utf-16"), "malformed", "UTF-8"),
        (b'{"type": "a", "type": "b"}', "duplicate-member", "type twice"),
        (b'{"payload": {"a": 1, "a": 1}}', "duplicate-member", "payload names a twice"),
        (b'{"payload": {"a": NaN}}', "number-not-exact", "NaN"),
        (b'{"payload": {"a": Infinity}}', "number-not-exact", "Infinity"),
        (b'{"payload": {"a": 9007199254740992}}', "number-not-exact", "2^53"),
        (b'{"payload": {"a": -9007199254740992}}', "number-not-exact", "2^53"),
        (b'{"payload": {"a": 1e999}}', "number-not-exact", "too large"),
        (b'{"payload": {"a": "\\ud800"}}', "malformed", "surrogate"),
        (b'{"payload": ' + b'{"a":' * 100 + b"1" + b"}" * 101, "malformed", "64 levels"),
        (b"[" * 100_000, "malformed", "64 levels"),
    ],
)  # fmt: skip
def test_json_that_could_be_read_in_two_ways_is_refused(api: Api, body: bytes, kind: str, words: str) -> None:
    assert words in problem(api.post("operations", body), 400, kind)["detail"]


@refuses
@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]
)
def test_another_content_type_is_refused_in_words(api: Api, kind: str) -> None:
    told = problem(api.post("operations", handed(), Content_Type=kind), 400, "malformed")
    assert "Content-Type: application/json" in told["detail"]


def test_a_charset_of_utf_8_may_be_said(api: Api) -> None:
    answer = api.post("operations", handed(), Content_Type='Application/JSON; charset="UTF-8"')
    assert answer.status_code == 202


def test_an_escaped_backslash_before_u0000_is_no_nul(api: Api) -> None:
    assert api.post("operations", handed(payload={"path": "c:\\u0000"})).status_code == 202


def test_known_failure_22_the_same_value_written_otherwise_is_the_same_payload(api: Api) -> None:
    key = new_key()
    first = (
        '{"type":"reminder.send","key":"%s",'
        '"payload":{"a":1000000,"b":"\\u00e9\\/","c":[1,2],"d":9007199254740991}}'
    )
    same = (
        '{"payload":{"d":9007199254740991,"c":[1.0,2e0],"b":"é/","a":1e6},"key":"%s","type":"reminder.send"}'
    )
    other = (
        '{"type":"reminder.send","key":"%s","payload":{"a":1000000,"b":"é/","c":[2,1],"d":9007199254740991}}'
    )
    assert api.post("operations/claim", (first % key).encode()).status_code == 201
    problem(api.post("operations/claim", (same % key).encode()), 409, "in-flight")
    told = problem(api.post("operations/claim", (other % key).encode()), 422, "payload-changed")
    assert told["changed"] == ["c.0", "c.1"]


def test_known_failure_23_no_text_is_normalised_and_look_alike_keys_are_told(api: Api) -> None:
    key = new_key()
    composed, decomposed = f"{key}/caf\u00e9", f"{key}/cafe\u0301"
    assert api.claim(composed, payload={"name": "caf\u00e9"}).json()["warnings"] == []
    problem(api.claim(composed, payload={"name": "cafe\u0301"}), 422, "payload-changed")
    other = api.claim(decomposed, payload={"name": "caf\u00e9"})
    assert other.status_code == 201
    assert "Unicode" in other.json()["warnings"][0]


# --- size


@refuses
@pytest.mark.parametrize("token", [True, False])
def test_two_megabytes_are_refused_and_the_connection_goes_on(api: Api, token: bool) -> None:
    sender = api if token else Api(api.server, api.clock, "nobody", api.http, api.log)
    body = json.dumps(handed(payload={"a": "x" * 2_000_000})).encode()
    for _ in range(3):
        told = problem(sender.post("operations", body), 413, "too-large")
        assert "1024 KiB" in told["detail"]
    assert api.http.get("/healthz").status_code == 200


@refuses
def test_two_megabytes_from_a_client_that_closes(api: Api) -> None:
    connection = http.client.HTTPConnection(urlsplit(api.server.url).netloc, timeout=30)
    connection.request("POST", "/api/v1/operations", b"x" * 2_000_000, {"Connection": "close"})
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["type"]) == (413, "/problems/too-large")
    connection.close()


def chunked(api: Api, pieces: Iterator[bytes]) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(urlsplit(api.server.url).netloc, timeout=30)
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/operations", pieces, headers, encode_chunked=True)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@refuses
def test_two_megabytes_in_chunks_are_refused(api: Api) -> None:
    status, told = chunked(api, iter([b"x" * 100_000] * 20))
    assert (status, told["type"]) == (413, "/problems/too-large")


def test_a_body_in_chunks_is_read_like_any_other(api: Api) -> None:
    body = json.dumps(handed()).encode()
    status, told = chunked(api, iter([body[:20], body[20:]]))
    assert (status, told["decision"]) == (202, "proceed")


@refuses
def test_chunks_that_are_none_are_refused(api: Api) -> None:
    host = urlsplit(api.server.url)
    with socket.create_connection((host.hostname, host.port or 80), timeout=30) as plain:
        head = (
            f"POST /api/v1/operations HTTP/1.1\r\nHost: {host.netloc}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        plain.sendall(head.encode() + b"nonsense\r\n")
        assert plain.recv(1000).startswith(b"HTTP/1.1 400 ")


@refuses
def test_a_request_that_breaks_off_is_refused(api: Api) -> None:
    host = urlsplit(api.server.url)
    with socket.create_connection((host.hostname, host.port or 80), timeout=30) as plain:
        head = f"POST /api/v1/operations HTTP/1.1\r\nHost: {host.netloc}\r\nContent-Length: 500\r\n\r\n{{}}"
        plain.sendall(head.encode())
        plain.shutdown(socket.SHUT_WR)
        answer = plain.recv(1000)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_payload_up_to_the_limit_is_taken(api: Api) -> None:
    body = handed(payload={"a": ""})
    room = LIMIT - len(json.dumps(body).encode())
    body["payload"] = {"a": "x" * room}
    assert len(json.dumps(body).encode()) == LIMIT
    assert api.post("operations", body).status_code == 202
    body["payload"] = {"a": "x" * (room + 1)}
    problem(api.post("operations", body), 413, "too-large")


@refuses
def test_a_payload_of_too_many_values_is_too_large(api: Api) -> None:
    problem(api.post("operations", handed(payload={"a": list(range(10_001))})), 413, "too-large")
