"""One snapshot of a run, as a document for machines and as a table for a terminal."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

from django.db.models import Count, Sum
from django.db.models.functions import Abs

from ledger import sight
from ledger.rules.money import Money, show
from reconcile import provenance
from reconcile.classes import ItemClass
from reconcile.differences import waivers
from reconcile.models import Finding, Run
from reconcile.sums import SOURCE, amount_text, shown, sides_of

BEFORE = {"opening": "Carried in, open before", "new": "New, or in order before"}
"""What each side's total consists of when the run begins, as people read it."""
WAIVED = "Waived"
SETTLED = {
    "completed": ("completed by the one match", "completed by the one match"),
    "confirmed": ("seen there, as a person had said", "seen there, as a person had said"),
    "closed": ("case closed, for it is in order now", "cases closed, for they are in order now"),
    "held": ("held for a person", "held for a person"),
    "reopened": ("taken back into doubt, with a case", "taken back into doubt, each with a case"),
    "failed": ("declined there, with a case", "declined there, each with a case"),
    "opened": ("case opened for what no operation carries", "cases opened for what no operation carries"),
    "changed_meanwhile": ("left alone, for it changed meanwhile", "left alone, for they changed meanwhile"),
}
"""What a run does in the ledger, in words that follow the number one, or another."""


def document(run: Run, findings: Sequence[Finding], *, author: str, now: datetime) -> dict[str, Any]:
    """Return what `--json` prints: provenance, classes, totals, digest, tie-out, findings, reversed.

    `now`: as of when it is told what is waived.
    """
    told = head(run, waivers.waived(run, now, found=findings), provenance.of(run, author=author, now=now))
    return {**told, "findings": [finding_shown(finding) for finding in findings]}


def head(run: Run, waived: waivers.Waived, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a run's figures come from, what it comes to, and its tie-out, before its findings."""
    told = {"tie_out": tie_out(run, waived), "reversed": run.reversed, "matched": run.matched}
    return {"provenance": origin, **figures(run), **told}


def books(run: Run, findings: Iterable[Finding]) -> dict[str, Any]:
    """Return what the run's digest covers, and the digest: figures and findings."""
    return {**figures(run), "findings": [finding_shown(finding) for finding in findings]}


def tie_out(run: Run, waived: waivers.Waived) -> dict[str, Any]:
    """Return the tie-out: on each side carried in and new come to all classes and what is waived of them."""
    tie = waivers.set_apart(run.tie, waived)
    return {name: tie.get(name, {}) for name in (*BEFORE, "lines", "waived", *sides_of(tie))}


def figures(run: Run) -> dict[str, Any]:
    """Return what a run comes to, without its findings."""
    return {
        "classes": {str(item_class): run.classes[item_class] for item_class in ItemClass},
        "totals": run.totals,
        "residual": run.residual,
        "digest": run.digest,
    }


def why(finding: Finding) -> str:
    """Say why it is a difference, and which operation of another type carries it."""
    others = [f"one of {other['type']} does ({other['state']})" for other in elsewhere(finding)]
    if not others:
        return finding.why
    said = "; ".join(others)
    return f"{finding.why} {said[0].upper()}{said[1:]}."


def elsewhere(finding: Finding) -> list[dict[str, Any]]:
    """Return the operations of other types that carry it, of those whose types are seen here."""
    here = sight.present()
    return [other for other in finding.elsewhere if here is None or other["type"] in here.names]


def finding_shown(finding: Finding, *, types: Collection[str] = ()) -> dict[str, Any]:
    """Return one finding as the outside reads it; of other types only those among `types`, if any."""
    operation = finding.operation
    ledger = {"id": str(operation.uid), "key": operation.key, "state": finding.state} if operation else None
    return {
        "class": finding.item_class,
        "reference": finding.reference or None,
        "ledger": ledger,
        "source": finding.source,
        **({} if finding.meant is None else {"operations": finding.meant}),
        "destination": finding.destination,
        "amount": None if finding.amount is None else amount_text(finding.amount, finding.currency),
        "currency": finding.currency or None,
        "why": finding.why,
        **({"contents": finding.contents} if finding.contents else {}),
        **({"came_late": finding.came_late} if finding.came_late else {}),
        "elsewhere": [other for other in elsewhere(finding) if not types or other["type"] in types],
    }


@dataclass(frozen=True)
class Open:
    """What waits for somebody: how many differences, and in each currency how much, nothing netted."""

    count: int
    amounts: Mapping[str, Decimal]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Self:
        """Add up what is open, each finding at its full amount."""
        still = [finding for finding in findings if finding.is_open]
        amounts: dict[str, Decimal] = defaultdict(Decimal)
        for finding in still:
            if finding.amount is not None:
                amounts[finding.currency] += abs(finding.amount)
        return cls(len(still), amounts)

    @classmethod
    def stored(cls, run: Run) -> Self:
        """Let the database add up what is open of an ended run, however many it has."""
        open_ = run.findings.filter(is_open=True).order_by().values("currency")
        sums = list(open_.annotate(number=Count("pk"), sum=Sum(Abs("amount"))))
        amounts = {row["currency"]: row["sum"] for row in sums if row["currency"]}
        return cls(sum(row["number"] for row in sums), amounts)


def headline(run: Run, still: Open) -> str:
    """Say in one line whether the run is explained, and what is open."""
    if not run.explained:
        left = [
            shown(Decimal(amount), currency) for currency, amount in run.residual.items() if Decimal(amount)
        ]
        return f"Unexplained: {', '.join(left) or _items(run.totals['unexplained_items'])}"
    if not still.count:
        return "Explained; nothing is open"
    amounts = ", ".join(shown(amount, currency) for currency, amount in sorted(still.amounts.items()))
    differences = f"{still.count} open difference{'s' * (still.count != 1)}"
    return f"Explained; {differences}{', ' + amounts if amounts else ''}"


def window(run: Run) -> str:
    """Write a run's window in its plan's zone: "2026-10-26 07:02 up to 2026-11-30 07:02 SAST"."""
    zone = run.plan.zone
    start, end = (at.astimezone(zone) for at in (run.window_from, run.window_to))
    return f"{start:%Y-%m-%d %H:%M} up to {end:%Y-%m-%d %H:%M} {end.tzname()}"


def _items(count: int) -> str:
    return f"{count} item{'s' * (count != 1)}"


def table(run: Run, findings: Sequence[Finding], *, now: datetime) -> str:
    """Lay the run out for a terminal: headline, classes and tie-out for each currency, then the findings."""
    waived = waivers.waived(run, now, found=findings)
    tie = tie_out(run, waived)
    there = run.plan.operation_type.destination.title
    pages = f"{len(run.pages)} page{'s' * (len(run.pages) != 1)}"
    lines = [
        headline(run, Open.of(findings)),
        f"{run.plan.name}: {window(run)}, {_items(run.records)} in {pages}",
    ]
    for currency in run.tie["currencies"]:
        lines += ["", *_tie_table(run, tie, currency, there)]
    if findings:
        lines += ["", *_findings_table(findings, there, {finding.fingerprint for finding, _ in waived})]
    if run.reversed:
        lines += ["", *_reversed_table(run)]
    if run.settled:
        lines += ["", f"In the ledger: {settled(run)}"]
    if gone := run.gone.count():
        lines += ["", f"{gone} gone since the last run"]
    return "\n".join(lines)


def settled(run: Run) -> str:
    """Say what the run did in the ledger: "1 completed by the one match, 2 held for a person"."""
    done = [(words, run.settled[what]) for what, words in SETTLED.items() if run.settled.get(what)]
    return ", ".join(f"{count} {one if count == 1 else several}" for (one, several), count in done)


def sides_named(run: Run) -> dict[str, str]:
    """Return the sides that a run tells of, in their order, each as people call it."""
    named = {"ledger": "Tieout", "destination": run.plan.operation_type.destination.title}
    return {SOURCE: run.sides[SOURCE]["name"], **named} if run.has_source else named


def _tie_table(run: Run, tie: Mapping[str, Any], currency: str, there: str) -> list[str]:
    held = [line for line in tie["lines"] if line["currency"] == currency]
    waived = [line for line in tie["waived"] if line["currency"] == currency]
    named = sides_named(run)
    sides = tuple(named)
    rows: list[tuple[str, ...]] = [(currency or "No amount", "items", *named.values())]
    rows += [
        (title, str(line["items"]), *(_cell(line[side], currency) for side in sides))
        for title, line in (
            *((ItemClass(line["class"]).title(there), line) for line in held),
            *((WAIVED, line) for line in waived),
        )
    ]
    every = [*held, *waived]
    items = str(sum(line["items"] for line in every))
    foot: list[tuple[str, ...]] = [("All classes", items, *(_sum(every, side, currency) for side in sides))]
    if any(tie["opening"].get(side, {}).get(currency) for side in sides):
        foot += [(title, "", *_total(tie[name], currency, sides)) for name, title in BEFORE.items()]
    foot.append(("Counted another way", "", *_total(tie, currency, sides)))
    lines = aligned([*rows, *foot], right=range(1, 2 + len(sides)))
    rule = "-" * max(map(len, lines))
    left = run.residual.get(currency, "")
    unexplained = f"Unexplained {currency} {left}" if currency else _unexplained_items(run)
    head = len(rows)
    return [lines[0], rule, *lines[1:head], rule, *lines[head:], unexplained, "=" * len(rule)]


def _total(totals: Mapping[str, Any], currency: str, sides: Sequence[str]) -> Iterator[str]:
    """Write what each side comes to in one currency."""
    nothing = {"count": 0, "amount": "0"}
    return (_cell(totals.get(side, {}).get(currency, nothing), currency) for side in sides)


def _unexplained_items(run: Run) -> str:
    return f"Unexplained items: {run.totals['unexplained_items']}"


def _sum(held: Sequence[dict[str, Any]], side: str, currency: str) -> str:
    count = sum(line[side]["count"] for line in held)
    amount = sum((Decimal(line[side]["amount"]) for line in held), Decimal(0))
    return _cell({"count": count, "amount": str(amount)}, currency)


def _cell(side: dict[str, Any], currency: str) -> str:
    if not side["count"]:
        return "–"
    return show(Money(Decimal(side["amount"]), currency)) if currency else str(side["count"])


def _findings_table(findings: Sequence[Finding], there: str, waived: Collection[str]) -> list[str]:
    rows = [("Differences", "reference", "amount", "why")]
    for finding in findings:
        amount = "–" if finding.amount is None else shown(finding.amount, finding.currency)
        title = ItemClass(finding.item_class).title(there)
        titled = f"{title}, waived" if finding.fingerprint in waived else title
        rows.append((titled, finding.reference or "–", amount, f"{why(finding)} {finding.came_late}".strip()))
    return aligned(rows, right=(2,))


def _reversed_table(run: Run) -> list[str]:
    rows: list[tuple[str, ...]] = [("Reversed", "surplus", "reversed", "net", "records")]
    for told in run.reversed:
        figures = [shown(Decimal(told[name]), told["currency"]) for name in ("surplus", "reversed", "net")]
        rows.append((told["reference"], *figures, ", ".join(record["id"] for record in told["records"])))
    return aligned(rows, right=(1, 2, 3))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = (1, 2, 3)) -> list[str]:
    """Lay rows out for a terminal, those columns to the right that hold numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
