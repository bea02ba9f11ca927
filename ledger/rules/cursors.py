"""Where a page of a list ended, as text that its reader only hands back."""

import base64
import binascii
import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_NUMBER, _CHECK = 8, 3
_LENGTH = _NUMBER + 16 + _CHECK


@dataclass(frozen=True, order=True)
class Place:
    """An operation's place in the order of last changes; its uid breaks ties."""

    at: datetime
    uid: uuid.UUID


def write(place: Place) -> str:
    """Return a place as text that fits into an address."""
    number = (place.at - EPOCH) // _TICK
    plain = number.to_bytes(_NUMBER, "big", signed=True) + place.uid.bytes
    return base64.urlsafe_b64encode(plain + _check(plain)).decode()


def read(text: str) -> Place:
    """Return the place that `write` wrote; ValueError for anything else."""
    try:
        plain = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        body, check = plain[:-_CHECK], plain[-_CHECK:]
        if len(plain) != _LENGTH or check != _check(body):
            raise ValueError
        number = int.from_bytes(body[:_NUMBER], "big", signed=True)
        return Place(EPOCH + number * _TICK, uuid.UUID(bytes=body[_NUMBER:]))
    except (ValueError, OverflowError, binascii.Error):
        raise ValueError(
            "is not one that was given here; send next_cursor as it came, or begin without one"
        ) from None


def _check(plain: bytes) -> bytes:
    """Return what tells a cursor from other text; it protects nothing."""
    return hashlib.sha256(plain).digest()[:_CHECK]
