"""Contents of listed records beside the payloads that were meant: by digests in SQL, and never by a value.

While a page comes in, each record gets a digest of every compared field, under each key that payloads are
known by; the ledger's lines get theirs from the digests of their payloads' leaves. So no payload is
opened to be compared, and none of a million lines read. What a record has is kept for its page, sealed, while
its line is.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Q

from ledger.actions.submission import digest_keys, payload_keys
from ledger.models import OperationType
from ledger.rules import contents, sealing
from ledger.rules.digests import canonical
from ledger.rules.errors import SealError
from reconcile.classes import ItemClass
from reconcile.models import Record, Run

KEPT_MAX = 16 * 1024
"""Bytes of a record's compared contents that are kept for its page."""

# An operation's digests under their key's id; NULL where its payload has none of the fields. A field stands
# for all that is below it: as `ledger.rules.contents` puts them together.
OF_LEDGER = """(
    SELECT jsonb_build_object(
        'key', o.leaf_digests ->> '$key', 'fields', jsonb_object_agg(told.field, told.digest)
    )
    FROM (
        SELECT f.field, encode(sha256(convert_to(
            string_agg(e.path || ' ' || e.digest, E'\\n' ORDER BY e.path COLLATE "C"), 'UTF8'
        )), 'hex') AS digest
        FROM unnest(%(contents)s::text[]) AS f (field)
        JOIN jsonb_each_text(o.leaf_digests) AS e (path, digest)
            ON e.path = f.field OR starts_with(e.path, f.field || '.')
        GROUP BY f.field
    ) AS told
    HAVING count(*) > 0
)"""
NONE = "NULL::jsonb"

# What a look-up of its own brought says itself what differs.
DIFFER = """NOT coalesce(
            jsonb_extract_path(d.contents, 'by', l.contents ->> 'key') @> (l.contents -> 'fields'), true
        ) OR d.contents ? 'differs'"""

Read = Callable[[object, str], Mapping[str, Any] | None]
"""Reads what a record's contents are compared by; with its id. Raises Unreadable."""


def fields_of(kind: OperationType) -> list[str]:
    """Return the fields of a payload that a type's records are compared by."""
    record = kind.how.record
    return [] if record is None else list(record.compare)


def reader(kind: OperationType) -> Read:
    """Return what reads the contents of a type's records."""
    record = kind.how.record
    if record is None or not record.compare:
        return lambda item, identity: None
    keyring = digest_keys()

    def read(item: object, identity: str) -> Mapping[str, Any]:
        values = contents.values(record, item)
        by = {key_id: contents.there(keyring, values, key_id=key_id) for key_id in keyring.ids}
        return {"by": by, "there": _sealed(kind, values, identity)}

    return read


def _sealed(kind: OperationType, values: Mapping[str, object], identity: str) -> str | None:
    plain = canonical(values)
    if len(plain) > KEPT_MAX:
        return None
    return base64.b64encode(sealing.seal(payload_keys(), plain, bound_to=_bound(kind, identity))).decode()


def _bound(kind: OperationType, identity: str) -> str:
    return f"record/{kind.pk}/{identity}"


def differing(line: Record, pair: Record | None) -> list[str]:
    """Return the names of the fields that a record has otherwise than its operation's payload."""
    if pair is None or pair.contents is None:
        return []
    if "differs" in pair.contents:
        return list(pair.contents["differs"])
    if line.contents is None:
        return []
    meant, there = line.contents["fields"], pair.contents["by"].get(line.contents["key"])
    return [] if there is None else [field for field in sorted(meant) if there.get(field) != meant[field]]


def known_by(line: Record, pair: Record) -> list[str]:
    """Return what is there in the fields that differ, each by its digest: whether it is another one since."""
    by = pair.contents.get("by", {}) if pair.contents else {}
    there = by.get((line.contents or {}).get("key"), {})
    return [f"{field} {there.get(field, '')}" for field in differing(line, pair)]


def not_compared(run: Run) -> int:
    """Count the matched operations whose contents nothing could be said of; a run's lines are staged."""
    lines = Record.objects.filter(run=run, side=Record.Side.LEDGER, item_class=ItemClass.MATCHED)
    known = Q(contents__key__in=digest_keys().ids, pair__contents__by__isnull=False)
    return lines.count() - lines.filter(known).count()


def there(kind: OperationType, record: Record) -> dict[str, Any] | None:
    """Open what a record had in its compared fields; None where that is not kept, or cannot be opened."""
    token = (record.contents or {}).get("there")
    if not token:
        return None
    try:
        sealed = base64.b64decode(token)
        plain = sealing.unseal(payload_keys(), sealed, bound_to=_bound(kind, record.external_id))
    except (SealError, binascii.Error):
        return None
    found: dict[str, Any] = json.loads(plain)
    return found
