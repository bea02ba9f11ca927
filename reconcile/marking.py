"""Records that no single field ties to their operation: a look-up's `match` tells them, and so it does here.

What a record carries at those places is written out in words ("order.number = 483, kind = order") and stands
as its reference until an operation is found that would be written out alike. A comma within a value is
doubled, so that no two records come out alike which a look-up would tell apart. One for which others could be
taken, as a correction of the same source record, is never found by it: the checks do not tell them apart.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ledger.models import OperationType
from ledger.rules import keys, placeholders, records

COLUMNS = {
    "key": "o.key",
    "source.system": "o.source_system",
    "source.reference": "o.source_reference",
    "source.version": "o.source_version",
    placeholders.FIRST: """coalesce(nullif(o.after_reference, ''), (
        SELECT f.destination_reference FROM ledger_operation AS f
        WHERE f.id = ledger_first(o.after_id) AND f.state = 'completed'
    ), '')""",
}
"""What a match may name of an operation, as a look-up fills it in."""

# Whether another of the type comes after the same one, or after a correction of it.
ALONE = "count(*) OVER (PARTITION BY coalesce(first.corrects_id, first.id)) = 1"

LINK = """
WITH wanted AS MATERIALIZED (
    SELECT DISTINCT reference FROM reconcile_record
    WHERE run_id = %(run)s AND side = 'destination' AND operation_id IS NULL AND reference <> ''
), written AS (
    SELECT id, told, CASE WHEN length(words) <= {longest} THEN words
        ELSE encode(sha256(convert_to(words, 'UTF8')), 'hex') END AS reference
    FROM (
        SELECT o.id, {words} AS words, {told} AS told
        FROM ledger_operation AS o LEFT JOIN ledger_operation AS first ON first.id = o.after_id
        WHERE o.operation_type_id = %(type)s
    ) AS ours
), fits AS (
    SELECT reference, count(*) FILTER (WHERE told) AS told, min(id) FILTER (WHERE told) AS operation_id
    FROM written JOIN wanted USING (reference) GROUP BY reference
)
UPDATE reconcile_record AS d
SET operation_id = o.id, state = coalesce(o.state, ''), reference = coalesce(o.key, d.reference),
    own = coalesce(d.external_id <> '' AND d.external_id = o.destination_reference, false),
    why = CASE WHEN NOT d.readable THEN d.why WHEN o.id IS NULL THEN %(several)s ELSE '' END
FROM fits LEFT JOIN ledger_operation AS o ON o.id = fits.operation_id AND fits.told = 1
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.operation_id IS NULL
    AND d.reference = fits.reference
"""
SEVERAL = "It could be of more than one operation."


def written_out(match: Mapping[str, str], item: object) -> str:
    """Return in words what tells a record apart, "" where a part of it is blank; raises Unreadable.

    Of what a drill has made that is the drill's key, and of words that are too long their digest.
    """
    marks = {place: records.read_text(records.search(place, item), place) for place in sorted(match)}
    if not all(text.strip() for text in marks.values()):
        return ""
    drilled = next((text for text in marks.values() if re.match(keys.RESERVED, text)), "")
    words = drilled or ", ".join(f"{place} = {text.replace(',', ',,')}" for place, text in marks.items())
    return words if len(words) <= records.TEXT_MAX else hashlib.sha256(words.encode()).hexdigest()


def linking(kind: OperationType) -> tuple[str, dict[str, Any]] | None:
    """Return the statement that gives records their operations, or says that several fit, and its values.

    It lacks those that every statement of a run has. None where a record's reference tells.
    """
    match = kind.how.lookup.match if kind.how.lookup is not None else {}
    if not match:
        return None
    values: dict[str, Any] = {"several": SEVERAL}
    words, told = _written(match, values), _told(match, kind, values)
    return LINK.format(words=words, told=told, longest=records.TEXT_MAX), values


def _written(match: Mapping[str, str], values: dict[str, Any]) -> str:
    """Return SQL that writes an operation out as its record would be; NULL where a part is blank."""
    pieces: list[str] = []
    for place in sorted(match):
        comma = ", " if pieces else ""
        told = f"replace({_filled(match[place], values)}, ',', ',,')"
        pieces += [_put(f"{comma}{place} = ", values), told]
    return " || ".join(pieces)


def _filled(template: str, values: dict[str, Any], *, escaped: str = "") -> str:
    """Return SQL that fills a template in, with these characters of its values percent-encoded."""
    pieces = []
    for literal, name in placeholders.pieces(template):
        if literal:
            pieces.append(_put(literal, values))
        if not name:
            continue
        value = f"nullif({COLUMNS[name]}, '')"
        for character in escaped:
            encoded = _put(keys.percent(character), values)
            value = f"replace({value}, {_put(character, values)}, {encoded})"
        pieces.append(value)
    return f"({' || '.join(pieces)})"


def _told(match: Mapping[str, str], kind: OperationType, values: dict[str, Any]) -> str:
    """Return SQL that says whether an operation's fields tell it from every other of its type."""
    named = {name for template in match.values() for name in placeholders.named(template)}
    if "key" in named:
        return "true"
    if placeholders.FIRST in named:
        return ALONE
    if not kind.key_template:
        return "false"
    # "%" comes first: what was encoded before it would be encoded again.
    escaped = "".join(sorted(keys.separators(kind.key_template), key=lambda one: one != "%"))
    return f"o.key = {_filled(kind.key_template, values, escaped=escaped)}"


def _put(text: str, values: dict[str, Any]) -> str:
    """Keep a text beside the statement, and return what stands for it there."""
    name = f"text_{len(values)}"
    values[name] = text
    return f"%({name})s::text"
