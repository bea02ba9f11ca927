"""Findings live from run to run: since when, under which case, what is gone, and what has come back."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from ledger.models import Case
from reconcile import leasing
from reconcile.classes import ItemClass
from reconcile.comparing import LIVE, whole_sets
from reconcile.models import Finding, Run

CHUNK = 1000
ABSENT = {ItemClass.MISSING: ItemClass.UNCERTAIN, ItemClass.UNCERTAIN: ItemClass.MISSING}
"""One difference in two classes: what is not there, with and without proof."""

Name = tuple[str, str, str]
"""Class, name and currency of a difference: `_names`."""
LATEST = """
SELECT latest.id
FROM unnest(%(classes)s::text[], %(names)s::text[], %(currencies)s::text[])
    AS wanted (item_class, name, currency)
CROSS JOIN LATERAL (
    SELECT f.id
    FROM reconcile_finding AS f
    JOIN reconcile_run AS r ON r.id = f.run_id
    WHERE f.item_class = wanted.item_class AND {name} = wanted.name AND r.plan_id = %(plan)s
        AND f.run_id <> %(run)s AND (f.item_class <> %(duplicate)s OR f.currency = wanted.currency)
    ORDER BY f.id DESC
    LIMIT 1
) AS latest
"""
"""The latest one before of each wanted finding, read from the end of an index, however many there were."""
BY_REFERENCE = LATEST.format(name="f.reference")
BY_FINGERPRINT = LATEST.format(name="f.reference = '' AND f.fingerprint")

# As `_names` has it: one difference is one class under one name, absence with and without proof; a
# duplicate is one in each currency.
FOUND_AGAIN = """
UPDATE reconcile_finding AS f SET lives = false
FROM reconcile_run AS r
WHERE r.id = f.run_id AND r.plan_id = %(plan)s AND f.lives AND f.run_id <> %(run)s AND EXISTS (
    SELECT FROM reconcile_finding AS new
    WHERE new.run_id = %(run)s
        AND coalesce(nullif(new.reference, ''), new.fingerprint)
            = coalesce(nullif(f.reference, ''), f.fingerprint)
        AND CASE new.item_class WHEN %(missing)s THEN %(uncertain)s ELSE new.item_class END
            = CASE f.item_class WHEN %(missing)s THEN %(uncertain)s ELSE f.item_class END
        AND (new.item_class <> %(duplicate)s OR new.currency = f.currency)
)
"""

# Looked at again is what belongs to this run's window; what is in flight is not over. A record that tells no
# time may be older than what this run's list goes back to, unless the list that showed it went no further.
# Where more items are a surplus than stand, some were reversed in part. What only the source has goes by its
# row's own time; submitted since, it is gone, whenever that was.
GONE = """
UPDATE reconcile_finding AS f SET lives = false, gone_in_id = %(run)s
FROM reconcile_run AS r
WHERE r.id = f.run_id AND r.plan_id = %(plan)s AND f.lives AND f.run_id <> %(run)s AND (
    EXISTS (
        SELECT FROM ledger_operation AS o
        WHERE o.id = f.operation_id AND o.accepted_at >= %(window_from)s AND o.accepted_at < %(window_to)s
    ) OR CASE WHEN f.source IS NOT NULL AND f.operation_id IS NULL AND f.item_class <> %(unexpected)s THEN
        f.item_class = %(never_submitted)s AND EXISTS (
            SELECT FROM ledger_operation AS o WHERE o.operation_type_id = %(type)s AND o.key = f.reference
        ) OR %(has_source)s AND CASE
            WHEN f.source ->> 'occurred_at' IS NULL THEN r.window_from >= %(window_from)s
            WHEN length(f.source ->> 'occurred_at') = length('2026-11-10')
                THEN (f.source ->> 'occurred_at')::date BETWEEN %(first_day)s AND %(last_day)s
            ELSE (f.source ->> 'occurred_at')::timestamptz >= %(window_from)s
                AND (f.source ->> 'occurred_at')::timestamptz < %(window_to)s END
    ELSE (
        SELECT bool_and(CASE
            WHEN moment IS NULL THEN r.window_from >= %(window_from)s
            WHEN length(moment) = length('2026-11-10')
                THEN moment::date BETWEEN %(first_day)s AND %(last_day)s
            ELSE moment::timestamptz >= %(window_from)s AND moment::timestamptz < %(window_to)s END)
        FROM jsonb_array_elements(f.destination) WITH ORDINALITY AS d (record, place)
        CROSS JOIN LATERAL (SELECT record ->> 'occurred_at' AS moment) AS told
        CROSS JOIN LATERAL (
            SELECT count(*) AS standing FROM jsonb_array_elements(f.destination) WITH ORDINALITY AS d (one, n)
            WHERE n > 1 AND one ->> 'standing' = ANY(%(live)s)
        ) AS surplus
        WHERE CASE f.item_class
            WHEN %(duplicate)s
                THEN place > 1 AND (record ->> 'standing' = ANY(%(live)s) OR f.items > surplus.standing)
            ELSE place = 1 END
    ) END
) AND NOT EXISTS (
    SELECT FROM reconcile_record AS l
    WHERE l.run_id = %(run)s AND l.operation_id = f.operation_id AND l.item_class = %(in_flight)s
)
"""


def carry_on(run: Run, findings: Sequence[Finding]) -> None:
    """Let each finding that an earlier run had keep the day when it was first seen, and its case.

    What was gone between them has come back: its age begins afresh, and a case that was closed is closed.
    """
    for start in range(0, len(findings), CHUNK):
        leasing.keep(run)
        chunk = findings[start : start + CHUNK]
        known = _earlier(run, chunk)
        for finding in chunk:
            earlier = max(
                (known[one] for one in _names(finding) if one in known), key=lambda f: f.pk, default=None
            )
            if earlier is None:
                continue
            finding.came_back = earlier.gone_in_id is not None
            if not finding.came_back:
                finding.first_seen_at = earlier.first_seen_at
            finding.case = earlier.case if _decided(earlier, finding) else None


def _earlier(run: Run, findings: Sequence[Finding]) -> dict[Name, Finding]:
    """Return the latest earlier finding of the plan under each name; not every one has one."""
    named = {name for finding in findings if finding.reference for name in _names(finding)}
    unnamed = {name for finding in findings if not finding.reference for name in _names(finding)}
    pks = [*_latest(run, BY_REFERENCE, named), *_latest(run, BY_FINGERPRINT, unnamed)]
    before = Finding.objects.filter(pk__in=pks).select_related("case").defer("destination")
    return {_names(finding)[0]: finding for finding in before}


def apart(finding: Finding) -> str:
    """Return the currency that tells duplicates under one reference apart; other classes have one of each."""
    return finding.currency if finding.item_class == ItemClass.DUPLICATE else ""


def _names(finding: Finding) -> list[Name]:
    """Return what a finding goes by, in its own class first."""
    item_class, name = ItemClass(finding.item_class), finding.reference or finding.fingerprint
    sister = ABSENT.get(item_class)
    return [(str(one), name, apart(finding)) for one in (item_class, sister) if one is not None]


def _latest(run: Run, statement: str, wanted: set[Name]) -> list[int]:
    classes, names, currencies = zip(*wanted, strict=True) if wanted else ((), (), ())
    values = {"classes": list(classes), "names": list(names), "currencies": list(currencies)}
    with connection.cursor() as cursor:
        cursor.execute(statement, _values(run) | values)
        return [pk for (pk,) in cursor.fetchall()]


def _decided(earlier: Finding, finding: Finding) -> bool:
    """Say whether the earlier case still answers: it is open, or nothing has changed since."""
    case = earlier.case
    if case is None or case.closed_at is None:
        return case is not None
    return earlier.fingerprint == finding.fingerprint and not finding.came_back


def take_up(run: Run) -> None:
    """Note of earlier findings that this run, which has just stored its own, has found them again."""
    with whole_sets() as cursor:
        cursor.execute(FOUND_AGAIN, _values(run))


def let_go(run: Run) -> None:
    """Note what this run has looked at again and found in order; its own findings are stored."""
    with leasing.held(run), whole_sets() as cursor:
        cursor.execute(GONE, _values(run))


def _values(run: Run) -> dict[str, Any]:
    return {
        "plan": run.plan_id,
        "run": run.pk,
        "window_from": run.window_from,
        "window_to": run.window_to,
        "first_day": run.days[0],
        "last_day": run.days[1],
        "live": LIVE,
        "missing": ItemClass.MISSING.value,
        "uncertain": ItemClass.UNCERTAIN.value,
        "duplicate": ItemClass.DUPLICATE.value,
        "in_flight": ItemClass.IN_FLIGHT.value,
        "unexpected": ItemClass.UNEXPECTED.value,
        "never_submitted": ItemClass.NEVER_SUBMITTED.value,
        "type": run.plan.operation_type_id,
        "has_source": run.has_source,
    }


def cases_over(run: Run) -> list[Case]:
    """Return the open cases that no operation carries and whose differences are all gone."""
    living = Finding.objects.filter(run__plan=run.plan_id, lives=True).exclude(case=None)
    gone = run.gone.filter(case__operation=None, case__closed_at=None)
    return list(Case.objects.filter(pk__in=gone.values("case")).exclude(pk__in=living.values("case")))
