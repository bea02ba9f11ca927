"""Batches and single callers want the same things at once: an answer for each, one winner, no dead-lock.

| at once                                                     | comes of it                               |
|-------------------------------------------------------------|-------------------------------------------|
| batches and 16 callers claim the same keys, in any order    | one of all holds each, the others wait    |
| two batches claim the same keys in opposite orders          | the same                                  |
| two batches report the same attempts in opposite orders     | both are told that it is done; told once  |
| a batch waits for a key that is given up meanwhile          | its leases are whole                      |
| a batch waits until another item's lease is over            | that one is not said to be in flight      |
| the rules of a type change                                  | the next batch is claimed by them         |
| one attempt_id stands in two batches on other keys          | the second item alone is refused          |
"""

import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection, transaction

from ledger import actions
from ledger.actions import Reply, Submission, Told
from ledger.models import Attempt, Event, Operation, OperationType
from ledger.rules.errors import AttemptIdElsewhere
from tests import factories as make
from tests.databases import Clock, Database
from tests.doors import PAYLOAD, Api
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.sessions import in_thread, until_somebody_waits
from tests.ledger.test_fast_path import Counting
from tests.ledger.trails import sound

CALLERS, BATCHES, AT_ONCE = 16, 20, 4


@pytest.mark.parametrize(("size", "times"), [(15, 2), pytest.param(500, 1, marks=pytest.mark.long)])
def test_15_batches_and_single_callers_fight_for_the_same_keys(api: Api, size: int, times: int) -> None:
    keys = [f"fight/{size}/{number}" for number in range(BATCHES * size)]
    chance = random.Random(483)
    # Each key stands in so many batches, and the first of each batch twice in it.
    wanted = [key for _ in range(times) for key in chance.sample(keys, len(keys))]
    parts = [wanted[at : at + size - 1] for at in range(0, len(wanted), size - 1)]
    parts = [[*part, part[0]] for part in parts]

    def batch(part: Sequence[str]) -> list[tuple[str, int]]:
        with session(api) as http:
            items = [{"type": "reminder.send", "key": key, "payload": PAYLOAD} for key in part]
            answer = http.post("operations/claim-batch", json={"items": items})
            assert answer.status_code == 200, answer.text
            told = answer.json()["items"]
        assert [one["index"] for one in told] == list(range(len(part)))
        assert [one["operation"]["key"] for one in told] == list(part)
        return [(key, one["status"]) for key, one in zip(part, told, strict=True)]

    def caller(number: int) -> list[tuple[str, int]]:
        with session(api) as http:
            body = {"type": "reminder.send", "payload": PAYLOAD}
            return [
                (key, http.post("operations/claim", json={**body, "key": key}).status_code)
                for key in random.Random(number).sample(keys, max(size // 4, 8))
            ]

    with ThreadPoolExecutor(CALLERS + AT_ONCE) as pool:
        singles = [pool.submit(caller, number) for number in range(CALLERS)]
        groups = [pool.submit(batch, part) for part in parts]
        told = [one for group in (*groups, *singles) for one in group.result()]
    assert Counter(status for _, status in told) == {201: len(keys), 409: len(told) - len(keys)}
    won = Counter(key for key, status in told if status == 201)
    assert won == dict.fromkeys(keys, 1), "one winner each"
    held = Attempt.objects.filter(operation__key__in=keys, number=1, closed_at=None)
    assert held.count() == Operation.objects.filter(key__in=keys, state="running").count() == len(keys)
    events = Event.objects.filter(operation__key__in=keys).values_list("kind", flat=True)
    assert Counter(events) == {"accepted": len(keys), "claimed": len(keys)}
    assert deadlocks(api.clock.database) == 0


def session(api: Api) -> httpx.Client:
    headers = {"Authorization": f"Bearer {api.token}"}
    return httpx.Client(base_url=f"{api.server.url}/api/v1/", headers=headers, timeout=600)


def deadlocks(database: Database) -> int:
    with closing(psycopg.connect(database.superuser_url, autocommit=True)) as watch:
        watch.execute("SELECT pg_stat_force_next_flush()")
        query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        row = watch.execute(query).fetchone()
    assert row is not None
    found: int = row[0]
    return found


def test_two_batches_in_opposite_orders_claim_the_same_keys(clock: Clock) -> None:
    kind = make.kind("both.claim", lease_s=60)
    asked = [make.submission(kind, f"keys/{number}") for number in range(20)]
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(2) as pool:
        insert(holder, kind, "keys/10")
        first = in_thread(lambda: [*actions.claim_all(asked, actor="api:shop")], pool)
        until_somebody_waits(clock.database, first)
        second = in_thread(lambda: [*actions.claim_all(asked[::-1], actor="api:shop")], pool)
        until_somebody_waits(clock.database, second, count=2)
        holder.rollback()
        answers = [*first.result(20), *second.result(20)]
    decisions = Counter(one.decision for one in answers if isinstance(one, Reply))
    assert decisions == {"proceed": 20, "wait": 20}
    assert deadlocks(clock.database) == 0


def test_two_batches_in_opposite_orders_report_the_same_attempts(clock: Clock) -> None:
    kind = make.kind("both.report", lease_s=60)
    claimed = [make.claimed(kind, f"both/{number}") for number in range(20)]
    told = [Told(attempt.uid, token, make.done()) for _, attempt, token in claimed]
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(2) as pool:
        holder.execute("SELECT FROM ledger_operation WHERE key = 'both/10' FOR UPDATE")
        first = in_thread(lambda: [*actions.record_all(told, actor="api:shop")], pool)
        until_somebody_waits(clock.database, first)
        second = in_thread(lambda: [*actions.record_all(told[::-1], actor="api:shop")], pool)
        until_somebody_waits(clock.database, second, count=2)
        holder.rollback()
        answers = [*first.result(20), *second.result(20)]
    assert {one.decision for one in answers if isinstance(one, Reply)} == {"skip"}
    assert len([one for one in answers if isinstance(one, Reply)]) == 40
    assert {sound(operation).state for operation, _, _ in claimed} == {"completed"}
    assert Event.objects.filter(operation__key__startswith="both/", kind="recorded").count() == 20
    assert deadlocks(clock.database) == 0


def insert(holder: psycopg.Connection, kind: OperationType, key: str) -> None:
    """Write an operation in a transaction that stays open."""
    holder.execute(
        "INSERT INTO ledger_operation (uid, operation_type_id, key, state, description, subject, "
        "currency, source_system, source_reference, source_version, payload_digest, leaf_digests, "
        "idempotency_key, generation, account_first, revision, attempt_count, look_count, "
        "destination_reference, evidence, evidence_by, first_cause) "
        "SELECT gen_random_uuid(), %s, %s, 'pending', '', '', '', '', '', '', "
        "'x', '{}', 'x', 1, '', 1, 0, 0, '', '', '', ''",
        [kind.pk, key],
    )


def test_6_a_batch_that_waited_for_an_insert_which_was_given_up_has_whole_leases(clock: Clock) -> None:
    kind = make.kind("waits.long", lease_s=60)
    asked = [make.submission(kind, f"given up/{number}") for number in range(3)]
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(1) as pool:
        insert(holder, kind, "given up/1")
        waiting = in_thread(lambda: [*actions.claim_all(asked, actor="api:shop")], pool)
        until_somebody_waits(clock.database, waiting)
        clock.advance(3600)
        holder.rollback()
        replies = waiting.result(20)
    for operation, attempt, _ in held(replies):
        left = (make.again(operation).lease_until or clock.now()) - clock.now()
        assert timedelta(seconds=50) < left <= timedelta(seconds=60)
        assert attempt.lease_until == make.again(operation).lease_until


def test_a_batch_that_waited_until_a_lease_was_over_says_how_it_stands_then(clock: Clock) -> None:
    kind, name = make.kind("waits.beside", lease_s=60), uuid.uuid4()
    running, _, _ = make.claimed(kind, "beside/1", lease_s=30)
    unstarted, _, _ = make.claimed(kind, "beside/2", attempt_id=name, lease_s=30)
    asked = [make.submission(kind, f"beside/{number}") for number in range(2)]
    asked.append(make.submission(kind, "beside/2", attempt_id=name))
    written, waited = threading.Event(), threading.Event()

    def first() -> None:
        with transaction.atomic():
            make.claimed(kind, "beside/0")
            written.set()
            assert waited.wait(20)

    with ThreadPoolExecutor(2) as pool:
        one = in_thread(first, pool)
        assert written.wait(20)
        waiting = in_thread(lambda: [*actions.claim_all(asked, actor="api:shop")], pool)
        until_somebody_waits(clock.database, waiting)
        clock.advance(31)
        waited.set()
        one.result(20)
        answers = [one for one in waiting.result(20) if isinstance(one, Reply)]
    assert [one.decision for one in answers] == ["wait", "wait", "wait"]
    assert [one.operation.state for one in answers] == ["running", "uncertain", "pending"]
    assert {sound(operation).attempts.get().outcome for operation in (running, unstarted)} == {
        "uncertain",
        "retryable",
    }


def test_rules_that_change_hold_from_the_next_batch_on(clock: Clock) -> None:
    kind = make.kind("changes.rules", lease_s=60)

    def leases(word: str) -> list[float]:
        asked = [make.submission(kind, f"{word}/{number}") for number in range(2)]
        claimed = held(actions.claim_all(asked, actor="api:shop"))
        return [round((one.lease_until - one.claimed_at).total_seconds()) for one in fresh(claimed)]

    assert leases("before") == [60, 60]
    OperationType.objects.filter(pk=kind.pk).update(lease_s=7)
    assert leases("after") == [7, 7]


def held(answers: Iterable[Reply | Exception]) -> list[tuple[Operation, Attempt, str]]:
    return [make.held(one) for one in answers if isinstance(one, Reply)]


def fresh(claimed: list[tuple[Operation, Attempt, str]]) -> Iterable[Attempt]:
    return Attempt.objects.filter(pk__in=[attempt.pk for _, attempt, _ in claimed])


def test_one_attempt_id_on_two_keys_spoils_the_second_item_alone(clock: Clock) -> None:
    kind, used = make.kind("one.id", lease_s=60), uuid.uuid4()
    assert len(held(batch_with(kind, "one", used))) == 30
    with connection.execute_wrapper(counting := Counting()):
        second = batch_with(kind, "two", used)
    assert (len(held(second)), counting.count < 10) == (29, True), "the others still go together"
    assert isinstance(second[1], AttemptIdElsewhere)
    assert not Operation.objects.filter(key="two/1").exists()


def batch_with(kind: OperationType, word: str, used: uuid.UUID) -> list[Reply | Exception]:
    asked = [
        make.submission(kind, f"{word}/{number}", attempt_id=used if number == 1 else uuid.uuid4())
        for number in range(30)
    ]
    return [*actions.claim_all(asked, actor="api:shop")]


def test_what_is_new_and_what_succeeds_costs_one_statement_for_all(clock: Clock) -> None:
    kind = make.kind("few.statements", lease_s=60)
    make.claimed(kind, "remembers the rules")
    asked = [make.submission(kind, f"few/{number}") for number in range(30)]
    with connection.execute_wrapper(counting := Counting()):
        claimed = held(actions.claim_all(asked, actor="api:shop"))
        told = [Told(attempt.uid, token, make.done()) for _, attempt, token in claimed]
        done = [*actions.record_all(told, actor="api:shop")]
    assert (len(claimed), len(done), counting.count) == (30, 30, 2)


def test_what_is_known_already_costs_few_statements_for_all(clock: Clock) -> None:
    """Each batch has 30 items of one kind.

    | asked                                          | answered       | statements |
    |------------------------------------------------|----------------|------------|
    | claims of what is in flight                    | wait           | 1          |
    | the same with another payload                  | refused        | 2          |
    | claims again, with their attempt_ids           | proceed        | 2          |
    | claims under attempt_ids of others             | refused        | 1          |
    | reports again, of what failed                  | hold           | 1          |
    | reports again, of what succeeded               | skip           | 2          |
    | claims of what is done                         | skip           | 1          |
    """
    kind = make.kind("known.already", lease_s=60)
    names = [uuid.uuid4() for _ in range(30)]

    def asked(*, ids: bool = False, shift: int = 0, **other: Any) -> list[Submission]:
        return [
            make.submission(
                kind, f"known/{(number + shift) % 30}", attempt_id=names[number] if ids else None, **other
            )
            for number in range(30)
        ]

    assert len(held(actions.claim_all(asked(ids=True), actor="api:shop"))) == 30
    running = counted(actions.claim_all, asked())
    changed = counted(actions.claim_all, asked(payload={"order": "484"}))
    mine = counted(actions.claim_all, asked(ids=True, payload={"order": "484"}))
    answers, again = counted(actions.claim_all, asked(ids=True))
    elsewhere = counted(actions.claim_all, asked(ids=True, shift=1))
    claimed = held(answers)
    told = [Told(attempt.uid, token, make.done()) for _, attempt, token in claimed[:15]]
    failed = [Told(attempt.uid, token, make.REFUSED) for _, attempt, token in claimed[15:]]
    assert len([*actions.record_all([*told, *failed], actor="api:shop")]) == 30
    assert len(claimed) == Attempt.objects.filter(operation__operation_type=kind).count()
    assert decisions(mine) == ({"PayloadChanged": 30}, 2), "whoever holds it may not change it, either"
    assert [decisions(running), decisions(changed), decisions(elsewhere)] == [
        ({"wait": 30}, 1),
        ({"PayloadChanged": 30}, 2),
        ({"AttemptIdElsewhere": 30}, 1),
    ]
    assert (decisions((answers, again))) == ({"proceed": 30}, 2)
    assert decisions(counted(actions.record_all, failed * 2)) == ({"hold": 30}, 1)
    assert decisions(counted(actions.record_all, told)) == ({"skip": 15}, 2)
    assert decisions(counted(actions.claim_all, asked()[:15])) == ({"skip": 15}, 1)
    for operation, _, _ in claimed:
        sound(operation)


Act = Callable[..., Iterable[Reply | Exception]]


def counted(act: Act, items: Sequence[object]) -> tuple[list[Reply | Exception], int]:
    with connection.execute_wrapper(counting := Counting()):
        answers = [*act(items, actor="api:shop")]
    return answers, counting.count


def decisions(asked: tuple[list[Reply | Exception], int]) -> tuple[dict[str, int], int]:
    answers, count = asked
    return Counter(one.decision if isinstance(one, Reply) else type(one).__name__ for one in answers), count


def test_a_report_again_tells_what_an_item_before_it_has_done(clock: Clock) -> None:
    """The first try's report comes again, once before and once after what the second try ended with."""
    kind = make.kind("two.tries", lease_s=60, retry={"base": "0s"})
    operation, first, token = make.claimed(kind)
    told = Told(first.uid, token, make.UNREACHED)
    assert [one.decision for one in actions.record_all([told], actor="api:shop")] == ["wait"]  # type: ignore[union-attr]
    clock.advance(1)
    _, second, its_token = make.claimed(kind)
    ended = Told(second.uid, its_token, make.done())
    answers = [*actions.record_all([told, ended, told], actor="api:shop")]
    assert [one.operation.state for one in answers if isinstance(one, Reply)] == [
        "running",
        "completed",
        "completed",
    ]
    sound(operation)
