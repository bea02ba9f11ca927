"""What a check makes of a trigger that ran more than once, and how a person answers it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Event, Lookup, Pause, database_now
from ledger.rules.approvals import needs_two
from ledger.rules.errors import NotNow
from ledger.rules.moments import read_instant
from ledger.rules.states import LIVE, Verdict
from reconcile.classes import ItemClass
from reconcile.histories import linking
from reconcile.histories.models import Repeat
from reconcile.sums import amount_text

IDS_SHOWN = 4
LOOKS_MAX, BLIND_MAX = 200, 3
CHECKED = "Several runs of its trigger were marked successful."

Stored = Mapping[str, Any]
"""A record as look-ups keep it."""


@dataclass(frozen=True)
class Seen:
    """What one check came to."""

    verdict: Verdict
    complete: bool
    proof: bool
    why: str
    records: Sequence[Stored]

    @property
    def live(self) -> list[Stored]:
        """The records that stand, the one that may stay first: the earliest."""
        standing = [record for record in self.records if record["standing"] in LIVE]
        return sorted(standing, key=lambda record: (record["occurred_at"] is None, _when(record)))


def why_not(repeat: Repeat) -> str:
    """Say why it cannot be checked; empty where it can."""
    there = repeat.operation_type.destination
    if not repeat.is_open:
        return "It is answered."
    if repeat.item_class == ItemClass.AMBIGUOUS:
        return "It is more than one operation: check each of them on its own page."
    if not repeat.operation_type.has_lookup:
        return f"{there.title} cannot be checked: its rules name no look-up."
    if not (repeat.key or linking.key_of(repeat)):
        template = repeat.operation_type.key_template or "its type has no template for it"
        return f"Its key is not known ({template}): a part is missing. Look there by hand."
    if Pause.objects.open().of_all().filter(destination=there).exists():
        return f"{there.title} is paused: an administrator resumes it first."
    return ""


def look(repeat: Repeat, *, actor: str, within_s: float) -> Verdict:
    """Ask the destination what it holds for the trigger, keep it, and close what that answers.

    An operation of ours is looked up as any other, with what follows for it. Raises NotNow where it cannot be
    checked.
    """
    linking.link([repeat])
    if why := why_not(repeat):
        raise NotNow(why)
    asked_at = database_now()
    seen = _of_operation(repeat, actor, within_s) if repeat.operation else _of_source(repeat, within_s)
    with transaction.atomic():
        kept = Repeat.objects.select_for_update().get(pk=repeat.pk)
        kept.key, kept.operation = repeat.key, repeat.operation
        _take(kept, seen, asked_at=asked_at, actor=actor)
        _tell(kept, "looked", seen, actor=actor, reason=CHECKED, data={})
        _conclude(kept)
    return seen.verdict


def look_each(repeats: Sequence[Repeat], *, actor: str) -> None:
    """Look up what is open, one by one; no more after LOOKS_MAX, or three in a row that could not look."""
    blind = 0
    for repeat in [repeat for repeat in repeats if repeat.is_open][:LOOKS_MAX]:
        try:
            verdict = look(repeat, actor=actor, within_s=math.inf)
        except NotNow:
            continue
        blind = blind + 1 if verdict is Verdict.COULD_NOT_LOOK else 0
        if blind == BLIND_MAX:
            break


def still_says(repeat: Repeat, check: Lookup) -> bool:
    """Say whether several that the latest check of its operation found are still what is known of it.

    They are not once a case of the operation was closed after it: that has answered them.
    """
    operation = repeat.operation
    if operation is None or check.verdict != Verdict.SEVERAL or operation.held_at is None:
        return False
    return not operation.cases.filter(closed_at__gt=check.asked_at).exists()


def begin_with(repeat: Repeat, check: Lookup, *, actor: str) -> None:
    """Take what the latest check of its operation found, as found then; nobody has looked now."""
    _take(repeat, _seen(check), asked_at=check.asked_at, actor=check.actor)
    at = f"{check.asked_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    repeat.why = f"At {at}: {repeat.why}"[:500]
    known = {"lookup": str(check.uid), "asked_at": check.asked_at.isoformat(), "by": check.actor}
    reason = f"The check of its operation at {at} found several."
    _tell(repeat, "known", _seen(check), actor=actor, reason=reason, data=known)
    _conclude(repeat)


def _seen(check: Lookup) -> Seen:
    return Seen(Verdict(check.verdict), check.complete, check.proof, check.why, check.records)


def _of_operation(repeat: Repeat, actor: str, within_s: float) -> Seen:
    operation = repeat.operation
    assert operation is not None  # asked by the caller
    operation.operation_type = repeat.operation_type
    then = repeat.answers_from
    return _seen(lookups.look(operation, actor=actor, reason=CHECKED, within_s=within_s, shows_until=then))


def _of_source(repeat: Repeat, within_s: float) -> Seen:
    source = {"system": repeat.system, "reference": repeat.reference, "version": repeat.version}
    found = lookups.ask_for_source(
        repeat.operation_type,
        key=repeat.key,
        source=source,
        made=(repeat.first_run_at, repeat.answers_from),
        within_s=within_s,
    )
    return Seen(found.verdict, found.complete, False, found.why, found.stored())


def _take(repeat: Repeat, seen: Seen, *, asked_at: datetime, actor: str) -> None:
    """Note what was found, in its class."""
    live = seen.live
    repeat.item_class, repeat.why = _class_of(repeat, seen, asked_at)
    repeat.looked_at, repeat.looked_by = asked_at, actor
    gone = [record for record in seen.records if record not in live]
    repeat.records = [*live, *gone]
    repeat.surplus = max(len(live) - 1, 0)
    repeat.amount, repeat.currency = _surplus(live[1:])


def _tell(
    repeat: Repeat, kind: str, seen: Seen, *, actor: str, reason: str, data: Mapping[str, object]
) -> None:
    found = {"case": str(repeat.case.uid), "verdict": str(seen.verdict), "records": len(seen.records)}
    Event.objects.create(kind=kind, actor=actor, reason=reason, data={**repeat.mark, **found, **data})


def _conclude(repeat: Repeat) -> None:
    """Keep it; one record that stands answers it, unless asked too early."""
    if repeat.item_class == ItemClass.MATCHED:
        _close(repeat, actor="policy", reason=repeat.why)
    elif repeat.item_class == ItemClass.DUPLICATE:
        _hand_over(repeat)
    repeat.save()


def _class_of(repeat: Repeat, seen: Seen, asked_at: datetime) -> tuple[ItemClass, str]:
    there, live = repeat.operation_type.destination.title, seen.live
    if len(live) > 1:
        ids = ", ".join(record["id"] for record in live[:IDS_SHOWN])
        more = f" and {len(live) - IDS_SHOWN} more" if len(live) > IDS_SHOWN else ""
        return ItemClass.DUPLICATE, f"{ids}{more} carry it: {len(live) - 1} too many."
    if not seen.complete or seen.verdict is Verdict.COULD_NOT_LOOK:
        return ItemClass.UNCERTAIN, f"The check could not look. {seen.why}".strip()
    if live and asked_at < repeat.answers_from:
        then = f"after {repeat.answers_from.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC; nothing does by itself"
        early = "its last run may still be writing, or not be shown yet"
        return (
            ItemClass.UNCERTAIN,
            f"{live[0]['id']} alone carries it so far; {early}. Check again {then}.",
        )
    if live:
        return ItemClass.MATCHED, f"{there} holds {live[0]['id']} under it, and no other."
    if seen.records:
        return ItemClass.STATUS_DIFFERS, f"{there} holds only what was reversed or declined."
    if seen.proof:
        return ItemClass.MISSING, f"{repeat.runs} runs are marked successful, and {there} holds nothing."
    words = "which is no proof: the runs may have written it under another name. Look there by hand."
    return ItemClass.UNCERTAIN, f"{there} holds nothing under {repeat.key}, {words}"[:500]


def _surplus(records: Sequence[Stored]) -> tuple[Decimal | None, str]:
    """Return what the surplus comes to; nothing where an amount is missing or currencies differ."""
    currencies = {record["currency"] for record in records}
    if len(currencies) != 1 or any(record["amount"] is None for record in records):
        return None, ""
    (currency,) = currencies
    amount = sum((Decimal(record["amount"]) for record in records), Decimal(0))
    return (amount, currency) if currency else (None, "")


def _when(record: Stored) -> float:
    made_at = read_instant(record["occurred_at"])
    return made_at.timestamp() if made_at else 0.0


def _hand_over(repeat: Repeat) -> None:
    """Leave it to the case of its operation, which such a check has opened: one question, one case."""
    case = repeat.operation.cases.open().first() if repeat.operation else None
    if case is not None and case.pk != repeat.case.pk:
        _close(repeat, actor="policy", reason="It stands in the case of its operation now.")
        repeat.case = case


def _close(repeat: Repeat, *, actor: str, reason: str) -> None:
    """Close its own case; that of an operation is the operation's."""
    if repeat.is_open and repeat.case.operation_id is None:
        actions.close_case(repeat.case.pk, actor=actor, reason=reason, data=repeat.mark)
        repeat.case.refresh_from_db()


def why_not_closed(repeat: Repeat) -> str:
    """Say why nobody closes it on their word; empty where a person may."""
    if not repeat.is_open:
        return f"{repeat.case.closed_by} closed it."
    if repeat.case.operation_id is not None:
        return "It stands in the case of its operation, and is answered on that page."
    limits, there = repeat.operation_type.reviewing.four_eyes_above, repeat.operation_type.destination.title
    if not repeat.surplus or limits is None:
        return ""
    if repeat.amount is None:
        return f"What the surplus comes to is not known. Reverse it in {there}, and check again."
    if needs_two(repeat.amount, repeat.currency, limits):
        much = f"{repeat.currency} {amount_text(repeat.amount, repeat.currency)}"
        return f"{much} is more than one person closes. Reverse it in {there}, and check again."
    return ""


def close(repeat: Repeat, *, actor: str, reason: str) -> None:
    """Close it on a person's word, with their reason; NotNow says why that cannot be."""
    if why := why_not_closed(repeat):
        raise NotNow(why)
    _close(repeat, actor=actor, reason=reason)
