"""Look-ups kept as evidence, and what they decide."""

import uuid
from datetime import datetime, timedelta

from ledger.actions import resolving, reversing
from ledger.actions.asking import void_changed
from ledger.actions.changing import change, first_time, locked
from ledger.actions.claiming import Claimed, Ticket, claim_locked
from ledger.actions.hearing import next_look_at
from ledger.actions.holding import also_there
from ledger.actions.proof import is_proof, is_settled, note_finding
from ledger.actions.reading import facts, first_fact, match_of
from ledger.models import Attempt, Lookup, Operation
from ledger.rules.decisions import LOOKS
from ledger.rules.errors import StaleToken
from ledger.rules.facts import LOOK_BLIND, LOOK_REFUSED
from ledger.rules.hearing import PAUSE_S
from ledger.rules.outcomes import MESSAGE_MAX
from ledger.rules.records import Found
from ledger.rules.states import FOUND, LIVE, CaseKind, Evidence, Outcome, Standing, State, Verdict

FOUND_BEFORE = "found_before_send"
NOT_VOIDED = "The destination refuses to void it, and no check could tell whether it stands."


def keep_lookup(
    operation_id: int,
    *,
    found: Found,
    asked_at: datetime,
    actor: str,
    reason: str,
    command_id: uuid.UUID | None = None,
    control_reference: str = "",
    listed: bool = False,
) -> Lookup:
    """Store what a look-up found and move the operation as decisions say.

    `listed`: it was read off the destination's list, which proves nothing of the look-up itself. While an
    attempt is in flight the evidence is kept and moves nothing: that attempt's own outcome decides.
    """
    with locked(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="check", actor=actor):
            return _kept(operation, command_id)
        lookup = keep_evidence(
            operation,
            found,
            asked_at=asked_at,
            actor=actor,
            reason=reason,
            command_id=command_id,
            control_reference=control_reference,
            listed=listed,
        )
        _follow(operation, lookup, now, listed=listed)
        return lookup


def _follow(operation: Operation, lookup: Lookup, now: datetime, *, listed: bool) -> None:
    match State(operation.state):
        case State.FAILED | State.PENDING if operation.reverses_id is not None:
            _not_reversed(operation, lookup, now)
        case State.UNCERTAIN:
            resolving.advance(operation, now)
        case State.FAILED:
            _failed(operation, lookup, now)
        case State.COMPLETED:
            _completed(operation, lookup, now)
        case State.PENDING:
            _pending(operation, lookup, now, listed=listed)
        case State.RUNNING:
            pass
    if operation.state == State.COMPLETED and lookup.verdict == Verdict.ONE_MATCH:
        reversing.hold_left(operation, lookup, now)


def _kept(operation: Operation, command_id: uuid.UUID | None) -> Lookup:
    """Return the look-up that the same click has made."""
    event = operation.events.get(kind="looked", command_id=command_id)
    return Lookup.objects.get(uid=event.data["lookup"])


def keep_evidence(
    operation: Operation,
    found: Found,
    *,
    asked_at: datetime,
    actor: str,
    reason: str,
    command_id: uuid.UUID | None = None,
    control_reference: str = "",
    listed: bool = False,
) -> Lookup:
    """Store what a look-up found of a locked operation, with its event; it moves nothing."""
    if control_reference or (not listed and found.verdict in FOUND):
        note_finding(operation, asked_at)
    proof = is_proof(operation, found, asked_at=asked_at, control_reference=control_reference)
    lookup = Lookup.objects.create(
        operation=operation,
        actor=actor,
        asked_at=asked_at,
        verdict=found.verdict,
        complete=found.complete,
        proof=proof,
        records=found.stored(),
        content_digest=found.content_digest,
        why=found.why[:300],
        control_reference=control_reference,
    )
    change(
        operation,
        kind="looked",
        actor=actor,
        reason=reason,
        command_id=command_id,
        data=_summary(lookup, found),
        look_count=operation.look_count + 1 if _blind(operation, lookup) else 0,
        taken_at=asked_at if _takes(operation, found) else operation.taken_at,
        told_look_at=operation.told_look_at if listed else _heard_out(operation, lookup),
    )
    void_changed(operation)
    return lookup


def _heard_out(operation: Operation, lookup: Lookup) -> datetime | None:
    """Return when to look once more for what the destination told; None where this look has answered it."""
    if operation.told_look_at is None or operation.told_at is None:
        return None
    if operation.told_at > lookup.asked_at:
        return next_look_at(operation, lookup.asked_at)
    goes_on_by_itself = operation.state == State.UNCERTAIN and operation.held_at is None
    if (
        lookup.verdict == Verdict.COULD_NOT_LOOK
        and operation.look_count + 1 < LOOKS
        and not goes_on_by_itself
    ):
        return lookup.asked_at + timedelta(seconds=PAUSE_S)
    return None


def _summary(lookup: Lookup, found: Found) -> dict[str, object]:
    return {
        "lookup": str(lookup.uid),
        "verdict": found.verdict,
        "proof": lookup.proof,
        "records": len(found.records),
        "others": found.others,
    }


def _blind(operation: Operation, lookup: Lookup) -> bool:
    """Say whether a look-up told nothing, although it was time."""
    if lookup.verdict == Verdict.ABSENT and not lookup.proof:
        return is_settled(operation, lookup.asked_at)
    return lookup.verdict == Verdict.COULD_NOT_LOOK


def _takes(operation: Operation, found: Found) -> bool:
    """Say whether a look-up is the first to find that the destination accepted it."""
    in_doubt = operation.state == State.UNCERTAIN and operation.taken_at is None
    return in_doubt and found.standing is Standing.PENDING


def _live(lookup: Lookup) -> bool:
    """Say whether anything found still stands there."""
    return any(record["standing"] in LIVE for record in lookup.records)


def _pending(operation: Operation, lookup: Lookup, now: datetime, *, listed: bool) -> None:
    """What waits and is there all the same is not sent: done, or held until its absence is proved.

    What was held because nobody could look goes on once somebody can.
    """
    case = operation.cases.open().first()
    record = match_of(lookup)
    first = first_fact(operation)
    free = first is None or first.done
    looked = not listed and lookup.verdict != Verdict.COULD_NOT_LOOK
    if record is not None and record["standing"] == Standing.DONE and not listed and free:
        complete_waiting(operation, lookup, now, reference=record["id"])
    elif _live(lookup):
        reason = "The destination holds it before it was sent."
        resolving.hold_locked(operation, CaseKind.THERE_AFTER_ALL, actor="policy", reason=reason, now=now)
    elif lookup.proof and case is not None and case.kind == CaseKind.THERE_AFTER_ALL:
        reason = "The destination does not hold it."
        resolving.close_locked(operation, actor="policy", reason=reason, now=now)
    elif looked and case is not None and case.kind == CaseKind.COULD_NOT_LOOK:
        reason = "The check can look again: it goes on by itself."
        resolving.close_locked(operation, actor="policy", reason=reason, now=now)


def complete_waiting(operation: Operation, lookup: Lookup, now: datetime, *, reference: str) -> None:
    """Complete what waits and is done there: by a claim that finds it, as a look before a send would."""
    lease_s = operation.operation_type.lease_s
    ticket = Ticket(actor="policy", lease_s=lease_s, started=False, sends=False)
    attempt = claim_locked(operation, now, ticket)
    if attempt is None:
        return
    _close_unsent(attempt, FOUND_BEFORE, "Found before it was sent.", now)
    resolving.complete_locked(
        operation,
        now,
        kind="settled",
        actor="policy",
        reason="The check found one match.",
        attempt=attempt,
        data={"lookup": str(lookup.uid)},
        evidence=Evidence.LOOKUP,
        evidence_by=lookup.actor,
        reference=reference,
    )


def _close_unsent(attempt: Attempt, error_code: str, message: str, now: datetime) -> None:
    attempt.closed_at = attempt.sender_ended_at = now
    attempt.outcome, attempt.error_code, attempt.message = Outcome.RETRYABLE, error_code, message
    attempt.save(update_fields=["closed_at", "sender_ended_at", "outcome", "error_code", "message"])


def _failed(operation: Operation, lookup: Lookup, now: datetime) -> None:
    if _live(lookup):
        reason = "The destination holds it after all."
        resolving.reopen_locked(
            operation, CaseKind.THERE_AFTER_ALL, actor="policy", reason=reason, now=now, lookup=lookup
        )
    elif lookup.proof:
        resolving.clear(operation, now)  # where it had failed on a word, that is proved now


def _not_reversed(operation: Operation, lookup: Lookup, now: datetime) -> None:
    """A record that was not reversed from here, and is reversed all the same, is what was wanted."""
    case = operation.cases.open().first()
    if lookup.verdict == Verdict.ONE_MATCH and operation.state == State.PENDING:
        complete_waiting(operation, lookup, now, reference=operation.reversed_reference)
    elif lookup.verdict == Verdict.ONE_MATCH and operation.corrected_at is None:
        again = reversing.refusal_settles_at(operation) is not None
        reason = "It was reversed already." if again else "Its record is reversed after all."
        resolving.reopen_locked(
            operation, CaseKind.THERE_AFTER_ALL, actor="policy", reason=reason, now=now, lookup=lookup
        )
        resolving.complete_found(operation, now)
    elif lookup.verdict == Verdict.DIFFERS and (
        operation.state == State.PENDING or reversing.may_be_credited(operation)
    ):
        reversing.stop(operation, now)
    elif reversing.may_be_credited(operation):
        _refused_to_void(operation, lookup, now)
    elif lookup.proof and operation.state == State.FAILED:
        resolving.clear(operation, now)
    elif lookup.proof and case is not None and case.kind == CaseKind.COULD_NOT_LOOK:
        reason = "The check can look again: it goes on by itself."
        resolving.close_locked(operation, actor="policy", reason=reason, now=now)


def _refused_to_void(operation: Operation, lookup: Lookup, now: datetime) -> None:
    """Credit what stands after the settle time of its refusal; look once more where that is not known."""
    settles_at = reversing.refusal_settles_at(operation)
    early = settles_at is not None and lookup.asked_at < settles_at
    if lookup.verdict == Verdict.ABSENT and settles_at is not None and not early:
        reversing.credit_instead(operation, now)
    elif settles_at is not None and (early or operation.look_count < LOOKS):
        at = max(settles_at, lookup.asked_at + timedelta(seconds=PAUSE_S))
        Operation.objects.filter(pk=operation.pk).update(told_look_at=at)
    else:
        resolving.hold_locked(operation, CaseKind.REFUSED, actor="policy", reason=NOT_VOIDED, now=now)


def _completed(operation: Operation, lookup: Lookup, now: datetime) -> None:
    verdict = Verdict(lookup.verdict)
    gone = lookup.proof or (lookup.records and not _live(lookup))
    if gone and operation.finished_at is not None and lookup.asked_at < operation.finished_at:
        return  # asked before it was done, answered after
    if gone:
        reason = "It was done, and the destination no longer holds it."
        resolving.reopen_locked(
            operation, CaseKind.MISSING, actor="policy", reason=reason, now=now, lookup=lookup
        )
    elif verdict is Verdict.SEVERAL:
        reason = "More than one record carries it."
        resolving.hold_locked(operation, CaseKind.SEVERAL, actor="policy", reason=reason, now=now)
    elif verdict is Verdict.DIFFERS:
        reason = "What is there differs from what was meant."
        resolving.hold_locked(operation, CaseKind.DIFFERS, actor="policy", reason=reason, now=now)
    elif verdict is Verdict.ONE_MATCH:
        _confirmed(operation, lookup, now)


def _confirmed(operation: Operation, lookup: Lookup, now: datetime) -> None:
    """One match closes an open question, and a person's word becomes what a look-up found."""
    record = match_of(lookup)
    done = record if record is not None and record["standing"] == Standing.DONE else None
    # The one that was kept counts, also where another one was confirmed first.
    kept = done is not None and operation.choices.filter(kept=done["id"]).exists()
    other = kept and done is not None and done["id"] != operation.destination_reference
    if done is not None and (operation.evidence == Evidence.ATTESTED or other):
        change(
            operation,
            kind="settled",
            actor="policy",
            reason="A check confirms which one is kept." if other else "A check confirms what was attested.",
            data={"lookup": str(lookup.uid), "reference": done["id"]},
            evidence=Evidence.LOOKUP,
            evidence_by=lookup.actor,
            destination_reference=done["id"],
        )
    both = operation.cases.open().filter(kind=CaseKind.BOTH_THERE).exists()
    if both and also_there(operation) is not None:
        return  # one of it, and its correction: that is still one too many
    if reversing.left(operation, lookup):
        return  # what was reversed in part is still too much
    resolving.close_locked(operation, actor="policy", reason="The check found one match.", now=now)


def before_send(claimed: Claimed, *, found: Found, asked_at: datetime, actor: str) -> bool:
    """Keep the look-up made under a claim, before its send; False where nothing may be sent any more."""
    with locked(claimed.operation.pk) as (operation, now):
        attempt = operation.attempts.get(pk=claimed.attempt.pk)
        if attempt.closed_at is not None or attempt.token_hash != claimed.attempt.token_hash:
            raise StaleToken("The claim ended while its destination was looked at. Nothing may be sent.")
        keep_evidence(operation, found, asked_at=asked_at, actor=actor, reason="A look before the send.")
        if found.verdict is Verdict.ABSENT and found.complete:
            return True
        if _declined_as_seen(claimed, found):
            return True
        if found.verdict is Verdict.COULD_NOT_LOOK and _key_protects(claimed, operation, now):
            return True
        if found.verdict is Verdict.DIFFERS and operation.reverses_id is not None:
            _close_unsent(attempt, FOUND_BEFORE, found.why[:MESSAGE_MAX], now)
            resolving.settle_attempt(operation, attempt, now, kind="recorded", actor=actor)
            reversing.stop(operation, now)
        elif found.verdict in FOUND:
            _close_unsent(attempt, FOUND_BEFORE, "Found before it was sent.", now)
            resolving.found_before_send(operation, attempt, now, actor=actor)
        else:
            code = LOOK_REFUSED if found.refused else LOOK_BLIND
            words = f"The check before the send could not look. {found.why}".strip()
            _close_unsent(attempt, code, words[:MESSAGE_MAX], now)
            resolving.settle_attempt(operation, attempt, now, kind="recorded", actor=actor)
        return False


def _declined_as_seen(claimed: Claimed, found: Found) -> bool:
    """Say whether all that is there is the declined record that the permit's own look-up saw."""
    seen = claimed.permit.lookup if claimed.permit else None
    return (
        seen is not None and found.standing is Standing.FAILED and seen.content_digest == found.content_digest
    )


def _key_protects(claimed: Claimed, operation: Operation, now: datetime) -> bool:
    """Say whether a permit that rests on the key lets the send go without a look."""
    return claimed.permit is not None and claimed.facts.in_doubt and facts(operation).same_key_protects(now)
