"""What comes of an item: said once, and where it was not foreseen, everything stops."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from ledger.destinations import lookups
from ledger.models import Lookup, Operation, TieoutNow, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.facts import Sentence
from ledger.rules.states import Verdict
from ledger.worker.words import in_words
from review import wording
from review.bulk import commanding
from review.checking import LONGEST_S
from review.instants import say
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome

log = logging.getLogger(__name__)
UNFORESEEN = "It ended in an error that nobody foresaw ({}): look at it by itself."
PATIENCE_S = 10.0
"""How long a look-up waits for room at a destination that is called only so fast."""


def finish(
    item: BulkItem,
    outcome: Outcome,
    why: str = "",
    *,
    seen: Lookup | None = None,
    surprised: bool = False,
    **fields: Any,
) -> None:
    """Say what came of an item, unless it was said; at a surprise, stop in the same transaction."""
    if surprised:
        fields["surprised_at"] = TieoutNow()
    with transaction.atomic(savepoint=False):  # whoever is within one gives all of it up, or none
        left = BulkItem.objects.filter(pk=item.pk, outcome="")
        said = left.update(outcome=outcome, why=why[:500], seen=seen, done_at=TieoutNow(), **fields)
        if said and surprised:  # the item first: once it has stopped, none is acted on
            commanding.stop(item.bulk_id, f"{wording.name(item.operation)}: {why}")


@contextmanager
def watched(item: BulkItem) -> Iterator[None]:
    """Hold an item that ends in an error which nobody foresaw, and stop: each step would meet it again.

    A database that is away, or a deadlock, is none of its own: the next step goes on.
    """
    try:
        yield
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, somebody must see it
        words = told(error) if isinstance(error, TieoutError) else UNFORESEEN.format(type(error).__name__)
        log.error("Bulk action item %s: %s", item, in_words(error))  # noqa: TRY400 - a trace carries values
        finish(item, Outcome.HELD, words, surprised=True)


def surprise(item: BulkItem, why: str) -> None:
    """Stop because of an item that software still settles."""
    with transaction.atomic():
        commanding.stop(item.bulk_id, f"{wording.name(item.operation)}: {why}")
        BulkItem.objects.filter(pk=item.pk, outcome="").update(surprised_at=TieoutNow(), why=why[:500])


def look(item: BulkItem, bulk: Bulk, **more: Any) -> Lookup:
    """Ask the destination about an item in the maker's name, and note when; raises TieoutError."""
    BulkItem.objects.filter(Q(outcome=""), pk=item.pk).update(looked_at=TieoutNow())
    return lookups.look(
        item.operation,
        actor=bulk.maker,
        reason=bulk.said(item),
        within_s=LONGEST_S,
        patience_s=PATIENCE_S,
        **more,
    )


def again(item: BulkItem) -> Operation:
    """Return an item's operation as it stands now."""
    item.operation = Operation.objects.select_related("operation_type__destination").get(pk=item.operation_id)
    return item.operation


def found(lookup: Lookup, operation: Operation) -> str:
    """Say what a check found that was not foreseen."""
    there = operation.operation_type.destination.title
    match Verdict(lookup.verdict):
        case Verdict.DIFFERS:
            return f"What {there} holds differs from what was meant."
        case Verdict.SEVERAL:
            return f"{there} holds {wording.several(len(lookup.records), operation.operation_type.noun)}."
        case Verdict.COULD_NOT_LOOK:
            return f"The check could not look. {lookup.why}".strip()
        case Verdict.ONE_MATCH:
            return f"{there} holds it."
        case _:
            return f"{there} does not hold it."


def told(error: TieoutError) -> str:
    """Return a refusal in words, its times in the zone of the screens."""
    sentence = error.members.get("sentence")
    return say(sentence, database_now()) if isinstance(sentence, Sentence) else error.detail
