"""Secret keys, written "k2:BASE64,k1:BASE64": the first is in use, the others still open what they closed."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from ledger.rules.errors import KeyringError

KEY_BYTES = 32

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,15}")


@dataclass(frozen=True, slots=True)
class Keyring:
    """Secret keys of 32 bytes by their ids; neither `repr` nor an error shows a key."""

    name: str
    current: str
    _keys: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def parse(cls, text: str, name: str = "the keyring") -> Self:
        """Read "k2:BASE64,k1:BASE64"; a KeyringError speaks of the setting `name`, all at once."""
        keys: dict[str, bytes] = {}
        wrong = []
        for number, entry in enumerate(text.split(","), start=1):
            key_id, _, encoded = entry.strip().partition(":")
            key, why = _key(encoded)
            if _ID.fullmatch(key_id) is None:
                # What stands here may be a key without its id, so it is not shown.
                why = 'has no id of small letters and digits before a colon, as in "k1:…"'
            elif key_id in keys:
                why = f'has the id "{key_id}" of an earlier entry'
            elif not why and key in keys.values():
                why = "repeats the key of an earlier entry"
            if why:
                wrong.append(f"entry {number} {why}")
            else:
                keys[key_id] = key
        if wrong:
            raise KeyringError(
                f"{name}: {'; '.join(wrong)}. Write ID:KEY, apart by commas, the newest first."
            )
        return cls(name, next(iter(keys)), keys)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of every listed key, the current one first."""
        return tuple(self._keys)

    def secret(self, key_id: str) -> bytes:
        """Return the key with this id; raises KeyringError where it is no longer listed."""
        try:
            return self._keys[key_id]
        except KeyError:
            shown = f'"{key_id}"' if _ID.fullmatch(key_id) else "with an unreadable id"
            raise KeyringError(f"{self.name}: the key {shown} is not listed. Old keys stay listed.") from None


def _key(encoded: str) -> tuple[bytes, str]:
    """Return the key and what is wrong with it, of which one is empty."""
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b"", "is not Base64"
    if len(key) != KEY_BYTES:
        return b"", f"has {len(key)} bytes where {KEY_BYTES} are needed"
    if len(set(key)) == 1:
        return b"", "is one byte repeated, which is no secret"
    return key, ""
