"""What a bulk action will do, said before it does anything."""

from collections.abc import Iterator
from decimal import Decimal

from ledger import actions
from ledger.models import Operation
from ledger.rules.leaves import Action
from ledger.rules.states import Verdict
from review.bulk.counting import Counts, spaced
from review.bulk.freezing import ASKS
from review.models import Bulk

FORESEEN = {
    Verdict.COULD_NOT_LOOK: ("could not be looked up", "could not be looked up"),
    Verdict.DIFFERS: ("differs there", "differ there"),
    Verdict.SEVERAL: ("is there more than once", "are there more than once"),
}
"""What the latest check had found that is left to a person, after a count: of one, and of more."""


def foreseen(bulk: Bulk, at: Counts, *, mine: bool, second: str) -> Iterator[str]:
    """Say what will happen, in its order; `second` names who is asked, empty where nobody is."""
    if bulk.action == Action.CHECK:
        yield "Each is looked up there. Nothing is sent, and nothing is decided."
    else:
        who = "you" if mine else bulk.maker
        yield f"First each is checked, as {who}. What a check does not allow is left out, and stops the rest."
    if bulk.action == Action.SEND_AGAIN:
        yield "Then five are sent, and looked up there. Once these are seen there the others follow."
    elif bulk.action == Action.DID_NOT_HAPPEN:
        yield "Then five are closed, and after them the others. Above a limit, each asks a second person."
    yield "At the first surprise it stops: it differs, is there twice, is refused, or nobody could look."
    if at.closed:
        stay = (
            "does not allow it and stays as it is"
            if at.closed == 1
            else "do not allow it and stay as they are"
        )
        yield f"{spaced(at.closed)} of {spaced(at.frozen)} {stay}."
    if at.known:
        yield f"{known(at)}, by the latest check: they come last, and where it is so again, nothing stops."
    asks = asking(bulk) if not at.unread else 0
    if asks:
        each = "One of them asks" if asks == 1 else f"About {spaced(asks)} of them each ask"
        yield f"{each} a second person besides, though the list is approved: one alone closes only so much."
    if second:
        yield f"Its sum is above the limit: it needs {second}."


def known(at: Counts) -> str:
    """Count what the latest checks had found that is left to a person, each by its name."""
    found = ((getattr(at, name), words) for name, words in FORESEEN.items())
    parts = [f"{spaced(count)} {words[count != 1]}" for count, words in found if count]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def asking(bulk: Bulk) -> int:
    """Count the items that would ask a second person of their own, as they are closed one after the other.

    Near enough: whatever else its maker closes alone until then counts beside it.
    """
    if bulk.action != Action.DID_NOT_HAPPEN:
        return 0
    of = [f"operation__{name}" for name in ("operation_type", "currency", "amount")]
    room: dict[tuple[int, str], Decimal | None] = {}
    count = 0
    for pk, kind, currency, amount, why in bulk.items.filter(may=True).values_list("operation", *of, "why"):
        if (kind, currency) not in room and amount is not None and why != ASKS:
            room[kind, currency] = _room(pk, bulk.maker)
        left = room.get((kind, currency))
        if why == ASKS or (left is not None and amount is not None and abs(amount) > left):
            count += 1
        elif left is not None and amount is not None:
            room[kind, currency] = left - abs(amount)
    return count


def _room(pk: int, maker: str) -> Decimal | None:
    """Return how much of its currency the maker may still close alone today; None where none is too much."""
    operation = Operation.objects.select_related("operation_type").get(pk=pk)
    known = actions.together(operation, maker)
    if known.above is None or known.total is None:
        return None
    return known.above - known.total + abs(operation.amount or Decimal(0))
