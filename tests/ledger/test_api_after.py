"""An operation that comes after another, over HTTP.

| what comes first     | claim                  | submit         |
|----------------------|------------------------|----------------|
| is not done          | 409, waiting           | 202, wait      |
| is done              | 201, proceed           | 202, proceed   |
| did not happen       | 409, on-hold           | 409, on-hold   |
| is not on record     | 409, after-unknown     | the same       |
| is of another type   | 403 without that token, whatever the key    |
| is another one now   | 422, changed: ["after"]                     |
"""

import uuid
from typing import Any

from ledger import actions
from ledger.models import Operation
from tests.doors import PAYLOAD, Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

Json = dict[str, Any]


def after(key: str, of: str = "reminder.send") -> Json:
    return {"type": of, "key": key}


def refund(api: Api, key: str, first: Json) -> Any:
    """Claim a refund that comes after something else."""
    body = {"type": "refund.pay", "key": key, "payload": PAYLOAD, "after": first}
    return api.post("operations/claim", body)


def done(api: Api, key: str, reference: str = "MAIL-1") -> None:
    answer = api.outcome(api.claimed(key), "succeeded", destination_reference=reference)
    assert answer.status_code == 200, answer.text


def test_a_claim_waits_in_words_and_goes_with_the_reference(api: Api) -> None:
    first, key = new_key("draft"), new_key("post")
    attempt = api.claimed(first)
    refusal = problem(refund(api, key, after(first)), 409, "waiting")
    assert refusal["detail"].startswith(f"Waits for {first}. Ask again at ")
    assert (refusal["decision"], refusal["attempt"], refusal["case"]) == ("wait", None, None)
    told = refusal["operation"]["after"]
    assert (told["key"], told["state"], told["destination_reference"]) == (first, "running", None)
    api.outcome(attempt, "succeeded", destination_reference="MAIL-7")
    answer = refund(api, key, after(first))
    assert (answer.status_code, answer.json()["decision"]) == (201, "proceed")
    assert answer.json()["operation"]["after"] == told | {
        "state": "completed",
        "destination_reference": "MAIL-7",
    }
    done_too = api.outcome(answer.json()["attempt"], "succeeded", destination_reference="PAID-1").json()
    assert done_too["operation"]["after"]["destination_reference"] == "MAIL-7"
    read = api.get(f"operations/{done_too['operation']['id']}").json()
    assert read["after"]["id"] == told["id"]


def test_what_tieout_performs_is_taken_and_waits(api: Api) -> None:
    first, key = new_key("draft"), new_key()
    attempt = api.claimed(first)
    answer = api.submit(key, after=after(first))
    assert (answer.status_code, answer.json()["decision"]) == (202, "wait")
    assert "Idempotent-Replayed" not in answer.headers and answer.headers["Retry-After"]
    again = api.submit(key, after=after(first))
    assert (again.status_code, again.json()["decision"]) == (202, "wait")
    assert again.headers["Idempotent-Replayed"] == "true"
    api.outcome(attempt, "succeeded", destination_reference="MAIL-2")
    assert api.submit(key, after=after(first)).json()["decision"] == "proceed"
    assert api.submit(new_key(), after=after(first)).json()["decision"] == "proceed"
    nowhere, lost = new_key("draft"), new_key()
    api.submit(nowhere)
    cancelled = Operation.objects.get(key=nowhere)
    actions.cancel(cancelled.pk, actor="ann", reason="Not needed.", command_id=uuid.uuid4())
    refused = problem(api.submit(lost, after=after(nowhere, "invoice.create")), 409, "on-hold")
    assert refused["case"].endswith(f"/operations/{refused['operation']['id']}/")
    assert Operation.objects.filter(key=lost, state="pending").exists()


def test_the_list_of_what_may_be_claimed_leaves_out_what_waits(api: Api) -> None:
    first, key = new_key("draft"), new_key("post")
    attempt = api.claimed(first)
    refund(api, key, after(first))
    assert api.find(claimable="true", key=key)["items"] == []
    listed = api.find(key=key)["items"][0]
    assert (listed["after"]["key"], listed["retry_at"]) == (first, None)
    api.outcome(attempt, "succeeded", destination_reference="MAIL-3")
    refund(api, key, after(first))
    assert api.find(key=key)["items"][0]["after"]["destination_reference"] == "MAIL-3"


def test_a_token_of_the_one_type_learns_nothing_of_the_other(api: Api) -> None:
    there, other = new_key("draft"), api.other("refund.pay")
    done(api, there)
    answers = [refund(other, new_key("post"), after(key)) for key in (there, new_key("never"))]
    known, unknown = (problem(answer, 403, "type-not-allowed") for answer in answers)
    assert known == unknown
    item = {"type": "refund.pay", "key": new_key("post"), "payload": PAYLOAD, "after": after(there)}
    batch = other.post("operations/claim-batch", {"items": [item]}).json()["items"]
    assert [one["status"] for one in batch] == [403]
    assert refund(api.other("refund.pay", "reminder.send"), new_key("post"), after(there)).status_code == 201


def test_a_token_of_the_one_type_is_not_told_what_its_operation_comes_after(api: Api) -> None:
    first, key, other = new_key("draft"), new_key("post"), api.other("refund.pay")
    api.claimed(first)
    refund(api, key, after(first))
    shown = api.find(key=key)["items"][0]
    read = f"operations/{shown['id']}"
    both = api.other("refund.pay", "reminder.send")
    for token in (api, both):
        assert token.find(key=key)["items"][0]["after"] == token.get(read).json()["after"] == shown["after"]
    assert shown["after"]["key"] == first
    hidden = [other.find(key=key), other.get(read).json()]
    operation = Operation.objects.get(key=key)
    actions.cancel(operation.pk, actor="ann", reason="Not needed.", command_id=uuid.uuid4())
    body = {"payload": {**PAYLOAD, "note": "anew"}, "who": "ann", "why": "Needed after all."}
    made = other.post(f"{read}/correction", body)
    assert made.status_code == 201, made.text
    claim = {"type": "refund.pay", "key": made.json()["operation"]["key"]}
    refused = problem(other.post("operations/claim", claim), 409, "waiting")
    assert refused["detail"].startswith(
        "It comes after an operation of a type that this token does not cover."
    )
    batch = other.post("operations/claim-batch", {"items": [claim]}).json()
    assert batch["items"][0]["status"] == 409
    hidden += [made.json(), refused, batch]
    assert first not in str(hidden) and shown["after"]["id"] not in str(hidden)
    assert refused["operation"]["after"] is None


def test_what_cannot_come_after_is_refused(api: Api) -> None:
    key, first = new_key("post"), new_key("draft")
    unknown = problem(refund(api, key, after(first)), 409, "after-unknown")
    assert unknown["retry"] == "never" and "Hand that one over first." in unknown["detail"]
    problem(refund(api, key, after(key, "refund.pay")), 400, "malformed")
    problem(refund(api, key, {"type": "reminder.send"}), 400, "malformed")
    problem(refund(api, key, {**after(first), "id": "1"}), 400, "unknown-member")
    assert not Operation.objects.filter(key=key).exists()


def test_the_same_key_after_something_else_is_a_changed_payload(api: Api) -> None:
    first, other, key = new_key("draft"), new_key("draft"), new_key("post")
    done(api, first)
    done(api, other)
    refund(api, key, after(first))
    for body in ({"after": after(other)}, {"after": None}, {}):
        answer = api.post("operations/claim", {"type": "refund.pay", "key": key, "payload": PAYLOAD, **body})
        refused = problem(answer, 422, "payload-changed")
        assert refused["changed"] == ["after"]
        assert "another operation before it" in refused["detail"]


def test_each_of_a_batch_waits_or_goes_as_it_would_alone(api: Api) -> None:
    ready, busy = new_key("draft"), new_key("draft")
    done(api, ready)
    api.claimed(busy)
    keys = [new_key("post") for _ in range(4)]
    firsts: list[Json] = [{"after": after(ready)}, {"after": after(busy)}, {}, {"after": after("never")}]
    items = [
        {"type": "refund.pay", "key": key, "payload": PAYLOAD, **first}
        for key, first in zip(keys, firsts, strict=True)
    ]
    for statuses in ([201, 409, 201, 409], [409, 409, 409, 409]):
        told = api.post("operations/claim-batch", {"items": items}).json()["items"]
        assert [one["status"] for one in told] == statuses
        assert told[1]["detail"].startswith(f"Waits for {busy}.")
    without = api.post("operations/claim-batch", {"items": [{**items[0], "after": None}]}).json()["items"]
    assert (without[0]["status"], without[0]["changed"]) == (422, ["after"])
