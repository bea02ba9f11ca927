"""Two sessions want the same thing: one wins, the other is told why, and nobody ever sees an exception.

Each line of RACES is raced three times: the first holds the row while the second waits for it, the other way
round, and both at the same moment. `first-second` are their answers where the first came first, and where the
second did; `=` where that is the same.

| situation            | first         | second         | the first was first   | the second was first    |
|----------------------|---------------|----------------|-----------------------|-------------------------|
| its next try is due  | claim         | claim          | proceed-wait          | =                       |
| due, ours to send    | take          | take           | taken-nothing         | =                       |
| a permit is open     | claim         | claim          | proceed-wait          | =                       |
| permit, ours to send | take          | take           | taken-nothing         | =                       |
| claimed, unstarted   | start         | another start  | started-elsewhere     | =                       |
| claimed, unstarted   | start         | claim again    | started-wait          | stale-proceed           |
| in flight            | success       | same success   | skip-skip             | =                       |
| in flight            | success       | refusal        | skip-differs          | differs-hold            |
| checked by both      | ann allows    | bob allows     | permitted-not now     | =                       |
| checked by both      | ann allows    | the same click | permitted-permitted   | =                       |
| checked by both      | ann allows    | bob ends it    | permitted-ended       | =                       |
| blind                | ann allows    | policy allows  | permitted-uncertain   | not now-uncertain       |
| a permit is open     | withdraw      | claim          | withdrawn-hold        | not now-proceed         |
| a permit is open     | check finds   | claim          | completed-skip        | running-proceed         |
| the lease ran out    | expire        | success        | expired-skip          | nothing-skip            |
| the lease ran out    | expire        | silence        | expired-differs       | nothing-hold            |
| the lease ran out    | expire        | heartbeat      | expired-stale         | stale-expired           |
| in flight            | heartbeat     | success        | extended-skip         | stale-skip              |
| due, ours to send    | cancel        | take           | cancelled-nothing     | not now-taken           |
| in doubt             | attest        | check finds    | attested-completed    | not now-completed       |
| in doubt             | late success  | check finds    | skip-completed        | differs-completed       |
| did not happen       | correct       | correct else   | corrected-open        | =                       |
| did not happen       | correct       | the same       | corrected-known       | =                       |
| did not happen       | correct       | ann allows     | corrected-not now     | corrected-permitted     |
| failed, permitted    | correct       | claim          | corrected-hold        | in flight-proceed       |
| due, ours to send    | correct       | take           | corrected-nothing     | in flight-taken         |
| due, ours to send    | correct       | cancel         | corrected-not now     | corrected-cancelled     |
| its correction sends | success       | correct else   | skip-corrected        | skip-open               |
"""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from django.db import transaction

from ledger import actions
from ledger.models import Attempt, Operation, OperationType, Permit
from ledger.rules.states import State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.scenes import (
    CLICK,
    Act,
    Scene,
    allowing,
    attest,
    blind,
    cancel,
    checked,
    claim,
    claim_again,
    correcting,
    correction_in_flight,
    due,
    due_to_send,
    end,
    expire,
    heartbeat,
    in_doubt,
    in_flight,
    look_blind,
    look_found,
    out_of_lease,
    permitted,
    permitted_to_send,
    refusal,
    refused,
    refused_permitted,
    silence,
    start,
    success,
    take,
    unstarted,
    withdraw,
)
from tests.ledger.sessions import at_once, in_thread, one_after_the_other, told, until_somebody_waits
from tests.ledger.trails import sound

SAME = ""
LOWER, LOWEST = correcting("1140.00"), correcting("1040.00")
RACES: dict[str, tuple[Callable[[Clock, str], Scene], Act, Act, str, str]] = {
    "due: claim, claim": (due, claim, claim, "proceed / wait", SAME),
    "due: take, take": (due_to_send, take, take, "taken / nothing", SAME),
    "permit: claim, claim": (permitted, claim, claim, "proceed / wait", SAME),
    "permit: take, take": (permitted_to_send, take, take, "taken / nothing", SAME),
    "start, start": (unstarted, start, start, "started / started-elsewhere", SAME),
    "start, claim again": (unstarted, start, claim_again, "started / wait", "stale-token / proceed"),
    "success, same": (in_flight, success, success, "skip / skip", SAME),
    "success, refusal": (in_flight, success, refusal, "skip / outcome-differs", "outcome-differs / hold"),
    "ann, bob": (checked, allowing("ann"), allowing("bob"), "permitted / not-now", SAME),
    "one click twice": (
        checked,
        allowing("ann", CLICK),
        allowing("ann", CLICK),
        "permitted / permitted",
        SAME,
    ),
    "permit, end": (checked, allowing("ann"), end, "permitted / ended", "permitted / ended"),
    "person, policy": (blind, allowing("ann"), look_blind, "permitted / uncertain", "not-now / uncertain"),
    "withdraw, claim": (permitted, withdraw, claim, "withdrawn / hold", "not-now / proceed"),
    "found, claim": (permitted, look_found, claim, "completed / skip", "running / proceed"),
    "expire, success": (out_of_lease, expire, success, "expired / skip", "nothing / skip"),
    "expire, silence": (out_of_lease, expire, silence, "expired / outcome-differs", "nothing / hold"),
    "expire, heartbeat": (out_of_lease, expire, heartbeat, "expired / stale-token", "expired / stale-token"),
    "heartbeat, success": (in_flight, heartbeat, success, "extended / skip", "stale-token / skip"),
    "cancel, take": (due_to_send, cancel, take, "cancelled / nothing", "not-now / taken"),
    "attest, found": (in_doubt, attest, look_found, "attested / completed", "not-now / completed"),
    "correct, correct": (refused, LOWER, LOWEST, "corrected / correction-open", SAME),
    "correct, the same": (refused, LOWER, LOWER, "corrected / known", SAME),
    "correct, permit": (refused, LOWER, allowing("ann"), "corrected / not-now", "corrected / permitted"),
    "correct, claim": (refused_permitted, LOWER, claim, "corrected / hold", "in-flight / proceed"),
    "correct, take": (due_to_send, LOWER, take, "corrected / nothing", "in-flight / taken"),
    "correct, cancel": (due_to_send, LOWER, cancel, "corrected / not-now", "corrected / cancelled"),
    "success, correct": (correction_in_flight, success, LOWEST, "skip / corrected", "skip / correction-open"),
    "late, found": (in_doubt, success, look_found, "skip / completed", "outcome-differs / completed"),
}


@pytest.mark.parametrize("race", RACES)
def test_one_wins_and_the_other_is_told_why(clock: Clock, race: str) -> None:
    situation, first, second, first_first, second_first = RACES[race]
    possible = [first_first.split(" / "), (second_first or first_first).split(" / ")]
    for number, acts in enumerate(((first, second), (second, first))):
        scene = situation(clock, f"in order {number}")
        answers = one_after_the_other(clock.database, scene.operation, *(partial(act, scene) for act in acts))
        if not second_first or number == 0:
            assert answers == possible[0]
        else:
            assert answers == possible[1][::-1]
        sound(scene.operation)
    scene = situation(clock, "at once")
    answers = at_once([partial(first, scene), partial(second, scene)])
    assert answers in (possible if second_first else [possible[0], possible[0][::-1]])
    sound(scene.operation)


# --- sixteen at once


def test_12_sixteen_claims_of_a_new_operation_make_one(clock: Clock) -> None:
    kind = make.kind()
    replies = at_once([partial(claim_new, kind)] * 16)
    assert sorted(replies) == ["proceed"] + ["wait"] * 15
    operation = sound(Operation.objects.get())
    assert (operation.state, operation.attempt_count) == (State.RUNNING, 1)


def claim_new(kind: OperationType) -> str:
    return actions.claim(make.submission(kind), actor="api:shop").decision


def test_30_sixteen_claims_of_one_that_is_due_make_one_more_try(clock: Clock) -> None:
    scene = due(clock, "due")
    assert sorted(at_once([partial(claim, scene)] * 16)) == ["proceed"] + ["wait"] * 15
    assert sound(scene.operation).attempt_count == 2


def test_30_sixteen_workers_send_it_once(clock: Clock) -> None:
    scene = due_to_send(clock, "to send")
    assert sorted(at_once([partial(take, scene)] * 16)) == ["nothing"] * 15 + ["taken"]
    assert sound(scene.operation).attempt_count == 1


def test_sixteen_submissions_make_one_operation(clock: Clock) -> None:
    kind = make.invoice_type()
    replies = at_once([lambda: str(actions.submit(make.submission(kind), actor="api:shop").created)] * 16)
    assert sorted(replies) == ["False"] * 15 + ["True"]
    sound(Operation.objects.get())


def test_one_attempt_id_for_two_operations_at_once_is_refused_for_one(clock: Clock) -> None:
    kind, name = make.kind(), uuid.uuid4()

    def claiming(key: str) -> str:
        return actions.claim(make.submission(kind, key, attempt_id=name), actor="api:shop").decision

    answers = at_once([partial(claiming, f"order/{number}") for number in range(8)])
    assert sorted(answers) == ["attempt-id-elsewhere"] * 7 + ["proceed"]
    assert Operation.objects.count() == 1


def test_4_a_claim_repeated_at_once_leaves_one_attempt_and_one_living_token(clock: Clock) -> None:
    kind, name = make.kind(), uuid.uuid4()
    tokens: list[str] = []

    def claiming() -> str:
        reply = actions.claim(make.submission(kind, attempt_id=name), actor="api:shop")
        tokens.append(str(reply.token))
        return reply.decision

    assert at_once([claiming] * 8) == ["proceed"] * 8
    attempt = sound(Operation.objects.get()).attempts.get()
    starts = [told(partial(started, attempt, token)) for token in tokens]
    assert sorted(starts) == ["stale-token"] * 7 + ["started"]


def started(attempt: Attempt, token: str) -> str:
    actions.start(attempt.uid, token=token, start_id=uuid.UUID(int=1), actor="api:shop")
    return "started"


# --- 13: an insert that loses reads what the winner wrote


def test_13_a_claim_that_waits_for_another_insert_reads_what_it_wrote(clock: Clock) -> None:
    kind = make.kind()
    first, second = beside_an_insert(clock, kind, commits=True, while_it_waits=lambda: None)
    assert (first, second.decision) == ("proceed", "wait")
    assert sound(Operation.objects.get()).attempt_count == 1


def test_4_a_claim_repeated_while_the_first_one_is_being_written_is_the_same(clock: Clock) -> None:
    kind, name = make.kind(), uuid.uuid4()
    nothing = lambda: None  # noqa: E731
    _, reply = beside_an_insert(clock, kind, commits=True, while_it_waits=nothing, attempt_id=name)
    operation, attempt, token = make.held(reply)
    assert (reply.decision, reply.replayed) == ("proceed", True)
    actions.start(attempt.uid, token=token, start_id=None, actor="api:shop")
    assert sound(operation).attempts.get().pk == attempt.pk


def beside_an_insert(
    clock: Clock,
    kind: OperationType,
    *,
    commits: bool,
    while_it_waits: Callable[[], None],
    attempt_id: uuid.UUID | None = None,
) -> tuple[str, actions.Reply]:
    """Claim a new key while another session has inserted it and not yet committed."""
    written, waited = threading.Event(), threading.Event()
    asked = make.submission(kind, attempt_id=attempt_id)

    def inserting() -> str:
        with transaction.atomic():
            decision = actions.claim(asked, actor="api:shop").decision
            written.set()
            assert waited.wait(20)
            transaction.set_rollback(not commits)
        return decision

    with ThreadPoolExecutor(2) as pool:
        one = in_thread(inserting, pool)
        assert written.wait(20)
        two = in_thread(lambda: actions.claim(asked, actor="api:shop"), pool)
        until_somebody_waits(clock.database, two)
        while_it_waits()
        waited.set()
        return one.result(20), two.result(20)


# --- 6: no lease is born expired


def test_6_a_claim_that_waited_for_an_insert_which_was_given_up_has_a_whole_lease(clock: Clock) -> None:
    kind = make.kind(lease_s=60)
    later = lambda: clock.advance(3600)  # noqa: E731
    _, reply = beside_an_insert(clock, kind, commits=False, while_it_waits=later)
    whole_lease(clock, reply)


def test_6_a_claim_that_waited_for_a_row_has_a_whole_lease(clock: Clock) -> None:
    scene = due(clock, "due")
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT FROM ledger_operation FOR UPDATE")
        waiting = in_thread(lambda: actions.claim(make.submission(scene.kind), actor="api:shop"), pool)
        until_somebody_waits(clock.database, waiting)
        clock.advance(3600)
        holder.rollback()
        whole_lease(clock, waiting.result(20))


def whole_lease(clock: Clock, reply: actions.Reply) -> None:
    operation, attempt, token = make.held(reply)
    left = (make.again(operation).lease_until or clock.now()) - clock.now()
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    assert attempt.lease_until == make.again(operation).lease_until
    actions.record(attempt.uid, token=token, report=make.done(), actor="api:shop")
    assert sound(operation).state == State.COMPLETED


def test_6_a_start_that_waited_until_the_lease_was_over_is_refused(clock: Clock) -> None:
    scene = unstarted(clock, "unstarted")
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT FROM ledger_operation FOR UPDATE")
        waiting = in_thread(lambda: told(partial(start, scene)), pool)
        until_somebody_waits(clock.database, waiting)
        clock.advance(3600)
        holder.rollback()
        assert waiting.result(20) == "stale-token"


def test_7_a_claim_repeated_that_waited_until_the_lease_was_over_revives_nothing(clock: Clock) -> None:
    scene = unstarted(clock, "unstarted")
    with closing(psycopg.connect(clock.database.app_url)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT FROM ledger_operation FOR UPDATE")
        waiting = in_thread(partial(claim_again, scene), pool)
        until_somebody_waits(clock.database, waiting)
        clock.advance(3600)
        holder.rollback()
        assert waiting.result(20) == "wait"
    operation = sound(scene.operation)
    assert (operation.state, operation.attempts.get().outcome) == (State.PENDING, "retryable")


# --- who must not wait at all


def test_what_is_in_flight_is_said_while_somebody_holds_its_row(clock: Clock) -> None:
    scene = in_flight(clock, "in flight")
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(clock.database.app_url)) as holder:
        holder.execute("SELECT FROM ledger_operation FOR UPDATE")
        assert in_thread(partial(claim, scene), pool).result(5) == "wait"


def test_a_row_that_only_points_to_an_operation_keeps_nobody_waiting(clock: Clock) -> None:
    """A run's million lines take their foreign keys while it commits; here they are taken before."""
    scene = due(clock, "due")
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(clock.database.app_url)) as run:
        run.execute("SET CONSTRAINTS ALL IMMEDIATE")
        run.execute(
            "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, data) "
            "SELECT gen_random_uuid(), id, 'noted', 'a run', 'It is on the list.', '', '', '{}' "
            "FROM ledger_operation"
        )
        assert in_thread(partial(claim, scene), pool).result(5) == "proceed"


def test_doubts_of_one_type_that_prove_its_look_up_at_once_do_not_wait_in_a_circle(clock: Clock) -> None:
    kind = make.kind(lookup_proved_at=None)
    operations = [make.uncertain_operation(kind, f"order/{number}") for number in range(8)]

    def look(operation: Operation) -> str:
        make.looked(operation, make.there(operation, f"INV-{operation.pk}"))
        return make.again(operation).state

    assert at_once([partial(look, operation) for operation in operations]) == ["completed"] * 8
    kind.refresh_from_db()
    assert kind.lookup_proved_at is not None


def clicking(scene: Scene) -> str:
    make.permitted(scene.operation, command_id=CLICK)
    return "permitted"


def test_one_click_on_two_operations_at_once_counts_for_one(clock: Clock) -> None:
    scenes = [checked(clock, name) for name in ("one", "two")]
    answers = at_once([partial(clicking, scene) for scene in scenes])
    assert sorted(answers) == ["conflict", "permitted"]
    assert Permit.objects.count() == 1
