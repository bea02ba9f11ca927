"""Start and outcome: only the attempt's token changes it, and what comes late is kept."""

import uuid
from typing import Any

import pytest

from ledger.models import Attempt, Event, Operation
from tests import factories as make
from tests.doors import PAYLOAD, Api, at_once, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

LEASE_S = 60


def unstarted(api: Api, **members: Any) -> dict[str, Any]:
    return api.claimed(new_key(), attempt_id=str(uuid.uuid4()), **members)


def operation_with(attempt: dict[str, Any]) -> Operation:
    return Operation.objects.get(attempts__uid=attempt["id"])


def lates(attempt: dict[str, Any]) -> list[dict[str, Any]]:
    """What was kept as evidence of reports that came too late."""
    return kept(attempt, "late")


def kept(attempt: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return list(Event.objects.filter(attempt__uid=attempt["id"], kind=kind).values_list("data", flat=True))


# --- start


def test_start_says_go(api: Api) -> None:
    held = unstarted(api)
    answer = api.start(held)
    told = answer.json()
    assert (answer.status_code, told["decision"]) == (200, "proceed")
    assert told["attempt"]["id"] == held["id"]
    assert told["attempt"]["started_at"] is not None
    assert told["attempt"]["lease_expires_at"] == held["lease_expires_at"]
    assert "token" not in told["attempt"]
    assert told["operation"]["state"] == "running"


def test_the_same_start_again_is_the_same_start(api: Api) -> None:
    held, start_id = unstarted(api), uuid.uuid4()
    first, again = api.start(held, start_id), api.start(held, start_id)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert Event.objects.filter(attempt__uid=held["id"], kind="started").count() == 1


def test_another_start_is_refused_with_where_it_stands(api: Api) -> None:
    held = unstarted(api)
    api.start(held)
    told = problem(api.start(held), 409, "started-elsewhere")
    assert (told["decision"], told["retry"]) == ("wait", "never")
    assert told["operation"]["id"] == str(operation_with(held).uid)


def test_sixteen_processes_start_once(api: Api) -> None:
    held = unstarted(api)
    statuses = [answer.status_code for answer in at_once(16, lambda _: api.start(held))]
    assert sorted(statuses) == [200] + [409] * 15


def test_a_claim_without_attempt_id_counts_as_started(api: Api) -> None:
    problem(api.start(api.claimed(new_key())), 409, "started-elsewhere")


def test_nothing_starts_after_its_lease(api: Api) -> None:
    held = unstarted(api)
    api.clock.advance(LEASE_S + 1)
    told = problem(api.start(held), 409, "stale-token")
    assert "Nothing may be sent" in told["detail"]


def test_a_claim_that_was_never_started_is_proved_not_done(api: Api) -> None:
    key = new_key()
    api.claimed(key, attempt_id=str(uuid.uuid4()))
    api.clock.advance(LEASE_S + 1)
    told = problem(api.claim(key), 409, "waiting")
    assert told["operation"]["state"] == "pending"


def test_nothing_starts_with_a_guessed_token(api: Api) -> None:
    held = unstarted(api)
    problem(api.start({**held, "token": "tieout_guessed"}), 409, "stale-token")
    assert api.start(held).status_code == 200


# --- outcome


def test_a_success_completes_it(api: Api) -> None:
    answer = api.outcome(
        api.claimed(new_key()),
        "succeeded",
        destination_reference="INV-1187",
        http_status=201,
        response={"anything": [1, None]},
    )
    operation = answer.json()["operation"]
    assert (answer.status_code, answer.json()["decision"]) == (200, "skip")
    assert (operation["state"], operation["evidence"]) == ("completed", "answer")
    assert operation["destination_reference"] == "INV-1187"


@pytest.mark.parametrize(
    ("members", "decision", "state"),
    [
        ({"outcome": "accepted", "http_status": 202}, "wait", "uncertain"),
        ({"outcome": "retryable", "retry_after_s": 7.5}, "wait", "pending"),
        ({"outcome": "rejected", "http_status": 422, "error_code": "customer_blocked"}, "hold", "failed"),
        ({"outcome": "uncertain", "error_code": "ETIMEDOUT"}, "hold", "uncertain"),
    ],
)
def test_every_outcome_says_what_comes_next(
    api: Api, members: dict[str, Any], decision: str, state: str
) -> None:
    answer = api.outcome(api.claimed(new_key()), **members)
    told = answer.json()
    assert (answer.status_code, told["decision"], told["operation"]["state"]) == (200, decision, state)
    assert (told["case"] is not None) == (decision == "hold")
    assert ("Retry-After" in answer.headers) == (decision == "wait")


@pytest.mark.parametrize("outcome", ["succeeded", "accepted", "retryable", "rejected", "uncertain"])
def test_the_same_outcome_again_is_the_same_report(api: Api, outcome: str) -> None:
    held = api.claimed(new_key())
    first = api.outcome(held, outcome, http_status=200, message="As it was.")
    again = api.outcome(held, outcome, http_status=200, message="As it was.")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert lates(held) == []


def test_another_outcome_is_refused_and_kept(api: Api) -> None:
    held = api.claimed(new_key())
    api.outcome(held, "succeeded", destination_reference="INV-1")
    told = problem(api.outcome(held, "rejected", http_status=422), 409, "outcome-differs")
    assert (told["decision"], told["operation"]["state"]) == ("skip", "completed")
    assert [late["outcome"] for late in lates(held)] == ["rejected"]


def test_a_void_token_changes_nothing_and_is_kept(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    void = api.claimed(key, attempt_id=attempt_id)
    held = api.claim(key, attempt_id=attempt_id).json()["attempt"]
    told = problem(api.outcome(void, "succeeded", destination_reference="INV-2"), 409, "stale-token")
    assert (told["decision"], told["operation"]["state"]) == ("wait", "running")
    assert lates(void) == []
    assert kept(void, "stray") == [
        {"outcome": "succeeded", "http_status": None, "error_code": "", "reference": "INV-2"}
    ]
    assert api.start(held).status_code == 200


def test_nobody_reports_on_an_attempt_that_tieout_makes(api: Api) -> None:
    key = new_key()
    api.submit(key)
    claimed = make.to_send(Operation.objects.get(key=key))
    for token in (claimed.token, "guessed"):
        held = {"id": str(claimed.attempt.uid), "token": token}
        evil = {"outcome": "succeeded", "destination_reference": "EVIL-1"}
        for answer in (api.start(held), api.heartbeat(held), api.outcome(held, **evil)):
            problem(answer, 409, "wrong-door")
    assert Event.objects.filter(attempt=claimed.attempt).count() == 1


def test_a_stale_attempt_does_not_finish_over_the_new_one(api: Api) -> None:
    body = {"type": "refund.pay", "key": new_key(), "payload": PAYLOAD}
    stale = api.post("operations/claim", body).json()["attempt"]
    api.clock.advance(LEASE_S + 1)
    early = problem(api.post("operations/claim", body), 409, "waiting")
    assert early["operation"]["state"] == "uncertain"
    api.clock.advance(10)
    fresh = api.post("operations/claim", body).json()["attempt"]
    assert fresh["number"] == 2
    told = problem(api.outcome(stale, "succeeded", destination_reference="RF-1"), 409, "outcome-differs")
    assert (told["decision"], told["operation"]["state"]) == ("wait", "running")
    assert [late["reference"] for late in lates(stale)] == ["RF-1"]
    assert api.outcome(fresh, "succeeded", destination_reference="RF-1").json()["decision"] == "skip"


def test_a_late_success_of_the_latest_attempt_still_decides(api: Api) -> None:
    key = new_key()
    held = api.claimed(key)
    api.clock.advance(LEASE_S + 1)
    problem(api.claim(key), 409, "on-hold")
    answer = api.outcome(held, "succeeded", destination_reference="MSG-1")
    told = answer.json()
    assert (answer.status_code, told["decision"], told["case"]) == (200, "skip", None)
    assert told["operation"]["destination_reference"] == "MSG-1"
    assert api.outcome(held, "succeeded", destination_reference="MSG-1").json()["decision"] == "skip"


def test_what_came_back_is_kept_without_secrets(api: Api) -> None:
    held = api.claimed(new_key())
    words = "Refused for ann@example.com, Authorization: Bearer abcdefghijklmnop. " + "x" * 9_900
    api.outcome(held, "rejected", http_status=422, message=words)
    attempt = Attempt.objects.get(uid=held["id"])
    assert attempt.message.startswith("Refused for [e-mail]")
    assert "abcdefghijklmnop" not in attempt.message
    assert len(attempt.message) <= 300
    trail = str(list(Event.objects.filter(attempt=attempt).values_list("reason", "data")))
    assert "Refused for" not in trail
    whole = api.get(f"operations/{operation_with(held).uid}").text
    assert "ann@example.com" not in whole
    assert "abcdefghijklmnop" not in whole


def test_nothing_that_is_for_people_keeps_a_secret(api: Api) -> None:
    """Whatever is no identifier is redacted where it is taken in: by claim, by submission, by correction."""
    secret, key = "sk_live_abcdefgh12345678", new_key()
    words = {"description": f"Key {secret}", "subject": f"token={secret}"}
    source = {"system": "webshop", "reference": "483", "run": f"Bearer {secret}"}
    held = api.claimed(key, source=source, **words)
    api.outcome(held, "rejected", http_status=422, error_code=f"key={secret}")
    problem(api.outcome(held, "uncertain", error_code=secret), 409, "outcome-differs")
    wrong = operation_with(held)
    correction = {"payload": {**PAYLOAD, "order": "484"}, "who": "ann", "why": "It was wrong.", **words}
    assert api.post(f"operations/{wrong.uid}/correction", correction).status_code == 201
    assert api.submit(new_key(), source=source, **words).status_code == 202
    for table in (Operation, Attempt, Event):
        assert secret not in str(list(table.objects.values())), table
    assert Attempt.objects.get(uid=held["id"]).run == "Bearer [redacted]"
    assert (wrong.source_reference, wrong.subject) == ("483", "token=[redacted]")


# --- read


def test_an_operation_is_read_with_its_history(api: Api) -> None:
    key = new_key()
    held = api.claimed(key)
    api.outcome(held, "retryable", http_status=429, error_code="slow_down", message="Slow down.")
    api.clock.advance(700)
    second = api.claimed(key)
    whole = api.get(f"operations/{operation_with(held).uid}").json()
    assert (whole["key"], whole["state"], whole["verdict"], whole["case"]) == (key, "running", None, None)
    assert whole["first_cause"] == "Slow down."
    first, latest = whole["attempts"]
    assert (first["number"], first["outcome"], first["http_status"]) == (1, "retryable", 429)
    assert (first["error_code"], first["message"]) == ("slow_down", "Slow down.")
    assert first["started_at"] <= first["ended_at"]
    assert (latest["number"], latest["outcome"], latest["ended_at"]) == (2, None, None)
    assert latest["id"] == second["id"]
    assert second["token"] not in str(whole)


def test_ids_that_nobody_gave_are_not_found(api: Api) -> None:
    nobody = {"id": str(uuid.uuid4()), "token": "tieout_x"}
    problem(api.start(nobody), 404, "not-found")
    problem(api.outcome(nobody, "succeeded"), 404, "not-found")
    problem(api.get(f"operations/{uuid.uuid4()}"), 404, "not-found")
    problem(api.get("operations/483"), 404, "not-found")
