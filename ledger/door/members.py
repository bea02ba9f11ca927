"""What one member of a body or an address may be, and the words where it is not."""

import re
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

from ledger.rules import cursors, keys

# A UUID comes as text in JSON, as a time does, so there the type is not taken strictly.
Uuid = Annotated[UUID, Field(strict=False)]


def _code(value: str) -> str:
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise ValueError("is a code without blanks, such as card_declined; words belong in message")
    return value


def _reference(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise ValueError("has control characters, or white space at its beginning or end")
    return value


def _words(value: str) -> str:
    if keys.DIRECTIONS & set(value):
        raise ValueError(
            "has a character that turns the reading direction, so that it would show as other words"
        )
    return value


def _plain(value: str) -> str:
    if "\0" in value:
        raise ValueError("has a NUL character, which nothing here has")
    return value


def _instant(value: object) -> object:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError(
            "must be a time with its offset, such as 2026-11-30T09:42:00Z; in an address + is written %2B"
        )
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is no day or time that exists") from None


def _whole(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,9}", value):
        raise ValueError("must be a whole number")
    return int(value)


def _source(value: str) -> str:
    if "/" not in value:
        raise ValueError('must be "system/reference", such as webshop/483')
    return value


def _cursor(value: str) -> str:
    cursors.read(value)
    return value


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

Words = Annotated[str, AfterValidator(_words)]
Plain = Annotated[str, AfterValidator(_plain)]
Instant = Annotated[AwareDatetime, BeforeValidator(_instant), AfterValidator(_in_utc)]
Whole = Annotated[int, BeforeValidator(_whole)]
Code = Annotated[str, Field(max_length=100, json_schema_extra={"pattern": "^[!-~]*$"}), AfterValidator(_code)]
Reference = Annotated[str, Field(max_length=200), AfterValidator(_reference)]
OfSource = Annotated[Plain, AfterValidator(_source)]
Cursor = Annotated[str, AfterValidator(_cursor)]
