"""Who comes in, to which types, at which addresses; and what the outside is told of the API."""

import re
import uuid
from collections.abc import Iterator

import pytest
from django.urls import URLResolver, get_resolver

from config.urls import api as documented
from ledger.models import Operation
from tests.doors import PAYLOAD, Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

BODY = {"type": "reminder.send", "payload": PAYLOAD}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic dXNlcjpwYXNz", "tieout_x", "Bearer tieout_x"])
def test_nobody_comes_in_without_a_known_token(api: Api, header: str | None) -> None:
    key = new_key()
    headers = {} if header is None else {"Authorization": header}
    answer = api.http.post("/api/v1/operations/claim", json={**BODY, "key": key}, headers=headers)
    told = problem(answer, 401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="tieout"'
    assert told["retry"] == "never"
    assert "tieout_x" not in answer.text
    assert not Operation.objects.filter(key=key).exists()


def test_a_token_is_asked_for_before_a_body_is_judged(api: Api) -> None:
    problem(api.http.post("/api/v1/operations", content=b"nonsense"), 401, "unauthenticated")


def test_the_scheme_is_written_in_any_case(api: Api) -> None:
    answer = api.post("operations/claim", {**BODY, "key": new_key()}, Authorization=f"bearer {api.token}")
    assert answer.status_code == 201


def test_a_token_is_for_its_types_only_and_tells_nothing_of_others(api: Api) -> None:
    key = new_key()
    held = api.claimed(key, attempt_id=str(uuid.uuid4()))
    operation = Operation.objects.get(key=key)
    invoices = api.other("invoice.create")
    for answer in (
        invoices.claim(key),
        invoices.claim(new_key()),
        invoices.start(held),
        invoices.outcome(held, "succeeded"),
        invoices.get(f"operations/{operation.uid}"),
        invoices.post("operations/claim", {**BODY, "type": "no.such", "key": key}),
    ):
        told = problem(answer, 403, "type-not-allowed")
        assert (told["operation"], told["decision"]) == (None, None)
        assert key not in answer.text
    assert api.start(held).status_code == 200
    assert api.other("reminder.send").outcome(held, "succeeded").status_code == 200


def test_an_unknown_type_is_not_found(api: Api) -> None:
    told = problem(api.claim(new_key(), type="no.such"), 404, "not-found")
    assert "no.such" in told["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "operations", "GET, POST"),
        ("PUT", "operations/claim", "POST"),
        ("GET", "attempts/0b5f3c1e-0000-4000-8000-000000000483/start", "POST"),
        ("PATCH", "operations/0b5f3c1e-0000-4000-8000-000000000483", "GET"),
    ],
)
def test_another_method_is_a_problem_document(api: Api, method: str, path: str, allowed: str) -> None:
    answer = api.http.request(method, f"/api/v1/{path}")
    problem(answer, 405, "wrong-method")
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize(
    "path", ["", "nothing", "operations/", "operations/483", "attempts/1/start", "docs/", "%00"]
)
def test_an_unknown_address_is_a_problem_document(api: Api, path: str) -> None:
    for method in ("GET", "POST"):
        told = problem(api.http.request(method, f"/api/v1/{path}"), 404, "not-found")
        assert "/api/v1/openapi.json" in told["detail"]


def patterned(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """Every address with a part that is not fixed, as it is written in the URL configuration."""
    for one in resolver.url_patterns:
        whole = f"{before}{one.pattern}"
        if isinstance(one, URLResolver):
            yield from patterned(one, whole)
        elif "<" in whole:
            yield whole


def test_no_part_of_an_address_can_be_what_the_database_does_not_take(api: Api) -> None:
    addresses = list(patterned(get_resolver("config.urls")))
    assert "api/v1/plans/<slug:name>/runs" in addresses and "operations/<uuid:uid>/" in addresses
    for address in addresses:
        for part in ("a%00b", "%ED%A0%80", "x" * 4000):
            asked = f"/{re.sub('<[^>]+>', part, address)}"
            statuses = {api.http.request(method, asked).status_code for method in ("GET", "POST")}
            assert max(statuses) < 500, address
            assert "%" not in part or 404 in statuses, address


def test_what_lies_beside_this_version_of_the_api_is_a_problem_document_too(api: Api) -> None:
    for path in ("/api", "/api/", "/api/v1", "/api/v2/operations", "/api/openapi.json"):
        told = problem(api.http.post(path), 404, "not-found")
        assert "/api/v1/openapi.json" in told["detail"]
    assert api.http.get("/apiary").headers["Content-Type"].startswith("text/html")


def test_another_host_is_a_problem_document(api: Api) -> None:
    answer = api.http.get("/api/v1/operations", headers={"Host": "elsewhere.example.com"})
    problem(answer, 400, "malformed")


def test_openapi_lists_every_address(api: Api) -> None:
    document = api.http.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {(path, *sorted(methods)) for path, methods in document["paths"].items()} == {
        ("/api/v1/operations", "get", "post"),
        ("/api/v1/operations/claim", "post"),
        ("/api/v1/operations/claim-batch", "post"),
        ("/api/v1/operations/{uid}", "get"),
        ("/api/v1/operations/{uid}/correction", "post"),
        ("/api/v1/attempts/{uid}/start", "post"),
        ("/api/v1/attempts/{uid}/heartbeat", "post"),
        ("/api/v1/attempts/{uid}/outcome", "post"),
        ("/api/v1/attempts/outcome-batch", "post"),
        ("/api/v1/destinations/{name}/events", "post"),
        ("/api/v1/plans/{name}/runs", "post"),
        ("/api/v1/runs/{uid}", "get"),
        ("/api/v1/runs/{uid}/findings", "get"),
    }
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation.get("security") or operation["operationId"] == "hear", (
                "what is signed needs none"
            )
    handed = document["components"]["schemas"]["ClaimIn"]
    assert handed["additionalProperties"] is False
    assert handed["required"] == ["type"], "the claim of a correction needs no payload"
    assert "default" not in handed["properties"]["payload"], "null is refused"
    assert set(document["components"]["schemas"]["SubmissionIn"]["required"]) == {"type", "payload"}


def test_openapi_is_built_once_and_not_sent_again_to_who_has_it(api: Api) -> None:
    prefix = {"path_prefix": "/api/v1/"}
    assert documented.get_openapi_schema(**prefix) is documented.get_openapi_schema(**prefix)
    path = "/api/v1/openapi.json"
    first = api.http.get(path)
    assert first.headers["Cache-Control"] == "no-cache"
    again = api.http.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = api.http.get(path, headers={"If-None-Match": '"another"'})
    assert (other.status_code, other.content) == (200, first.content)
    assert api.http.get("/api/v1/operations").headers["Cache-Control"] == "no-store"


def test_known_failure_14_each_refusal_has_its_own_status_and_type(api: Api) -> None:
    key, busy = new_key(), new_key()
    api.claimed(busy)
    api.outcome(api.claimed(key), "uncertain")
    waiting = new_key()
    api.outcome(api.claimed(waiting), "retryable", retry_after_s=60)
    answers = [
        api.claim(busy),
        api.claim(waiting),
        api.claim(key),
        api.claim(busy, payload={}),
        api.claim(new_key(), type="invoice.create"),
        api.claim(new_key(), type="no.such"),
        api.other("invoice.create").claim(busy),
        api.other(revoked=True).claim(busy),
        api.claim(""),
        api.claim(new_key(), amount=5),
        api.claim(new_key(), colour="red"),
        api.post("operations/claim", b"x" * 2_000_000),
    ]
    types = [answer.json()["type"] for answer in answers]
    assert len(set(types)) == len(answers), types
    assert all(answer.status_code < 500 for answer in answers)
