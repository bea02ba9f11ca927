"""Two statements into classes, by the statement that classifies a run.

The lines are written in a transaction that is never committed: nobody else sees them, and nothing of the
files is there afterwards, however it ends. The source's lines stand where a run has the ledger's operations.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db import connection, transaction

from reconcile import comparing, sums, tying
from reconcile.classes import ItemClass, is_finding
from reconcile.comparing import LIVE, whole_sets
from reconcile.statements.reading import Line, Statement
from reconcile.sums import Side
from reconcile.tying import Tie

CLASSES = [str(item_class) for item_class in ItemClass if is_finding(item_class)]
UNTOLD = "Several lines on both sides carry it with other amounts: which belongs to which cannot be told."
TABLE = "reconcile_compared"
CHUNK = 1000
"""Lines that are written at once."""
NULL = r"\N"
COLUMNS = (
    "run_id",
    "id",
    "side",
    "number",
    "external_id",
    "shown",
    "reference",
    "amount",
    "currency",
    "occurred_on",
    "readable",
    "why",
    "operation_id",
)
COPY = f"COPY reconcile_compared ({', '.join(COLUMNS)}) FROM STDIN"

# Most lines of two exports are alike: a reference that is there once on either side, with one amount. The
# statement that classifies would call each such pair matched, whatever else there is; they are summed up and
# taken out before it.
ALIKE = """
WITH alike AS (
    SELECT reference FROM reconcile_compared WHERE run_id = %(run)s AND reference <> ''
    GROUP BY reference
    HAVING count(*) = 2 AND count(*) FILTER (WHERE side = 'ledger') = 1 AND bool_and(readable)
        AND min(amount) = max(amount) AND min(currency COLLATE "C") = max(currency COLLATE "C")
), gone AS (
    DELETE FROM reconcile_compared AS t USING alike
    WHERE t.run_id = %(run)s AND t.reference = alike.reference
    RETURNING t.side, t.currency, t.amount
)
SELECT side, currency, count(*), sum(amount) FROM gone GROUP BY side, currency
"""
WORK_MEM = "SET LOCAL work_mem = '64MB'"
# Where the source itself has a reference several times, lines that are alike belong together, the first with
# the first. What is left is compared where one line is left on the source's side; where more are left on both
# sides, nothing tells which belongs to which. A line's number keeps them apart from then on.
PAIR_SEVERAL = """
WITH several AS (
    SELECT reference, min(operation_id) AS first FROM reconcile_compared
    WHERE run_id = %(run)s AND side = 'ledger' AND reference <> '' GROUP BY reference HAVING count(*) > 1
), counted AS (
    SELECT t.id, t.side, t.reference, t.amount, t.currency, t.operation_id, several.first, row_number() OVER (
        PARTITION BY t.side, t.reference, t.currency, t.amount ORDER BY t.occurred_on, t.number
    ) AS nth
    FROM reconcile_compared AS t JOIN several USING (reference) WHERE t.run_id = %(run)s
), alike AS (
    SELECT s.id AS source_id, d.id
    FROM counted AS s JOIN counted AS d USING (reference, currency, amount, nth)
    WHERE s.side = 'ledger' AND d.side = 'destination'
), rest AS (
    SELECT c.*, count(*) FILTER (WHERE c.side = 'ledger') OVER left_over AS ours,
        count(*) FILTER (WHERE c.side = 'destination') OVER left_over AS theirs,
        min(c.operation_id) OVER left_over AS only_one
    FROM counted AS c
    WHERE c.id NOT IN (SELECT id FROM alike UNION ALL SELECT source_id FROM alike)
    WINDOW left_over AS (PARTITION BY c.reference)
), apart AS (
    SELECT source_id AS id, source_id AS belongs, false AS own, false AS untold FROM alike
    UNION ALL
    SELECT id, source_id, true, false FROM alike
    UNION ALL
    SELECT id, CASE WHEN side = 'ledger' OR ours > 1 THEN id WHEN ours = 1 THEN only_one ELSE first END,
        false, ours > 1 AND theirs > 0
    FROM rest
)
UPDATE reconcile_compared AS t
SET reference = t.reference || chr(31) || apart.belongs, own = apart.own,
    looked = CASE WHEN apart.untold THEN %(ambiguous)s ELSE t.looked END,
    why = CASE WHEN apart.untold AND t.why = '' THEN %(untold)s ELSE t.why END
FROM apart WHERE t.run_id = %(run)s AND apart.id = t.id
"""
LINK = """
UPDATE reconcile_compared AS d SET operation_id = s.operation_id
FROM reconcile_compared AS s
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.reference <> ''
    AND s.run_id = %(run)s AND s.side = 'ledger' AND s.reference = d.reference
"""
# The same reference on either side but for noughts before it: a spreadsheet has taken a number of it.
LOST = """
WITH alone AS (
    SELECT id, side, shown, ltrim(shown, '0') AS bare FROM reconcile_compared
    WHERE run_id = %(run)s AND item_class = ANY(%(alone)s) AND reference <> '' AND shown ~ '^[0-9]+$'
)
UPDATE reconcile_compared AS t
SET why = format('The other file has %%s: noughts before it were lost.', b.shown)
FROM alone AS a JOIN alone AS b ON b.bare = a.bare AND b.side <> a.side AND b.shown <> a.shown
WHERE t.run_id = %(run)s AND t.id = a.id AND t.why = ''
"""
# The same to whoever reads it: a letter of another alphabet, or another blank, stands in one of them.
LOOKS_ALIKE = """
WITH alone AS (
    SELECT id, side, shown,
        regexp_replace(
            translate(normalize(shown, NFKC), %(others)s, %(latin)s), '[[:space:]]', '', 'g'
        ) AS bare
    FROM reconcile_compared WHERE run_id = %(run)s AND item_class = ANY(%(alone)s) AND reference <> ''
)
UPDATE reconcile_compared AS t
SET why = format(
    'The other file has %%s, which looks the same: it has another letter, dash or blank.', b.shown
)
FROM alone AS a JOIN alone AS b ON b.bare = a.bare AND b.side <> a.side AND b.shown <> a.shown
WHERE t.run_id = %(run)s AND t.id = a.id AND t.why = ''
"""
# The longest of one file, and what the other file has goes on where they end: its column was too short.
CUT = """
WITH alone AS (
    SELECT id, side, shown, length(shown) AS long FROM reconcile_compared
    WHERE run_id = %(run)s AND item_class = ANY(%(alone)s) AND reference <> ''
), longest AS (
    SELECT side, max(long) AS most FROM alone GROUP BY side HAVING max(long) >= %(cut_from)s
), pairs AS (
    SELECT a.id AS short_id, a.shown AS short, b.id AS whole_id, b.shown AS whole
    FROM alone AS a JOIN longest USING (side)
        JOIN alone AS b ON b.side <> a.side AND left(b.shown, most) = a.shown AND b.long > most
    WHERE a.long = most
), said AS (
    SELECT short_id AS id, format('The other file has %%s: this one may have been cut.', min(whole)) AS why
    FROM pairs GROUP BY short_id
    UNION ALL
    SELECT whole_id, format('The other file has %%s, which may have been cut.', min(short))
    FROM pairs GROUP BY whole_id
)
UPDATE reconcile_compared AS t SET why = said.why FROM said
WHERE t.run_id = %(run)s AND t.id = said.id AND t.why = ''
"""
CUT_FROM = 8
"""How long references are at the least of which one is called cut: short ones begin alike by chance."""
OTHERS = "АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο‐‑‒–—−"
LATIN = "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXo------"
"""Cyrillic and Greek letters and dashes, and what each looks like."""
FOUND = """
WITH found AS (
    SELECT t.item_class, t.shown, t.reference, t.id, t.side, t.operation_id, t.why, d.why AS pair_why,
        1 AS items,
        CASE WHEN t.item_class = ANY(%(differing)s) THEN abs(d.amount - t.amount) ELSE t.amount END AS amount,
        CASE WHEN t.amount IS NULL THEN '' ELSE t.currency END AS currency
    FROM reconcile_compared AS t
    LEFT JOIN reconcile_compared AS d ON d.run_id = %(run)s AND d.id = t.pair_id
    WHERE t.run_id = %(run)s AND t.item_class = ANY(%(classes)s) AND t.item_class <> %(duplicate)s
    UNION ALL
    SELECT item_class, min(shown), reference, min(id), side, min(operation_id), '', '', count(*), sum(amount),
        CASE WHEN sum(amount) IS NULL THEN '' ELSE currency END
    FROM reconcile_compared WHERE run_id = %(run)s AND item_class = %(duplicate)s
    GROUP BY item_class, reference, side, currency
)
"""
SUM_UP = "SELECT item_class, currency, sum(amount), count(*) FROM found GROUP BY item_class, currency"
READ = """
, there AS (
    SELECT place, jsonb_agg(line ORDER BY surplus, number) AS lines FROM (
        SELECT CASE WHEN reference = '' THEN chr(30) || id ELSE reference END AS place, number,
            item_class IS NOT DISTINCT FROM %(duplicate)s AS surplus,
            jsonb_build_array(number, external_id, amount::text, currency, occurred_on) AS line
        FROM reconcile_compared
        WHERE run_id = %(run)s AND side = 'destination' AND reference IN (SELECT reference FROM found)
    ) AS lines GROUP BY place
)
SELECT f.item_class, f.shown, f.amount, f.currency, f.items, coalesce(nullif(f.why, ''), f.pair_why, ''),
    CASE WHEN s.id IS NOT NULL
        THEN jsonb_build_array(s.number, s.external_id, s.amount::text, s.currency, s.occurred_on)::text END,
    coalesce(there.lines, '[]')::text
FROM found AS f
LEFT JOIN reconcile_compared AS s ON s.run_id = %(run)s AND s.side = 'ledger' AND s.id = f.operation_id
LEFT JOIN there ON there.place = CASE
    WHEN f.reference <> '' THEN f.reference WHEN f.side = 'destination' THEN chr(30) || f.id END
ORDER BY array_position(%(classes)s, f.item_class), f.shown, f.id
"""


@dataclass(frozen=True)
class Held:
    """A line of a file, as a difference shows it; the amount is in major units of its currency."""

    line: int
    id: str
    amount: Decimal | None
    currency: str
    day: str | None


@dataclass(frozen=True)
class Difference:
    """One difference: its class, what is in either file, and what it comes to."""

    item_class: str
    reference: str
    amount: Decimal | None
    currency: str
    items: int
    why: str
    source: Held | None
    destination: list[Held]


@dataclass(frozen=True)
class Sum:
    """What the differences of a class come to in one currency."""

    item_class: str
    currency: str
    amount: Decimal | None
    differences: int
    """How many there are: what is too many under one reference is one, of several items."""


Result = tuple[Tie, list[Sum], Iterator[Difference]]


def _nobody(lines: int) -> None:
    """Tell nobody how far it is."""


@contextmanager
def compared(
    source: Statement, destination: Statement, *, watch: Callable[[int], None] = _nobody
) -> Iterator[Result]:
    """Read both files and put every line into one class; raises FileRefused.

    Gives the tie-out, what the differences come to, and the differences in the order of their classes, read
    as they are needed. At the end all lines are gone. `watch` is told how many lines are written so far; what
    it raises breaks the comparison off.
    """
    values = _values()
    with transaction.atomic():
        try:
            _stage(source.lines(), values["run"], side="ledger", above=0, watch=watch)
            above = source.count
            _stage(destination.lines(), values["run"], side="destination", above=above, watch=watch)
            with whole_sets() as cursor:
                cursor.execute(WORK_MEM)
                cursor.execute(ALIKE, values)
                alike = cursor.fetchall()
                for statement in (PAIR_SEVERAL, LINK, comparing.classifying(TABLE), LOST, LOOKS_ALIKE, CUT):
                    cursor.execute(statement, values)
                cursor.execute(FOUND + SUM_UP, values)
                come_to = [Sum(*row) for row in cursor.fetchall()]
            totals = (source.totals, destination.totals)
            tie = tying.tie_lines(values["run"], *totals, records=destination.count, table=TABLE)
            yield _with_alike(tie, alike), come_to, _differences(values)
        finally:
            transaction.set_rollback(True)


def _with_alike(tie: Tie, alike: Sequence[tuple[str, str, int, Decimal]]) -> Tie:
    """Count the pairs that were taken out into what is matched."""
    lines = {(line.item_class, line.currency): line for line in tie.lines}
    matched, pairs = str(ItemClass.MATCHED), 0
    for side, currency, count, amount in alike:
        line = lines.setdefault((matched, currency), sums.Line(matched, currency))
        held: Side = getattr(line, side)
        held.count, held.amount = held.count + count, held.amount + amount
        if side == "ledger":
            line.items, line.amount = line.items + count, line.amount + amount
            pairs += count
    order = [*ItemClass]
    ordered = sorted(
        lines.values(), key=lambda line: (order.index(ItemClass(line.item_class)), line.currency)
    )
    return replace(tie, lines=ordered, items=tie.items - pairs)


def _stage(
    lines: Iterator[Line], run_id: int, *, side: str, above: int, watch: Callable[[int], None]
) -> None:
    ours = side == "ledger"
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        rows: list[str] = []
        for place, line in enumerate(lines, above + 1):
            rows.append(_copied(line, f"{run_id}\t{place}\t{side}", str(place) if ours else NULL))
            if len(rows) == CHUNK:
                copy.write("".join(rows))
                rows.clear()
                watch(place)
        copy.write("".join(rows))


def _copied(line: Line, begin: str, operation: str) -> str:
    """Write a line as COPY takes it: by hand, which is several times as quick as value by value."""
    texts = f"{line.id}\t{line.shown}\t{line.reference}"
    why = line.why
    if "\\" in texts or "\\" in why:
        texts, why = texts.replace("\\", r"\\"), why.replace("\\", r"\\")
    amount = NULL if line.amount is None else f"{line.amount:f}"
    day = NULL if line.day is None else line.day.isoformat()
    readable = "f" if why else "t"
    return (
        f"{begin}\t{line.number}\t{texts}\t{amount}\t{line.currency}\t{day}\t{readable}\t{why}\t{operation}\n"
    )


def _values() -> dict[str, Any]:
    """Return the statements' parameters; lines of files know no window, tolerance or drill."""
    return {
        "run": secrets.randbits(62),
        "classes": CLASSES,
        "duplicate": ItemClass.DUPLICATE.value,
        "alone": [ItemClass.MISSING.value, ItemClass.UNEXPECTED.value],
        "differing": [ItemClass.AMOUNT_OVER.value, ItemClass.AMOUNT_UNDER.value],
        "others": OTHERS,
        "latin": LATIN,
        "cut_from": CUT_FROM,
        "ambiguous": ItemClass.AMBIGUOUS.value,
        "untold": UNTOLD,
        "live": LIVE,
        "window_from": "-infinity",
        "window_to": "infinity",
        "first_day": "-infinity",
        "last_day": "infinity",
        "zone": "UTC",
        "tolerance": "{}",
        "in_part": [],
        "reserved": "(?!x)x",
    }


def _differences(values: Mapping[str, Any]) -> Iterator[Difference]:
    with whole_sets() as cursor:
        cursor.execute(f"DECLARE compared_read NO SCROLL CURSOR FOR {FOUND}{READ}", values)
        while True:
            cursor.execute("FETCH 1000 FROM compared_read")
            rows = cursor.fetchall()
            if not rows:
                return
            for *told, ours, theirs in rows:
                item_class, reference, amount, currency, items, why = told
                source = _held(json.loads(ours)) if ours else None
                there = [_held(one) for one in json.loads(theirs)]
                yield Difference(item_class, reference, amount, currency, items, why, source, there)


def _held(cells: Sequence[Any]) -> Held:
    line, identity, amount, currency, day = cells
    return Held(line, identity, None if amount is None else Decimal(amount), currency, day)
