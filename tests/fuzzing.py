"""Hooks for schemathesis: half of what it makes up is about what there is; a hash decides, so it repeats."""

import hashlib
import json
import os
from typing import Any

import schemathesis

OPERATIONS: list[str] = json.loads(os.environ["FUZZED_OPERATIONS"])
RUNS: list[str] = json.loads(os.environ["FUZZED_RUNS"])
PLAN = "invoices"
ATTEMPTS: dict[str, list[tuple[str, str]]] = json.loads(os.environ["FUZZED_ATTEMPTS"])
"""For each address of its own, so that none is over before another has begun; each with its token."""
KINDS: dict[str, tuple[str, ...]] = {
    "invoice.create": (),
    "reminder.send": ("lease_s",),
    "refund.pay": ("attempt_id",),
}
FEW, BATCH_MAX = 5, 500
METHOD_NOT_TAKEN = 405
MONEY: tuple[dict[str, str], ...] = ({}, {"amount": "1240.00", "currency": "ZAR"})


@schemathesis.check
def refuses_as_documented(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """Hold a refusal to the kinds that its address documents."""
    told = case.operation.definition.raw["responses"].get(str(response.status_code), {}).get("content", {})
    if "application/problem+json" in told and response.status_code != METHOD_NOT_TAKEN:
        kind = response.json()["type"].removeprefix("/problems/")
        assert kind in told["application/problem+json"]["examples"], f"{kind} is not documented"


@schemathesis.hook
def map_case(context: schemathesis.HookContext, case: schemathesis.Case[Any]) -> schemathesis.Case[Any]:
    """Let a request get past its first refusals."""
    said = json.dumps([case.path_parameters, case.query, case.body], default=str, sort_keys=True)
    chance = hashlib.sha256(said.encode()).digest()
    body: dict[str, Any] = case.body if isinstance(case.body, dict) else {}
    if chance[0] % 2 and "items" not in body:
        return case
    items = body.get("items")
    if isinstance(items, list):
        # A whole batch of things that go one by one takes its time, and shows no more than a few.
        few = items if len(items) > BATCH_MAX else items[:FEW]
        case.body = {**body, "items": [batched(one, chance) for one in few]}
    elif case.path_parameters and "/attempts/" in case.operation.path:
        attempts = ATTEMPTS[case.operation.path.rpartition("/")[2]]
        uid, token = attempts[chance[1] % len(attempts)]
        case.path_parameters["uid"] = uid
        if "token" in body:
            case.body = {**body, "token": token}
    elif case.path_parameters and "/plans/" in case.operation.path:
        case.path_parameters["name"] = PLAN
    elif case.path_parameters and "/runs/" in case.operation.path:
        case.path_parameters["uid"] = RUNS[chance[1] % len(RUNS)]
    elif case.path_parameters:
        case.path_parameters["uid"] = OPERATIONS[chance[1] % len(OPERATIONS)]
    if isinstance(body.get("payload"), dict):
        case.body = plain(body, chance)
        case.headers.pop("Idempotency-Key", None)
    return case


def batched(item: Any, chance: bytes) -> Any:
    """Return an item of a batch that gets past its first refusals."""
    if isinstance(item, dict) and isinstance(item.get("payload"), dict):
        return plain(item, chance)
    if isinstance(item, dict) and "attempt" in item:
        uid, token = ATTEMPTS["outcome_batch"][chance[1] % 2]
        return {**item, "attempt": uid, "token": token}
    return item


def plain(body: dict[str, Any], chance: bytes) -> dict[str, Any]:
    """Return a body that is about a kind of operation that there is, or corrects one."""
    money = MONEY[chance[2] % 2]
    if "type" not in body:
        return {"payload": body["payload"], "who": "ann", "why": "It was wrong.", **money}
    kind = [*KINDS][chance[3] % len(KINDS)]
    key = f"order/{chance.hex()[:6] if chance[4] % 2 else chance[5] % 4}"
    extra = {name: body[name] for name in KINDS[kind] if name in body}
    return {"type": kind, "key": key, "payload": body["payload"], **extra, **money}
