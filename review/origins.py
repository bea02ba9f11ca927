"""Where a run's figures come from, as people read it: on the page, folded, and on paper."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from reconcile import reports
from reconcile.models import Run
from reconcile.provenance import NOT_KEPT
from review import amounts, instants, wording

Row = tuple[str, str]


def rows(run: Run, told: Mapping[str, Any]) -> Iterator[Row]:
    """Say what was asked, read and left out, by which rules, by whom, when; `told` as in every other form."""
    there = run.plan.operation_type.destination.title
    source = told.get("source")
    if source is not None:
        yield f"Asked of {run.sides['source']['name']}", _asked(source)
    yield f"Asked of {there}", _asked(told["asked"])
    yield "Compared", _kept(told["compared"], ", ".join)
    yield "Parameters", _parameters(told)
    yield "As of", _kept(told["as_of"], lambda at: _as_of(at, there))
    pulled = told["pulled"]
    read = f"{_many(pulled['records'], 'record')} in {_many(pulled['pages'], 'page')}"
    if source is not None:
        yield "Rows of the source", _kept(source, _came)
    yield "Read", f"{read}; {pulled['repeated']} came twice and count once" if pulled["repeated"] else read
    yield "Came late", _kept(told["came_late"], late)
    yield (
        "Left out",
        f"{told['excluded']} out of scope; {told['rejected']} unreadable, in a class of their own",
    )
    for side, title in reports.sides_named(run).items():
        yield f"{title}, in all", _total(told["totals"][side])
    versions = [f"version {told['rules'][one]} of the {one}’s rules" for one in ("plan", "type")]
    yield "Rules", "; ".join(versions) if all(told["rules"].values()) else NOT_KEPT
    ended = f", done {_at(told['finished_at'])}" if told["finished_at"] else ""
    yield "Run", f"{told['run']}, by {wording.who(run.actor)}, begun {_at(told['started_at'])}{ended}"
    yield "Read here", f"by {told['author']}, {_at(told['made_at'])}; Tieout {told['tieout']}"
    yield "Digest", told["digest"]


def late(told: Mapping[str, Any]) -> str:
    """Say how many records came late, and what they come to."""
    sums = [amounts.whole(amount, currency) for currency, amount in told["amounts"].items()]
    return "; ".join([_many(told["records"], "record"), *sums])


def _asked(asked: Any) -> str:
    return _kept(asked, lambda one: f"{one['question']}, since {_at(one['since'])}; SHA-256 {one['sha256']}")


def _parameters(told: Mapping[str, Any]) -> str:
    window = (
        f"{_at(told['window']['from'])} up to {_at(told['window']['to'])}, days of {told['window']['zone']}"
    )
    allowed = _kept(
        told["tolerance"], lambda one: ", ".join(amounts.whole(one[cur], cur) for cur in one) or "none"
    )
    return f"{window}; grace {told['grace_s'] / 60:g} minutes; tolerance {allowed}"


def _as_of(at: Mapping[str, str | None], there: str) -> str:
    first, last = at["destination_first"], at["destination_last"]
    listed = f"{there} page by page from {_at(first)} to {_at(last)}" if first else f"{there} listed nothing"
    source = f"the source {_at(at['source'])}; " if "source" in at else ""
    return f"{source}Tieout {_at(at['ledger'])}; {listed}"


def _came(source: Mapping[str, Any]) -> str:
    """Say how many rows came, and what proves that they are all."""
    read = f"{_many(source['rows'], 'row')} in {_many(source['pages'], 'page')}"
    return f"{read}; that they are all is {source['complete']}: {source['why']}"


def _kept(told: Any, words: Any) -> str:
    """Write what was kept; what was not is said."""
    return NOT_KEPT if told == NOT_KEPT else str(words(told))


def _total(side: Mapping[str, Any]) -> str:
    sums = [amounts.whole(amount, currency) for currency, amount in side["amounts"].items()]
    return "; ".join([_many(side["count"], "item"), *sums])


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _at(text: str | None) -> str:
    if not text:
        return "not kept"
    there = datetime.fromisoformat(text).astimezone(instants.zone())
    return f"{there.day}\u00a0{there:%b\u00a0%Y, %H:%M:%S} {instants.named(there, instants.zone())}"
