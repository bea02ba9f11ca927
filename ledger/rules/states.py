"""States, outcomes and verdicts, named once; moves, sets, SQL and the database's guard derive from here."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """What is known of an operation's effect."""

    PENDING = "pending"
    """Nothing is running and the effect is proved not to exist."""
    RUNNING = "running"
    """One attempt holds the lease."""
    COMPLETED = "completed"
    """The effect is secured, and we hold the evidence."""
    FAILED = "failed"
    """It did not happen, and nothing tries it again by itself."""
    UNCERTAIN = "uncertain"
    """It may have happened."""


class Outcome(StrEnum):
    """What one attempt proved, and nothing about any other attempt."""

    SUCCEEDED = "succeeded"
    ACCEPTED = "accepted"
    RETRYABLE = "retryable"
    REJECTED = "rejected"
    UNCERTAIN = "uncertain"


class Verdict(StrEnum):
    """What a look-up found at the destination."""

    ONE_MATCH = "one_match"
    DIFFERS = "differs"
    SEVERAL = "several"
    ABSENT = "absent"
    COULD_NOT_LOOK = "could_not_look"


class Standing(StrEnum):
    """What a destination's own status says of one record."""

    DONE = "done"
    PENDING = "pending"
    FAILED = "failed"
    VOID = "void"


LIVE = (Standing.DONE, Standing.PENDING)
"""A record that stands: neither reversed nor declined."""


class CaseKind(StrEnum):
    """Why software stopped and asks a person."""

    DIFFERS = "differs"
    SEVERAL = "several"
    ABSENT = "absent"
    REFUSED = "refused"
    COULD_NOT_LOOK = "could_not_look"
    EXPIRED = "expired"
    ACCEPTED = "accepted"
    UNPROVED = "unproved"
    """In doubt, with neither a look-up nor an open key window to resolve it."""
    LIMIT = "limit"
    """Proved not done at the last of its tries."""
    MISSING = "missing"
    """Completed once, and the destination no longer holds it."""
    THERE_AFTER_ALL = "there_after_all"
    """Failed or waiting, and the destination holds it all the same."""
    BOTH_THERE = "both_there"
    """It turned up after its correction was made, which is there, too, or may be."""
    LAPSED = "lapsed"
    """A permit was given and nobody used it in time."""
    PAUSED = "paused"
    """A destination refuses our credentials; one case for all that it refused."""
    FIRST = "first"
    """What it comes after did not happen, cannot be built on, or is no longer what this was sent after."""
    REFUND = "refund"
    """It would refund more than is left of what it refunds."""
    NEVER_SUBMITTED = "never_submitted"
    """The destination holds it, and Tieout has no operation for it."""
    BY_HAND = "by_hand"
    """A record is to be reversed at the destination by people: its rules name no call that does."""
    REPEATED = "repeated"
    """Several runs of one trigger were called successful by their platform; nobody has looked yet."""


class Evidence(StrEnum):
    """What a completed operation rests on."""

    ANSWER = "answer"
    LOOKUP = "lookup"
    ATTESTED = "attested"


MOVES: Mapping[State, Mapping[State, str]] = {
    State.PENDING: {
        State.RUNNING: "a claim",
        State.FAILED: "cancelled before it was sent, or limits reached",
    },
    State.RUNNING: {
        State.COMPLETED: "succeeded, or the look-up before the send found one match",
        State.PENDING: "retryable, no earlier attempt in doubt, within the limits",
        State.FAILED: "rejected, or retryable at the limits, no earlier attempt in doubt",
        State.UNCERTAIN: "uncertain, accepted, lease ran out after the start, or an earlier attempt in doubt",
    },
    State.UNCERTAIN: {
        State.COMPLETED: "a look-up with one match, a late success of the latest attempt, or attested",
        State.PENDING: "absence proved by a look-up, within the limits",
        State.RUNNING: "a claim that spends a permit",
        State.FAILED: "absence proved at the limits or by a person, or found in a failed status",
    },
    State.FAILED: {
        State.RUNNING: "a claim that spends a person's permit",
        State.UNCERTAIN: "found there after all",
    },
    State.COMPLETED: {
        State.UNCERTAIN: "found missing or voided",
    },
}

UNFINISHED = frozenset({State.PENDING, State.RUNNING, State.UNCERTAIN})
DOUBT = frozenset({Outcome.UNCERTAIN, Outcome.ACCEPTED})
"""Outcomes after which the effect may exist."""
EFFECT = DOUBT | {Outcome.SUCCEEDED}
"""Outcomes that leave an effect, or may have, until its absence is proved."""
FOUND = frozenset({Verdict.ONE_MATCH, Verdict.DIFFERS, Verdict.SEVERAL})
"""Verdicts of a look-up that found something which carries our reference."""


def may_move(source: State, target: State) -> bool:
    """Say whether MOVES lets an operation go from one state to another."""
    return target in MOVES[source]


def moves_sql() -> str:
    """Return MOVES as a list of SQL row values, for the database's guard."""
    pairs = sorted((str(source), str(target)) for source, targets in MOVES.items() for target in targets)
    return ", ".join(f"('{source}', '{target}')" for source, target in pairs)
