"""Where a run's figures come from: asked, read, left out, by which rules; each form begins with it."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Max, Min

from ledger.door.client import __version__
from ledger.models import OperationType
from ledger.rules.calls import ListCall
from ledger.rules.digests import canonical
from reconcile import lateness, pulling, untested
from reconcile.classes import ItemClass
from reconcile.configuration import showing
from reconcile.models import Record, Run
from reconcile.rules import declared
from reconcile.sources import pulling as sources

A_QUERY = "a query, known by its SHA-256"
NOT_KEPT = "not kept: the run is older than this line"


def made_with(run: Run) -> dict[str, Any]:
    """Return what a run keeps of the rules and questions that it went by, while its lines are staged.

    They may change afterwards; a report tells of the run, so it reads none of them later.
    """
    plan, kind = run.plan, run.plan.operation_type
    seen = Record.objects.filter(run=run, side=Record.Side.DESTINATION).order_by()
    first_last = seen.aggregate(first=Min("seen_at"), last=Max("seen_at"))
    return {
        "tieout": __version__,
        "type": kind.name,
        "entity": kind.destination.entity,
        "destination": kind.destination.title,
        "account": kind.destination.account,
        "asked": _asked(kind) | {"since": _instant(pulling.since(run))},
        **({"source": _source(run)} if run.has_source else {}),
        "compared": untested.compared(run),
        "tolerance": plan.tolerance,
        **({"tolerance_cap": plan.tolerance_cap} if plan.tolerance_cap else {}),
        **({"matched_by": [*map(declared.words, declared.of(plan))]} if plan.rules else {}),
        "rules": {"plan": plan.rules_version, "type": kind.rules_version},
        "as_of": {
            **({"source": run.sides["source"]["as_of"]} if run.has_source else {}),
            "ledger": run.counted.get("as_of"),
            **{f"destination_{name}": at and _instant(at) for name, at in first_last.items()},
        },
        "came_late": lateness.counted(run),
        "not_tested": untested.of(run),
    }


def of(run: Run, *, author: str, now: datetime) -> dict[str, Any]:
    """Return where a run's figures come from; times in UTC, amounts as text, what was not kept said so.

    `author`: who has this form of the report made, `now`.
    """
    kept = run.made_with or {"not_tested": untested.of(run)}
    names = ("entity", "type", "destination", "account", "asked")
    after = ("compared", "tolerance")
    return {
        "plan": run.plan.name,
        "run": str(run.uid),
        **{name: _shown(kept.get(name, NOT_KEPT)) for name in names},
        **({"source": _shown(kept.get("source", NOT_KEPT))} if run.has_source else {}),
        "window": {
            "from": _instant(run.window_from),
            "to": _instant(run.window_to),
            "zone": run.plan.timezone,
        },
        "grace_s": run.grace_s,
        **{name: kept.get(name, NOT_KEPT) for name in after},
        **{name: kept[name] for name in ("tolerance_cap", "matched_by") if name in kept},
        "as_of": kept.get("as_of", NOT_KEPT),
        "pulled": {"records": run.records, "pages": len(run.pages), "repeated": run.repeated},
        "came_late": kept.get("came_late", NOT_KEPT),
        "excluded": run.classes[ItemClass.OUT_OF_SCOPE]["count"],
        "rejected": run.classes[ItemClass.UNREADABLE]["count"],
        "totals": {side: run.totals[side] for side in run.totals if isinstance(run.totals[side], dict)},
        "items": run.totals["items"],
        "unexplained": run.residual,
        "rules": kept.get("rules", {"plan": run.rules_version, "type": run.type_version}),
        "run_by": run.actor,
        "started_at": _instant(run.started_at),
        "finished_at": _instant(run.finished_at) if run.finished_at else None,
        "digest": run.digest,
        "tieout": kept.get("tieout", NOT_KEPT),
        "author": author,
        "made_at": _instant(now),
        "not_tested": kept["not_tested"],
    }


def lines(told: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield it line by line, a name and its value: `totals ledger amounts ZAR`, `1340.00`."""
    for name, value in told.items():
        if isinstance(value, Mapping):
            yield from lines(value, f"{before}{name} ")
        elif isinstance(value, list):
            yield from ((f"{before}{name} {place}", one) for place, one in enumerate(value, 1))
        else:
            yield f"{before}{name}", value


def _shown(kept: Any) -> Any:
    """Return what was kept of a question without the values of its query, which older runs have kept."""
    if isinstance(kept, Mapping) and "question" in kept:
        return {**kept, "question": showing.address(kept["question"])}
    return kept


def _asked(kind: OperationType) -> dict[str, Any]:
    """Return what is asked of the destination, as configured: no secret, for those stand in other lines."""
    call, there = kind.how.list, kind.destination
    assert call is not None  # a plan's type has a list
    digest = hashlib.sha256(canonical(call.model_dump(mode="json"))).hexdigest()
    return {"connector": there.connector, "question": _question(call), "sha256": digest}


def _question(call: ListCall) -> str:
    """Say what is asked; a query is known by the digest alone: a text inside may be a secret by mistake."""
    if call.query:
        return A_QUERY
    return f"{call.method} {showing.address(call.path)}" if call.path else "the newest export of its folder"


def _source(run: Run) -> dict[str, Any]:
    """Return what was asked of the source and what came: no secret, for those stand in other lines."""
    rules, told = run.plan.third, run.sides["source"]
    assert rules is not None  # it was read by them
    call = rules.list
    return {
        "name": told["name"],
        "connector": rules.connector,
        "question": _question(call),
        "since": _instant(sources.since(run, rules)),
        "sha256": hashlib.sha256(canonical(call.model_dump(mode="json"))).hexdigest(),
        "rows": told["rows"],
        "pages": len(told["pages"]),
        "repeated": told["repeated"],
        "complete": told["complete"],
        "why": told["why"],
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
