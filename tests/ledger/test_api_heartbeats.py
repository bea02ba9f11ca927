"""Heartbeats: a living lease lasts longer, within a day of its claim; one that has ended is never revived."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from ledger.models import Event, Operation
from ledger.rules.leases import LEASE_MAX_S
from tests.doors import Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

LEASE_S = 60


def until(attempt: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(attempt["lease_expires_at"])


def beats(attempt: dict[str, Any]) -> list[Any]:
    """What the trail tells of an attempt's heartbeats."""
    return list(
        Event.objects.filter(attempt__uid=attempt["id"], kind="extended").values_list("data", flat=True)
    )


def test_7_a_lease_that_has_ended_is_not_revived(api: Api) -> None:
    held = api.claimed(new_key(), lease_s=5)
    api.clock.advance(5)
    told = problem(api.heartbeat(held), 409, "stale-token")
    assert "is not revived" in told["detail"]
    operation = Operation.objects.get(attempts__uid=held["id"])
    assert operation.lease_until == until(held)
    assert beats(held) == []
    # Its own word still counts, as the refusal says.
    assert api.outcome(held, "succeeded").json()["decision"] == "skip"


def test_7_a_lease_that_was_given_away_is_not_taken_back(api: Api) -> None:
    key, caller = new_key(), str(uuid.uuid4())
    first = api.claimed(key, attempt_id=caller)
    again = api.claim(key, attempt_id=caller).json()["attempt"]
    problem(api.heartbeat(first), 409, "stale-token")
    api.clock.advance(LEASE_S)
    assert api.claim(key).json()["decision"] == "wait", "its next try is due in a while"
    api.clock.advance(LEASE_S)
    second = api.claimed(key)
    for attempt in (first, again):
        told = problem(api.heartbeat(attempt), 409, "stale-token")
        assert told["decision"] == "wait"
    assert Operation.objects.get(key=key).lease_until == until(second)
    assert beats(first) == beats(second) == []


def test_an_attempt_that_has_ended_is_not_extended(api: Api) -> None:
    held = api.claimed(new_key())
    api.outcome(held, "succeeded")
    assert problem(api.heartbeat(held), 409, "stale-token")["decision"] == "skip"


def test_a_heartbeat_of_no_such_attempt_or_of_another_kind_is_refused(api: Api) -> None:
    held = api.claimed(new_key())
    problem(api.heartbeat({**held, "id": str(uuid.uuid4())}), 404, "not-found")
    problem(api.other("invoice.create").heartbeat(held), 403, "type-not-allowed")
    problem(api.heartbeat({**held, "token": "void"}), 409, "stale-token")
    for wrong in (0, -1, "60", LEASE_MAX_S + 1):
        problem(api.heartbeat(held, lease_s=wrong), 400, "malformed")
    problem(api.heartbeat(held, start_id=str(uuid.uuid4())), 400, "unknown-member")


def test_a_heartbeat_extends_a_living_lease_and_the_trail_tells_it(api: Api) -> None:
    held = api.claimed(new_key())
    api.clock.advance(50)
    answer = api.heartbeat(held)
    told = answer.json()
    assert (answer.status_code, told["decision"], told["operation"]["state"]) == (200, "proceed", "running")
    extended = told["attempt"]
    assert timedelta(seconds=49) < until(extended) - until(held) < timedelta(seconds=LEASE_S)
    assert (extended["id"], "token" in extended) == (held["id"], False)
    operation = Operation.objects.get(attempts__uid=held["id"])
    assert operation.lease_until == until(extended)
    assert beats(held) == [{"lease_until": extended["lease_expires_at"]}]
    longer = api.heartbeat(held, lease_s=600).json()["attempt"]
    assert until(longer) - until(extended) > timedelta(seconds=500)
    api.clock.advance(120)
    assert api.claim(operation.key).json()["decision"] == "wait", "past its first end it still holds"
    assert api.outcome(held, "succeeded").json()["decision"] == "skip"


def test_heartbeats_one_after_another_are_one_event_and_no_change_to_who_follows(api: Api) -> None:
    held = api.claimed(new_key())
    before = Operation.objects.get(attempts__uid=held["id"])
    api.clock.advance(10)
    ends = {api.heartbeat(held).json()["attempt"]["lease_expires_at"] for _ in range(5)}
    assert len(ends) == len(beats(held)) == 1
    assert Operation.objects.get(pk=before.pk).changed_at == before.changed_at


def test_a_heartbeat_never_makes_a_lease_shorter_and_then_writes_nothing(api: Api) -> None:
    held = api.claimed(new_key(), lease_s=3600, attempt_id=str(uuid.uuid4()))
    assert api.heartbeat(held, lease_s=1).json()["attempt"]["lease_expires_at"] == held["lease_expires_at"]
    assert beats(held) == []
    assert api.start(held).status_code == 200


def test_no_heartbeat_reaches_beyond_a_day_after_the_claim(api: Api) -> None:
    held = api.claimed(new_key(), lease_s=80_000)
    api.clock.advance(79_000)
    last = api.heartbeat(held, lease_s=LEASE_MAX_S).json()["attempt"]
    born = until(held) - timedelta(seconds=80_000)
    assert abs(until(last) - born - timedelta(seconds=LEASE_MAX_S)) < timedelta(seconds=1)
    assert api.heartbeat(held, lease_s=LEASE_MAX_S).json()["attempt"] == last
    assert len(beats(held)) == 1
