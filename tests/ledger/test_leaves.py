"""What a person may do with an operation now, line by line, and the reason where they may not."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.rules.answering import answers
from ledger.rules.approvals import Ask
from ledger.rules.facts import AskedFact, LookupFact
from ledger.rules.leaves import SITTING, Action, leaves
from ledger.rules.second_person import Asker
from ledger.rules.seven import seven
from ledger.rules.states import Outcome, State
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
    PERMIT,
    PROOF,
    SEVERAL,
    TICK,
    attempt,
    contract,
    facts,
)

ON_A_WORD = {"state": State.FAILED, "attempts": (attempt(),), "absent_by": "ann"}
ASKED = AskedFact(Ask.OVERRIDE_END, Asker(maker="ann"), NOON + HOUR)
HELD: dict[str, Any] = {"held_at": NOON - HOUR}
FAILED: dict[str, Any] = {"state": State.FAILED, "attempts": (attempt(1, Outcome.REJECTED, http_status=422),)}
SENT_AGAIN: dict[str, tuple[dict[str, Any], LookupFact | None, bool, str]] = {
    "running": ({"state": State.RUNNING, "lease_until": NOON}, None, False, "answer is expected by"),
    "pending": ({"state": State.PENDING, "next_try_at": NOON}, None, False, "sent by itself at"),
    "pending, held": ({"state": State.PENDING, **HELD}, None, False, "Software has stopped"),
    "completed": ({"state": State.COMPLETED}, PROOF, False, "only make a second one"),
    "a permit": ({"permit": PERMIT}, PROOF, False, "Already allowed by ann"),
    "cancelled": ({**FAILED, "cancelled": True}, PROOF, False, "was cancelled"),
    "accepted": ({"taken_at": NOON}, PROOF, False, "never sent twice"),
    "no check": (HELD, None, False, "waits for a check made by you"),
    "check too old": (HELD, replace(PROOF, asked_at=NOON - SITTING - TICK), False, "waits for a check"),
    "check just in time": (HELD, replace(PROOF, asked_at=NOON - SITTING), True, "same key"),
    "one match": (HELD, MATCH, False, "holds it"),
    "several": (HELD, SEVERAL, False, "only add to it"),
    "differs": (HELD, DIFFERS, False, "only add to it"),
    "proof, key remembered": (HELD, PROOF, True, "same key"),
    "proof, no keys": ({**HELD, "contract": NO_KEYS}, PROOF, True, "does not hold it"),
    "too early": ({**HELD, "settles_at": NOON}, ABSENT, False, "check again from"),
    "absent, unproved, no keys": ({**HELD, "contract": NO_KEYS}, ABSENT, False, "silence proves nothing"),
    "absent, unproved, key remembered": (HELD, ABSENT, True, "same key"),
    "blind, no keys": ({**HELD, "contract": NO_KEYS}, BLIND, False, "no key protects us"),
    "blind, key remembered": (HELD, BLIND, True, "same key"),
    "reopened, absent, unproved": (
        {**HELD, "contract": NO_KEYS, "attempts": (attempt(1, Outcome.REJECTED),)},
        ABSENT,
        False,
        "silence proves nothing",
    ),
    "absent to me, several to another since": ({**HELD, "lookup": SEVERAL}, PROOF, False, "only add to it"),
    "no look-up, key remembered": ({**HELD, "has_lookup": False}, None, True, "same key"),
    "no look-up, window closed": (
        {**HELD, "has_lookup": False, "first_sent_at": NOON - 24 * HOUR},
        None,
        False,
        "is an override",
    ),
    "no look-up, no keys": ({**HELD, "has_lookup": False, "contract": NO_KEYS}, None, False, "an override"),
    "no look-up, reopened": (
        {**HELD, "has_lookup": False, "contract": NO_KEYS, "attempts": (attempt(1, Outcome.REJECTED),)},
        None,
        False,
        "an override",
    ),
    "no look-up, but it stands on a list": (
        {**HELD, "has_lookup": False, "lookup": MATCH},
        None,
        False,
        "holds it",
    ),
    "failed": ({**FAILED, "contract": NO_KEYS}, ABSENT, True, "does not hold it"),
    "proof, no keys, a caller's": (
        {**HELD, "contract": NO_KEYS, "by_tieout": False},
        PROOF,
        True,
        "nobody looks again",
    ),
    "failed, not checked": (FAILED, None, False, "waits for a check"),
    "failed, no look-up": ({**FAILED, "has_lookup": False}, None, True, "proved not done"),
    "failed on a word": ({**ON_A_WORD, "has_lookup": False}, None, False, "ann’s word only"),
    "failed, declined": ({**FAILED, "lookup": DECLINED_RECORD}, DECLINED_RECORD, True, "declined it"),
}


@pytest.mark.parametrize("line", SENT_AGAIN)
def test_send_again_is_offered_where_it_can_work_with_a_reason_where_not(line: str) -> None:
    changes, seen, allowed, words = SENT_AGAIN[line]
    leave = leaves(facts(**changes), NOON, sitting=seen)[Action.SEND_AGAIN]
    assert leave.allowed == allowed
    assert words.lower() in str(leave.why).lower()


def allowed(sitting: LookupFact | None = None, **changes: Any) -> set[Action]:
    """The other actions that are open."""
    known = leaves(facts(**changes), NOON, sitting=sitting)
    return {action for action, leave in known.items() if leave.allowed} - {Action.SEND_AGAIN}


def test_what_else_is_open_in_each_state() -> None:
    assert allowed(state=State.PENDING) == {"check", "cancel", "correct"}
    assert allowed(state=State.RUNNING) == set()
    assert allowed(state=State.COMPLETED) == {"check", "correct"}
    assert allowed(**FAILED) == {"check", "correct"}
    assert allowed(**FAILED, **HELD) == {"check", "correct", "did_not_happen"}
    assert allowed() == {"check", "confirm_reference"}
    assert allowed(has_lookup=False) == {"confirm_reference"}
    assert allowed(PROOF) == {"check", "confirm_reference", "did_not_happen"}
    assert allowed(permit=PERMIT) == {"check", "confirm_reference", "undo"}
    assert allowed(permit=replace(PERMIT, by_person=False)) == {"check", "confirm_reference"}


CORRECTED: dict[str, tuple[dict[str, Any], bool, str]] = {
    "waiting": ({"state": State.PENDING}, True, "is cancelled"),
    "waiting, and found there": ({"state": State.PENDING, **HELD, "lookup": MATCH}, False, "holds something"),
    "running": ({"state": State.RUNNING, "lease_until": NOON}, False, "answer is expected by"),
    "in doubt": ({}, False, "an override"),
    "did not happen": (FAILED, True, "never runs again"),
    "cancelled": ({"state": State.FAILED, "cancelled": True}, True, "takes its place"),
    "done": ({"state": State.COMPLETED}, True, "until it is reversed"),
    "a correction": ({**FAILED, "is_correction": True}, False, "a correction itself"),
    **{
        f"its correction is {state}": (
            {**FAILED, "corrected": True, "correction": state},
            state in (State.FAILED, State.COMPLETED),
            {State.FAILED: "never runs again", State.COMPLETED: "stays there"}.get(state, "one at a time"),
        )
        for state in State
    },
}


def test_who_is_corrected_when_with_a_reason_where_not() -> None:
    for line, (changes, allowed, words) in CORRECTED.items():
        leave = leaves(facts(**changes), NOON, sitting=None)[Action.CORRECT]
        assert (leave.allowed, words in str(leave.why)) == (allowed, True), (line, leave)


def test_33_what_was_corrected_is_never_sent_again_whatever_a_check_says() -> None:
    for seen in (None, PROOF, DECLINED_RECORD):
        for changes in ({**FAILED, "corrected": True}, {**HELD, "corrected": True}):
            leave = leaves(facts(**changes), NOON, sitting=seen)[Action.SEND_AGAIN]
            assert (leave.allowed, str(leave.why)) == (False, "It was corrected: it never runs again.")
    assert str(seven(facts(**FAILED, corrected=True), NOON)[4][1]).startswith("None: it was corrected")


OVERRIDE: dict[str, tuple[dict[str, Any], bool, str]] = {
    "no keys": ({"contract": NO_KEYS}, True, "second person must agree"),
    "window closed": ({"first_sent_at": NOON - 24 * HOUR}, True, "second person must agree"),
    "key remembered": ({}, False, "same key protects"),
    "a look-up": ({"contract": NO_KEYS, "has_lookup": True}, False, "a check decides"),
    "not held": ({"contract": NO_KEYS, "held_at": None}, False, "software still waits"),
    "on a list": ({"contract": NO_KEYS, "lookup": SEVERAL}, False, "holds something"),
    "a permit": ({"contract": NO_KEYS, "permit": PERMIT}, False, "allowed already, by ann"),
    "running": ({"state": State.RUNNING, "lease_until": NOON}, False, "expected by"),
    "failed": ({"state": State.FAILED}, False, "Nothing is in doubt"),
    "completed": ({"state": State.COMPLETED}, False, "Nothing is in doubt"),
    "failed on a word": ({**ON_A_WORD, "contract": NO_KEYS}, True, "second person must agree"),
    "asked": ({"contract": NO_KEYS, "asked": ASKED}, False, "ann has asked"),
    "asked, lapsed": (
        {"contract": NO_KEYS, "asked": replace(ASKED, expires_at=NOON)},
        True,
        "second person must agree",
    ),
}


@pytest.mark.parametrize("line", OVERRIDE)
def test_an_override_is_offered_where_nothing_else_protects(line: str) -> None:
    changes, allowed_, words = OVERRIDE[line]
    leave = leaves(facts(**({"has_lookup": False} | HELD | changes)), NOON, sitting=None)[Action.OVERRIDE]
    assert (leave.allowed, words in str(leave.why)) == (allowed_, True), str(leave.why)


def test_who_answers_what_was_asked() -> None:
    """The maker takes back; anybody else refuses at any time, and approves what is still open to them."""
    known = facts(has_lookup=False, contract=NO_KEYS, asked=ASKED, **HELD)

    def open_to(actor: str, seen: LookupFact | None = None, **changes: Any) -> set[str]:
        found = answers(replace(known, **changes), NOON, sitting=seen, actor=actor)
        assert all(str(leave.why).endswith(".") for leave in found.values())
        return {action for action, leave in found.items() if leave.allowed}

    assert open_to("ann") == {"take_back"}
    assert open_to("bob") == {"approve", "refuse"}
    assert open_to("bob", asked=None) == set()
    assert open_to("bob", asked=replace(ASKED, expires_at=NOON)) == {"refuse"}
    assert open_to("bob", state=State.RUNNING, lease_until=NOON) == {"refuse"}
    end: dict[str, Any] = {"asked": replace(ASKED, ask=Ask.END), "has_lookup": True}
    assert open_to("bob", **end) == {"refuse"}, "nothing was seen by bob"
    assert open_to("bob", PROOF, **end) == {"approve", "refuse"}


def test_nobody_says_that_it_did_not_happen_without_proof() -> None:
    for seen in (None, ABSENT, EARLY, BLIND, MATCH, SEVERAL, DIFFERS):
        assert Action.DID_NOT_HAPPEN not in allowed(seen)
    assert Action.DID_NOT_HAPPEN not in allowed(PROOF, lookup=SEVERAL), "another check found something since"
    assert Action.DID_NOT_HAPPEN not in allowed(PROOF, has_lookup=False)


@pytest.mark.parametrize("state", State)
def test_35_every_refusal_has_its_reason_and_every_question_its_answer(state: State) -> None:
    for seen in (None, MATCH, DECLINED_RECORD, DIFFERS, SEVERAL, PROOF, ABSENT, BLIND):
        for has_lookup in (True, False):
            for promised in (contract(), NO_KEYS, contract(key_retention="unknown")):
                known = facts(
                    state=state, lookup=seen, has_lookup=has_lookup, contract=promised, lease_until=NOON
                )
                for leave in leaves(known, NOON, sitting=seen).values():
                    assert str(leave.why).endswith(".") and "{" not in str(leave.why)
                answers = seven(known, NOON)
                assert len(answers) == 7
                assert all(question.endswith("?") and str(answer) for question, answer in answers)


def test_36_while_it_runs_every_refusal_names_the_end_of_its_lease() -> None:
    known = facts(state=State.RUNNING, lease_until=NOON)
    for action, leave in leaves(known, NOON, sitting=PROOF).items():
        if action not in (Action.UNDO, Action.CORRECT):
            assert (leave.allowed, leave.why.at) == (False, NOON)
