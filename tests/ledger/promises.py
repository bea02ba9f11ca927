"""What must hold of one operation after every step, whatever the steps were: the promises, as code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace as Row
from typing import Any

from django.db import connection

from ledger.rules.states import EFFECT, Evidence, State, Verdict, may_move
from tests.ledger.world import World

PEOPLE = ("ann", "bob")
NOT_DONE = (State.PENDING, State.FAILED)
OPEN_PERMIT = (State.UNCERTAIN, State.FAILED)
NOTED_LATER = frozenset({"cleared_at", "worded_at", "outcome_digest"})
"""What may still be noted on a closed attempt: absence, proved or on two people's word; a late success."""
SCHEDULING = frozenset({"look_at", "nudged_at", "changed_at", "next_try_at"})
"""What only says when an operation is taken up again."""
# All of it in one statement: it is read after every step.
READ = """
SELECT to_jsonb(o),
    (SELECT jsonb_agg(r ORDER BY r.number) FROM ledger_attempt r WHERE r.operation_id = o.id),
    (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_event r WHERE r.operation_id = o.id),
    (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_permit r WHERE r.operation_id = o.id),
    (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_lookup r WHERE r.operation_id = o.id),
    (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_case r WHERE r.operation_id = o.id)
FROM ledger_operation o WHERE id = %s
"""


@dataclass(frozen=True)
class Snapshot:
    """All that the ledger knows of one operation, row by row."""

    operation: Row
    attempts: tuple[Row, ...]
    events: tuple[Row, ...]
    permits: tuple[Row, ...]
    lookups: tuple[Row, ...]
    cases: tuple[Row, ...]

    @classmethod
    def of(cls, operation_id: int) -> "Snapshot":
        """Read it."""
        with connection.cursor() as cursor:
            cursor.execute(READ, [operation_id])
            operation, *others = (json.loads(column or "[]") for column in cursor.fetchone() or ())
        return cls(_row(operation), *(tuple(_row(columns) for columns in rows) for rows in others))

    @property
    def in_doubt(self) -> bool:
        """Whether any attempt may have had an effect, as far as the ledger knows."""
        return any(attempt_in_doubt(attempt) for attempt in self.attempts)

    @property
    def open_permits(self) -> list[Row]:
        """Permits neither spent nor withdrawn."""
        return [one for one in self.permits if one.spent_at is None and one.withdrawn_at is None]

    def attempt(self, uid: object) -> Row:
        """The attempt with this uid."""
        return next(one for one in self.attempts if one.uid == str(uid))


def attempt_in_doubt(attempt: Row) -> bool:
    """Say whether it may have had an effect that nobody has proved absent."""
    return (attempt.outcome in EFFECT or attempt.worded_at is not None) and attempt.cleared_at is None


def _row(columns: Mapping[str, Any]) -> Row:
    return Row(**{name: _instant(name, value) for name, value in columns.items()})


def _instant(name: str, value: Any) -> Any:
    instant = value is not None and (name == "at" or name.endswith(("_at", "_until")))
    return datetime.fromisoformat(value) if instant else value


@dataclass
class Promises:
    """Holds each state of the ledger against the one before, and against the world."""

    world: World
    before: Snapshot | None = None
    told: set[str] = field(default_factory=set)
    """References that a sender has named, true or not."""
    attested: set[str] = field(default_factory=set)

    def hold(self, after: Snapshot, now: datetime) -> None:
        """Check what is known now against what was known before; AssertionError names what is broken."""
        before = self.before or after
        self.before = after
        self.hold_still(now)
        self._3_what_was_proved_stays(before, after)
        self._4_same_payload_same_key(before, after)
        self._5_each_try_has_its_leave(after)
        self._corrected_never_runs_again(before, after)
        self._6_completed_has_evidence(after)
        self._7_every_change_is_told(before, after)
        self._somebody_goes_on(after)

    def hold_still(self, now: datetime) -> None:
        """Check what the world alone can break: only time has passed, or something has landed."""
        if self.before is not None:
            self._2_one_in_flight(self.before, now)
            self._not_done_is_proved(self.before, now)

    def _2_one_in_flight(self, after: Snapshot, now: datetime) -> None:
        in_flight = [attempt.number for attempt in after.attempts if attempt.closed_at is None]
        running = after.operation.state == State.RUNNING
        assert len(in_flight) == running, "one attempt is open exactly while it is running"
        able = [sender.number for sender in self.world.senders if sender.may_send(now)]
        assert len(able) <= 1, f"tries {able} could both send now"
        assert set(able) <= set(in_flight), "who may still send is not what the ledger takes for in flight"
        assert (after.operation.lease_until is not None) == running
        assert [attempt.number for attempt in after.attempts] == [
            *range(1, after.operation.attempt_count + 1)
        ]

    def _3_what_was_proved_stays(self, before: Snapshot, after: Snapshot) -> None:
        for was, now_is in zip(before.attempts, after.attempts, strict=False):
            if was.closed_at is not None:
                changed = {name for name, value in vars(was).items() if vars(now_is)[name] != value}
                assert changed <= NOTED_LATER, f"closed try {was.number} changed: {changed}"
        assert after.lookups[: len(before.lookups)] == before.lookups

    def _4_same_payload_same_key(self, before: Snapshot, after: Snapshot) -> None:
        assert {one.payload_digest for one in after.attempts} <= {after.operation.payload_digest}
        for earlier, later in zip(after.attempts, after.attempts[1:], strict=False):
            if later.number > len(before.attempts) and later.idempotency_key != earlier.idempotency_key:
                doubtful = [one.number for one in after.attempts[: later.number - 1] if attempt_in_doubt(one)]
                assert not doubtful, f"another key while tries {doubtful} are in doubt"
        if after.operation.after_reference != before.operation.after_reference:
            assert not before.in_doubt, "after another draft while a try is in doubt"

    def _5_each_try_has_its_leave(self, after: Snapshot) -> None:
        spent = [permit.attempt_id for permit in after.permits if permit.spent_at is not None]
        assert len(spent) == len(set(spent)), "a permit is spent once"
        for event in after.events:
            if event.kind == "claimed" and event.state_from in OPEN_PERMIT:
                assert event.attempt_id in spent, "a claim out of doubt, or after a failure, spends a permit"
        for permit in after.permits:
            assert permit.actor == "policy" if permit.source == "policy" else permit.actor in PEOPLE
        assert len(after.open_permits) <= (after.operation.state in OPEN_PERMIT)

    def _corrected_never_runs_again(self, before: Snapshot, after: Snapshot) -> None:
        if before.operation.corrected_at is not None:
            assert len(after.attempts) == len(before.attempts), "what was corrected was tried again"

    def _6_completed_has_evidence(self, after: Snapshot) -> None:
        operation = after.operation
        if operation.state != State.COMPLETED:
            return
        reference = operation.destination_reference
        match operation.evidence:
            case Evidence.ANSWER:
                assert reference in self.told, "nobody has named this record"
            case Evidence.LOOKUP:
                assert any(
                    one.verdict == Verdict.ONE_MATCH and reference in [record["id"] for record in one.records]
                    for one in after.lookups
                ), "no look-up has found it"
                assert reference in [record.id for record in self.world.records]
            case Evidence.ATTESTED:
                assert reference in self.attested and operation.evidence_by in PEOPLE
            case other:
                raise AssertionError(f"evidence: {other!r}")

    def _7_every_change_is_told(self, before: Snapshot, after: Snapshot) -> None:
        assert after.events[: len(before.events)] == before.events, "an event was changed"
        assert all(event.actor and event.reason for event in after.events)
        told = {event.revision for event in after.events}
        assert told == {*range(1, after.operation.revision + 1)}
        at = ""
        for event in after.events:
            if event.state_from:
                assert event.state_from == at
                assert may_move(State(event.state_from), State(event.state_to))
            at = event.state_to or at
        assert at == after.operation.state, "the trail ends elsewhere"
        if after.operation.revision == before.operation.revision:
            assert known(after) == known(before), "a change of what is known without an event"

    def _not_done_is_proved(self, after: Snapshot, now: datetime) -> None:
        """Never waiting, failed or cleared while the effect is there or may still come."""
        if self.world.by_hand:
            return
        if after.operation.state in NOT_DONE:
            assert not self.world.may_exist(now), f"{after.operation.state}, and it is there or may come"
        made = {record.number for record in self.world.made()}
        coming = {sender.number for sender in self.world.may_come(now)}
        for attempt in after.attempts:
            if attempt.closed_at is not None and not attempt_in_doubt(attempt):
                assert attempt.number not in made | coming, f"try {attempt.number} was taken for not done"
        assert len(made) <= 1 and len(self.world.made()) <= 1, "a second effect"

    def _somebody_goes_on(self, after: Snapshot) -> None:
        operation = after.operation
        case = [one for one in after.cases if one.closed_at is None]
        assert len(case) == (operation.held_at is not None), "it is held exactly while a case is open"
        match operation.state:
            case State.UNCERTAIN:
                on = operation.look_at or after.open_permits or operation.held_at
                assert on, "nothing and nobody takes it up again"
            case State.PENDING:
                waits = operation.after_id is not None  # the sweep asks for what comes first
                assert operation.next_try_at is not None or operation.held_at is not None or waits


def known(snapshot: Snapshot) -> dict[str, Any]:
    """What is known of an operation, without what only says when it is taken up again."""
    return {name: value for name, value in vars(snapshot.operation).items() if name not in SCHEDULING}
