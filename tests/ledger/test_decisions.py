"""What comes next, as a table: facts in, one step out, and a clock that stands at noon.

Where an outcome takes its operation (`conclude`); "doubt" is an earlier attempt that may have had an effect:

| outcome   | no doubt, within limits | no doubt, at the limits | an earlier doubt |
|-----------|-------------------------|-------------------------|------------------|
| succeeded | completed               | completed               | completed        |
| accepted  | uncertain               | uncertain               | uncertain        |
| uncertain | uncertain               | uncertain               | uncertain        |
| retryable | pending                 | failed, case: limit     | uncertain        |
| rejected  | failed, case: refused   | failed, case: refused   | uncertain        |
| 401, 403  | failed, paused          | failed, paused          | uncertain        |

How doubt is resolved (`decide`), the first line that fits:

| what is known                                          | step             | case             |
|--------------------------------------------------------|------------------|------------------|
| a permit, and something was found                      | the permit ends  |                  |
| a permit, lapsed                                       | the permit ends  | lapsed           |
| a permit                                               | send             |                  |
| held, and nothing was looked at since                  | hold             |                  |
| one match, done                                        | complete         |                  |
| one match, declined                                    | fail             | refused          |
| several; differs                                       | hold             | several; differs |
| held                                                   | hold             |                  |
| accepted, or one match that is pending, not too long   | look             |                  |
| the same, too long, and looked at since                | hold             | accepted         |
| a look-up, and nobody has looked since the last try    | look             |                  |
| absent, proof, within limits                           | retry            |                  |
| absent, proof, at the limits                           | fail             | absent           |
| absent, too early                                      | look, settled    |                  |
| blind, fewer than three times                          | look, later      |                  |
| the key protects, within limits                        | permit           |                  |
| nothing of that, with a look-up                        | hold             | could not look   |
| nothing of that, without, silence to the lease's end   | hold             | expired          |
| nothing of that, without                               | hold             | unproved         |
| send, look or permit, and the destination is paused    | wait             |                  |
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.calls import RetryPolicy
from ledger.rules.decisions import LOOKS, UNCLAIMED, Next, conclude, decide, pause_s
from ledger.rules.facts import DECLINED, EXISTS, IN_USE, LEASE_EXPIRED
from ledger.rules.states import MOVES, CaseKind, Outcome, State
from tests.ledger.known import (
    ABSENT,
    BLIND,
    DECLINED_RECORD,
    DIFFERS,
    EARLY,
    HOUR,
    MATCH,
    NO_KEYS,
    NOON,
    ONE_TRY,
    PENDING_RECORD,
    PERMIT,
    PROOF,
    SECOND,
    SEVERAL,
    TICK,
    attempt,
    contract,
    facts,
)

# --- corrections


def test_a_correction_is_not_sent_once_what_it_corrects_has_moved() -> None:
    moved: dict[str, Any] = {"is_correction": True, "original_moved": True}
    step = decide(facts(state=State.PENDING, attempts=(), **moved), NOON)
    assert (step.next, step.case) == (Next.HOLD, CaseKind.THERE_AFTER_ALL)
    assert decide(facts(permit=PERMIT, **moved), NOON).next is Next.LAPSE
    by_policy = replace(PERMIT, by_person=False)
    assert decide(facts(permit=by_policy, **moved), NOON).next is Next.SEND, (
        "the same key makes no second one"
    )


def test_33_doubt_about_what_was_corrected_leads_to_no_other_try() -> None:
    for found in (None, PROOF, ABSENT, EARLY, BLIND, MATCH, DECLINED_RECORD):
        for permit in (None, PERMIT):
            step = decide(facts(corrected=True, lookup=found, look_count=LOOKS, permit=permit), NOON)
            assert step.next not in (Next.SEND, Next.RETRY, Next.PERMIT), (found, permit, step)


# --- where an outcome leads


CONCLUSIONS = {
    Outcome.SUCCEEDED: ("completed", "completed", "completed"),
    Outcome.ACCEPTED: ("uncertain", "uncertain", "uncertain"),
    Outcome.UNCERTAIN: ("uncertain", "uncertain", "uncertain"),
    Outcome.RETRYABLE: ("pending", "failed: limit", "uncertain"),
    Outcome.REJECTED: ("failed: refused", "failed: refused", "uncertain"),
}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_our_credentials_pauses_instead_of_opening_a_case(status: int) -> None:
    refused = attempt(2, Outcome.REJECTED, http_status=status)
    sure = conclude(facts(attempts=(refused,)), Outcome.REJECTED, now=NOON, jitter=0)
    doubt = conclude(facts(attempts=(attempt(), refused)), Outcome.REJECTED, now=NOON, jitter=0)
    assert (sure.state, sure.case, sure.pauses) == (State.FAILED, None, True)
    assert (doubt.state, doubt.case, doubt.pauses) == (State.UNCERTAIN, None, True)
    unlisted = facts(attempts=(replace(refused, outcome=Outcome.UNCERTAIN),))
    assert not conclude(unlisted, Outcome.UNCERTAIN, now=NOON, jitter=0).pauses


def test_what_waits_for_a_paused_destination_runs_into_no_limit() -> None:
    over = facts(state=State.PENDING, accepted_at=NOON - 13 * HOUR, paused_at=NOON - 2 * HOUR)
    assert decide(over, NOON).next is Next.WAIT
    assert decide(replace(over, paused_at=None), NOON).next is Next.FAIL
    resumed = replace(over, paused_at=None, paused_s=2 * 3600)
    assert decide(resumed, NOON).next is Next.SEND, "nor when it is resumed"
    assert decide(resumed, NOON + HOUR).next is Next.FAIL


def test_what_comes_back_while_its_destination_is_paused_has_the_time_that_it_had() -> None:
    """Claimed before the pause, and proved not done when its time would be over."""
    over = facts(accepted_at=NOON - 13 * HOUR, attempts=(attempt(1, Outcome.RETRYABLE),))
    came: dict[State, dict[str, Any]] = {
        State.PENDING: {"paused_at": NOON - 2 * HOUR},
        State.FAILED: {"paused_at": NOON - HOUR / 2},
    }
    for becomes, paused in came.items():
        concluded = conclude(replace(over, **paused), Outcome.RETRYABLE, now=NOON, jitter=0)
        assert concluded.state is becomes, paused


def test_a_callers_operation_that_nobody_tried_has_its_time_too() -> None:
    waits = facts(state=State.PENDING, attempts=(), accepted_at=NOON - 13 * HOUR, first_sent_at=None)
    assert decide(waits, NOON).next is Next.SEND, "Tieout sends it late rather than never"
    step = decide(replace(waits, by_tieout=False), NOON)
    assert (step.next, step.case, step.why) == (Next.FAIL, CaseKind.LIMIT, UNCLAIMED)
    assert decide(replace(waits, by_tieout=False, paused_at=NOON - 2 * HOUR), NOON).next is Next.WAIT


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_speaks_for_its_own_attempt_only(outcome: Outcome) -> None:
    sure = (attempt(1, Outcome.RETRYABLE), attempt(2, outcome))
    doubt = (attempt(1), attempt(2, outcome))
    known = facts(state=State.RUNNING, attempts=sure)
    situations = (known, replace(known, policy=ONE_TRY), replace(known, attempts=doubt))
    for situation, expected in zip(situations, CONCLUSIONS[outcome], strict=True):
        end = conclude(situation, outcome, now=NOON, jitter=0)
        assert (f"{end.state}: {end.case}" if end.case else end.state) == expected
        assert end.state in MOVES[State.RUNNING]
        assert end.why.endswith(".")


def test_a_doubt_whose_absence_was_proved_is_none() -> None:
    cleared = (attempt(1, in_doubt=False), attempt(2, Outcome.REJECTED))
    assert conclude(facts(attempts=cleared), Outcome.REJECTED, now=NOON, jitter=0).state == State.FAILED


def test_a_success_that_was_never_disproved_keeps_a_later_refusal_from_being_the_last_word() -> None:
    tries = (attempt(1, Outcome.SUCCEEDED), attempt(2, Outcome.REJECTED))
    assert conclude(facts(attempts=tries), Outcome.REJECTED, now=NOON, jitter=0).state == State.UNCERTAIN


def test_16_retries_end_by_count_and_by_time() -> None:
    def after(tries: int, **changes: Any) -> State:
        made = tuple(attempt(number, Outcome.RETRYABLE) for number in range(1, tries + 1))
        return conclude(facts(attempts=made, **changes), Outcome.RETRYABLE, now=NOON, jitter=0).state

    assert [after(tries) for tries in (1, 4, 5, 6)] == ["pending", "pending", "failed", "failed"]
    end = timedelta(hours=12) - 10 * SECOND  # the next try is ten seconds away
    assert after(1, accepted_at=NOON - end + TICK) == State.PENDING
    assert after(1, accepted_at=NOON - end) == State.FAILED
    assert after(1, contract=contract(retry_owner="client")) == State.FAILED


def test_a_claim_that_never_started_is_no_try() -> None:
    lapsed = tuple(attempt(number, Outcome.RETRYABLE, started_at=None) for number in range(1, 9))
    known = facts(attempts=lapsed)
    assert (known.tries, known.tries_left) == (0, 5)
    assert conclude(known, Outcome.RETRYABLE, now=NOON, jitter=0).state == State.PENDING


def test_claims_that_never_start_come_to_an_end_too() -> None:
    lapsed = tuple(attempt(number, Outcome.RETRYABLE, started_at=None) for number in range(1, 2001))
    known = facts(attempts=lapsed, policy=RetryPolicy.model_validate({"base": "0s", "elapsed": "365d"}))
    end = conclude(known, Outcome.RETRYABLE, now=NOON, jitter=0)
    assert (end.state, end.case) == (State.FAILED, CaseKind.LIMIT)


def test_pauses_double_up_to_their_cap_and_jitter_takes_off_up_to_half() -> None:
    def pause(tries: int, **more: Any) -> float:
        made = tuple(attempt(number) for number in range(1, tries + 1))
        return pause_s(facts(attempts=made), more.pop("jitter", 0), **more)

    assert [pause(tries) for tries in (0, 1, 2, 3, 7, 500, 3000)] == [10, 10, 20, 40, 600, 600, 600]
    assert (pause(2, jitter=1), pause(2, jitter=0.5)) == (10, 15)
    assert pause(2, retry_after_s=30) == 30
    assert pause(2, retry_after_s=3) == 20


# --- how doubt is resolved


NO_LOOK = {"has_lookup": False}
UNPROVED = CaseKind.UNPROVED
PAUSED: dict[str, Any] = {"paused_at": NOON - HOUR}
RESOLVED: dict[str, tuple[dict[str, Any], Next, CaseKind | None]] = {
    "a permit": ({"permit": PERMIT}, Next.SEND, None),
    "a permit and absence": ({"permit": PERMIT, "lookup": PROOF}, Next.SEND, None),
    "a permit, and one match": ({"permit": PERMIT, "lookup": MATCH}, Next.LAPSE, None),
    "a permit, and a declined one": ({"permit": PERMIT, "lookup": DECLINED_RECORD}, Next.LAPSE, None),
    "a permit, and a pending one": ({"permit": PERMIT, "lookup": PENDING_RECORD}, Next.LAPSE, None),
    "a permit, and several": ({"permit": PERMIT, "lookup": SEVERAL}, Next.LAPSE, None),
    "a lapsed permit": ({"permit": replace(PERMIT, lapses_at=NOON)}, Next.LAPSE, CaseKind.LAPSED),
    "paused, a permit": ({**PAUSED, "permit": PERMIT}, Next.WAIT, None),
    "paused, a lapsed permit": (
        {**PAUSED, "permit": replace(PERMIT, lapses_at=NOON)},
        Next.LAPSE,
        CaseKind.LAPSED,
    ),
    "paused, a lapsed one of policy's": (
        {**PAUSED, "permit": replace(PERMIT, by_person=False, lapses_at=NOON)},
        Next.LAPSE,
        None,
    ),
    "resumed, one of policy's that lapsed before": (
        {"resumed_at": NOON, "permit": replace(PERMIT, by_person=False, lapses_at=NOON - SECOND)},
        Next.LAPSE,
        None,
    ),
    "resumed, one of policy's that lapsed since": (
        {"resumed_at": NOON - HOUR, "permit": replace(PERMIT, by_person=False, lapses_at=NOON)},
        Next.LAPSE,
        CaseKind.LAPSED,
    ),
    "paused, not looked at yet": ({**PAUSED}, Next.WAIT, None),
    "paused, key remembered": ({**PAUSED, **NO_LOOK}, Next.WAIT, None),
    "paused, one match": ({**PAUSED, "lookup": MATCH}, Next.COMPLETE, None),
    "paused, proof": ({**PAUSED, "lookup": PROOF}, Next.RETRY, None),
    "held": ({"held_at": NOON - HOUR}, Next.HOLD, None),
    "held, then one match": ({"held_at": NOON - HOUR, "lookup": MATCH}, Next.COMPLETE, None),
    "held, then declined": ({"held_at": NOON - HOUR, "lookup": DECLINED_RECORD}, Next.FAIL, CaseKind.REFUSED),
    "held, then several": ({"held_at": NOON - HOUR, "lookup": SEVERAL}, Next.HOLD, CaseKind.SEVERAL),
    "held, then proof": ({"held_at": NOON - HOUR, "lookup": PROOF}, Next.HOLD, None),
    "held, then blind": ({"held_at": NOON - HOUR, "lookup": BLIND}, Next.HOLD, None),
    "held after one match": ({"held_at": NOON, "lookup": MATCH}, Next.HOLD, None),
    "held after several": ({"held_at": NOON, "lookup": SEVERAL}, Next.HOLD, None),
    "one match": ({"lookup": MATCH}, Next.COMPLETE, None),
    "one match, accepted before": ({"lookup": MATCH, "taken_at": NOON - HOUR}, Next.COMPLETE, None),
    "declined": ({"lookup": DECLINED_RECORD}, Next.FAIL, CaseKind.REFUSED),
    "several": ({"lookup": SEVERAL}, Next.HOLD, CaseKind.SEVERAL),
    "differs": ({"lookup": DIFFERS}, Next.HOLD, CaseKind.DIFFERS),
    "accepted": ({"taken_at": NOON - 60 * SECOND}, Next.LOOK, None),
    "accepted, pending": ({"taken_at": NOON - 60 * SECOND, "lookup": PENDING_RECORD}, Next.LOOK, None),
    "accepted, absent": ({"taken_at": NOON - 60 * SECOND, "lookup": PROOF}, Next.LOOK, None),
    "accepted, too long, a last look": ({"taken_at": NOON - HOUR, "lookup": PENDING_RECORD}, Next.LOOK, None),
    "accepted, too long": (
        {"taken_at": NOON - HOUR, "lookup": replace(PENDING_RECORD, asked_at=NOON)},
        Next.HOLD,
        CaseKind.ACCEPTED,
    ),
    "accepted, nobody looks": ({"taken_at": NOON - SECOND, **NO_LOOK}, Next.WAIT, None),
    "accepted, nobody looks, too long": ({"taken_at": NOON - HOUR, **NO_LOOK}, Next.HOLD, CaseKind.ACCEPTED),
    "not looked at yet": ({}, Next.LOOK, None),
    "proof": ({"lookup": PROOF}, Next.RETRY, None),
    "proof, last try": ({"lookup": PROOF, "policy": ONE_TRY}, Next.FAIL, CaseKind.ABSENT),
    "proof, time is over": ({"lookup": PROOF, "accepted_at": NOON - 12 * HOUR}, Next.FAIL, CaseKind.ABSENT),
    "proof, the client retries": (
        {"lookup": PROOF, "contract": contract(retry_owner="client")},
        Next.FAIL,
        CaseKind.ABSENT,
    ),
    "absent, too early": ({"lookup": EARLY}, Next.LOOK, None),
    "absent, unproved": ({"lookup": ABSENT, "look_count": 1}, Next.LOOK, None),
    "absent, unproved, nothing to settle": ({"lookup": ABSENT, "settles_at": None}, Next.LOOK, None),
    "blind": ({"lookup": BLIND, "look_count": 1}, Next.LOOK, None),
    "blind, thrice": ({"lookup": BLIND, "look_count": LOOKS}, Next.PERMIT, None),
    "absent, unproved, thrice": ({"lookup": ABSENT, "look_count": LOOKS}, Next.PERMIT, None),
    "blind, thrice, no keys": (
        {"lookup": BLIND, "look_count": LOOKS, "contract": NO_KEYS},
        Next.HOLD,
        CaseKind.COULD_NOT_LOOK,
    ),
    "no look-up, key remembered": ({**NO_LOOK}, Next.PERMIT, None),
    "no look-up, last try": ({**NO_LOOK, "policy": ONE_TRY}, Next.HOLD, UNPROVED),
    "no look-up, time is over": ({**NO_LOOK, "accepted_at": NOON - 12 * HOUR}, Next.HOLD, UNPROVED),
    "no look-up, the client retries": (
        {**NO_LOOK, "contract": contract(retry_owner="client")},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, retention unknown": (
        {**NO_LOOK, "contract": contract(key_retention="unknown")},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, another account": ({**NO_LOOK, "same_account": False}, Next.HOLD, UNPROVED),
    "no look-up, a saved error came": (
        {**NO_LOOK, "contract": contract(saves="all"), "attempts": (attempt(http_status=500),)},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, what is saved is unknown": (
        {**NO_LOOK, "contract": contract(saves="unknown"), "attempts": (attempt(http_status=500),)},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, an error came that is not saved": (
        {**NO_LOOK, "contract": contract(saves="4xx"), "attempts": (attempt(http_status=500),)},
        Next.PERMIT,
        None,
    ),
    "no look-up, silence, all is saved": ({**NO_LOOK, "contract": contract(saves="all")}, Next.PERMIT, None),
    "no look-up, the error was saved under an older key": (
        {
            **NO_LOOK,
            "contract": contract(saves="all"),
            "attempts": (attempt(1, Outcome.REJECTED, http_status=400, present_key=False), attempt(2)),
        },
        Next.PERMIT,
        None,
    ),
    "no look-up, the key is in use": (
        {
            **NO_LOOK,
            "contract": contract(saves="all"),
            "attempts": (attempt(http_status=409, error_code=IN_USE),),
        },
        Next.PERMIT,
        None,
    ),
    "no look-up, a caller was told that the key is in use": (
        {**NO_LOOK, "contract": contract(saves="all"), "attempts": (attempt(http_status=409),)},
        Next.PERMIT,
        None,
    ),
    "no look-up, the key is in use, last try": (
        {**NO_LOOK, "policy": ONE_TRY, "attempts": (attempt(http_status=409, error_code=IN_USE),)},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, not done by contract is not saved": (
        {
            **NO_LOOK,
            "contract": contract(saves="all"),
            "attempts": (attempt(1, Outcome.RETRYABLE, http_status=429), attempt(2)),
        },
        Next.PERMIT,
        None,
    ),
    "no look-up, an error came back that says it was given before": (
        {**NO_LOOK, "attempts": (attempt(http_status=500, replayed=True),)},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, it is said to exist": (
        {**NO_LOOK, "attempts": (attempt(http_status=520, error_code=EXISTS),)},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, a record was declined under the key": (
        {**NO_LOOK, "attempts": (attempt(1, Outcome.REJECTED, error_code=DECLINED), attempt(2))},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, the doubt is of an older key": (
        {**NO_LOOK, "attempts": (attempt(present_key=False), attempt(2, Outcome.RETRYABLE))},
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, it was found against all tries, one of them under an older key": (
        {
            **NO_LOOK,
            "attempts": (
                attempt(1, Outcome.REJECTED, present_key=False),
                attempt(2, Outcome.REJECTED),
            ),
        },
        Next.HOLD,
        UNPROVED,
    ),
    "no look-up, no keys": ({**NO_LOOK, "contract": NO_KEYS}, Next.HOLD, UNPROVED),
    "no look-up, no keys, silence to the end": (
        {**NO_LOOK, "contract": NO_KEYS, "attempts": (attempt(error_code=LEASE_EXPIRED),)},
        Next.HOLD,
        CaseKind.EXPIRED,
    ),
}


@pytest.mark.parametrize("line", RESOLVED)
def test_doubt_is_resolved_in_its_order(line: str) -> None:
    changes, step, case = RESOLVED[line]
    decided = decide(facts(**changes), NOON)
    assert (decided.next, decided.case) == (step, case)
    assert decided.why.endswith(".")
    if step in (Next.LOOK, Next.SEND, Next.RETRY, Next.PERMIT, Next.WAIT):
        assert decided.at is not None


@pytest.mark.parametrize("state", State)
def test_every_step_leads_where_moves_allow(state: State) -> None:
    """The whole product of looks, permits, holds and limits: no step leads where no move does."""
    leads = {
        Next.COMPLETE: State.COMPLETED,
        Next.FAIL: State.FAILED,
        Next.RETRY: State.PENDING,
        Next.SEND: State.RUNNING,
    }
    looks = (None, MATCH, DECLINED_RECORD, PENDING_RECORD, DIFFERS, SEVERAL, PROOF, ABSENT, EARLY, BLIND)
    for found in looks:
        for permit in (None, PERMIT, replace(PERMIT, lapses_at=NOON)):
            for held_at in (None, NOON - HOUR, NOON):
                for policy in (facts().policy, ONE_TRY):
                    known = facts(
                        state=state,
                        lookup=found,
                        permit=permit,
                        held_at=held_at,
                        policy=policy,
                        lease_until=NOON if state is State.RUNNING else None,
                    )
                    step = decide(known, NOON)
                    assert step.next not in leads or leads[step.next] in MOVES[state]
                    if held_at is not None and step.next in (Next.RETRY, Next.PERMIT):
                        pytest.fail("software goes on with what a person decides")


def test_finished_operations_have_no_next_step() -> None:
    for state in (State.COMPLETED, State.FAILED):
        assert decide(facts(state=state), NOON).next is Next.NOTHING


def test_a_lease_runs_out_at_its_very_end() -> None:
    known = facts(state=State.RUNNING, attempts=(attempt(outcome=None),))
    assert decide(replace(known, lease_until=NOON + TICK), NOON).next is Next.WAIT
    assert decide(replace(known, lease_until=NOON), NOON).next is Next.EXPIRE


def test_what_waits_is_sent_when_its_time_comes_and_not_while_held() -> None:
    known = facts(state=State.PENDING, attempts=(attempt(1, Outcome.RETRYABLE),), next_try_at=NOON)
    assert decide(known, NOON).at == NOON
    assert decide(replace(known, held_at=NOON), NOON).next is Next.HOLD
    spent = decide(replace(known, policy=ONE_TRY), NOON)
    assert (spent.next, spent.case) == (Next.FAIL, CaseKind.LIMIT)
    new = replace(known, attempts=(), accepted_at=NOON - 24 * HOUR)
    assert decide(new, NOON).next is Next.SEND, "what was never tried is tried, however late"


# --- boundary instants


def test_absence_is_proof_from_the_moment_it_is_settled() -> None:
    """The look-up of that moment counts; the store of look-ups asks the same question."""
    settles_at = NOON - 60 * SECOND
    early = decide(facts(lookup=ABSENT, settles_at=settles_at + TICK), NOON)
    assert (early.next, early.at) == (Next.LOOK, settles_at + TICK)
    assert decide(facts(lookup=ABSENT, settles_at=settles_at, look_count=LOOKS), NOON).next is Next.PERMIT


def test_a_permit_takes_effect_and_lapses_at_its_instants() -> None:
    known = facts(permit=replace(PERMIT, effective_at=NOON + SECOND, lapses_at=NOON + HOUR))
    assert decide(known, NOON).at == NOON + SECOND
    assert decide(known, NOON + HOUR - TICK).next is Next.SEND
    assert decide(known, NOON + HOUR).next is Next.LAPSE


def test_what_was_accepted_is_looked_up_ever_more_rarely_until_it_must_be_final() -> None:
    taken_at = NOON - 100 * SECOND
    known = facts(taken_at=taken_at, lookup=replace(PENDING_RECORD, asked_at=NOON))
    assert decide(known, NOON).at == NOON + 100 * SECOND
    late = replace(known, taken_at=NOON - HOUR + 5 * SECOND)
    assert decide(late, NOON).at == NOON + 5 * SECOND
    assert decide(late, NOON + 5 * SECOND).next is Next.LOOK, "a last look comes before a person is asked"
    last = replace(late, lookup=replace(PENDING_RECORD, asked_at=NOON + 5 * SECOND))
    assert decide(last, NOON + 5 * SECOND).case == CaseKind.ACCEPTED


def test_the_next_try_waits_as_long_as_the_latest_answer_asked_for() -> None:
    told = (attempt(http_status=503, sender_ended_at=NOON, retry_after_s=3600),)
    for known in (facts(attempts=told, lookup=PROOF), facts(attempts=told, has_lookup=False)):
        assert decide(known, NOON).at == NOON + HOUR
        assert decide(known, NOON + 2 * HOUR).at == NOON + 2 * HOUR + 10 * SECOND
    too_late = facts(attempts=told, lookup=PROOF, accepted_at=NOON - 11.5 * HOUR)
    assert decide(too_late, NOON).case == CaseKind.ABSENT, "the time for tries is over by then"


def test_a_key_in_use_is_given_time_before_the_look() -> None:
    tries = (attempt(http_status=409, error_code=IN_USE, sender_ended_at=NOON),)
    assert decide(facts(attempts=tries), NOON).at == NOON + 10 * SECOND
    assert decide(facts(attempts=tries), NOON + 20 * SECOND).at == NOON + 20 * SECOND


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.booleans(), st.floats(0, 1))
def test_no_clock_makes_software_send_where_nothing_protects(
    first_s: int, look_s: int, has_lookup: bool, jitter: float
) -> None:
    """Whatever the times: a permit is given within the window only, and a retry upon proof only."""
    known = facts(
        first_sent_at=NOON - first_s * SECOND,
        has_lookup=has_lookup,
        lookup=replace(ABSENT, asked_at=NOON - look_s * SECOND) if has_lookup else None,
        look_count=LOOKS,
    )
    step = decide(known, NOON, jitter=jitter)
    assert step.next is not Next.RETRY
    if step.next is Next.PERMIT:
        assert step.at is not None and step.at > NOON
        assert step.at + 60 * SECOND < known.first_sent_at + timedelta(hours=23, minutes=50)  # type: ignore[operator]
