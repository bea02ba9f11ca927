"""Contents of a record beside the payload that was meant, by keyed digests: no value is kept for it.

Which fields are compared, and where the record has each, its type's rules say (`record.compare`). A field
stands for all that is below it, and has one digest over those of its leaves. What the payload does not have
was not meant: it is not compared.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal

from ledger.rules import digests
from ledger.rules.calls import RecordMap
from ledger.rules.digests import KEY_ID
from ledger.rules.errors import KeyringError, Malformed, TooLarge
from ledger.rules.keyring import Keyring
from ledger.rules.paths import split
from ledger.rules.records import Unreadable, search

Digests = Mapping[str, str]
"""A digest for each field."""


def meant(leaves: Mapping[str, str], fields: Iterable[str]) -> Digests:
    """Return the digest of each field that a payload has; `leaves`: those of the payload."""
    found = {}
    for field in fields:
        below = f"{field}."
        ours = {path: one for path, one in leaves.items() if path == field or path.startswith(below)}
        if ours:
            found[field] = _together(ours)
    return found


def values(map: RecordMap, item: object) -> dict[str, object]:
    """Return what a record has in each field, as JSON has it; None for nothing. Raises Unreadable."""
    return {field: _plain(field, search(place, item)) for field, place in map.compare.items()}


def there(keyring: Keyring, values: Mapping[str, object], *, key_id: str) -> Digests:
    """Return the digest of each field of a record under one key; raises Unreadable, KeyringError."""
    found = {}
    for field, value in values.items():
        try:
            found[field] = _together(digests.leaves_under(keyring, split(field), value, key_id=key_id))
        except (Malformed, TooLarge):
            raise Unreadable(f"{field} has something that cannot be compared") from None
    return found


def differing(
    leaves: Mapping[str, str], map: RecordMap, item: object, *, keyring: Keyring
) -> tuple[str, ...]:
    """Return the fields of a record that are not as an operation's payload has them; raises Unreadable.

    None where the key that the payload's digests were made with is listed no more.
    """
    wanted = meant(leaves, map.compare)
    if not wanted:
        return ()
    try:
        held = there(keyring, values(map, item), key_id=leaves.get(KEY_ID, ""))
    except KeyringError:
        return ()
    return tuple(field for field in wanted if wanted[field] != held[field])


def _together(leaves: Mapping[str, str]) -> str:
    lines = "\n".join(f"{path} {leaves[path]}" for path in sorted(leaves))
    return hashlib.sha256(lines.encode()).hexdigest()


def _plain(field: str, value: object) -> object:
    """Return a value as JSON has it, so that a number is one number however it is written."""
    if isinstance(value, Decimal):
        whole = value.is_finite() and value == value.to_integral_value() and value.adjusted() < 15
        return int(value) if whole else float(value)
    if isinstance(value, dict):
        return {str(name): _plain(field, member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(field, member) for member in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    raise Unreadable(f"{field} is nothing that can be compared")
