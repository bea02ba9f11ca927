"""Known failures as an automation would meet them: over HTTP, with nothing in its hand but the answers."""

import uuid
from collections import Counter

import pytest

from ledger import actions
from ledger.models import Attempt, Event, Operation, OperationType
from tests import factories as make
from tests.callers.cuts import breaking
from tests.callers.writing import Request, bearer
from tests.doors import PAYLOAD, Api, at_once, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

HOUR_S = 3600


def kind(like: str, **columns: object) -> str:
    """A type like one that is there, under other rules; gives its name."""
    of = OperationType.objects.get(name=like)
    of.pk, of.name = None, f"{like}.{uuid.uuid4().hex[:8]}"
    for name, value in columns.items():
        setattr(of, name, value)
    of.save(force_insert=True)
    return of.name


def test_known_failure_4_the_winner_of_a_claim_whose_answer_was_lost_still_holds_it(api: Api) -> None:
    body = {"type": "reminder.send", "key": new_key(), "payload": PAYLOAD, "attempt_id": str(uuid.uuid4())}
    with breaking(api.server.url) as line:
        line.lose(Request("operations/claim", body, bearer(api)))
    again = api.post("operations/claim", body)
    assert (again.status_code, again.json()["decision"]) == (200, "proceed")
    assert api.start(again.json()["attempt"]).status_code == 200
    assert api.outcome(again.json()["attempt"], "succeeded").json()["decision"] == "skip"


def test_known_failure_9_one_try_is_not_both_done_and_refused(api: Api) -> None:
    held = api.claimed(new_key())
    words = ("succeeded", "rejected")
    answers = at_once(8, lambda number: api.outcome(held, words[number % 2], destination_reference="MAIL-1"))
    assert Counter(answer.status_code for answer in answers) == {200: 4, 409: 4}
    known = Attempt.objects.get(uid=held["id"])
    stands = {"succeeded": "completed", "rejected": "uncertain"}  # refused, and then said to be done: doubt
    assert known.operation.state == stands[known.outcome or ""]
    assert Event.objects.filter(operation=known.operation, kind="recorded").count() == 1
    assert {answer.json()["type"] for answer in answers if answer.status_code == 409} == {
        "/problems/outcome-differs"
    }


def test_known_failure_9_a_success_told_after_a_refusal_does_no_more_by_being_told_again(api: Api) -> None:
    """It is kept, and a person decides; the same words from the same mouth are no second witness."""
    held = api.claimed(new_key())
    api.outcome(held, "rejected", http_status=422)
    for _ in range(3):
        told = problem(api.outcome(held, "succeeded", destination_reference="MAIL-1"), 409, "outcome-differs")
        assert (told["decision"], told["operation"]["state"]) == ("hold", "uncertain")
    kinds = Event.objects.filter(operation__attempts__uid=held["id"]).values_list("kind", flat=True)
    assert Counter(kinds)["late"] == 1


def test_known_failure_14_a_duplicate_gets_the_answer_that_is_documented(api: Api) -> None:
    """Also where sixteen come in the same moment: none is told of trouble inside."""
    key = new_key()
    claims = at_once(16, lambda _: api.claim(key))
    assert Counter(answer.status_code for answer in claims) == {201: 1, 409: 15}
    assert {answer.json()["type"] for answer in claims if answer.status_code == 409} == {
        "/problems/in-flight"
    }
    (won,) = (answer.json()["attempt"] for answer in claims if answer.status_code == 201)
    api.outcome(won, "succeeded")
    again = at_once(16, lambda _: api.claim(key))
    assert {(answer.status_code, answer.json()["decision"]) for answer in again} == {(200, "skip")}


def test_known_failure_15_the_same_key_twice_in_a_batch_is_answered_twice(api: Api) -> None:
    item = {"type": "reminder.send", "key": new_key(), "payload": PAYLOAD}
    answer = api.post("operations/claim-batch", {"items": [item, item, {**item, "payload": {}}]})
    first, second, changed = answer.json()["items"]
    assert (first["status"], second["type"], changed["type"]) == (
        201,
        "/problems/in-flight",
        "/problems/payload-changed",
    )
    told = {"attempt": first["attempt"]["id"], "token": first["attempt"]["token"], "outcome": "succeeded"}
    twice = api.post("attempts/outcome-batch", {"items": [told, told]}).json()["items"]
    assert [one["status"] for one in twice] == [200, 200]
    assert Operation.objects.get(key=item["key"]).state == "completed"


def test_known_failure_17_a_second_retry_by_a_person_is_claimed_like_the_first(api: Api) -> None:
    """The same operation, and another command each time: neither is swallowed by the other."""
    key = new_key()
    api.outcome(api.claimed(key), "rejected", http_status=422)
    for number in (2, 3):
        problem(api.claim(key), 409, "on-hold")
        make.permitted(Operation.objects.get(key=key))
        api.clock.advance(11)
        held = api.claimed(key)
        assert held["number"] == number
        api.outcome(held, "rejected", http_status=422)
    assert Attempt.objects.filter(operation__key=key).values("idempotency_key").distinct().count() == 1


@pytest.mark.parametrize("key", ["", " ", "\t", "\u00a0", None])
def test_known_failure_20_no_two_operations_share_an_empty_key(api: Api, key: str | None) -> None:
    before = Operation.objects.count()
    for order in ("483", "484"):
        body = {"type": "reminder.send", "payload": {"order": order}, "source": {"reference": order}}
        refused = api.post("operations/claim", body if key is None else {**body, "key": key})
        assert problem(refused, 400, "key-missing")["retry"] == "never"
    assert Operation.objects.count() == before


def test_known_failure_21_two_keys_in_headers_are_never_one_key(api: Api) -> None:
    body = {"type": "reminder.send", "payload": PAYLOAD}
    for given in ([new_key(), new_key()], [f"{new_key()}, {new_key()}"]):
        headers = [*bearer(api).items(), *(("Idempotency-Key", key) for key in given)]
        answer = api.http.post("/api/v1/operations/claim", json=body, headers=headers)
        problem(answer, 400, "two-keys")
        assert not Operation.objects.filter(key__contains=given[0].partition(",")[0]).exists()


def test_known_failure_27_a_saved_error_is_not_asked_for_all_day(api: Api) -> None:
    """Its destination would answer every try of that day with the same 500."""
    saves = {"idempotency": "header", "key_retention": "48h", "saves": "all"}
    of = kind("refund.pay", contract=saves, retry={"attempts": 50, "elapsed": "40h"})
    key = new_key()
    api.outcome(api.claimed(key, type=of), "uncertain", http_status=500)
    for _ in range(24):
        assert problem(api.claim(key, type=of), 409, "on-hold")["retry"] == "after-review"
        api.clock.advance(HOUR_S)
    assert Attempt.objects.filter(operation__key=key).count() == 1
    silent = new_key()
    api.outcome(api.claimed(silent, type=of), "uncertain")
    problem(api.claim(silent, type=of), 409, "waiting")
    api.clock.advance(HOUR_S)
    assert api.claimed(silent, type=of)["number"] == 2, "after silence the same key is a good question"


def test_known_failure_28_no_claim_is_given_once_the_keys_window_has_closed(api: Api) -> None:
    """24 h, less the margin of ten minutes, less the lease of a minute that the second try would have."""
    of = kind("refund.pay", retry={"attempts": 3, "elapsed": 23.8 * HOUR_S, "base": "1s"})
    early, late = new_key(), new_key()
    first = api.claimed(early, type=of)
    for held in (first, api.claimed(late, type=of)):
        api.outcome(held, "uncertain")
    api.clock.advance(23 * HOUR_S + 45 * 60)
    second = api.claimed(early, type=of)
    assert second["idempotency_key"] == first["idempotency_key"]
    api.clock.advance(5 * 60)
    told = problem(api.claim(late, type=of), 409, "on-hold")
    assert told["decision"] == "hold" and told["case"] is not None
    assert actions.facts(Operation.objects.get(key=late)).tries == 1
