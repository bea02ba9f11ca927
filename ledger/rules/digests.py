"""Digests that prove what was reviewed is what is sent, and the key that a destination sees.

Canonical bytes are RFC 8785: the order of members, escapes and the way a number is written do not matter
(1 and 1.0 are one number); arrays keep their order; text is never normalised.

A payload's digest is keyed, so that a reader of the database cannot try out likely payloads. So is the
digest of each leaf, which lets changed paths be named when the payload itself is long gone. It is bound to
its path, and cut to 16 bytes to keep rows small: it is only ever compared with the digest at the same path,
and without the key nobody finds a second value in fewer than 2^128 tries. The same value at the same path
gives the same leaf digest in every operation.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import rfc8785

from ledger.rules import money
from ledger.rules.errors import KeyringError, Malformed, TooLarge
from ledger.rules.keyring import Keyring
from ledger.rules.paths import dotted
from ledger.rules.strict_json import MAX_INTEGER

__all__ = [
    "Keyring",
    "canonical",
    "changed_paths",
    "idempotency_key",
    "key_id_of",
    "leaf_digests",
    "leaves",
    "leaves_under",
    "payload_digest",
    "same",
]

MAX_LEAVES = 10_000
PATH_MAX = 500
"""Characters of a leaf's path at most: each leaf keeps its own, so a long name is kept thousands of times."""
LEAF_BYTES = 16
KEY_MAX_LEAST = 32
"""The shortest `key_max` of a contract that every idempotency key fits."""

AMOUNT, CURRENCY, KEY_ID = "$amount", "$currency", "$key"
"""Entries beside the payload's leaves; no member of a payload can have such a path."""

_PATH_SHOWN = 60
_LISTS = (list, tuple)
_INSTALLATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,15}")

Segments = tuple[str | int, ...]


def canonical(value: object) -> bytes:
    """Return the one way to write a JSON value (RFC 8785); raises Malformed for what JSON cannot carry."""
    if _is_simple(value):
        return _ENCODER.encode(value).encode()
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError):
        raise Malformed("The value has something that JSON cannot carry exactly.") from None


# What has neither fractions nor text beyond ASCII the standard library writes in the same bytes, far faster.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False)


def _is_simple(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return value.isascii()  # type: ignore[no-any-return]  # it is text
    if kind is dict:
        return all(map(_is_simple_name, value)) and all(map(_is_simple, value.values()))
    if kind is list or kind is tuple:
        return all(map(_is_simple, value))
    if kind is int:
        return -MAX_INTEGER <= value <= MAX_INTEGER  # type: ignore[no-any-return]  # it is a number
    return value is None or kind is bool


def _is_simple_name(name: object) -> bool:
    return type(name) is str and name.isascii()


def payload_digest(
    keyring: Keyring,
    payload: object,
    *,
    type: str,
    amount: Decimal | None,
    currency: str | None,
    key_id: str | None = None,
) -> str:
    """Return "k2:hex", HMAC-SHA-256 over type, amount (major units), currency and payload.

    `key_id` picks a listed key other than the current one, to compare with a digest that an old key made.
    """
    key_id = keyring.current if key_id is None else key_id
    envelope = ["tieout/payload/1", type, _amount_text(amount, currency), currency, payload]
    return f"{key_id}:{hmac.digest(keyring.secret(key_id), canonical(envelope), 'sha256').hex()}"


def key_id_of(digest: str) -> str:
    """Return the id of the key that made a payload digest; raises KeyringError."""
    key_id, colon, _ = digest.partition(":")
    if not colon:
        raise KeyringError("The stored digest does not say which key made it.")
    return key_id


def same(one: str, other: str) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def leaf_digests(
    keyring: Keyring,
    payload: object,
    *,
    amount: Decimal | None,
    currency: str | None,
    key_id: str | None = None,
) -> dict[str, str]:
    """Return a keyed digest for each leaf by its dotted path, and the key's id under `$key`.

    How odd names are written in a path is told in `paths`. Empty objects and lists count as leaves.
    Raises TooLarge beyond 10,000 of them, and for a path of more than 500 characters.
    """
    key_id = keyring.current if key_id is None else key_id
    secret = keyring.secret(key_id)
    digests = {KEY_ID: key_id}
    written = _amount_text(amount, currency)
    if written is not None:
        digests[AMOUNT] = _leaf(secret, _place(AMOUNT), written)
        digests[CURRENCY] = _currency(secret, currency or "")
    for number, (path, value) in enumerate(leaves(payload)):
        if number >= MAX_LEAVES:
            raise TooLarge(f"The payload has more than {MAX_LEAVES} values.")
        where, place = _written(path)
        digests[where] = _leaf(secret, place, value)
    return digests


def leaves_under(keyring: Keyring, path: Segments, value: object, *, key_id: str) -> dict[str, str]:
    """Return the digest of each leaf that a payload would have, had it this value at a path.

    Raises Malformed for what JSON cannot carry, TooLarge as for a payload, KeyringError.
    """
    secret, digests = keyring.secret(key_id), {}
    for number, (inner, leaf) in enumerate(leaves(value, path)):
        if number >= MAX_LEAVES:
            raise TooLarge(f"The value has more than {MAX_LEAVES} values inside.")
        where, place = _written(inner)
        digests[where] = _leaf(secret, place, leaf)
    return digests


def changed_paths(
    old_leaves: Mapping[str, str],
    keyring: Keyring,
    payload: object,
    *,
    amount: Decimal | None,
    currency: str | None,
) -> list[str]:
    """Return the sorted paths that were added, removed or changed since `old_leaves`, and never a value.

    Raises KeyringError where the key that made them is no longer listed.
    """
    key_id = old_leaves.get(KEY_ID, "")
    new_leaves = leaf_digests(keyring, payload, amount=amount, currency=currency, key_id=key_id)
    paths = (old_leaves.keys() | new_leaves.keys()) - {KEY_ID}
    return sorted(path for path in paths if not same(old_leaves.get(path, ""), new_leaves.get(path, "")))


def idempotency_key(
    *,
    installation: str,
    destination: str,
    account: str,
    type: str,
    key: str,
    generation: int,
    key_max: int = 255,
) -> str:
    """Return the key that the destination sees: "t1-g1-" and 26 letters and digits, 128 bits of SHA-256.

    It has no secret in it, so that it stays the same when keys are rotated. The installation in front is
    for people, and is left out where the contract's `key_max` (32 at least) has no room for it; the digest
    covers it anyway. "g1" is the generation.
    """
    if generation < 1 or key_max < KEY_MAX_LEAST:
        raise ValueError(f"a generation counts from 1, and key_max is {KEY_MAX_LEAST} at least")
    parts = b"%b,%b,%d]" % (
        _begun(installation, destination, account, type),
        canonical(key),
        generation,
    )
    digest = hashlib.sha256(parts).digest()[:16]
    short = f"g{generation}-{base64.b32encode(digest).decode().rstrip('=').lower()}"
    full = f"{installation}-{short}"
    return full if len(full) <= key_max else short


def _amount_text(amount: Decimal | None, currency: str | None) -> str | None:
    if (amount is None) != (currency is None):
        raise Malformed("Amount and currency come together, or neither does.")
    return None if amount is None or currency is None else money.written(amount, currency)


@lru_cache(maxsize=256)
def _begun(installation: str, destination: str, account: str, type: str) -> bytes:
    """Begin the list that a key is made of: with what all keys of an operation type have in common."""
    if _INSTALLATION.fullmatch(installation) is None:
        raise ValueError("the installation's name is of letters, digits and hyphens, 16 at most")
    return canonical(["tieout/idempotency-key/1", installation, destination, account, type])[:-1]


@lru_cache(maxsize=1024)
def _written(path: Segments) -> tuple[str, bytes]:
    """Write a leaf's path, for people and for its digest."""
    where = dotted(path)
    if len(where) > PATH_MAX:
        raise TooLarge(
            f"The payload names a value by a path of {len(where):,} characters ({where[:_PATH_SHOWN]}…), and "
            f"{PATH_MAX} are the most. Give it shorter names, or nest it less."
        )
    return where, _place(path)


def _leaf(secret: bytes, place: bytes, value: object) -> str:
    message = b"tieout/leaf/1\n%b\n%b" % (place, canonical(value))
    digest = hmac.digest(secret, message, "sha256")
    return base64.urlsafe_b64encode(digest[:LEAF_BYTES]).decode().rstrip("=")


@lru_cache(maxsize=256)
def _currency(secret: bytes, currency: str) -> str:
    # There are few, and each one's digest is always the same.
    return _leaf(secret, _place(CURRENCY), currency)


def _place(place: str | Segments) -> bytes:
    # json.dumps writes a path in one way only, in a third of the time; neither part can hold a line break.
    return json.dumps(place).encode()


def leaves(value: object, path: Segments = ()) -> Iterator[tuple[Segments, object]]:
    """Yield each value of a payload with its path; an empty object or list counts as one."""
    # Positions stay numbers and names stay text, so that ["a"] and {"0": "a"} have different digests.
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    elif isinstance(value, _LISTS) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value
