"""What of a run is waived at an instant, and its tie-out with that set apart: for page, file and command."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Value

from reconcile.differences import leaves
from reconcile.differences.models import Decision
from reconcile.models import Finding, Run
from reconcile.sums import Line

WAIVED = "waived"
"""What stands where a line has its class."""
Waived = list[tuple[Finding, Decision]]


def waived(run: Run, now: datetime, *, found: Iterable[Finding] | None = None) -> Waived:
    """Return a run's open differences that are waived now; as of its end those that a later run found.

    `found`: its differences, where they are read already, or not stored.
    """
    asked = Decision.objects.filter(plan=run.plan_id)
    then = asked.waivers(run.finished_at or now).annotate(lives=Value(False))
    both = asked.waivers(now).annotate(lives=Value(True)).union(then, all=True)
    # A difference that lives is asked about as of now, one that was found again since as of its run's end.
    known = {
        (bool(one.lives), one.item_class, one.name, one.currency, one.fingerprint): one  # type: ignore[attr-defined]  # above
        for one in both
    }
    if not known:
        return []
    if found is None:
        names = {one.fingerprint for one in known.values()}
        found = run.findings.filter(is_open=True, fingerprint__in=names).order_by("pk")
    about = (
        (one, known.get((one.lives, one.item_class, leaves.name_of(one), one.currency, one.fingerprint)))
        for one in found
    )
    return [(one, waiver) for one, waiver in about if waiver is not None and one.is_open]


def standing(found: Sequence[Finding], now: datetime) -> dict[int, Decision]:
    """Return who has waived what of some differences that live, by the difference's number; one query."""
    names = {one.fingerprint for one in found}
    known = {
        (one.plan_id, one.item_class, one.name, one.currency, one.fingerprint): one
        for one in Decision.objects.waivers(now).filter(fingerprint__in=names)
    }
    keys = {
        one.pk: (one.run.plan_id, one.item_class, leaves.name_of(one), one.currency, one.fingerprint)
        for one in found
    }
    return {pk: known[key] for pk, key in keys.items() if key in known}


def set_apart(tie: Mapping[str, Any], waived: Waived) -> dict[str, Any]:
    """Return a stored tie-out whose classes are without what is waived, which is `waived` by currency.

    Every total stays as it is. A difference that was found before this was written down stays in its class.
    """
    classes = {(line["class"], line["currency"]): Line.read(line) for line in tie["lines"]}
    apart: dict[str, Line] = {}
    for finding, _ in waived:
        for held in map(Line.read, finding.held or []):
            classes[held.item_class, held.currency].add(held, times=-1)
            apart.setdefault(held.currency, Line(WAIVED, held.currency)).add(held)
    left = [line.stored() for line in classes.values() if line.holds]
    return {**tie, "lines": left, "waived": [apart[currency].stored() for currency in sorted(apart)]}
