"""What people say about a bulk action: start, approve, refuse, pause, resume, cancel. Each once, and told."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import connection, transaction

from ledger.actions.approving import UNSAID
from ledger.actions.deputising import Asking, asker
from ledger.actions.escalating import mark_overdue
from ledger.models import Event, TieoutNow, database_now
from ledger.rules import actors
from ledger.rules.errors import Conflict, Malformed, NotNow
from ledger.rules.leaves import UNDO, Action
from ledger.rules.redaction import redact_text
from ledger.rules.second_person import Asker
from review import access
from review.models import Bulk, BulkItem, BulkWord
from review.models.bulk import PER_MINUTE_MOST, Outcome, Status
from review.reading import RIGHT

REASON_MAX = 900
"""An item's events add where it comes from."""
COUNTS_FOR = timedelta(hours=1)
"""How long a frozen list may be confirmed."""
LAPSED = "Nobody answered within a day: it has to be frozen and asked again."
ABOVE_BY_NOW = (
    "Its sum is above the limit by now, and nobody has approved it: cancel it, and freeze what is left."
)
POLICY = "policy"


def takes_two(bulk: Bulk) -> bool:
    """Say whether the sums of a bulk action need a second person: the database's own answer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT review_bulk_takes_two(%s)", [bulk.pk])
        row = cursor.fetchone()
    return bool(row and row[0])


def start(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID, per_minute: int) -> None:
    """Confirm a preview: it takes effect ten seconds later, or asks a second person.

    Raises NotNow where the list is not read, is too old or was confirmed, Malformed, NotAllowed.
    """
    _require(person, bulk)
    if not 1 <= per_minute <= PER_MINUTE_MOST:
        raise Malformed(f"Begin at least 1 and at most {PER_MINUTE_MOST} a minute.")
    with _word(bulk, "start", person=person, reason=reason, command_id=command_id) as said:
        if said is None:
            return
        fresh, word = said
        now = database_now()
        _startable(fresh, word.actor)
        fresh.reason, fresh.per_minute = word.reason, per_minute
        if takes_two(fresh):
            fresh.asked_at = now
            _move(fresh, Status.ASKED, word.actor, word.reason, kind="bulk_asked", command_id=command_id)
            return
        fresh.starts_at = now + UNDO
        _begin(fresh, word, kind="bulk_started")


def _startable(bulk: Bulk, actor: str) -> None:
    if bulk.maker != actor:
        raise NotNow(f"Only {bulk.maker}, whose list it is, confirms it. Freeze one of your own.")
    if bulk.status != Status.PREVIEW:
        raise NotNow("It was confirmed already.")
    if bulk.items.filter(may=None).exists():
        raise NotNow("The list is still being read: a moment.")
    if not bulk.items.filter(may=True).exists():
        raise NotNow("None of it allows this: each item says why.")
    if database_now() > bulk.frozen_at + COUNTS_FOR:
        raise NotNow("The list was frozen more than an hour ago. Freeze it again.")


def _begin(bulk: Bulk, word: BulkWord, *, kind: str) -> None:
    """Let it run; what the preview found closed is refused at once, in the preview's own words."""
    _move(bulk, Status.RUNNING, word.actor, word.reason, kind=kind, command_id=word.command_id)
    closed = BulkItem.objects.filter(bulk=bulk, may=False, outcome="")
    closed.update(outcome=Outcome.REFUSED, done_at=TieoutNow())


def approve(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Agree to a bulk action that somebody else asked for; NotNow where it is answered, or one's own."""
    access.require(person, "approve")
    with _word(bulk, "approve", person=person, reason=reason or UNSAID, command_id=command_id) as said:
        if said is None:
            return
        fresh, word = said
        _answerable(fresh, word, person)
        now = database_now()
        fresh.approved_by, fresh.approved_at, fresh.starts_at = word.actor, now, now + UNDO
        _begin(fresh, word, kind="bulk_approved")


def refuse(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Refuse a bulk action that somebody else asked for: nothing is done, and it stays on record."""
    access.require(person, "approve")
    with _word(bulk, "refuse", person=person, reason=reason, command_id=command_id) as said:
        if said is not None:
            fresh, word = said
            _answerable(fresh, word, person)
            _halt(fresh, Status.CANCELLED, word, kind="bulk_refused")


def _answerable(bulk: Bulk, word: BulkWord, person: User) -> None:
    if bulk.status != Status.ASKED:
        raise NotNow(f"It is answered already: {_answered(bulk, word)}")
    if bulk.counts_until is None or database_now() >= bulk.counts_until:
        raise NotNow(LAPSED)
    asked_by(bulk).require_another(person.get_username())


def asked_by(bulk: Bulk) -> Asker:
    """Return whose list it is, by the names of now."""
    return asker(Asking(bulk.maker, bulk.maker_account, bulk.frozen_at))


def _answered(bulk: Bulk, word: BulkWord) -> str:
    """Say who was first."""
    first = bulk.words.exclude(pk=word.pk).filter(action__in=["approve", "refuse", "cancel", "start"]).last()
    past = {"approve": "approved it", "refuse": "refused it", "cancel": "cancelled it", "start": "started it"}
    return f"{first.actor} {past[first.action]}." if first else "it was never asked."


def pause(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Hold it, also without a word: nothing more begins, and what has not gone out yet is called back."""
    _require(person, bulk)
    with _word(bulk, "pause", person=person, reason=reason or UNSAID, command_id=command_id) as said:
        if said is not None:
            fresh, word = said
            if fresh.status != Status.RUNNING:
                raise NotNow(f"It is not running: {Status(fresh.status).label.lower()}.")
            _halt(fresh, Status.PAUSED, word, kind="bulk_paused")


def resume(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Let it go on after a pause or a surprise."""
    _require(person, bulk)
    with _word(bulk, "resume", person=person, reason=reason, command_id=command_id) as said:
        if said is not None:
            fresh, word = said
            if fresh.status not in (Status.PAUSED, Status.STOPPED):
                raise NotNow(f"It neither paused nor stopped: {Status(fresh.status).label.lower()}.")
            if not fresh.approved_by and takes_two(fresh):  # a limit was lowered meanwhile
                raise NotNow(ABOVE_BY_NOW)
            _move(fresh, Status.RUNNING, word.actor, word.reason, kind="bulk_resumed", command_id=command_id)


def cancel(bulk: Bulk, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """End it, also without a word: nothing more begins; what has gone out, or was done, stays."""
    _require(person, bulk)
    with _word(bulk, "cancel", person=person, reason=reason or UNSAID, command_id=command_id) as said:
        if said is not None:
            fresh, word = said
            if fresh.status in (Status.PREVIEW, Status.CANCELLED, Status.DONE):
                raise NotNow("It is over already." if fresh.ended_at else "It was never confirmed.")
            _halt(fresh, Status.CANCELLED, word, kind="bulk_cancelled")


def stop(bulk_id: int, why: str) -> None:
    """Stop at a surprise, within the transaction that notes it; a person resumes or cancels."""
    bulk = Bulk.objects.select_for_update(no_key=True).get(pk=bulk_id)
    if bulk.status == Status.RUNNING:
        bulk.why = why[:500]
        _move(bulk, Status.STOPPED, POLICY, why, kind="bulk_stopped")


def pass_on() -> None:
    """Mark requests that have passed their due time: all approvers are told."""
    now = database_now()
    waiting = Bulk.objects.waiting(now).filter(escalated_at=None)
    for pk in [one.pk for one in waiting if one.due_at is not None and one.due_at <= now]:
        with transaction.atomic():
            bulk = Bulk.objects.select_for_update(no_key=True).get(pk=pk)
            if bulk.status == Status.ASKED and bulk.escalated_at is None:
                mark_overdue(bulk, now, bulk=str(bulk.uid), number=bulk.pk)


def lapse() -> None:
    """Cancel what nobody answered in time: nothing of it is done, and whoever still wants it asks anew."""
    for pk in Bulk.objects.lapsed(database_now()).values_list("pk", flat=True):
        with transaction.atomic():
            bulk = Bulk.objects.select_for_update(no_key=True).get(pk=pk)
            if bulk.status == Status.ASKED:
                bulk.why, bulk.ended_at = LAPSED, database_now()
                _move(bulk, Status.CANCELLED, POLICY, LAPSED, kind="bulk_lapsed")


def finish(bulk_id: int) -> bool:
    """Note that nothing is left; False where something is, or it was noted."""
    with transaction.atomic():
        bulk = Bulk.objects.select_for_update(no_key=True).get(pk=bulk_id)
        over = bulk.status in (Status.RUNNING, Status.PAUSED, Status.STOPPED)
        if not over or bulk.items.filter(outcome="").exists():
            return False
        bulk.ended_at = database_now()
        _move(bulk, Status.DONE, "worker", "Nothing is left.", kind="bulk_done")
    return True


def _require(person: User, bulk: Bulk) -> None:
    access.require(person, RIGHT[Action(bulk.action)])


def _halt(bulk: Bulk, status: Status, word: BulkWord, *, kind: str) -> None:
    bulk.why = f"{word.actor}: {word.reason}"[:500]
    bulk.ended_at = database_now() if status is Status.CANCELLED else None
    _move(bulk, status, word.actor, word.reason, kind=kind, command_id=word.command_id)


@contextmanager
def _word(
    bulk: Bulk, action: str, *, person: User, reason: str, command_id: uuid.UUID
) -> Iterator[tuple[Bulk, BulkWord] | None]:
    """Lock a bulk action and keep what is said; None where the same click was taken before."""
    words = reason.strip()
    kept = redact_text(words, REASON_MAX) if len(words) <= REASON_MAX and "\0" not in words else ""
    if not kept:
        raise Malformed(f"Give a reason: 1 to {REASON_MAX} characters.")
    actor = actors.person(person.get_username())
    with transaction.atomic():
        fresh = Bulk.objects.select_for_update(no_key=True).get(pk=bulk.pk)
        word, new = BulkWord.objects.get_or_create(
            command_id=command_id,
            defaults={"bulk": fresh, "action": action, "actor": actor, "reason": kept},
        )
        if not new and (word.bulk_id, word.action, word.actor) != (fresh.pk, action, actor):
            raise Conflict("This command was already used for something else; open the page again.")
        yield (fresh, word) if new else None


def _move(
    bulk: Bulk, status: Status, actor: str, reason: str, *, kind: str, command_id: uuid.UUID | None = None
) -> None:
    """Write a bulk action's new status with all that goes with it, and its event."""
    bulk.status, bulk.nudged_at, bulk.stepped_at = status, None, database_now()
    fields = ["status", "reason", "per_minute", "asked_at", "starts_at", "why", "ended_at", "nudged_at"]
    fields.append("stepped_at")
    bulk.save(update_fields=[*fields, "approved_by", "approved_at"])
    Event.objects.create(
        kind=kind,
        actor=actor,
        reason=reason[:1000],
        command_id=command_id,
        data={
            "bulk": str(bulk.uid),
            "number": bulk.pk,
            "status": str(status),
            "action": bulk.action,
            "items": bulk.frozen,
        },
    )
