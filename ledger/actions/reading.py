"""Facts for decisions, read from the rows of one operation."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Q, Subquery

from ledger.actions import refunds, statements
from ledger.actions.deputising import Asking, asker
from ledger.actions.drilling import drilled
from ledger.models import Approval, Attempt, Event, Lookup, Operation, Permit
from ledger.rules.approvals import Answer, Ask
from ledger.rules.contracts import Contract, first_contract, stricter
from ledger.rules.drills import UNDRILLED, weakened
from ledger.rules.facts import AskedFact, AttemptFact, Facts, LookupFact, PermitFact
from ledger.rules.following import First
from ledger.rules.leaves import SITTING
from ledger.rules.states import LIVE, UNFINISHED, CaseKind, Outcome, Standing, State, Verdict

ATTEMPT = {
    "number",
    "idempotency_key",
    "key_apart",
    "claimed_at",
    "started_at",
    "sender_ended_at",
    "closed_at",
    "outcome",
    "http_status",
    "error_code",
    "retry_after_s",
    "replayed",
    "cleared_at",
    "worded_at",
}
"""What of an attempt decisions look at."""


def facts(operation: Operation, tries: Sequence[Attempt] | None = None) -> Facts:
    """Read everything that a decision may know of an operation; mostly with one question.

    Where its tries were just read, in their order, they are not read again.
    """
    kind = operation.operation_type
    asked_for = {"operation": operation.pk, "type": kind.pk, "each": tries is None}
    rows = statements.read("facts", asked_for)
    beside = rows[-1]
    found = (_attempt(row) for row in rows if row["number"] is not None)
    attempts = tuple(found if tries is None else tries)
    lookup = _lookup(beside)
    asked, absent_by = _approvals(operation, attempts) if beside["is_asked"] else (None, "")
    tried = drilled(kind) if beside["is_drilled"] else UNDRILLED
    known = Facts(
        destination=kind.destination.title,
        state=State(operation.state),
        contract=weakened(_promised(operation), tried),
        policy=kind.policy,
        by_tieout=kind.by_tieout,
        side_effect=kind.side_effect,
        has_lookup=kind.has_lookup,
        lookup_proved=_lookup_proved(operation, lookup) and tried.lookup_broken_on is None,
        accepted_at=operation.accepted_at,
        lease_s=kind.lease_s,
        same_account=operation.account_first in ("", kind.destination.account),
        attempts=tuple(attempt_fact(attempt, operation.idempotency_key) for attempt in attempts),
        lookup=lookup_fact(lookup),
        permit=_permit_fact(beside),
        asked=asked,
        absent_by=absent_by,
        over=refunds.over(operation),
        first_sent_at=operation.first_sent_at,
        taken_at=operation.taken_at,
        settles_at=operation.settles_at,
        lease_until=operation.lease_until,
        next_try_at=operation.next_try_at,
        look_count=operation.look_count,
        held_at=operation.held_at,
        cancelled=operation.cancelled_at is not None,
        payload_gone=kind.by_tieout and operation.payload_sealed is None,
        destination_reference=operation.destination_reference,
        evidence=operation.evidence,
        evidence_by=operation.evidence_by,
        drilled=tried,
    )
    known = _with_reversals(_with_correction(known, operation), operation)
    return _with_pauses(_with_first(known, operation), beside)


def _attempt(row: Mapping[str, Any]) -> Attempt:
    """Return an attempt with those of its columns that decisions look at."""
    return statements.stored(Attempt, {name: value for name, value in row.items() if name in ATTEMPT})


def _lookup(row: Mapping[str, Any]) -> Lookup | None:
    """Return the latest look-up likewise; its records only where it found one."""
    if row["lookup_verdict"] is None:
        return None
    told = {name.removeprefix("lookup_"): row[name] for name in row if name.startswith("lookup_")}
    return statements.stored(Lookup, {**told, "records": json.loads(told["records"] or "[]")})


def _with_reversals(known: Facts, operation: Operation) -> Facts:
    """Add whether it reverses a record, or what reverses its own; asked only where several were found."""
    if operation.reverses_id is not None:
        return replace(known, reverses=True, corrected=operation.corrected_at is not None)
    if known.lookup is None or known.lookup.verdict is not Verdict.SEVERAL:
        return known
    going = operation.reversals.filter(corrected_at=None, state__in=sorted(UNFINISHED))
    rows = list(going.values_list("state", "held_at", "attempt_count", "next_try_at"))
    moving = [row for row in rows if row[0] != State.PENDING or row[1] is None]
    fresh = [at for state, _, tries, at in moving if state == State.PENDING and tries == 0 and at]
    until = min(fresh) if fresh and len(fresh) == len(moving) else None
    return replace(known, reversing=len(moving), undo_until=until)


def _with_first(known: Facts, operation: Operation) -> Facts:
    """Add what it comes after, as that stands now."""
    if operation.after_id is None:
        return known
    about = operation.cases.open().filter(kind=CaseKind.FIRST)
    held_for_first = operation.held_at is not None and about.exists()
    return replace(known, first=first_fact(operation), held_for_first=held_for_first)


def _with_correction(known: Facts, operation: Operation) -> Facts:
    """Add what stands in its place, and what it stands for."""
    stands = correction_of(operation)
    return replace(
        known,
        corrected=stands is not None,
        correction=State(stands.state) if stands is not None else None,
        is_correction=operation.corrects_id is not None,
        original_moved=original_moved(operation),
    )


def _with_pauses(known: Facts, beside: Mapping[str, Any]) -> Facts:
    """Add since when its destination is paused, and for how long it was before."""
    paused_at, paused_s, counted = None, 0.0, known.accepted_at
    for begun_at, ended_at in zip(beside["paused_at"] or (), beside["resumed_at"] or (), strict=True):
        if ended_at is None:
            paused_at = paused_at or begun_at
        elif ended_at > counted:  # two may overlap: what is counted is not counted again
            paused_s += (ended_at - max(begun_at, counted)).total_seconds()
            counted = ended_at
    resumed_at = counted if paused_s else None
    return replace(known, paused_at=paused_at, paused_s=paused_s, resumed_at=resumed_at)


def _approvals(operation: Operation, attempts: tuple[Attempt, ...]) -> tuple[AskedFact | None, str]:
    """Return the open request, and who attested the absence that a failed operation rests on."""
    if operation.state in (State.RUNNING, State.PENDING):
        return None, ""
    asked, absent_by = None, ""
    worded = operation.state == State.FAILED and any(attempt.worded_at for attempt in attempts)
    approvals = Approval.objects.filter(operation=operation)
    for approval in approvals.defer("meant_sealed").order_by("id"):
        if approval.decided_at is None:
            by = asker(Asking.of(approval))
            asked = AskedFact(Ask(approval.action), by, approval.expires_at)
        elif approval.action == Ask.OVERRIDE_END and approval.answer == Answer.APPROVED:
            absent_by = approval.maker if worded else ""
    return asked, absent_by


def correction_of(operation: Operation) -> Operation | None:
    """Return what stands for a corrected operation, the latest of its corrections; None where it has none.

    A correction that another one has followed stands back, too: that is the one.
    """
    return corrections_of([operation]).get(operation.pk)


def corrections_of(operations: Iterable[Operation]) -> dict[int, Operation]:
    """Return what stands for each of these that was corrected, by its number, with one question for all."""
    originals = {one.pk: one.corrects_id or one.pk for one in operations if one.corrected_at is not None}
    if not originals:
        return {}
    latest = {
        made.corrects_id: made
        for made in Operation.objects.filter(corrects__in=originals.values()).order_by("correction_number")
    }
    return {pk: latest[original] for pk, original in originals.items() if original in latest}


def standing_first(operation: Operation) -> Operation | None:
    """Return what an operation comes after, or the correction in its place; None where it stands alone."""
    if operation.after is None:
        return None
    return correction_of(operation.after) or operation.after


def comes_beside(operation: Operation) -> bool:
    """Say whether another operation of its type comes after the same one, or after a correction of that."""
    if operation.after is None:
        return False
    original = operation.after.corrects_id or operation.after_id
    same = Q(after=original) | Q(after__corrects=original)
    others = Operation.objects.filter(same, operation_type=operation.operation_type)
    return others.exclude(pk=operation.pk).exists()


def first_fact(operation: Operation) -> First | None:
    """Return what an operation comes after as decisions see it."""
    first = standing_first(operation)
    if first is None:
        return None
    kind = operation.operation_type
    failed = first.state == State.FAILED
    return First(
        key=first.key,
        state=State(first.state),
        held=first.held_at is not None,
        permitted=failed and first.permits.open().exists(),
        reference=first.destination_reference,
        finished_at=first.finished_at if first.state == State.COMPLETED else None,
        named=kind.names_first,
        same_account=first.account_first in ("", kind.destination.account),
        used=operation.after_reference,
    )


def first_reference(operation: Operation) -> str:
    """Return the reference of what it comes after for calls: that of the latest try, or else today's."""
    if operation.after_reference:
        return operation.after_reference
    first = standing_first(operation)
    return first.destination_reference if first is not None and first.state == State.COMPLETED else ""


def original_moved(operation: Operation) -> bool:
    """Say whether what a correction stands for has moved since it was made: it, or a correction before.

    Doubt that has ended in *did not happen* is no such move: what was to be feared has not come.
    """
    if operation.corrects_id is None:
        return False
    made = operation.events.order_by("id").values("id")[:1]
    others = Q(operation=operation.corrects_id) | Q(operation__corrects=operation.corrects_id)
    moves = Event.objects.filter(others, id__gt=Subquery(made)).exclude(state_to="")
    moves = moves.exclude(state_from=State.UNCERTAIN, state_to=State.FAILED)
    return moves.exclude(operation=operation).exists()


def _lookup_proved(operation: Operation, lookup: Lookup | None) -> bool:
    """Say whether the look-up is known to find what was sent as this operation was."""
    kind, sent_at = operation.operation_type, operation.first_sent_at
    present = sent_at is None or sent_at >= kind.lookup_changed_at
    return (kind.lookup_proved_at is not None and present) or (lookup is not None and lookup.proof)


def contract_of(operation: Operation) -> Contract:
    """Return what decisions may rest on: what is promised, without what a drill has refuted."""
    return weakened(_promised(operation), drilled(operation.operation_type))


def _promised(operation: Operation) -> Contract:
    """Return the stricter of the contract at the first attempt and the one in force now."""
    now = operation.operation_type.promises
    return stricter(first_contract(operation.contract_first), now) if operation.contract_first else now


def latest_lookup(operation: Operation, attempts: tuple[Attempt, ...]) -> Lookup | None:
    """Return the latest look-up since the last attempt's end, or under its claim where it never sent."""
    return latest_of(operation.lookups.order_by("-asked_at", "-id")[:1], attempts)


def latest_of(lookups: Iterable[Lookup], attempts: Sequence[Attempt]) -> Lookup | None:
    """Return the same out of look-ups that are given, the last asked first."""
    if not attempts:
        return next(iter(lookups), None)
    last = attempts[-1]
    since = last.claimed_at if last.started_at is None else last.closed_at
    lookup = next(iter(lookups), None) if since is not None else None
    return lookup if lookup is not None and since is not None and lookup.asked_at >= since else None


def sitting(operation: Operation, actor: str, *, now: datetime) -> Lookup | None:
    """Return the person's own latest look-up of five minutes; it saw the last end and all that was told."""
    latest = operation.lookups.filter(actor=actor, asked_at__gte=now - SITTING).order_by("-asked_at", "-id")
    lookup = latest.first()
    if lookup is None:
        return None
    return lookup if _saw_all(operation, lookup, operation.attempts.order_by("number").last()) else None


def sitting_of(
    operation: Operation, actor: str, lookups: Sequence[Lookup], attempts: Sequence[Attempt], *, now: datetime
) -> Lookup | None:
    """Return the same out of look-ups that are given, the last asked first; they go back five minutes."""
    mine = (one for one in lookups if one.actor == actor and one.asked_at >= now - SITTING)
    lookup, last = next(mine, None), attempts[-1] if attempts else None
    return lookup if lookup is not None and _saw_all(operation, lookup, last) else None


def _saw_all(operation: Operation, lookup: Lookup, last: Attempt | None) -> bool:
    """Say whether a look-up was asked after the last attempt's end, and after all that was told late."""
    if last is not None and last.closed_at is not None and lookup.asked_at < last.closed_at:
        return False
    late = operation.events.filter(kind="late").order_by("-id").first()
    return late is None or lookup.asked_at >= late.at


def lookup_fact(lookup: Lookup | None) -> LookupFact | None:
    """Return a look-up as decisions see it."""
    if lookup is None:
        return None
    verdict = Verdict(lookup.verdict)
    match = match_of(lookup)
    standing = Standing(match["standing"]) if match else None
    return LookupFact(
        verdict=verdict,
        asked_at=lookup.asked_at,
        actor=lookup.actor,
        complete=lookup.complete,
        proof=lookup.proof,
        standing=standing,
    )


def match_of(lookup: Lookup) -> dict[str, Any] | None:
    """Return the one match of a look-up: the record that stands, or else the one that was declined."""
    if lookup.verdict != Verdict.ONE_MATCH:
        return None
    records: list[dict[str, Any]] = lookup.records
    return next((r for r in records if r["standing"] in LIVE), records[-1] if records else None)


def attempt_fact(attempt: Attempt, present_key: str) -> AttemptFact:
    """Return an attempt as decisions see it; `present_key` is what its operation would send under now."""
    return AttemptFact(
        number=attempt.number,
        outcome=Outcome(attempt.outcome) if attempt.outcome else None,
        in_doubt=attempt.in_doubt,
        http_status=attempt.http_status,
        error_code=attempt.error_code,
        started_at=attempt.started_at,
        sender_ended_at=attempt.sender_ended_at,
        retry_after_s=attempt.retry_after_s,
        replayed=attempt.replayed,
        present_key=attempt.idempotency_key == present_key and not attempt.key_apart,
    )


def _permit_fact(beside: Mapping[str, Any]) -> PermitFact | None:
    if beside["permit_source"] is None:
        return None
    return PermitFact(
        by_person=beside["permit_source"] == Permit.Source.PERSON,
        actor=beside["permit_actor"],
        effective_at=beside["permit_effective_at"],
        lapses_at=beside["permit_lapses_at"],
    )
