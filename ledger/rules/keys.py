"""Operation keys: the stable name of one unit of work, made from durable source records, never invented.

A key stays exactly as written: two spellings that Unicode calls equivalent are two keys, and people are
warned.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from ledger.rules.errors import KeyMalformed, KeyMissing

__all__ = [
    "KeyMalformed",
    "KeyMissing",
    "check",
    "from_template",
    "has_controls",
    "look_alikes",
    "needed",
    "percent",
    "separators",
    "template_errors",
]

MAX_LENGTH = 200
_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
RESERVED = r"^drill/[0-9a-f]{12}/"
"""What the references of drills look like: no operation has such a key, and no such record is unexpected."""
SOURCE_PARTS = ("system", "reference", "version")

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Unicode's directional controls would let one key be shown as another.
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Without width and without meaning: two keys that look alike would name two operations.
_UNSEEN = frozenset("\u200b\u2060\ufeff")
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_INVISIBLE = _CONTROLS | {"Cf", "Zs"}


def check(key: str) -> str:
    """Return the key as it is; raises KeyMissing if it is blank, KeyMalformed if it cannot be used."""
    if _is_blank(key):
        raise KeyMissing("The key is blank. Send one that names this operation for ever; none is invented.")
    if wrong := _what_is_wrong(key):
        raise KeyMalformed(f"The key {wrong}.")
    if re.match(RESERVED, key):
        raise KeyMalformed("The key begins as only those of drills do. Send one that names this operation.")
    return key


def from_template(template: str, source: Mapping[str, str]) -> str:
    """Return the key of a source record by a template such as "order/{source.system}/{source.reference}".

    The template's own separators, and "%", are percent-encoded inside a value, so that no two records share
    a key. Raises KeyMissing naming every part that is absent or blank, KeyMalformed for a part or a key that
    cannot be used, and ValueError for a template that has errors.
    """
    escaped = separators(template)
    missing = [name for name in _names(template) if _is_blank(_part(source, name))]
    if missing:
        raise KeyMissing(
            f"The operation has no key and cannot get one: {', '.join(missing)} is missing or blank. "
            f'Send "key", or every part of the template {template}.'
        )
    for name in _names(template):
        part = _part(source, name)
        if wrong := _what_is_wrong(part):
            raise KeyMalformed(f"The key cannot be made: {name} {wrong}.")
    return check(_PLACEHOLDER.sub(lambda match: _escape(_part(source, match[1]), escaped), template))


def template_errors(template: str) -> list[str]:
    """Return everything that is wrong with a key's template, in words with a remedy."""
    errors = []
    names, literals = _names(template), _PLACEHOLDER.split(template)[::2]
    known = ", ".join(f"{{source.{part}}}" for part in SOURCE_PARTS)
    if any(brace in literal for literal in literals for brace in "{}"):
        errors.append("a brace is open or stands alone; placeholders look like {source.reference}")
    for name in names:
        if name == "source.run":
            errors.append("{source.run} is new for every run, so every run would make another operation")
        elif name.removeprefix("source.") not in SOURCE_PARTS or not name.startswith("source."):
            errors.append(f"{{{name}}} is not known; there are {known}")
    if "source.reference" not in names:
        errors.append("{source.reference} is missing: without it, different records would share one key")
    if any(not any(map(_is_separator, literal)) for literal in literals[1:-1]):
        errors.append(
            'two placeholders need a separator such as "/" between them, or two records could share a key'
        )
    if wrong := _what_is_wrong(_PLACEHOLDER.sub("x", template)):
        errors.append(f"the text {wrong}")
    return errors


def needed(template: str) -> list[str]:
    """Return the parts of a source record that a template names: system, reference, version."""
    return [name.removeprefix("source.") for name in _names(template)]


def look_alikes(key: str) -> frozenset[str]:
    """Return the other spellings that Unicode calls the same, so that a warning is due where one is used."""
    if key.isascii():
        return frozenset()
    return frozenset(unicodedata.normalize(form, key) for form in _FORMS) - {key}


def _is_blank(key: str) -> bool:
    return all(unicodedata.category(character) in _INVISIBLE for character in key)


def has_controls(text: str) -> bool:
    """Say whether a text has what breaks a line, turns the reading direction, or is no character at all."""
    plain = text.isascii() and text.isprintable()
    return not plain and any(unicodedata.category(one) in _CONTROLS or one in DIRECTIONS for one in text)


def _what_is_wrong(key: str) -> str:
    if len(key) > MAX_LENGTH:
        return f"has {len(key)} characters; {MAX_LENGTH} are the most"
    plain = key.isascii() and key.isprintable()
    if has_controls(key):
        return "has control characters"
    if not plain and _UNSEEN & set(key):
        return "has characters that cannot be seen"
    if key != key.strip():
        return "has white space at its beginning or end"
    return ""


def _names(template: str) -> list[str]:
    return _PLACEHOLDER.findall(template)


def _part(source: Mapping[str, str], name: str) -> str:
    return source.get(name.removeprefix("source.")) or ""


@lru_cache(maxsize=256)
def separators(template: str) -> frozenset[str]:
    """Return the characters that are percent-encoded in a value; ValueError for a template with errors."""
    if errors := template_errors(template):
        raise ValueError(f"the key template {template} cannot be used: {'; '.join(errors)}")
    literals = "".join(_PLACEHOLDER.split(template)[::2])
    return frozenset(filter(_is_separator, literals)) | {"%"}


def _escape(part: str, separators: frozenset[str]) -> str:
    return "".join(percent(character) if character in separators else character for character in part)


def percent(character: str) -> str:
    """Return a character percent-encoded, as it stands within a key."""
    # urllib's quote leaves "-", "." and "_" alone, which may be separators here.
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))


def _is_separator(character: str) -> bool:
    return not character.isalnum() and character != "%"
