"""Keep a comparison as evidence, and delete it when its time is over; each with its event."""

import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from django.contrib.auth.models import User
from django.db import connection, transaction

from ledger.actions.changing import given
from ledger.actions.submission import payload_keys
from ledger.models import Event, database_now
from ledger.rules import actors, sealing
from ledger.rules.errors import Malformed, NotFound, NotNow
from reconcile.statements.evidence.models import LONGEST, Kept, KeptPiece
from reconcile.statements.models import Comparison

BYTES_MAX = 50 * 2**20
"""How large both files may be together."""
COPY = """
INSERT INTO reconcile_keptpiece (kept_id, "of", number, sealed)
SELECT %s, "of", number, sealed FROM reconcile_piece WHERE comparison_id = %s
"""
EARLIER = "It has to be a day after today."
LATER = "Ten years are the longest that it is kept."


def keep(owner: User, uid: uuid.UUID, *, until: date, reason: str) -> Kept:
    """Keep one's own comparison, both files and the report, through the end of a day (UTC).

    The same again is what is kept already. Raises NotFound where it is gone or not one's own, NotNow where it
    is not done or too large, Malformed where the reason or the day is none.
    """
    actor = actors.person(owner.get_username())
    with transaction.atomic():
        before = Kept.objects.of(actor).filter(uid=uid).first()
        if before is not None:
            return before
        found = Comparison.objects.select_for_update().filter(owner=owner, uid=uid).first()
        if found is None:
            raise NotFound("The files are gone: drop them again.")
        if found.state != Comparison.State.DONE:
            raise NotNow("Nothing is compared yet: there is no report to keep.")
        if found.size > BYTES_MAX:
            raise NotNow("Both files together are larger than 50 MB, and are not kept. Export fewer days.")
        made = Kept.objects.create(
            uid=found.uid,
            keeper=actor,
            reason=given(reason),
            until=_end_of(until),
            size=found.size,
            sealed=found.sealed,
        )
        with connection.cursor() as cursor:
            cursor.execute(COPY, [made.pk, found.pk])
        _tell(made, "comparison_kept", actor=actor, reason=made.reason)
    return made


def _end_of(day: date) -> datetime:
    now = database_now()
    if day <= now.date():
        raise Malformed(EARLIER)
    if day > (now + LONGEST).date() - timedelta(days=2):
        raise Malformed(LATER)
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def parts(kept: Kept, of: str) -> Iterator[bytes]:
    """Yield what was kept, piece by piece, as it came; raises SealError."""
    rows = KeptPiece.objects.filter(kept=kept, of=of).values_list("number", "sealed")
    for number, sealed in rows.iterator(chunk_size=4):
        yield sealing.unseal(payload_keys(), bytes(sealed), bound_to=f"{kept.uid}/{of}/{number}")


def sweep() -> int:
    """Delete what has been kept until its end; returns how many comparisons that were."""
    gone = 0
    for pk in list(Kept.objects.over().values_list("pk", flat=True)[:20]):
        with transaction.atomic():
            kept = Kept.objects.select_for_update().filter(pk=pk).first()
            if kept is not None:
                _tell(kept, "comparison_deleted", actor="policy", reason="The day until which it was kept.")
                kept.delete()
                gone += 1
    return gone


def _tell(kept: Kept, kind: str, *, actor: str, reason: str) -> None:
    """Put it on record by what tells one file from another, and by nothing that stands in them."""
    files = kept.told["report"]["files"]
    data = {
        "comparison": str(kept.uid),
        "until": kept.until.isoformat(),
        "sha256": {side: told["sha256"] for side, told in files.items()},
    }
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)
