"""Corrections over HTTP: who may, what comes back, and what the original's automation is told meanwhile."""

import uuid
from datetime import timedelta
from typing import Any

from ledger import actions
from ledger.models import Approval, Event, Operation
from tests.doors import PAYLOAD, Api, fits, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.people import agrees

MEANT = {**PAYLOAD, "total": "1140.00"}
WHY = {"who": "ann", "why": "The price was wrong."}


def refused(api: Api, key: str) -> dict[str, Any]:
    """A reminder that was refused; returns the operation."""
    answer = api.outcome(api.claimed(key), "rejected", http_status=422)
    told: dict[str, Any] = answer.json()["operation"]
    return told


def corrected(api: Api, operation: dict[str, Any], **members: Any) -> Any:
    body = {"payload": MEANT, **WHY, **members}
    return api.post(f"operations/{operation['id']}/correction", body)


def test_only_a_token_of_its_type_corrects_and_says_who_and_why(api: Api) -> None:
    operation = refused(api, new_key("reminder"))
    problem(corrected(api.other("invoice.create"), operation), 403, "type-not-allowed")
    problem(corrected(api, {"id": uuid.uuid4()}), 404, "not-found")
    for name in ("who", "why", "payload"):
        body = {member: value for member, value in {"payload": MEANT, **WHY}.items() if member != name}
        told = problem(api.post(f"operations/{operation['id']}/correction", body), 400, "malformed")
        assert told["errors"] == [{"path": name, "problem": "is missing"}]
    for who in ("", "\u200b", " ann"):
        problem(corrected(api, operation, who=who), 400, "malformed")
    problem(corrected(api, operation, why="\u200b"), 400, "malformed")
    problem(corrected(api, operation, lease_s=5), 400, "unknown-member")
    assert not Operation.objects.filter(corrects__isnull=False).exists()


def test_what_is_in_doubt_needs_an_override_and_what_runs_an_answer(api: Api) -> None:
    attempt = api.claimed(new_key("reminder"))
    operation = {"id": str(Operation.objects.get(attempts__uid=attempt["id"]).uid)}
    told = problem(corrected(api, operation), 409, "in-flight")
    assert (told["decision"], told["operation"]["state"]) == ("wait", "running")
    api.outcome(attempt, "uncertain")
    told = problem(corrected(api, operation), 409, "needs-override")
    assert (told["retry"], told["case"]) == ("after-review", told["operation"]["page"])
    assert 'Post it with "override"' in told["detail"]


def test_what_is_done_is_not_skipped_where_its_correction_is_under_way(api: Api) -> None:
    answer = api.outcome(api.claimed(new_key("reminder")), "succeeded", destination_reference="MAIL-1")
    operation = answer.json()["operation"]
    assert corrected(api, operation).status_code == 201
    told = problem(corrected(api, operation, payload={**MEANT, "total": "1.00"}), 409, "correction-open")
    assert (told["decision"], told["retry"]) == ("hold", "after-review")
    assert told["case"] == operation["page"]


def test_the_caller_claims_it_by_its_key_and_is_told_what_to_send(api: Api) -> None:
    key = new_key("reminder")
    operation = refused(api, key)
    changed = problem(api.claim(key, payload=MEANT), 422, "payload-changed")
    assert changed["correct_at"] in changed["detail"]
    answer = fits(api.http.post(changed["correct_at"], json={"payload": MEANT, **WHY}, headers=bearer(api)))
    made = answer.json()["operation"]
    assert (answer.status_code, answer.json()["decision"], answer.json()["attempt"]) == (201, "wait", None)
    assert (made["key"], made["state"], made["corrects"]["id"]) == (f"{key}/c1", "pending", operation["id"])
    again = corrected(api, operation, why="The card 4111 1111 1111 1111 was wrong.")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.json()["operation"] == made
    told = problem(corrected(api, operation, payload={**MEANT, "total": "1.00"}), 409, "correction-open")
    assert told["operation"]["correction"]["id"] == made["id"]
    told = problem(api.claim(key), 409, "on-hold")
    assert made["key"] in told["detail"]
    assert told["operation"]["correction"] == {
        "id": made["id"],
        "key": made["key"],
        "state": "pending",
        "page": made["page"],
    }
    bare = api.post("operations/claim", {"type": "reminder.send", "key": made["key"]})
    assert (bare.status_code, bare.json()["payload"]) == (201, MEANT)
    api.outcome(bare.json()["attempt"], "succeeded", destination_reference="MAIL-2")
    done = api.claim(key)
    assert (done.status_code, done.json()["decision"]) == (200, "skip")
    assert done.headers["Idempotent-Replayed"] == "true"
    assert done.json()["operation"]["state"] == "failed"
    assert corrected(api, operation).json()["decision"] == "skip"
    changed = problem(api.claim(made["key"]), 422, "payload-changed")
    assert operation["id"] in changed["correct_at"], "a correction is corrected where its original is"


def test_why_is_redacted_before_it_is_kept(api: Api) -> None:
    operation = refused(api, new_key("reminder"))
    corrected(api, operation, why="The card 4111 1111 1111 1111 was wrong.")
    told = Event.objects.get(operation__uid=operation["id"], kind="corrected")
    assert (told.actor, told.reason, told.data["who"]) == (
        "api:webshop",
        "The card [card number] was wrong.",
        "ann",
    )


def bearer(api: Api) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.token}"}


def test_what_tieout_performs_is_sent_in_place_of_what_waited(api: Api) -> None:
    key = new_key()
    waiting = api.submit(key, amount="1240.00", currency="ZAR").json()["operation"]
    answer = corrected(api, waiting, amount="1140.00", currency="ZAR")
    assert (answer.status_code, answer.json()["decision"]) == (201, "proceed")
    assert answer.json()["operation"]["amount"] == "1140.00"
    told = problem(api.submit(key, amount="1240.00", currency="ZAR"), 409, "on-hold")
    assert told["operation"]["state"] == "failed"
    assert api.get(f"operations/{waiting['id']}").json()["correction"]["key"] == f"{key}/c1"
    problem(corrected(api, answer.json()["operation"]), 409, "not-now")


def test_under_an_override_a_second_person_is_asked_and_nothing_is_made_before(api: Api) -> None:
    key = new_key("reminder")
    operation = {"id": api.outcome(api.claimed(key), "uncertain").json()["operation"]["id"]}
    api.clock.advance(60)
    risk = {"where": "The outbox", "when": api.clock.now().isoformat(), "why": "It cannot wait."}
    for name in risk:
        partly = {member: value for member, value in risk.items() if member != name}
        told = problem(corrected(api, operation, override=partly), 400, "malformed")
        assert told["errors"] == [{"path": f"override.{name}", "problem": "is missing"}]
    problem(corrected(api, operation, override={**risk, "when": "yesterday"}), 400, "malformed")
    problem(corrected(api, operation, override={**risk, "why": "\u200b"}), 400, "malformed")
    problem(corrected(api.other("invoice.create"), operation, override=risk), 403, "type-not-allowed")
    early = (api.clock.now() - timedelta(hours=1)).isoformat()
    problem(corrected(api, operation, override={**risk, "when": early}), 409, "not-now")
    answer = corrected(api, operation, override=risk)
    told = answer.json()
    assert (answer.status_code, told["decision"], told["operation"]["state"]) == (202, "hold", "uncertain")
    assert (told["case"], told["operation"]["correction"]) == (told["operation"]["page"], None)
    again = corrected(api, operation, override={**risk, "why": "In other words."})
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (202, "true")
    assert again.json()["retry_at"] == told["retry_at"] is not None
    problem(corrected(api, operation, override=risk, payload={**MEANT, "total": "1.00"}), 409, "not-now")
    problem(corrected(api, operation), 409, "needs-override")
    request = Approval.objects.get(operation__uid=operation["id"])
    agrees("bob")
    actions.approve(request.uid, actor="bob", reason="", command_id=uuid.uuid4())
    made = corrected(api, operation, override=risk)
    assert (made.status_code, made.json()["operation"]["key"]) == (200, f"{key}/c1")
    assert problem(api.claim(key), 409, "on-hold")["operation"]["correction"]["key"] == f"{key}/c1"
    bare = api.post("operations/claim", {"type": "reminder.send", "key": f"{key}/c1"})
    assert (bare.status_code, bare.json()["payload"]) == (201, MEANT)
    done = api.outcome(api.claimed(other := new_key("reminder")), "succeeded").json()["operation"]
    told = problem(corrected(api, done, override=risk), 409, "not-now")
    assert "without an override" in told["detail"] and told["operation"]["key"] == other
