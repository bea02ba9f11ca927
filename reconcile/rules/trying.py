"""Try changed rules on the lines that a plan's latest run has kept: what would change; nothing is written.

The lines are copied into a run that is never committed, and classified there as a run does it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from ledger.rules.errors import NotNow
from reconcile import actions, comparing
from reconcile.classes import ItemClass
from reconcile.configuration import Refused, plans, prepared, source
from reconcile.configuration.wrongs import Wrong
from reconcile.models import Plan, Record, Run
from reconcile.reports import aligned
from reconcile.rules import declared, matching
from reconcile.sources import comparing as rows

TRIED = ("rules", "tolerance", "tolerance_cap")
"""What of a plan decides when lines that are read already are compared."""
SHOWN = 50
RESULTS = frozenset({"id", "run", "item_class", "pair", "backs"})
EVERY = """
    SELECT r.side, r.number, r.reference, r.external_id, r.amount, r.currency, r.rule,
        r.item_class IS NOT NULL AS is_item,
        coalesce(r.item_class, l.item_class, i.item_class) AS item_class
    FROM reconcile_record AS r
    LEFT JOIN reconcile_record AS l ON l.run_id = {run} AND l.pair_id = r.id
    LEFT JOIN reconcile_record AS i ON i.run_id = {run} AND i.id = r.backs_id
    WHERE r.run_id = {run}
"""
BOTH = f"WITH was AS ({EVERY.format(run='%(kept)s')}), now AS ({EVERY.format(run='%(copy)s')})"
COUNTED = """
SELECT item_class, count(*) FILTER (WHERE before), count(*) FILTER (WHERE NOT before) FROM (
    SELECT item_class, true AS before FROM was WHERE is_item
    UNION ALL SELECT item_class, false FROM now WHERE is_item
) AS items GROUP BY item_class
"""
CHANGED = """
SELECT now.side, was.reference, now.external_id, now.amount::text, now.currency, was.item_class,
    now.item_class, now.rule, count(*) OVER () AS all_of_them
FROM was JOIN now USING (side, number)
WHERE was.item_class IS DISTINCT FROM now.item_class OR was.rule <> now.rule
ORDER BY now.side DESC, now.number LIMIT %(shown)s
"""


@dataclass(frozen=True)
class Trial:
    """What changed rules would make of a run's lines."""

    run: Run
    classes: dict[str, tuple[int, int]]
    """Items in each class, as the run had it and by the changed rules."""
    lines: int
    """How many lines would be in another class, or there by another rule."""
    changed: list[dict[str, str]]
    """The first of them."""
    unkept: list[str]
    """Places of records that the changed rules read, and of which the run has kept nothing."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "run": str(self.run.uid),
            "rules": self.run.rules_version,
            "classes": {name: {"before": was, "after": now} for name, (was, now) in self.classes.items()},
            "lines": self.lines,
            "changed": self.changed,
            "not_kept": self.unkept,
        }

    def table(self) -> str:
        """Lay it out for a terminal."""
        there = self.run.plan.operation_type.destination.title
        head = f"Tried on run {self.run.pk} of {self.run.plan.name}, by its kept lines. Nothing is changed."
        rows_ = [("class", "before", "after")]
        rows_ += [(ItemClass(name).title(there), str(a), str(b)) for name, (a, b) in self.classes.items()]
        said = [head, "", *aligned(rows_, right=(1, 2))]
        for place in self.unkept:
            said.append(f"Nothing was kept of {place}: a rule that reads it finds nothing here.")
        said += ["", f"{self.lines} line{'s' * (self.lines != 1)} would be otherwise"]
        if self.changed:
            names = ("side", "reference", "id", "amount", "before", "after", "rule")
            told = [tuple(one[name] or "–" for name in names) for one in self.changed]
            said += ["", *aligned([names, *told], right=(3,))]
        return "\n".join(said)


def from_file(plan: Plan, file: Path) -> Trial:
    """Try what a configuration file says of a plan; raises Refused with every wrong line, and NotNow."""
    layout = prepared(source.read(file)).layout
    part = layout.plans.get(plan.name)
    if part is None:
        raise Refused([Wrong(f"{file.name} says nothing of {plan.name}.", f"Add [plans.{plan.name}].")])
    columns = plans.columns(part)
    return tried(plan, {name: columns[name] for name in TRIED})


def tried(plan: Plan, changes: dict[str, Any]) -> Trial:
    """Compare the kept lines of a plan's latest run as if it had these rules; NotNow where there are none."""
    kept = Run.objects.filter(plan=plan, state=Run.State.DONE).order_by("-pk").first()
    if kept is None or not Record.objects.filter(run=kept).exists():
        raise NotNow("No run of the plan has kept lines to try rules on: run it first.")
    before = declared.places(declared.of(plan))
    with transaction.atomic():
        trial = _compared(plan, kept, changes, before)
        transaction.set_rollback(True)
    return trial


def _compared(plan: Plan, kept: Run, changes: dict[str, Any], before: list[str]) -> Trial:
    copy = actions.start(
        plan,
        window_from=kept.window_from,
        window_to=kept.window_to,
        actor=kept.actor,
        days=(kept.first_day, kept.last_day),
        dry_run=True,
    )
    copy.plan, copy.sides, copy.grace_s = plan, kept.sides, kept.grace_s
    values = {"kept": kept.pk, "copy": copy.pk, "shown": SHOWN}
    columns = [field.column for field in Record._meta.concrete_fields if field.name not in RESULTS]
    with connection.cursor() as cursor:
        names = ", ".join(columns)
        cursor.execute(
            f"INSERT INTO reconcile_record (run_id, {names})"  # noqa: S608  # names of our own columns
            f" SELECT %(copy)s, {names} FROM reconcile_record WHERE run_id = %(kept)s",
            values,
        )
        matching.release(cursor, comparing.values(copy))
        for name, value in changes.items():
            setattr(plan, name, value)
        comparing.classify(copy)
        rows.classify(copy)
        cursor.execute(BOTH + COUNTED, values)
        counted = {name: (was, now) for name, was, now in cursor.fetchall()}
        cursor.execute(BOTH + CHANGED, values)
        changed = cursor.fetchall()
    kept.plan = plan
    return Trial(
        run=kept,
        classes={str(one): counted[one] for one in ItemClass if one in counted},
        lines=changed[0][-1] if changed else 0,
        changed=[_shown(*line[:-1]) for line in changed],
        unkept=[place for place in declared.places(declared.of(plan)) if place not in before],
    )


def _shown(*told: str | None) -> dict[str, str]:
    names = ("side", "reference", "id", "amount", "currency", "before", "after", "rule")
    return {name: text or "" for name, text in zip(names, told, strict=True)}
