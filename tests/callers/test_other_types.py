"""A token is for its types: at no address does it read, write or learn anything of another type's operations.

| asked for                            | answer                                                         |
|--------------------------------------|----------------------------------------------------------------|
| another type's operation, try or run | 403, and nothing is changed                                    |
| a key of another type                | the same 403, byte for byte, whether the key is there or not   |
| a list                               | nothing of other types, also from a place in somebody's list   |
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from ledger.models import Attempt, Event, Operation, OperationType
from reconcile.models import Run
from tests.callers.writing import MEANT, WHY, counted, left
from tests.callers.writing import run as plan_of_invoices
from tests.doors import PAYLOAD, Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

OWN, OTHER = "reminder.send", "refund.pay"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SIGNED = {("post", "/destinations/{name}/events")}
"""It takes no token, so none covers anything there."""


@dataclass(frozen=True)
class Theirs:
    """What another automation has: an operation that is done, a try that runs, and a run of a plan."""

    key: str
    operation: str
    attempt: dict[str, Any]
    plan: str
    run: str

    def told_by(self, text: str) -> list[str]:
        """What a text says of it."""
        at_door = {self.operation, str(self.attempt["id"]), self.plan, self.run}
        mine = [self.key, "customer 77", "REF-1", "Refund for order 483", OTHER, "invoice.create"]
        return [word for word in mine if word in text and word not in at_door]


@pytest.fixture(scope="module")
def theirs(serving: Api) -> Theirs:
    key = new_key("refund")
    words = {"subject": "customer 77", "description": "Refund for order 483"}
    done = serving.claimed(new_key("done"), type=OTHER)
    serving.outcome(done, "succeeded", destination_reference="REF-1")
    answer = serving.claim(key, type=OTHER, attempt_id=str(uuid.uuid4()), **words)
    request = plan_of_invoices(serving)
    run = serving.http.post(f"/api/v1/{request.path}", json={}, headers=request.headers).json()
    told = answer.json()
    return Theirs(key, told["operation"]["id"], told["attempt"], run["plan"], run["id"])


@pytest.fixture(scope="module")
def shop(serving: Api) -> Api:
    """An automation that may send reminders, and nothing else."""
    return serving.other(OWN)


def claim(key: str) -> dict[str, Any]:
    return {"type": OTHER, "key": key, "payload": PAYLOAD}


def reported(theirs: Theirs) -> dict[str, Any]:
    return {"token": theirs.attempt["token"], "outcome": "succeeded", "destination_reference": "REF-2"}


Asking = Callable[[Theirs], tuple[str, Any]]
ROUTES: dict[tuple[str, str], Asking] = {
    ("get", "/operations"): lambda theirs: (f"operations?type={OTHER}", None),
    ("post", "/operations"): lambda theirs: (
        "operations",
        {"type": "invoice.create", "key": theirs.key, "payload": PAYLOAD},
    ),
    ("post", "/operations/claim"): lambda theirs: ("operations/claim", claim(theirs.key)),
    ("post", "/operations/claim-batch"): lambda theirs: (
        "operations/claim-batch",
        {"items": [claim(theirs.key)]},
    ),
    ("get", "/operations/{uid}"): lambda theirs: (f"operations/{theirs.operation}", None),
    ("post", "/operations/{uid}/correction"): lambda theirs: (
        f"operations/{theirs.operation}/correction",
        {"payload": MEANT, **WHY},
    ),
    ("post", "/attempts/{uid}/start"): lambda theirs: (
        f"attempts/{theirs.attempt['id']}/start",
        {"token": theirs.attempt["token"], "start_id": str(uuid.uuid4())},
    ),
    ("post", "/attempts/{uid}/heartbeat"): lambda theirs: (
        f"attempts/{theirs.attempt['id']}/heartbeat",
        {"token": theirs.attempt["token"], "lease_s": 9000},
    ),
    ("post", "/attempts/{uid}/outcome"): lambda theirs: (
        f"attempts/{theirs.attempt['id']}/outcome",
        reported(theirs),
    ),
    ("post", "/attempts/outcome-batch"): lambda theirs: (
        "attempts/outcome-batch",
        {"items": [{"attempt": theirs.attempt["id"], **reported(theirs)}]},
    ),
    ("post", "/plans/{name}/runs"): lambda theirs: (f"plans/{theirs.plan}/runs", {}),
    ("get", "/runs/{uid}"): lambda theirs: (f"runs/{theirs.run}", None),
    ("get", "/runs/{uid}/findings"): lambda theirs: (f"runs/{theirs.run}/findings", None),
}
NAMED = ["/operations", "/operations/claim", "/operations/claim-batch"]
"""Where an operation is named by its key."""


def ask(api: Api, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {api.token}"}
    return api.http.request(method.upper(), f"/api/v1/{path}", json=body, headers=headers)


def rows() -> list[Any]:
    """Everything that a request could have changed without making a row."""
    attempts = Attempt.objects.order_by("pk").values_list(
        "pk", "lease_until", "started_at", "token_hash", "outcome"
    )
    operations = Operation.objects.order_by("pk").values_list("pk", "state", "revision", "corrected_at")
    return [*attempts, *operations, *Run.objects.order_by("pk").values_list("pk", "state")]


def documented(api: Api) -> Iterator[tuple[str, str]]:
    for path, methods in api.http.get("/api/v1/openapi.json").json()["paths"].items():
        yield from ((method, path.removeprefix("/api/v1")) for method in methods)


def test_the_table_has_every_address_and_method(api: Api) -> None:
    assert {*ROUTES} | SIGNED == {*documented(api)}


@pytest.mark.parametrize(("method", "address"), ROUTES, ids=lambda part: part.replace("/", " ").strip())
def test_what_is_another_types_is_refused_and_stays(
    shop: Api, theirs: Theirs, method: str, address: str
) -> None:
    path, body = ROUTES[method, address](theirs)
    before, stood = counted(), rows()
    answer = ask(shop, method, path, body)
    told = answer.json()["items"][0] if address.endswith("-batch") else answer.json()
    status = answer.status_code if told is answer.json() else told["status"]
    assert (told["status"], told["type"]) == (403, "/problems/type-not-allowed")
    assert status in (200, 403)
    assert (told["operation"], told["attempt"], told["decision"], told["case"]) == (None,) * 4
    assert theirs.told_by(answer.text) == []
    assert (left(before), rows()) == ({}, stood)


@pytest.mark.parametrize("address", NAMED, ids=lambda part: part.replace("/", " ").strip())
def test_the_words_are_the_same_whether_its_key_is_there_or_not(
    shop: Api, theirs: Theirs, address: str
) -> None:
    there = Operation.objects.get(uid=theirs.operation)
    _, body = ROUTES["post", address](theirs)
    if address == "/operations":
        shop.other("invoice.create").submit(there.key)
    known, not_known = (
        ask(shop, "post", address[1:], again)
        for again in (
            body,
            {**body, "items": [claim(new_key())]} if "items" in body else {**body, "key": new_key()},
        )
    )
    assert known.content == not_known.content
    another = ask(shop, "post", address[1:], body | {"payload": {}} if "payload" in body else body)
    assert another.content == known.content, "nor whether the payload is another one"


def test_what_comes_after_another_types_operation_is_refused_whether_that_is_there_or_not(
    shop: Api, theirs: Theirs
) -> None:
    before, mine = counted(), new_key()
    answers = [shop.claim(mine, after={"type": OTHER, "key": key}) for key in (theirs.key, new_key())]
    assert problem(answers[0], 403, "type-not-allowed")["operation"] is None
    assert answers[0].content == answers[1].content
    assert left(before) == {}


def test_lists_and_places_in_them_lead_to_nothing_of_other_types(shop: Api, theirs: Theirs) -> None:
    everybody = shop.other()
    for _ in range(3):
        everybody.claimed(new_key(), type=OTHER)
    shop.claimed(own := new_key())
    place = everybody.find(type=OTHER, limit="1")["next_cursor"]
    for asked in ({}, {"cursor": place}, {"updated_since": "2020-01-01T00:00:00Z"}, {"claimable": "true"}):
        items = shop.find(limit="500", **asked)["items"]
        assert {item["type"] for item in items} <= {OWN}
        assert theirs.told_by(str(items)) == []
    assert own in [item["key"] for item in shop.find(limit="500", cursor=place)["items"]]
    assert shop.find(key=theirs.key) == {"items": [], "next_cursor": None}
    assert shop.find(key=theirs.key, state="running", cursor=place)["items"] == []


def test_beside_others_in_a_batch_only_its_own_are_done(shop: Api, theirs: Theirs) -> None:
    mine = {"type": OWN, "key": new_key(), "payload": PAYLOAD}
    stood = rows()
    answer = ask(
        shop, "post", "operations/claim-batch", {"items": [claim(theirs.key), mine, claim(new_key())]}
    )
    told = answer.json()["items"]
    assert [item["status"] for item in told] == [403, 201, 403]
    made = told[1]["attempt"]
    items = [
        {"attempt": uid, "token": token, "outcome": "succeeded", "destination_reference": "MAIL-1"}
        for uid, token in ((theirs.attempt["id"], theirs.attempt["token"]), (made["id"], made["token"]))
    ]
    answer = ask(shop, "post", "attempts/outcome-batch", {"items": items})
    assert [item["status"] for item in answer.json()["items"]] == [403, 200]
    assert theirs.told_by(answer.text) == []
    assert [row for row in rows() if row in stood] == stood


@pytest.mark.parametrize("path", sorted({path for _, path in ROUTES}), ids=lambda part: part[1:])
def test_other_methods_do_nothing(shop: Api, theirs: Theirs, path: str) -> None:
    taken = {method for method, of in {*ROUTES} | SIGNED if of == path}
    asked, body = next(ROUTES[method, path](theirs) for method in taken)
    before, stood = counted(), rows()
    for method in METHODS:
        if method.lower() not in taken:
            problem(ask(shop, method, asked.partition("?")[0], body), 405, "wrong-method")
    assert (left(before), rows()) == ({}, stood)


def test_a_try_of_another_types_cannot_be_taken_over_by_its_attempt_id(shop: Api, theirs: Theirs) -> None:
    """The id alone is known: it leads to no token, and to no word of whose it is."""
    caller_id = Attempt.objects.get(uid=theirs.attempt["id"]).caller_id
    answer = shop.claim(new_key(), attempt_id=str(caller_id))
    told = problem(answer, 409, "attempt-id-elsewhere")
    assert (told["operation"], told["attempt"]) == (None, None)
    assert theirs.told_by(answer.text) == []


def test_its_own_type_is_no_key_to_another_ones_of_the_same_name(shop: Api, theirs: Theirs) -> None:
    """Keys are names within a type: the same one here is another operation."""
    answer = shop.claim(theirs.key)
    assert (answer.status_code, answer.json()["warnings"]) == (201, [])
    assert Event.objects.filter(operation__uid=theirs.operation).count() == 2
    assert OperationType.objects.get(name=OTHER).operations.filter(key=theirs.key).count() == 1
