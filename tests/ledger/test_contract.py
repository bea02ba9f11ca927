"""The API keeps to its OpenAPI document whatever comes: made up by schemathesis, and the same each time."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.environment import ROOT
from config.urls import api as documented
from ledger.door import schemas
from ledger.models import Event, OperationType
from ledger.rules import errors
from reconcile.api import RunIn
from reconcile.classes import ItemClass
from reconcile.models import Finding, Plan, Run
from tests.databases import Database
from tests.doors import Api, new_key
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
EXAMPLES = "8"
"""Of each kind for each address, beside the edges of each member; by hand, thousands."""


ANSWERED: dict[str, type[schemas.Given]] = {
    "claim_batch": schemas.BatchOut,
    "find": schemas.ListOut,
    "hear": schemas.HeardOut,
    "outcome_batch": schemas.BatchOut,
}


def test_whatever_comes_is_answered_as_documented(api: Api, database: Database, tmp_path: Path) -> None:
    """No 500, no status, media type or schema that is not documented, and nothing wrong is taken."""
    attempted = ("start", "heartbeat", "outcome", "outcome_batch")
    attempts = {name: [unstarted(api) for _ in range(2)] for name in attempted}
    operations = [api.submit(new_key()).json()["operation"]["id"] for _ in range(12)]
    with database.rewriting("reconcile_run", "reconcile_finding"):
        known = runs()
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "schemathesis.cli",
                "--config-file",
                str(ROOT / "tests" / "fuzzing.toml"),
            ),
            *("run", f"{api.server.url}/api/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {api.token}", "--phases", "examples,coverage,fuzzing"),
            *("--max-examples", os.environ.get("FUZZED_EXAMPLES", EXAMPLES), "--seed", "483"),
            # What a schema cannot say may still be refused: a key and a header that differ, no such currency.
            *("--exclude-checks", "positive_data_acceptance", "--continue-on-failure", "--no-color"),
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.fuzzing",
            "FUZZED_ATTEMPTS": json.dumps(attempts),
            "FUZZED_OPERATIONS": json.dumps(operations),
            "FUZZED_RUNS": json.dumps(known),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    happened = set(Event.objects.values_list("kind", flat=True))
    assert Run.objects.filter(actor="api:webshop", state="running").count() == 1
    assert happened >= {"accepted", "claimed", "started", "extended", "recorded", "late", "corrected"}


def unstarted(api: Api) -> tuple[str, str]:
    """A claim that waits for its start, and its token."""
    # On a busy machine all that is made up takes minutes, and what has begun must not run out meanwhile.
    held = api.claimed(new_key(), attempt_id=str(uuid.uuid4()), lease_s=3600)
    return held["id"], held["token"]


def runs() -> list[str]:
    """A plan's runs: one that is done, with a difference, and one that has failed."""
    plan = Plan.objects.create(
        name="invoices",
        operation_type=OperationType.objects.get(name="invoice.create"),
        timezone="Africa/Johannesburg",
        window_s=86400,
        grace_s=0,
    )
    window = {"window_from": NOON - timedelta(days=1), "window_to": NOON, "finished_at": NOON, "grace_s": 0}
    nothing: dict[str, object] = {"count": 0, "amounts": {}}
    done = Run.objects.create(
        plan=plan,
        actor="schedule",
        classes={str(one): nothing for one in ItemClass},
        tie={"ties": True},
        totals={"ledger": nothing, "destination": nothing, "items": 0, "unexplained_items": 0},
        digest="0" * 64,
        **window | {"finished_at": None, "lease_until": NOON},
    )
    Finding.objects.create(run=done, item_class="unreadable", why="It has no id.", fingerprint="0" * 64)
    Run.objects.update(state="done", finished_at=NOON, lease_until=None)
    failed = Run.objects.create(
        plan=plan, actor="schedule", state="failed", why_failed="It broke off.", **window
    )
    return [str(done.uid), str(failed.uid)]


# --- the document itself


def said() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(documented.get_openapi_schema(path_prefix="/api/v1/")))
    return document


def addresses() -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in said()["paths"].values():
        for operation in methods.values():
            yield operation["operationId"], operation


def test_every_status_of_every_address_is_documented() -> None:
    everywhere, by_token = "400 401 404 408 413 500 503", "403 429"
    by_the_server = "414 431"
    statuses = {
        "submit": "200 202 409 422",
        "claim": "200 201 409 422",
        "correct": "200 201 202 409 422",
        "start": "200 409",
        "heartbeat": "200 409",
        "outcome": "200 409",
        "claim_batch": "200",
        "outcome_batch": "200",
        "find": "200",
        "hear": "200 202",
        "read": "200",
        "start_run": "202 409",
        "read_run": "200",
        "find_differences": "200 409",
    }
    assert {name: set(operation["responses"]) for name, operation in addresses()} == {
        name: {
            *own.split(),
            *everywhere.split(),
            *by_the_server.split(),
            *(by_token.split() if name != "hear" else ()),
        }
        for name, own in statuses.items()
    }
    # A method that an address does not take has no place in the document: 405 is told in words.
    known = {*everywhere.split(), *by_token.split(), "405", "409", "422"}
    assert {str(kind.status) for kind in errors.kinds()} == known


KINDS_OF_CONFLICTS = {
    "submit": "after-unknown lost-race on-hold wrong-door",
    "claim": "after-unknown attempt-id-elsewhere in-flight lost-race on-hold waiting wrong-door",
    "start": "lost-race stale-token started-elsewhere wrong-door",
    "heartbeat": "lost-race stale-token wrong-door",
    "outcome": "lost-race outcome-differs stale-token wrong-door",
    "correct": "conflict correction-open in-flight lost-race needs-override not-now nothing-to-correct",
    "start_run": "already-running",
    "find_differences": "conflict run-not-done",
}


def test_an_address_names_only_the_refusals_that_it_can_have() -> None:
    """What it does answer, other tests hold to this: the reverse, that nothing impossible is named."""
    kinds = {name: refused(operation) for name, operation in addresses()}
    conflicts = {name: " ".join(sorted(told["409"])) for name, told in kinds.items() if "409" in told}
    assert conflicts == KINDS_OF_CONFLICTS
    of_keys = {"key-missing", "key-malformed", "key-differs", "two-keys"}
    assert {name for name, told in kinds.items() if of_keys <= told["400"]} == {"submit", "claim"}
    of_money = {"amount-malformed", "amount-not-text", "too-many-decimals", "unknown-currency"}
    assert {name for name, told in kinds.items() if of_money & told["400"]} == {"submit", "claim", "correct"}
    assert {name: told["401"] for name, told in kinds.items()} == {
        name: {"not-signed" if name == "hear" else "unauthenticated"} for name in kinds
    }


def refused(operation: dict[str, Any]) -> dict[str, set[str]]:
    """The kinds of an address's refusals, by status."""
    return {
        status: set(told["content"]["application/problem+json"]["examples"])
        for status, told in operation["responses"].items()
        if "application/problem+json" in told["content"]
    }


def test_the_document_tells_what_everything_is() -> None:
    """Each member of a body, each parameter and each success has words, and two successes never the same."""
    document = said()
    bare = [
        f"{name}.{member}"
        for name, schema in document["components"]["schemas"].items()
        if (name.endswith("In") or name == "Source") and name != "ListIn"
        for member, told in schema["properties"].items()
        if not told.get("description")
    ]
    assert bare == []
    for name, operation in addresses():
        words = [told["description"] for status, told in operation["responses"].items() if status < "300"]
        assert len(set(words)) == len(words), name
        assert all(one.get("description") for one in operation.get("parameters", [])), name
        assert not {"OK", "Created", "Accepted"} & set(words), name


def test_every_example_is_what_it_stands_for() -> None:
    taken: dict[str, type[schemas.Taken]] = {
        "submit": schemas.SubmissionIn,
        "claim": schemas.ClaimIn,
        "correct": schemas.CorrectionIn,
        "start": schemas.StartIn,
        "heartbeat": schemas.HeartbeatIn,
        "outcome": schemas.OutcomeIn,
        "start_run": RunIn,
        "claim_batch": schemas.ClaimBatchIn,
        "outcome_batch": schemas.OutcomeBatchIn,
    }
    of_batch: dict[str, type[schemas.Taken]] = {
        "claim_batch": schemas.ClaimIn,
        "outcome_batch": schemas.AttemptOutcomeIn,
    }
    for name, operation in addresses():
        if name in taken:
            for example in operation["requestBody"]["content"]["application/json"]["examples"].values():
                taken[name].model_validate_json(json.dumps(example["value"]))
                for item in example["value"].get("items", []):
                    of_batch[name].model_validate_json(json.dumps(item))
        for status, answer in operation["responses"].items():
            for media, told in answer["content"].items():
                by_us = "application/problem+json" if status >= "400" else "application/json"
                assert media == ("text/html" if status in ("414", "431") else by_us)
                for example in told.get("examples", {}).values():
                    assert schemas.ProblemOut.model_validate(example["value"]).status == int(status)
                if "example" in told:
                    answered = ANSWERED.get(name, schemas.AnswerOut)
                    answered.model_validate_json(json.dumps(told["example"]))


def test_what_stands_in_an_address_is_never_null() -> None:
    parameters = dict(addresses())["find"]["parameters"]
    assert {one["name"] for one in parameters} == set(schemas.ListIn.model_fields)
    assert "null" not in json.dumps(parameters)
