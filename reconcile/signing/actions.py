"""Prepare a run, sign what somebody else prepared, open it again by two; each with its event."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from ledger.actions.approving import UNSAID
from ledger.actions.changing import given, once
from ledger.actions.deputising import Asking, asker
from ledger.actions.escalating import mark_overdue
from ledger.models import Event, database_now
from ledger.rules.approvals import Answer
from ledger.rules.errors import Conflict, NotFound, NotNow
from ledger.rules.second_person import Asker
from reconcile.expected.actions import foresee
from reconcile.expected.times import Unscheduled
from reconcile.models import Period, Run, SignOff
from reconcile.periods import leaves as closing
from reconcile.signing import freezing, leaves
from reconcile.signing.models import Way

COUNTS_FOR = timedelta(days=5)
"""How long a preparation waits for a signature: a long week-end."""
LAPSED = "Nobody answered in time."
VOID = "The preparation is void, and nothing is signed."
CHANGED = (
    "It has changed since you looked: what is open, whose it is, or what is waived. Look at it as it is now."
)
LOOKED = "I have looked at it."
"""What stands for the note of who prepared a run and wrote none."""
READ = ("run__plan__operation_type__destination", "of", "period__plan")


def prepare(run: Run, *, actor: str, note: str, command_id: uuid.UUID) -> SignOff:
    """State that one has looked at what a run came to, so that another person can sign it.

    Raises NotNow, with the reason, where it is not to be signed.
    """
    words = given(note) if note.strip() else LOOKED
    clicked = SignOff.objects.filter(command_id=command_id)
    with suppress(Unscheduled):  # where no worker runs, nothing else tells what was due and has not reported
        foresee(run.plan_id)

    def make() -> SignOff:
        # One after the other: who comes second is told who was first, and a second click is the first one.
        rows = Run.objects.select_for_update(of=("self",), no_key=True)
        kept = rows.select_related("plan__operation_type").get(pk=run.pk)
        if same := clicked.first():
            return same
        if why := leaves.why_not_prepared(kept, leaves.standing(kept)):
            raise NotNow(why)
        return made(kept, Way.SIGN, actor=actor, words=words, command_id=command_id)

    return _same(once(clicked, make), run, Way.SIGN, actor)


def ask_reopening(signed: SignOff, *, actor: str, reason: str, command_id: uuid.UUID) -> SignOff:
    """Ask a second person to open a signed run again; NotNow where it is not signed, or asked for already."""
    words = given(reason)

    def make() -> SignOff:
        kept = SignOff.objects.select_for_update(of=("self",)).select_related(*READ).get(pk=signed.pk)
        if why := closing.why_not_reopened(kept):
            raise NotNow(why)
        said: dict[str, Any] = {"actor": actor, "words": words, "command_id": command_id}
        return made(kept.run, Way.REOPEN, of=kept, period=kept.period, **said)

    return _same(once(SignOff.objects.filter(command_id=command_id), make), signed.run, Way.REOPEN, actor)


def made(
    run: Run,
    way: Way,
    *,
    actor: str,
    words: str,
    command_id: uuid.UUID,
    of: SignOff | None = None,
    period: Period | None = None,
) -> SignOff:
    """Write down what is prepared, or asked, with its event; whoever calls has seen that it may be."""
    now = database_now()
    made = SignOff.objects.create(
        way=way,
        run=run,
        period=period,
        plan=run.plan,
        operation_type=run.plan.operation_type,
        of=of,
        digest=run.digest,
        maker=actor,
        reason=words,
        command_id=command_id,
        made_at=now,
        expires_at=now + COUNTS_FOR,
    )
    _tell(made, ASKED[way], actor=actor, reason=words)
    return made


def _same(found: SignOff, run: Run, way: Way, actor: str) -> SignOff:
    if (found.run_id, found.way, found.maker) != (run.pk, way, actor):
        raise Conflict("This command was already used for something else; open the page again.")
    return found


def approve(uid: uuid.UUID, *, actor: str, reason: str, seen: str = "") -> None:
    """Sign what somebody else prepared, or agree to open it again; NotNow says why that cannot be.

    `seen`: of who signs, `freezing.seen` of the open differences that stood before them. Where a later run
    has looked at the same days meanwhile, the preparation is void.
    """
    why = given(reason) if reason.strip() else UNSAID
    with _asked(uid) as asked:
        asked_by(asked).require_another(actor)
        refused = closing.why_not_answered(asked)
        later = (
            asked.way == Way.SIGN
            and bool(refused)
            and leaves.later_runs(asked.run).filter(state=Run.State.DONE).exists()
        )
        if refused and not later:
            raise NotNow(refused)
        if later:
            _answer(asked, Answer.VOIDED, actor="policy", why=refused)
        elif asked.way == Way.SIGN:
            _sign(asked, actor=actor, why=why, seen=seen)
        else:
            _reopen(asked, actor=actor, why=why)
    if later:
        raise NotNow(f"{refused} {VOID}")


def _sign(asked: SignOff, *, actor: str, why: str, seen: str) -> None:
    now = database_now()
    asked.signed = freezing.frozen(asked, signer=actor, why="" if why == UNSAID else why, now=now)
    if freezing.seen(asked.signed["open"]) != seen:
        raise NotNow(CHANGED)
    asked.signed_digest = freezing.digest(asked.signed)
    _answer(asked, Answer.APPROVED, actor=actor, why=why, now=now)


def _reopen(asked: SignOff, *, actor: str, why: str) -> None:
    _answer(asked, Answer.APPROVED, actor=actor, why=why)
    assert asked.of is not None  # a constraint
    signed = SignOff.objects.select_for_update(of=("self",)).select_related("plan").get(pk=asked.of.pk)
    signed.ended_at = asked.decided_at
    signed.save(update_fields=["ended_at"])
    _tell(signed, "signature_ended", actor=actor, reason=asked.reason)


def refuse(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Refuse what somebody else prepared or asked; it stays on record."""
    with _asked(uid) as asked:
        asked_by(asked).require_another(actor)
        _answer(asked, Answer.REFUSED, actor=actor, why=given(reason))


def take_back(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Take one's own preparation or request back."""
    with _asked(uid) as asked:
        asked_by(asked).require_same(actor)
        _answer(asked, Answer.WITHDRAWN, actor=actor, why=given(reason))


def asked_by(asked: SignOff) -> Asker:
    """Return who has prepared or asked, by the names of now."""
    return asker(Asking(asked.maker, asked.maker_account, asked.made_at))


def follow(run: Run, *, actor: str) -> None:
    """Void what is prepared of earlier runs over the same days: this one has looked again."""
    same = SignOff.objects.open().filter(
        way=Way.SIGN,
        plan=run.plan_id,
        run__pk__lt=run.pk,
        run__first_day=run.first_day,
        run__last_day=run.last_day,
    )
    for pk in list(same.values_list("pk", flat=True)):
        with transaction.atomic():
            asked = _locked(pk=pk)
            if asked is not None and asked.waits:
                why = f"Run {run.pk} has looked at the same days since."
                _answer(asked, Answer.VOIDED, actor=actor, why=why)


def sweep() -> None:
    """End what nobody answered in time; pass on what is overdue."""
    now = database_now()
    for asked in SignOff.objects.open().order_by("expires_at", "pk"):
        if asked.expires_at <= now:
            _lapse(asked.pk)
        elif asked.escalated_at is None and asked.due_at <= now:
            _pass_on(asked.pk, now)


def _lapse(pk: int) -> None:
    with transaction.atomic():
        asked = _locked(pk=pk)
        if asked is not None and asked.waits:
            _answer(asked, Answer.LAPSED, actor="policy", why=LAPSED)


def _pass_on(pk: int, now: datetime) -> None:
    with transaction.atomic():
        asked = _locked(pk=pk)
        if asked is not None and asked.waits and asked.escalated_at is None:
            mark_overdue(asked, now, signoff=str(asked.uid), plan=asked.plan.name)


def _locked(**which: object) -> SignOff | None:
    rows = SignOff.objects.select_for_update(of=("self",)).select_related("plan", *READ)
    return rows.filter(**which).first()


@contextmanager
def _asked(uid: uuid.UUID) -> Iterator[SignOff]:
    """Lock what waits; NotNow says who was first, or that it lapsed."""
    with transaction.atomic():
        asked = _locked(uid=uid)
        if asked is None:
            raise NotFound("There is no such request.")
        if asked.answer == Answer.APPROVED:
            did = "signed it" if asked.way == Way.SIGN else "agreed to it"
            raise NotNow(f"{asked.decided_by} was first, and has {did} already.")
        if asked.answer in (Answer.VOIDED, Answer.LAPSED):
            raise NotNow(f"It waits no more: {asked.why}")
        if not asked.waits:
            raise NotNow(f"{asked.decided_by} has answered it already: {asked.why}")
        if database_now() >= asked.expires_at:
            raise NotNow("Nobody answered in time: it has to be prepared again.")
        yield asked


ASKED = {Way.SIGN: "prepared", Way.REOPEN: "reopening_asked"}
_KIND = {Way.SIGN: "signing", Way.REOPEN: "reopening"}


def _answer(asked: SignOff, answer: Answer, *, actor: str, why: str, now: datetime | None = None) -> None:
    asked.answer, asked.decided_by, asked.why = answer, actor, why
    asked.decided_at = now or database_now()
    asked.save(update_fields=["answer", "decided_by", "why", "decided_at", "signed", "signed_digest"])
    _tell(asked, f"{_KIND[Way(asked.way)]}_{answer}", actor=actor, reason=why)


def _tell(asked: SignOff, kind: str, *, actor: str, reason: str) -> None:
    what = f"run {asked.run_id}" if asked.period is None else asked.period.title
    data = {
        "signoff": str(asked.uid),
        "plan": asked.plan.name,
        "name": f"{what} of {asked.plan.name}",
        "maker": asked.maker,
        "digest": asked.signed_digest or asked.digest,
    }
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)
