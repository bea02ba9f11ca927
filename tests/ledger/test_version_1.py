"""Version 1 of the API takes nothing back: what docs/api-v1.json promises is still so."""

import copy
import json
from collections.abc import Callable

import pytest

from tests import promise
from tests.promise import Node, breaks, served

CLAIM, OPERATIONS = "/api/v1/operations/claim", "/api/v1/operations"


def test_what_was_promised_is_kept() -> None:
    promised = json.loads(promise.FILE.read_text())
    assert breaks(promised, served()) == [], "Keep it, or make a version 2. Additions: make promise"
    assert len(promised["paths"]) >= 12


def changed(change: Callable[[Node], object]) -> list[str]:
    """What is said of the API as it is, with one change."""
    now = served()
    after = copy.deepcopy(now)
    change(after)
    return breaks(now, after)


def schema(now: Node, name: str) -> Node:
    found: Node = now["schemas"][name]
    return found


BREAKS: dict[str, Callable[[Node], object]] = {
    "POST /api/v1/operations/claim: gone": lambda now: now["paths"].pop(CLAIM),
    "GET /api/v1/operations state: gone": lambda now: now["paths"][OPERATIONS]["get"]["parameters"].pop(2),
    "GET /api/v1/operations limit: required": lambda now: now["paths"][OPERATIONS]["get"]["parameters"][
        -1
    ].update(required=True),
    "GET /api/v1/operations limit: maximum is narrower": lambda now: now["paths"][OPERATIONS]["get"][
        "parameters"
    ][-1]["schema"].update(maximum=100),
    "POST /api/v1/operations/claim 201: gone": lambda now: now["paths"][CLAIM]["post"]["responses"].pop(
        "201"
    ),
    "POST /api/v1/operations/claim 299: a new success": lambda now: now["paths"][CLAIM]["post"][
        "responses"
    ].update({"299": {}}),
    "POST /api/v1/operations/claim.key: required": lambda now: schema(now, "ClaimIn")["required"].append(
        "key"
    ),
    "POST /api/v1/operations/claim.lease_s: gone": lambda now: schema(now, "ClaimIn")["properties"].pop(
        "lease_s"
    ),
    "POST /api/v1/operations/claim.payload: object no longer taken": lambda now: schema(now, "ClaimIn")[
        "properties"
    ]["payload"].update(type="string"),
    "POST /api/v1/operations/claim 201.warnings: not always there": lambda now: schema(now, "AnswerOut")[
        "required"
    ].remove("warnings"),
    "POST /api/v1/operations/claim 201.case: gone": lambda now: schema(now, "AnswerOut")["properties"].pop(
        "case"
    ),
    "GET /api/v1/operations 200.items[].state: 'lost' was never given": lambda now: schema(now, "State")[
        "enum"
    ].append("lost"),
    "GET /api/v1/operations 200.items[].key: null was never given": lambda now: schema(now, "ListedOut")[
        "properties"
    ]["key"].update({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "problem on-hold: gone or changed": lambda now: now["problems"].update({"on-hold": [409, "wait"]}),
}


@pytest.mark.parametrize("said", BREAKS)
def test_what_takes_something_back_is_named(said: str) -> None:
    assert said in changed(BREAKS[said])


def test_what_is_new_breaks_nothing() -> None:
    """A path, a parameter, a member, a kind of problem, a wider limit."""

    def grown(now: Node) -> None:
        call = now["paths"][OPERATIONS]["get"]
        now["paths"]["/api/v1/news"] = {"get": call}
        call["parameters"].append({"in": "query", "name": "colour", "schema": {"type": "string"}})
        call["parameters"][-2]["schema"]["maximum"] = 1000
        schema(now, "ClaimIn")["properties"]["colour"] = {"type": "string"}
        schema(now, "AnswerOut")["properties"]["colour"] = {"type": "string"}
        schema(now, "AnswerOut")["required"].append("colour")
        now["problems"]["no-colour"] = [409, "never"]

    assert changed(grown) == []
