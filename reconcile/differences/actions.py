"""Decide about a difference, answer what was asked, and end what no longer holds; each with its event."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from ledger import actions as ledger
from ledger.actions.approving import UNSAID
from ledger.actions.changing import given, once
from ledger.actions.deputising import Asking, asker
from ledger.actions.escalating import mark_overdue
from ledger.models import Approval, Case, Event, database_now
from ledger.rules.approvals import Answer
from ledger.rules.errors import Conflict, Malformed, NotFound, NotNow
from ledger.rules.records import Found
from ledger.rules.second_person import Asker
from ledger.rules.states import Verdict
from reconcile.differences import leaves, looking
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding

LONGEST = timedelta(days=366)
LAPSED = "Nobody answered in time."
OVER = "Its time is over: it is open again."
CHANGED = "What was found has changed since."
DAY_IS_OVER = "Its day has come."
VOID = "The request is void, and nothing was done."
DID = {Way.WAIVE: "difference_waived", Way.CLOSE: "difference_closed", Way.TAKE_IN: "difference_taken_in"}
"""What the trail calls each way, once it is carried out."""
Seen = tuple[Found, datetime]
"""What the destination holds now, and when it was asked."""


def decide(
    finding: Finding,
    way: Way,
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID,
    until: datetime | None = None,
    seen: Seen | None = None,
) -> Decision:
    """Decide about a difference; or, above the limit, ask a second person.

    `seen`: what the destination holds now, where it could be asked. Raises NotNow where it is not open.
    """
    words = given(reason)

    def make() -> Decision:
        kept = Finding.objects.select_for_update(of=("self",)).select_related(*READ).get(pk=finding.pk)
        if why := leaves.why_not(kept, way):
            raise NotNow(why)
        if seen and (why := looking.changed(kept, seen[0])):
            raise NotNow(f"{why} Run the reconciliation again.")
        # After the row, as in a match: in two orders they would wait for each other.
        two, now = leaves.takes_two(finding, actor), database_now()
        decision = made(kept, way, actor=actor, words=words, now=now, until=until, command_id=command_id)
        decision.in_force_at = None if two else now
        decision.save()
        if two:
            tell(decision, "difference_asked", actor=actor, reason=words)
        else:
            _carry_out(decision, kept, seen)
        return decision

    with transaction.atomic():
        found = once(Decision.objects.filter(command_id=command_id), make)
    if (found.name, found.way, found.maker) != (leaves.name_of(finding), way, actor):
        raise Conflict("This command was already used for something else; open the page again.")
    return found


READ = ("run__plan__operation_type__destination", "case")


def made(
    finding: Finding,
    way: Way,
    *,
    actor: str,
    words: str,
    now: datetime,
    until: datetime | None,
    command_id: uuid.UUID,
) -> Decision:
    """Return a decision that is not written yet; Malformed where it would be waived until no such day."""
    if way is Way.WAIVE and (until is None or not now < until <= now + LONGEST):
        raise Malformed(f"Choose a day from tomorrow on, at most {LONGEST.days} days from now.")
    plan = finding.run.plan
    return Decision(
        finding=finding,
        plan=plan,
        operation_type=plan.operation_type,
        name=leaves.name_of(finding),
        item_class=finding.item_class,
        fingerprint=finding.fingerprint,
        way=way,
        amount=finding.amount,
        currency=finding.currency,
        until=until if way is Way.WAIVE else None,
        maker=actor,
        reason=words,
        command_id=command_id,
        made_at=now,
        expires_at=_counts_until(way, until, now + timedelta(seconds=plan.operation_type.permit_for_s)),
    )


def _counts_until(way: Way, until: datetime | None, latest: datetime) -> datetime:
    """Return until when a second person may answer: nobody agrees to waive until a day that is over."""
    return min(until, latest) if way is Way.WAIVE and until is not None else latest


def _carry_out(decision: Decision, finding: Finding, seen: Seen | None) -> None:
    """Do what was decided, in the name of who decided it."""
    by = {"actor": decision.maker, "reason": decision.reason}
    if decision.way == Way.TAKE_IN:
        taken = _taken(finding, seen)
        decision.operation = ledger.take_in(
            decision.operation_type, taken, command_id=decision.command_id, **by
        )
        decision.save(update_fields=["operation"])
    tell(decision, DID[Way(decision.way)], **by)
    case = finding.case
    if case is None or case.closed_at is not None:
        return
    if decision.way == Way.WAIVE:
        assert decision.until is not None  # a constraint
        first = leaves.waived_until(case)
        due_at = decision.operation_type.due_at(first) if first is not None else None
        ledger.set_aside(case.uid, until=decision.until, due_at=due_at, **by)
    elif decision.way == Way.CLOSE or (finding.operation_id is None and not leaves.shared(finding)):
        ledger.close_case(case.pk, data={"decision": str(decision.uid)}, **by)


def _taken(finding: Finding, seen: Seen | None) -> ledger.Taken:
    if seen is None and not finding.run.plan.operation_type.has_lookup:
        return ledger.Taken(finding.reference, *looking.as_listed(finding))
    if seen is None or seen[0].verdict is not Verdict.ONE_MATCH:
        there = finding.run.plan.operation_type.destination.title
        raise NotNow(
            f"{there} could not be asked just now, or does not hold exactly one: nothing is taken in."
        )
    return ledger.Taken(finding.reference, *seen)


def approve(uid: uuid.UUID, *, actor: str, reason: str, seen: Seen | None = None) -> None:
    """Agree to what somebody else asked, and carry it out; NotNow says why that cannot be.

    Where what was found has changed meanwhile, or is not to be decided in that way any more, the request is
    void, and nothing is done.
    """
    with _asked(uid) as decision:
        asked_by(decision).require_another(actor)
        finding = leaves.current(decision.finding)
        changed = _moved(decision, finding, seen)
        if changed:
            _answer(decision, Answer.VOIDED, actor="policy", why=changed)
        else:
            assert finding is not None  # it would have moved
            why = given(reason) if reason.strip() else UNSAID
            decision.in_force_at = database_now()
            _answer(decision, Answer.APPROVED, actor=actor, why=why)
            _carry_out(decision, finding, seen)
    if changed:
        raise NotNow(f"{changed} {VOID}")


def _moved(decision: Decision, finding: Finding | None, seen: Seen | None) -> str:
    if finding is None:
        return "A later run found it gone."
    if finding.fingerprint != decision.fingerprint:
        return CHANGED
    if over := _day_is_over(decision):
        return over
    changed = looking.changed(finding, seen[0]) if seen else ""
    return changed or leaves.why_unfit(finding, Way(decision.way))


def _day_is_over(decision: Decision) -> str:
    return DAY_IS_OVER if decision.until is not None and decision.until <= database_now() else ""


def refuse(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Refuse what somebody else asked; it stays on record."""
    with _asked(uid) as decision:
        asked_by(decision).require_another(actor)
        over = _day_is_over(decision)
        if over:
            _answer(decision, Answer.VOIDED, actor="policy", why=over)
        else:
            _answer(decision, Answer.REFUSED, actor=actor, why=given(reason))
    if over:
        raise NotNow(f"{over} {VOID}")


def take_back(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Take one's own request back."""
    with _asked(uid) as decision:
        asked_by(decision).require_same(actor)
        _answer(decision, Answer.WITHDRAWN, actor=actor, why=given(reason))


def end_waiver(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """End a waiver before its time: the difference is open again."""
    with transaction.atomic():
        decision = Decision.objects.select_for_update().filter(uid=uid, way=Way.WAIVE).first()
        if decision is None or decision.in_force_at is None:
            raise NotFound("Nothing is waived by that.")
        if decision.ended_at is not None:
            raise NotNow(f"It has ended: {decision.why_ended}")
        _end(decision, actor=actor, why=given(reason))


def asked_by(decision: Decision) -> Asker:
    """Return who has asked, by the names of now."""
    return asker(Asking(decision.maker, decision.maker_account, decision.made_at))


@contextmanager
def _asked(uid: uuid.UUID) -> Iterator[Decision]:
    """Lock an open request; NotNow says who was first, or that it lapsed."""
    with transaction.atomic():
        decision = Decision.objects.select_for_update().filter(uid=uid).first()
        if decision is None:
            raise NotFound("There is no such request.")
        if decision.approval_id is not None:
            raise NotNow("It is answered on the page of its operation.")
        if decision.in_force_at is not None and not decision.decided_by:
            raise NotNow("It took no second person: it is carried out.")
        if decision.decided_at is not None:
            raise NotNow(f"{decision.decided_by} has answered it already: {decision.why}")
        if database_now() >= decision.expires_at and not _day_is_over(decision):
            raise NotNow("Nobody answered in time: it has to be asked again.")
        yield decision


def _answer(decision: Decision, answer: Answer, *, actor: str, why: str) -> None:
    decision.answer, decision.decided_by, decision.why = answer, actor, why
    decision.decided_at = database_now()
    decision.save(update_fields=["answer", "decided_by", "why", "decided_at", "in_force_at"])
    tell(decision, f"difference_{answer}", actor=actor, reason=why)


def end(uid: uuid.UUID, *, actor: str, why: str) -> None:
    """End what is in force; nothing happens where it has ended."""
    with transaction.atomic():
        decision = Decision.objects.select_for_update().get(uid=uid)
        if decision.in_force_at is not None and decision.ended_at is None:
            _end(decision, actor=actor, why=why)


def answer_as(decision: Decision, approval: Approval) -> None:
    """Take over the answer that the request of a locked decision's operation was given."""
    decision.answer, decision.decided_by, decision.why = approval.answer, approval.decided_by, approval.why
    decision.decided_at = approval.decided_at
    decision.in_force_at = database_now() if approval.answer == Answer.APPROVED else None
    decision.save(update_fields=["answer", "decided_by", "why", "decided_at", "in_force_at"])
    tell(decision, f"difference_{approval.answer}", actor=approval.decided_by, reason=approval.why)


def _end(decision: Decision, *, actor: str, why: str) -> None:
    """End what is in force; what was put off with it is taken up again."""
    decision.ended_at, decision.ended_by, decision.why_ended = database_now(), actor, why
    decision.save(update_fields=["ended_at", "ended_by", "why_ended"])
    tell(decision, "difference_ended", actor=actor, reason=why)
    case = Case.objects.open().filter(findings__in=[decision.finding_id]).first()
    if decision.way == Way.WAIVE and case is not None:
        ledger.wake(case.uid, actor=actor, due_at=decision.operation_type.due_at(database_now()))


def follow(plan_id: int, run_id: int, *, actor: str) -> None:
    """End what a run of the plan has found gone, or otherwise than it was decided about."""
    about = Decision.objects.filter(plan=plan_id, ended_at=None, answer__in=["", Answer.APPROVED])
    about = about.exclude(way=Way.MATCH)
    for decision in about.select_related("finding__run").order_by("pk"):
        found = leaves.current(decision.finding)
        if found is not None and found.fingerprint == decision.fingerprint:
            continue
        why = f"Run {run_id} found it gone." if found is None else f"Run {run_id} found it changed."
        with transaction.atomic():
            kept = Decision.objects.select_for_update().get(uid=decision.uid)
            if kept.in_force_at is None and kept.decided_at is None:
                _answer(kept, Answer.VOIDED, actor="policy", why=why)
            elif kept.in_force_at is not None and kept.ended_at is None:
                _end(kept, actor=actor, why=why)


def sweep() -> None:
    """End waivers whose time is over, and requests that nobody answered in time; pass on what is overdue."""
    now = database_now()
    _pass_on(now)
    late = Decision.objects.open().filter(Q(expires_at__lte=now) | Q(until__lte=now), approval=None)
    over = Decision.objects.in_force().filter(way=Way.WAIVE, until__lte=now)
    for pk in list(late.values_list("pk", flat=True)):
        with transaction.atomic():
            decision = Decision.objects.select_for_update().get(pk=pk)
            if decision.decided_at is None:
                ended = _day_is_over(decision)
                answer = Answer.VOIDED if ended else Answer.LAPSED
                _answer(decision, answer, actor="policy", why=ended or LAPSED)
    for pk in list(over.values_list("pk", flat=True)):
        with transaction.atomic():
            decision = Decision.objects.select_for_update().get(pk=pk)
            if decision.ended_at is None:
                _end(decision, actor="policy", why=OVER)


def _pass_on(now: datetime) -> None:
    """Mark requests that have passed their due time; one that its operation carries is marked with that."""
    waiting = Decision.objects.waiting(now).filter(escalated_at=None, approval=None)
    for pk in [one.pk for one in waiting if one.due_at <= now]:
        with transaction.atomic():
            decision = Decision.objects.select_for_update(of=("self",)).select_related("plan").get(pk=pk)
            if decision.waits and decision.escalated_at is None:
                mark_overdue(decision, now, decision=str(decision.uid), plan=decision.plan.name)


def tell(decision: Decision, kind: str, *, actor: str, reason: str) -> None:
    """Write the event of a decision."""
    data = {
        "decision": str(decision.uid),
        "way": decision.way,
        "difference": decision.name,
        "plan": decision.plan.name,
        "maker": decision.maker,
    }
    if decision.until is not None:
        data["until"] = decision.until.isoformat()
    if decision.finding.case is not None:
        data["case"] = str(decision.finding.case.uid)
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)
