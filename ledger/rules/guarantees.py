"""What protects a second try, in one sentence for people: stated, never inflated."""

from datetime import date

from ledger.rules.contracts import Contract
from ledger.rules.drills import UNDRILLED, Drilled

FROZEN = "Not covered: a sender frozen between its check and its send."


def guarantee(
    contract: Contract, destination: str, *, has_lookup: bool, by_tieout: bool, drilled: Drilled = UNDRILLED
) -> str:
    """Say what protects a second try at this destination, since when that is proved, and what is not covered.

    The contract is the one that counts, without what a drill has refuted. Only where Tieout sends is the look
    right before the send its own.
    """
    refuted = _refuted(drilled, destination, has_lookup=has_lookup)
    if contract.takes_key and contract.key_retention_s is not None:
        hours = f"{contract.key_retention_s / 3600:g}\u00a0h"
        look = ", and a check comes first" if has_lookup and by_tieout else ""
        tries = f"Tries reuse the same key within {whose(destination)} {hours} window{look}."
        return " ".join(filter(None, (tries, refuted or _proved(drilled, by_tieout=by_tieout), FROZEN)))
    if has_lookup and drilled.lookup_broken_on is None:
        look = "is preceded by a check" if by_tieout else "in doubt is looked up before another is allowed"
        no_key = refuted or f"{destination} takes no key that we can rely on."
        return f"{no_key.rstrip('.')}: each try {look}. {FROZEN}"
    if refuted:
        return f"{refuted.rstrip('.')}; no try follows one in doubt by itself."
    return f"{destination} takes no key and cannot be checked: no try follows one in doubt by itself."


def whose(name: str) -> str:
    """Write a name with what belongs to it: "Mailroom’s", "Durban Books’"."""
    return f"{name}’" if name.endswith("s") else f"{name}’s"


def _refuted(drilled: Drilled, destination: str, *, has_lookup: bool) -> str:
    """Say what a drill has refuted; nothing where it has refuted nothing."""
    said = []
    if drilled.key_broken_on is not None:
        said.append((drilled.key_broken_on, f"{destination} made a second record under one key"))
    if has_lookup and drilled.lookup_broken_on is not None:
        said.append((drilled.lookup_broken_on, f"a check did not tell what {destination} holds"))
    if not said:
        return ""
    return f"Drilled {day(max(on for on, _ in said))}: {', and '.join(words for _, words in said)}."


def _proved(drilled: Drilled, *, by_tieout: bool) -> str:
    if drilled.key_held_on is not None:
        return f"Drilled {day(drilled.key_held_on)}: one key made one record."
    return "Promised, not drilled." if by_tieout else ""


def day(on: date) -> str:
    """Write a day for people: "30 November 2026"."""
    return f"{on.day} {on:%B} {on.year}"
