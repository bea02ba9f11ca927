"""A key's life against a destination that misbehaves for a day, taken up as the sweep and the worker do.

| for a day, the destination           | with a look-up                       | without one             |
|--------------------------------------|--------------------------------------|-------------------------|
| says that the key is in use          | absent at the limit, a case          | held at the limit       |
| says that it is throttled            | failed at its count, or at its time  |                         |

| once, it                             | with a look-up                       | without one             |
|--------------------------------------|--------------------------------------|-------------------------|
| answers with an error, and saves it  | sent again under a new key, on proof | held, not sent again    |
| makes it, and answers with a 5xx     | found                                | the same key, one there |
| is silent                            |                                      | the same key, one there |
"""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Attempt, Operation, OperationType
from ledger.rules.approvals import Ask
from ledger.rules.errors import NotNow
from ledger.rules.seven import seven
from ledger.rules.states import State
from ledger.worker import tasks
from tests import factories as make
from tests.databases import Clock, Database
from tests.doors import clock as clock
from tests.doors import database as database
from tests.ledger import odd_connectors
from tests.ledger.finds import standing
from tests.people import agrees
from tests.sandboxes import Sandbox, running_sandbox
from tests.stories import CALLS
from tests.workers import one_round

TRIES = 3
HOUR = 3600


@pytest.fixture(scope="module")
def books(clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One sandbox for the module, and the destination that it is."""
    with running_sandbox(tmp_path_factory.mktemp("books")) as sandbox:
        make.destination(connection={"base_url": sandbox.url, "timeout": 2})
        yield sandbox


def kind(name: str, *, looks: bool = True, **rules: Any) -> OperationType:
    """Invoices that Tieout sends, three times at most; their look-up has found what was sent before."""
    calls = {part: call for part, call in CALLS.items() if looks or part != "lookup"}
    contract = {"settle": "10s", "replay_header": "idempotent-replayed"} | rules.pop("contract", {})
    retry = {"attempts": TRIES, "base": "1s"} | rules.pop("retry", {})
    return make.invoice_type(name=name, looks=looks, calls=calls, contract=contract, retry=retry, **rules)


def pass_time(clock: Clock, hours: float, *, turns: int) -> None:
    for _ in range(turns):
        clock.advance(hours * HOUR / turns)
        one_round()


def keys_of(operation: Operation) -> list[str]:
    """The keys that its tries went under, in their order."""
    keys = operation.attempts.order_by("number").values_list("idempotency_key", flat=True)
    return list(dict.fromkeys(keys))


def tries(books: Sandbox, operation: Operation) -> tuple[int, int, int]:
    """How many were recorded as started, how many arrived, and how many live records there are."""
    started = operation.attempts.filter(started_at__isnull=False).count()
    return started, books.deliveries(operation.key), books.effects(operation.key)


@pytest.fixture(scope="module")
def bad_day(books: Sandbox, clock: Clock) -> dict[str, Operation]:
    """Operations that a destination turned away for a day, each under rules of its own."""
    patient = {"attempts": 100, "elapsed": "2h", "base": "20m", "cap": "20m"}
    kinds = {
        "in use": kind("in-use", contract={"saves": "all"}),
        "in use, unseen": kind("in-use-unseen", looks=False, contract={"saves": "all"}),
        "throttled": kind("throttled"),
        "throttled for hours": kind("throttled-for-hours", retry=patient),
    }
    books.faults("key_in_use", "day/in-use", count=None)
    books.faults("throttle", '"operation":"day/throttled', count=None)  # the sends, not the looks
    made = {name: make.handed(of, f"day/{of.name}") for name, of in kinds.items()}
    one_round()
    pass_time(clock, 4, turns=16)
    pass_time(clock, 22, turns=4)
    books.clear_faults()
    return made


def test_a_key_is_no_longer_than_its_destination_takes(books: Sandbox, settings: Any) -> None:
    """The installation's name in front is left out where there is no room for it."""
    settings.INSTALLATION = "durban"
    for longest, front in ((255, "durban-g1-"), (32, "g1-")):
        of = kind(f"short-{longest}", contract={"key_max": longest})
        make.handed(of, f"short/{longest}")
        one_round()
        (attempt,) = Attempt.objects.filter(operation__operation_type=of)
        assert attempt.idempotency_key.startswith(front) and len(attempt.idempotency_key) <= longest


def test_a_key_in_use_for_a_day_ends_in_a_look_up_and_a_case_not_in_a_loop(
    bad_day: dict[str, Operation], books: Sandbox, clock: Clock
) -> None:
    seen, unseen = bad_day["in use"], bad_day["in use, unseen"]
    assert [standing(one) for one in (seen, unseen)] == ["failed: absent", "uncertain: unproved"]
    last = seen.lookups.latest("asked_at")
    assert last.proof and last.asked_at > seen.attempts.latest("number").closed_at  # type: ignore[operator]
    assert [tries(books, one) for one in (seen, unseen)] == [(TRIES, TRIES, 0)] * 2
    assert [len(keys_of(one)) for one in (seen, unseen)] == [1, 1], "in use is nothing that is remembered"
    make.looked(unseen, make.BLIND, actor="ann")
    with pytest.raises(NotNow, match="no key protects us"):
        make.permitted(unseen)
    lookups.look(make.again(seen), actor="ann", reason="Is it there by now?")
    make.permitted(seen)
    clock.advance(11)
    one_round()
    assert standing(seen) == "completed"
    assert books.effects(seen.key) == 1


def test_16_tries_end_by_count_and_by_time_and_each_is_on_record(
    bad_day: dict[str, Operation], books: Sandbox
) -> None:
    by_count, by_time = bad_day["throttled"], bad_day["throttled for hours"]
    assert [standing(one) for one in (by_count, by_time)] == ["failed: limit"] * 2
    assert tries(books, by_count) == (TRIES, TRIES, 0)
    started, delivered, _ = tries(books, by_time)
    assert started == delivered and 2 < started < 10
    last = by_time.attempts.latest("number").started_at
    assert last is not None and (last - by_time.accepted_at).total_seconds() < 2 * HOUR


def test_16_nothing_arrives_that_is_not_on_record_before(books: Sandbox, database: Database) -> None:
    of = kind("watched")
    of.destination = make.destination(
        "watched",
        connector="tests.ledger.odd_connectors:Watched",
        connection={"base_url": books.url, "timeout": 2},
    )
    of.save(update_fields=["destination"])
    seen: list[tuple[int, datetime | None]] = []

    def around(_: object) -> None:
        with psycopg.connect(database.app_url) as other:
            seen.extend(
                other.execute("SELECT number, started_at FROM ledger_attempt WHERE operation_id = %s", [pk])
            )

    odd_connectors.Watched.after_send = around
    pk = make.handed(of, "watched/1").pk
    one_round()
    attempt = Attempt.objects.get(operation=pk)
    assert seen == [(1, attempt.started_at)]


def test_26_a_5xx_gives_no_key_back(books: Sandbox, clock: Clock) -> None:
    """Made, and answered with a 500: another submit is the same operation, and another try the same key."""
    made = {}
    for looks in (True, False):
        of = kind(f"failing-{looks}", looks=looks)
        books.faults("error_after", of.name, arg=500)
        made[looks] = make.handed(of, f"{of.name}/1")
        one_round()
        reply = actions.submit(make.submission(of, f"{of.name}/1"), actor="api:shop")
        assert (reply.decision, reply.operation.state) == ("wait", State.UNCERTAIN)
    pass_time(clock, 0.1, turns=4)
    for looks, operation in made.items():
        assert standing(operation) == "completed"
        assert make.again(operation).evidence == ("lookup" if looks else "answer")
        assert tries(books, operation) == ((1, 1, 1) if looks else (2, 2, 1))
        assert len(keys_of(operation)) == 1


def test_27_an_error_that_was_received_and_is_saved_is_not_asked_for_again(
    books: Sandbox, clock: Clock
) -> None:
    """Looked up instead: on proof for every try it goes under a new key, else a person decides."""
    seen, unseen, silent = (
        make.handed(kind(name, looks=name == "saved", contract={"saves": "all"}), f"{name}/1")
        for name in ("saved", "saved-unseen", "silent")
    )
    for name in ("saved/1", "saved-unseen/1"):
        books.faults("replay_error", name, arg=500)
    books.faults("drop_after", "silent/1")
    one_round()
    pass_time(clock, 0.2, turns=6)
    assert [standing(one) for one in (seen, unseen, silent)] == [
        "completed",
        "uncertain: unproved",
        "completed",
    ]
    assert [tries(books, one) for one in (seen, unseen, silent)] == [(2, 2, 1), (1, 1, 0), (2, 2, 1)]
    assert [len(keys_of(one)) for one in (seen, unseen, silent)] == [2, 1, 1]
    first, second = seen.attempts.order_by("number")
    told = seen.events.get(kind="claimed", attempt=second)
    assert told.data["generation"] == 2 and "new key: every try before is proved not done" in told.reason
    seen = make.again(seen)
    assert first.cleared_at is not None and first.cleared_at <= second.claimed_at
    assert (seen.generation, seen.first_sent_at) == (2, second.started_at), "its window begins anew"


def test_27_an_answer_that_says_it_was_given_before_is_not_asked_for_again(
    books: Sandbox, clock: Clock
) -> None:
    """By contract a 429 is not done, and only a 2xx is saved; this destination has saved it all the same."""
    operation = make.handed(kind("told"), "told/1")
    books.faults("replay_error", "told/1", arg=429)
    one_round()
    pass_time(clock, 0.1, turns=4)
    assert standing(operation) == "completed"
    assert tries(books, operation) == (3, 3, 1)
    told = operation.attempts.order_by("number").values_list("replayed", flat=True)
    assert (list(told), len(keys_of(operation))) == ([False, True, False], 2)


def test_28_the_window_is_looked_at_in_the_claim_with_its_margin(books: Sandbox, clock: Clock) -> None:
    """24 h, less ten minutes, less the lease of one minute that the second send would need."""
    of = kind("window", looks=False)
    books.faults("drop_after", "window/", count=2)
    early, late = make.handed(of, "window/early"), make.handed(of, "window/late")
    one_round()
    for minutes, operation in ((23 * 60 + 48, early), (2, late)):
        clock.advance(minutes * 60)
        tasks.send(operation.pk)
    assert [standing(one) for one in (early, late)] == ["completed", "uncertain: unproved"]
    assert [tries(books, one) for one in (early, late)] == [(2, 2, 1), (1, 1, 1)]
    told = [
        name
        for name, answer in seven(actions.facts(make.again(early)), clock.now())
        if "before" in str(answer)
    ]
    assert told == ["Which try produced the result, and how do we know?"]
    assert early.events.get(kind="recorded", state_to="completed").data["replayed"] is True
    one_round()
    assert tries(books, late) == (1, 1, 1)


@pytest.mark.parametrize("changed", ["key_name", "account"])
def test_a_try_that_did_not_carry_the_key_is_not_protected_by_it_once_the_rules_are_as_they_were(
    books: Sandbox, clock: Clock, changed: str
) -> None:
    """The first try never arrives; the second one, on two people's word, makes one: the key knows of none."""
    there = {"base_url": books.url, "timeout": 2}
    of = kind(f"renamed-{changed}", looks=False, destination=make.destination(changed, connection=there))
    books.faults("drop_before", of.name)
    operation = make.handed(of, f"{of.name}/1")
    one_round()
    as_it_was = dict(of.contract)
    renamed({**as_it_was, "key_name": "X-Key"} if changed == "key_name" else "other", of)
    books.faults("drop_after", of.name)
    two_people_allow(operation, clock)
    pass_time(clock, 0.1, turns=4)
    assert (standing(operation), tries(books, operation)) == ("uncertain: unproved", (2, 2, 1))
    renamed(as_it_was if changed == "key_name" else "main", of)
    pass_time(clock, 0.2, turns=4)
    assert tries(books, operation) == (2, 2, 1), "a third one would make a second effect"
    known = actions.facts(make.again(operation))
    assert known.window_open(clock.now()) and not known.same_key_protects(clock.now())
    assert "a try that may have happened did not go under it" in str(seven(known, clock.now()))
    make.looked(operation, make.BLIND, actor="ann")
    with pytest.raises(NotNow, match="no key protects us"):
        make.permitted(operation)


def renamed(rule: dict[str, Any] | str, of: OperationType) -> None:
    """Change how the key is sent, or the account that it is known at."""
    if isinstance(rule, str):
        of.destination.account = rule
        of.destination.save(update_fields=["account"])
    else:
        of.contract = rule
        of.save(update_fields=["contract"])


def two_people_allow(operation: Operation, clock: Clock) -> None:
    """Let it be tried once more where nothing protects it."""
    pass_time(clock, 0.1, turns=2)
    assert standing(operation) == "uncertain: unproved"
    asked = actions.override(
        operation.pk,
        Ask.OVERRIDE_PERMIT,
        actor="ann",
        reason="It waits.",
        command_id=uuid.uuid4(),
        where="In its list.",
        looked_at=clock.now(),
    )
    agrees("bob")
    actions.approve(asked.uid, actor="bob", reason="", command_id=uuid.uuid4())


def test_one_key_delivered_twice_makes_one(books: Sandbox, clock: Clock) -> None:
    """At its first send, and at the second one after a silence."""
    books.faults("deliver_twice", "twice/1")
    operation = make.handed(kind("twice", looks=False), "twice/1")
    books.faults("drop_after", "twice/2")
    books.faults("deliver_twice", "twice/2")
    other = make.handed(operation.operation_type, "twice/2")
    one_round()
    pass_time(clock, 0.1, turns=4)
    for one in (operation, other):
        assert (standing(one), books.effects(one.key)) == ("completed", 1)
