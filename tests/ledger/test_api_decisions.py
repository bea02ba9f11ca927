"""Every row of the table of answers, at both doors.

| situation                                                   | claim | submit | decision |
|-------------------------------------------------------------|-------|--------|----------|
| new, its next try is due, or a permit is open               | 201   | 202    | proceed  |
| the same attempt_id, token and payload, not yet started     | 200   | –      | proceed  |
| in flight; waiting for its next try; being resolved         | 409   | 202    | wait     |
| uncertain on hold, failed, cancelled                        | 409   | 409    | hold     |
| completed                                                   | 200   | 200    | skip     |
| same key, other payload, amount or currency                 | 422   | 422    | refuse   |
"""

import uuid
from collections import Counter
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import httpx
import pytest

from ledger import actions
from ledger.models import Attempt, Event, Operation, database_now
from ledger.rules.outcomes import Report
from ledger.rules.records import Found
from ledger.rules.states import Outcome, Verdict
from tests.doors import PAYLOAD, Api, at_once, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

SILENT = Report(Outcome.UNCERTAIN, error_code="silent")
BUSY = Report(Outcome.RETRYABLE, http_status=429, retry_after_s=40)
REFUSED = Report(Outcome.REJECTED, http_status=422)
DONE = Report(Outcome.SUCCEEDED, http_status=201, destination_reference="INV-1187")


def operation_of(answer: httpx.Response) -> Operation:
    return Operation.objects.get(uid=answer.json()["operation"]["id"])


def sent(operation: Operation, report: Report) -> None:
    """One whole try of Tieout's own."""
    claimed = actions.claim_to_send(operation.pk, actor="worker")
    assert claimed is not None
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=uuid.uuid4(), actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=report, actor="worker")


def is_replayed(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("Idempotent-Replayed") == "true")


# --- proceed


def test_a_new_operation_is_taken(api: Api) -> None:
    key = new_key()
    answer = api.submit(
        key,
        amount="1240.00",
        currency="ZAR",
        source={"system": "webshop", "reference": "483", "version": "1", "run": "exec-9931"},
        description="Invoice for order 483",
        subject="customer 77",
    )
    body = answer.json()
    assert (answer.status_code, body["decision"], body["attempt"]) == (202, "proceed", None)
    assert not is_replayed(answer)
    operation = body["operation"]
    assert operation | {"id": 0, "page": 0, "accepted_at": 0, "updated_at": 0} == {
        "id": 0,
        "page": 0,
        "accepted_at": 0,
        "updated_at": 0,
        "type": "invoice.create",
        "key": key,
        "state": "pending",
        "amount": "1240.00",
        "currency": "ZAR",
        "description": "Invoice for order 483",
        "subject": "customer 77",
        "source": {"system": "webshop", "reference": "483", "version": "1"},
        "destination_reference": None,
        "evidence": None,
        "first_cause": None,
        "corrects": None,
        "correction": None,
        "after": None,
    }
    assert operation["page"] == f"{api.server.url}/operations/{operation['id']}/"
    assert datetime.fromisoformat(operation["accepted_at"]).utcoffset() is not None
    assert Event.objects.get(operation__key=key).actor == "api:webshop"


def test_the_key_is_made_from_every_part_of_the_template(api: Api) -> None:
    reference = uuid.uuid4().hex
    source = {"system": "webshop", "reference": reference, "version": "1"}
    body = {"type": "invoice.create", "payload": PAYLOAD, "source": source}
    assert api.post("operations", body).json()["operation"]["key"] == f"order/webshop/{reference}/v1"


def test_a_new_claim_carries_what_its_caller_needs(api: Api) -> None:
    before = database_now()
    answer = api.claim(new_key(), lease_s=300, source={"run": "exec-9931"})
    attempt = answer.json()["attempt"]
    assert (answer.status_code, answer.json()["decision"]) == (201, "proceed")
    assert attempt["number"] == 1
    assert attempt["token"].startswith("tieout_")
    assert attempt["idempotency_key"].startswith("t1-g1-")
    assert attempt["payload_digest"].startswith("k1:")
    assert attempt["started_at"] is not None
    left_s = (datetime.fromisoformat(attempt["lease_expires_at"]) - before).total_seconds()
    assert 299 < left_s < 330
    assert Attempt.objects.get(uid=attempt["id"]).run == "exec-9931"


def test_a_claim_with_an_attempt_id_is_not_started(api: Api) -> None:
    assert api.claimed(new_key(), attempt_id=str(uuid.uuid4()))["started_at"] is None


def test_a_claim_whose_next_try_is_due_is_told_to_proceed(api: Api) -> None:
    key = new_key()
    first = api.claimed(key)
    api.outcome(first, "retryable", http_status=429, retry_after_s=40)
    early = api.claim(key)
    assert problem(early, 409, "waiting")["decision"] == "wait"
    assert 1 <= int(early.headers["Retry-After"]) <= 40
    api.clock.advance(41)
    second = api.claimed(key)
    assert second["number"] == 2
    assert second["idempotency_key"] == first["idempotency_key"]
    assert second["token"] != first["token"]


def test_a_submit_whose_next_try_is_due_is_told_to_proceed(api: Api) -> None:
    key = new_key()
    sent(operation_of(api.submit(key)), BUSY)
    api.clock.advance(41)
    answer = api.submit(key)
    assert (answer.status_code, answer.json()["decision"]) == (202, "proceed")


def test_a_claim_spends_an_open_permit(api: Api) -> None:
    body = {"type": "refund.pay", "key": new_key(), "payload": PAYLOAD}
    first = api.post("operations/claim", body).json()["attempt"]
    assert api.outcome(first, "uncertain", error_code="silent").json()["decision"] == "wait"
    early = api.post("operations/claim", body)
    assert problem(early, 409, "waiting")["operation"]["state"] == "uncertain"
    api.clock.advance(int(early.headers["Retry-After"]))
    second = api.post("operations/claim", body)
    assert (second.status_code, second.json()["decision"]) == (201, "proceed")
    assert second.json()["attempt"]["idempotency_key"] == first["idempotency_key"]
    third = api.post("operations/claim", body)
    assert problem(third, 409, "in-flight")["attempt"] is None


def test_a_submit_with_an_open_permit_is_told_to_proceed(api: Api) -> None:
    body = {"type": "transfer.send", "key": new_key(), "payload": PAYLOAD}
    sent(operation_of(api.post("operations", body)), SILENT)
    early = api.post("operations", body)
    assert (early.status_code, early.json()["decision"]) == (202, "wait")
    api.clock.advance(int(early.headers["Retry-After"]))
    answer = api.post("operations", body)
    assert (answer.status_code, answer.json()["decision"]) == (202, "proceed")
    assert answer.json()["operation"]["state"] == "uncertain"


# --- the same claim again


def test_known_failure_4_a_claim_whose_answer_was_lost_is_still_the_callers(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    lost = api.claimed(key, attempt_id=attempt_id)
    again = api.claim(key, attempt_id=attempt_id)
    held = again.json()["attempt"]
    assert (again.status_code, again.json()["decision"]) == (200, "proceed")
    assert (held["id"], held["number"]) == (lost["id"], 1)
    assert held["token"] != lost["token"]
    problem(api.start(lost), 409, "stale-token")
    assert api.start(held).status_code == 200


def test_the_same_attempt_id_is_not_for_another_token(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    mine = api.claimed(key, attempt_id=attempt_id)
    theirs = problem(api.other().claim(key, attempt_id=attempt_id), 409, "in-flight")
    assert theirs["attempt"] is None
    assert api.start(mine).status_code == 200


def test_the_same_attempt_id_after_the_start_is_in_flight(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    held = api.claimed(key, attempt_id=attempt_id)
    api.start(held)
    answer = api.claim(key, attempt_id=attempt_id)
    assert problem(answer, 409, "in-flight")["decision"] == "wait"
    assert api.outcome(held, "succeeded").status_code == 200


def test_an_attempt_id_of_another_operation_is_refused(api: Api) -> None:
    attempt_id = str(uuid.uuid4())
    api.claimed(new_key(), attempt_id=attempt_id)
    key = new_key()
    refused = problem(api.claim(key, attempt_id=attempt_id), 409, "attempt-id-elsewhere")
    assert refused["operation"] is None
    assert "an attempt of another operation" in refused["detail"]
    assert not Operation.objects.filter(key=key).exists()


def test_an_attempt_id_makes_one_attempt_only(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    held = api.claimed(key, attempt_id=attempt_id)
    api.outcome(held, "retryable", retry_after_s=0)
    api.clock.advance(10)
    told = problem(api.claim(key, attempt_id=attempt_id), 409, "attempt-id-elsewhere")
    assert "has ended" in told["detail"]
    assert api.claimed(key, attempt_id=str(uuid.uuid4()))["number"] == 2


# --- wait


def test_a_claim_in_flight_waits_until_the_lease_ends(api: Api) -> None:
    key = new_key()
    api.claimed(key, lease_s=100)
    answer = api.claim(key)
    told = problem(answer, 409, "in-flight")
    assert (told["decision"], told["retry"], told["attempt"], told["case"]) == ("wait", "wait", None, None)
    assert 90 < int(answer.headers["Retry-After"]) <= 100
    assert told["retry_at"] is not None
    # People read the next whole second, in their zone.
    whole = datetime.fromisoformat(told["retry_at"]) + timedelta(seconds=1, microseconds=-1)
    in_durban = whole.astimezone(ZoneInfo("Africa/Johannesburg")).strftime("%Y-%m-%d %H:%M:%S SAST")
    assert f"Ask again at {in_durban}." in told["detail"]
    assert not is_replayed(answer)


def test_a_submit_in_flight_is_no_problem(api: Api) -> None:
    key = new_key()
    actions.claim_to_send(operation_of(api.submit(key)).pk, actor="worker")
    answer = api.submit(key)
    assert (answer.status_code, answer.json()["decision"]) == (202, "wait")
    assert is_replayed(answer)
    assert 50 < int(answer.headers["Retry-After"]) <= 60
    assert answer.json()["retry_at"] is not None


def test_a_submit_that_waits_for_its_next_try(api: Api) -> None:
    key = new_key()
    sent(operation_of(api.submit(key)), BUSY)
    answer = api.submit(key)
    assert (answer.status_code, answer.json()["decision"]) == (202, "wait")
    assert is_replayed(answer)
    assert 30 < int(answer.headers["Retry-After"]) <= 40


def test_what_is_being_resolved_waits_at_both_doors(api: Api) -> None:
    key = new_key()
    sent(operation_of(api.submit(key)), SILENT)
    answer = api.submit(key)
    assert (answer.status_code, answer.json()["decision"]) == (202, "wait")
    assert is_replayed(answer)
    assert int(answer.headers["Retry-After"]) >= 1
    ticket = {
        "type": "ticket.open",
        "key": key,
        "payload": {**PAYLOAD, "metadata": {"operation": key}},
    }
    attempt = api.post("operations/claim", ticket).json()["attempt"]
    reported = api.outcome(attempt, "uncertain")
    assert reported.json()["decision"] == "wait"
    assert int(reported.headers["Retry-After"]) >= 1
    assert problem(api.post("operations/claim", ticket), 409, "waiting")["decision"] == "wait"


def test_known_failure_12_nobody_else_acts_while_the_claimant_still_looks(api: Api) -> None:
    key = new_key()
    first = api.claimed(key, attempt_id=str(uuid.uuid4()))
    problem(api.claim(key, attempt_id=str(uuid.uuid4())), 409, "in-flight")
    assert api.start(first).status_code == 200


# --- hold


def test_what_is_uncertain_on_hold_names_its_case(api: Api) -> None:
    key = new_key()
    attempt = api.claimed(key)
    reported = api.outcome(attempt, "uncertain")
    assert (reported.status_code, reported.json()["decision"]) == (200, "hold")
    assert reported.json()["case"] == reported.json()["operation"]["page"]
    told = problem(api.claim(key), 409, "on-hold")
    assert (told["decision"], told["retry"]) == ("hold", "after-review")
    assert told["case"] == told["operation"]["page"]
    assert told["operation"]["state"] == "uncertain"


def test_a_submit_that_is_uncertain_on_hold(api: Api) -> None:
    key = new_key()
    operation = operation_of(api.submit(key))
    sent(operation, SILENT)
    several = Found(Verdict.SEVERAL, complete=True)
    actions.keep_lookup(
        operation.pk, found=several, asked_at=database_now(), actor="worker", reason="A look."
    )
    told = problem(api.submit(key), 409, "on-hold")
    assert (told["decision"], told["case"]) == ("hold", told["operation"]["page"])


def test_what_failed_is_on_hold_at_both_doors(api: Api) -> None:
    key = new_key()
    sent(operation_of(api.submit(key)), REFUSED)
    assert problem(api.submit(key), 409, "on-hold")["operation"]["state"] == "failed"
    assert api.outcome(api.claimed(key), "rejected", http_status=422).json()["decision"] == "hold"
    told = problem(api.claim(key), 409, "on-hold")
    assert (told["operation"]["state"], told["operation"]["first_cause"]) == ("failed", "Status 422")


def test_what_was_cancelled_is_on_hold(api: Api) -> None:
    key = new_key()
    operation = operation_of(api.submit(key))
    actions.cancel(operation.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    told = problem(api.submit(key), 409, "on-hold")
    assert told["case"] == told["operation"]["page"]


# --- skip


def test_what_is_completed_is_skipped_at_both_doors(api: Api) -> None:
    key = new_key()
    sent(operation_of(api.submit(key)), DONE)
    answers = [api.submit(key)]
    api.outcome(api.claimed(key), "succeeded", destination_reference="INV-1187")
    answers += [api.claim(key), api.claim(key, attempt_id=str(uuid.uuid4()))]
    for answer in answers:
        body = answer.json()
        assert (answer.status_code, body["decision"], body["attempt"]) == (200, "skip", None)
        assert is_replayed(answer)
        assert body["operation"]["destination_reference"] == "INV-1187"
        assert (body["operation"]["state"], body["operation"]["evidence"]) == ("completed", "answer")


# --- refuse


@pytest.mark.parametrize("door", ["submit", "claim"])
def test_another_payload_amount_or_currency_is_refused_by_path(api: Api, door: str) -> None:
    key = new_key()
    call = getattr(api, door)
    payload = {"order": "483", "lines": [{"total": "one-secret-value", "sku": "a"}], "note": "x"}
    call(key, payload=payload, amount="1240.00", currency="ZAR")
    other = {
        "order": "483",
        "lines": [{"total": "another-secret-value", "sku": "a"}],
        "city": "Durban-Secret",
    }
    answer = call(key, payload=other, amount="1240.01", currency="ZAR")
    told = problem(answer, 422, "payload-changed")
    assert told["changed"] == ["amount", "city", "lines.0.total", "note"]
    assert (told["decision"], told["retry"], told["attempt"]) == ("refuse", "never", None)
    assert told["operation"]["key"] == key
    said = answer.text + api.log.read_text() + str(list(Event.objects.values_list("reason", "data")))
    assert "secret" not in said.lower().replace("digest", "")
    assert Event.objects.filter(operation__key=key, operation__uid=told["operation"]["id"]).count() <= 2


def test_only_the_currency_differs(api: Api) -> None:
    key = new_key()
    api.submit(key, amount="10.00", currency="ZAR")
    assert problem(api.submit(key, amount="10.00", currency="USD"), 422, "payload-changed")["changed"] == [
        "currency"
    ]
    assert problem(api.submit(key), 422, "payload-changed")["changed"] == ["amount", "currency"]


def test_known_failure_24_no_fast_path_passes_a_changed_payload(api: Api) -> None:
    attempt_id = str(uuid.uuid4())
    key = new_key()
    held = api.claimed(key, attempt_id=attempt_id)
    changed = {"order": "483", "total": "9999.00"}
    told = problem(api.claim(key, attempt_id=attempt_id, payload=changed), 422, "payload-changed")
    assert told["attempt"] is None
    assert api.start(held).status_code == 200, "the refused claim has voided nothing"
    api.outcome(held, "succeeded")
    problem(api.claim(key, payload=changed), 422, "payload-changed")
    sent(operation_of(api.submit(key)), DONE)
    problem(api.submit(key, payload=changed), 422, "payload-changed")


# --- the wrong door


def test_the_wrong_door_is_said_at_both_doors(api: Api) -> None:
    body = {"key": new_key(), "payload": PAYLOAD}
    problem(api.post("operations", {"type": "reminder.send", **body}), 409, "wrong-door")
    problem(api.post("operations/claim", {"type": "invoice.create", **body}), 409, "wrong-door")
    assert not Operation.objects.filter(key=body["key"]).exists()


# --- all at once


def test_sixteen_claims_at_once_are_one_claim(api: Api) -> None:
    key = new_key()
    answers = at_once(16, lambda _: api.claim(key))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 15}
    assert {answer.json()["decision"] for answer in answers if answer.status_code == 409} == {"wait"}
    assert Attempt.objects.filter(operation__key=key).count() == 1


def test_sixteen_claims_of_a_due_try_are_one_claim(api: Api) -> None:
    key = new_key()
    api.outcome(api.claimed(key), "retryable")
    api.clock.advance(700)
    answers = at_once(16, lambda _: api.claim(key, attempt_id=str(uuid.uuid4())))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 15}
    assert Attempt.objects.filter(operation__key=key).count() == 2


def test_sixteen_repetitions_of_one_claim_are_one_attempt(api: Api) -> None:
    key, attempt_id = new_key(), str(uuid.uuid4())
    answers = at_once(16, lambda _: api.claim(key, attempt_id=attempt_id))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 15}
    started = [api.start(answer.json()["attempt"]).status_code for answer in answers]
    assert Counter(started) == {200: 1, 409: 15}, "one token alone is not void"


def test_one_attempt_id_for_sixteen_operations_at_once_is_one_claim(api: Api) -> None:
    attempt_id = str(uuid.uuid4())
    answers = at_once(16, lambda _: api.claim(new_key(), attempt_id=attempt_id))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 15}
    refused = {answer.json()["type"] for answer in answers if answer.status_code == 409}
    assert refused == {"/problems/attempt-id-elsewhere"}
    assert Attempt.objects.filter(caller_id=attempt_id).count() == 1


def test_known_failure_13_sixteen_submits_at_once_are_one_operation(api: Api) -> None:
    key = new_key()
    answers = at_once(16, lambda _: api.submit(key))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["operation"]["id"] for answer in answers}) == 1
    assert Counter(is_replayed(answer) for answer in answers) == {False: 1, True: 15}


def test_sixteen_payloads_at_once_under_one_key_are_one_operation(api: Api) -> None:
    key = new_key()
    answers = at_once(16, lambda number: api.claim(key, payload={"number": number}))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 422: 15}


def test_known_failure_25_a_customers_second_order_is_another_operation(api: Api) -> None:
    for order in (new_key(), new_key()):
        attempt = api.claimed(order, subject="customer 77")
        assert api.outcome(attempt, "succeeded", destination_reference=order).json()["decision"] == "skip"
