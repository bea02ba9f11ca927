"""What a run leaves untested, in sentences: the one place that says it, for every form."""

from collections.abc import Iterator
from decimal import Decimal

from ledger.models import Destination
from reconcile import contents
from reconcile.classes import ItemClass
from reconcile.models import Record, Run
from reconcile.pulling import PROVED


def of(run: Run) -> list[str]:
    """Say what these figures do not show; by the rules that the run goes by, while its lines are staged."""
    there = run.plan.operation_type.destination
    said = [
        *_source(run),
        *_contents(run),
        f"Operations accepted before {run.window_from.astimezone(run.plan.zone):%Y-%m-%d %H:%M %Z}.",
        f"Other accounts of {there.title} than “{there.account}”.",
    ]
    return [*said, *_tolerated(run), *_list(run, there), *_absent(run)]


def compared(run: Run) -> list[str]:
    """Name the parts of a record that are compared."""
    record = run.plan.operation_type.how.record
    parts = ["reference"]
    if record is not None:
        parts += ["amount, currency"] if record.amount is not None else []
        parts += ["status"] if record.status is not None else []
        parts += record.compare
    return parts


def _contents(run: Run) -> Iterator[str]:
    """Say what of payloads was compared, and of how many operations nothing was."""
    together = f"Compared: {', '.join(compared(run))}."
    if not contents.fields_of(run.plan.operation_type):
        yield f"Texts, tax and lines: no payload was compared. {together}"
        return
    yield f"What payloads say beside the fields that are compared. {together}"
    if without := contents.not_compared(run):
        yield (
            f"The contents of {without} matched operation{'s' * (without != 1)}: no payload of ours has"
            " any of the fields, or the key that it is known by is listed no more."
        )


def _tolerated(run: Run) -> Iterator[str]:
    allowed = [f"{cur}\u00a0{text}" for cur, text in sorted(run.plan.tolerance.items()) if Decimal(text)]
    if allowed:
        yield f"Differences of up to {', '.join(allowed)}: they count as matched."


def _source(run: Run) -> Iterator[str]:
    """Say what is not tested of what should exist: all, without a source, or whether that came whole."""
    if not run.has_source:
        yield "Whether all that should exist reached Tieout: this plan has no source, the third side."
        return
    told = run.sides["source"]
    if told["complete"] != PROVED:
        yield f"Whether all rows of {told['name']} came is not proved: {told['why']}."


def _list(run: Run, there: Destination) -> Iterator[str]:
    """Say that nothing but the list itself tells whether it was whole."""
    listing = run.plan.operation_type.how.list
    if run.sides.get("destination", {}).get("complete") == PROVED:
        return
    how = "it came as one page" if listing is not None and listing.paging.style == "none" else ""
    how = how or "it was read to the end of its pages"
    yield f"Whether the list of {there.title} was whole is not proved: {how}, and nothing else counted it."


def _absent(run: Run) -> Iterator[str]:
    """Say of how many absent operations nobody knows whether they are there."""
    lines = Record.objects.filter(run=run, side=Record.Side.LEDGER, item_class=ItemClass.UNCERTAIN)
    unasked, blind = (lines.filter(pair=None, looked=seen).count() for seen in ("", "could_not_look"))
    for count, why in ((unasked, "were not looked up"), (blind, "could not be looked up")):
        if count:
            yield f"{count} operation{'s' * (count != 1)} that the list lacks {_one(why, count)}: uncertain."


def _one(words: str, count: int) -> str:
    return words.replace("were", "was") if count == 1 else words
