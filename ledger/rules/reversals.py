"""What a look-up proves of one reversal: the record is reversed, stands as it was chosen, or neither."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from ledger.rules.calls import Calls, RecordMap, VoidCall
from ledger.rules.records import CLOSED, MORE, Found, RecordSeen
from ledger.rules.states import Standing, Verdict

VOID, CREDIT = "void", "credit"
"""How a record is reversed; both are the last part of the name of the type that does it."""
COMPARED = ("amount", "currency", "status", *MORE)
"""What must be as it was when it was chosen."""


@dataclass(frozen=True)
class Chosen:
    """What was chosen: the record that is kept, and the one that goes as it was then (as stored)."""

    kept: str
    goes: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id of the record that goes."""
        return str(self.goes["id"])


def way_of(void: VoidCall | None, record: Mapping[str, Any]) -> str:
    """Return how a record (as stored) is reversed: voided, or credited where its period is closed to that.

    A closed period is not written to: what would have to be credited and has no call for it is for people.
    """
    barred = void is not None and void.when_closed == CREDIT and record.get("period") == CLOSED
    return CREDIT if barred else VOID


def judged(found: Found, chosen: Chosen) -> Found:
    """Say what was found of all records means for the reversal of one.

    One match: it is reversed. Absent: it stands, so it is not reversed. Differs: it is no longer as it was
    chosen, or the kept one does not stand; then nothing is reversed.
    """
    if not found.complete:
        return replace(found, verdict=Verdict.COULD_NOT_LOOK, records=())
    by_id = {record.id: record for record in found.records}
    goes, kept = by_id.get(chosen.id), by_id.get(chosen.kept)
    if goes is None and kept is None:
        return _as(Verdict.COULD_NOT_LOOK, f"Neither {chosen.id} nor {chosen.kept} is in the answer.")
    if goes is None or not goes.live:
        return _as(Verdict.ONE_MATCH, "", _gone(goes, found, chosen))
    if kept is None or not kept.live:
        return _as(Verdict.DIFFERS, f"{chosen.kept}, which is kept, no longer stands.", goes)
    changed = tuple(name for name in COMPARED if _part(goes.stored(), name) != _part(chosen.goes, name))
    if changed:
        words = ", ".join(
            f"{name} {_shown(chosen.goes, name)} → {_shown(goes.stored(), name)}" for name in changed
        )
        return _as(
            Verdict.DIFFERS, f"{chosen.id} has changed since: {words}.", replace(goes, differs=changed)
        )
    return _as(Verdict.ABSENT, f"{chosen.id} stands there, not reversed.")


def left_of(whole: Decimal, listed: Decimal | None) -> Decimal:
    """Return what is left of a record that came to `whole`, by the amount that is listed once it is reversed.

    Destinations list what they reversed as nothing or as it was; what lies between was reversed in part.
    """
    if listed is None or whole * listed <= 0 or abs(listed) >= abs(whole):
        return Decimal(0)
    return listed


def _as(verdict: Verdict, why: str, *records: RecordSeen) -> Found:
    return Found(verdict, verdict is not Verdict.COULD_NOT_LOOK, records, why=why)


def _gone(goes: RecordSeen | None, found: Found, chosen: Chosen) -> RecordSeen:
    """Return the reversed record; one that is in the list no more, where the kept one is, is gone as well."""
    before = RecordSeen(
        chosen.id, found.records[0].reference, None, "", "no longer there", Standing.VOID, None
    )
    return replace(goes or before, standing=Standing.DONE, differs=())


def _part(stored: Mapping[str, Any], name: str) -> str:
    return str(stored.get(name) or "")


def _shown(stored: Mapping[str, Any], name: str) -> str:
    return _part(stored, name) or "none"


def calls_of(how: Calls, way: str) -> Calls:
    """Return the calls of the type that reverses what a type makes: `way` is void or credit.

    Done is there what is reversed here. Without a call of its own nothing is sent: people reverse it.
    """
    void = how.void
    call = void if way == VOID or void is None else void.credit
    return Calls(
        send=call.as_send(how.send) if call is not None else None,
        record=_reversed(how.record) if how.record is not None else None,
        lookup=how.lookup,
        void=void if way == VOID else None,
    )


def _reversed(record: RecordMap) -> RecordMap:
    statuses = {"pending_statuses": (), "failed_statuses": (), "void_statuses": ()}
    return record.model_copy(update={**statuses, "done_statuses": record.void_statuses})
