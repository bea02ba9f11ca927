"""Redaction on write, by patterns in text.

It errs on the side of taking too much out. Known here: passwords, tokens, API keys and cookies after their
names (plain, JSON, escaped JSON, HTML, URL, XML), bearer and basic credentials, credentials in addresses,
private keys, card numbers (13 to 19 digits that pass Luhn's check) and e-mail addresses.
"""

import base64
import binascii
import re
import unicodedata

REDACTED = "[redacted]"
EMAIL = "[e-mail]"
CARD = "[card number]"

READ_AT_MOST = 64_000
"""Characters of one text that are looked at; the rest is cut off, never passed on unread."""

CARD_LENGTHS = range(13, 20)
FIRST_DIGITS = ("2", "3", "4", "5", "6")
"""What numbers of payment cards begin with; 1 begins instants in milliseconds."""

_NAMES = (
    r"password|passwd|passphrase|pwd|secret|token|credential|(?:api|access|private)[ _-]?key|session[ _-]?id"
    r"|card[ _-]?number|cvv|cvc"
)

_SECRET_NAME = re.compile(rf"{_NAMES}|authorization|cookie", re.IGNORECASE)

# A quote as it stands in text, JSON within JSON, HTML and URLs; a value ends at the same kind of quote.
_QUOTE = r"\\*[\"']|&(?:quot|apos|\#0?3[49]|\#x2[27]);|%2[27]|\\+u002[27]"
_IS = rf"(?:{_QUOTE})?\s*(?:[:=>]|=>|%3[ad]|&gt;)\s*+(?!\[redacted\])"
_QUOTED = r"[bru]?(?P<quote>" + _QUOTE + r")(?:.*?)(?:(?<!\\)(?P=quote)|\Z)"

_HEADER = re.compile(
    rf"((?:proxy-)?authorization|(?:set-)?cookie2?|x-api-key|x-auth-token)({_IS})(?:{_QUOTED}|[^\r\n\"']+)",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    rf"((?:{_NAMES})[\w-]{{0,20}})({_IS})(?:{_QUOTED}|[^\s,;&\"'<>]+)",
    re.IGNORECASE | re.DOTALL,
)
_SPOKEN = re.compile(rf"\b({_NAMES})(\s+(?:is\s+)?)(?:(?=\S*\d)\S{{6,}}|\S{{20,}})", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
_BASIC = re.compile(r"\b(basic)\s+([A-Za-z0-9+/]{4,}={0,2})", re.IGNORECASE)
_IN_ADDRESS = re.compile(
    r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/?#@]{1,256}(?:@[^\s/?#@]{1,256}){0,3}@", re.IGNORECASE
)
_TELLING = re.compile(
    r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"  # JSON Web Token
    r"|\b[spr]k_(?:live|test)_\w{8,}|\bgh[opsur]_\w{20,}|\bxox[abeoprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)",
    re.DOTALL,
)
_EMAIL = re.compile(
    r"[^\s@<>()\[\],;:\"'=\\]{1,64}(?:@|%40)[^\W_](?:[\w-]{0,62}\.){1,8}[^\W\d_]{2,24}", re.IGNORECASE
)
_DIGITS = re.compile(r"(?<![\d.])\d(?:[ \u00a0-]?\d){12,}(?!\d)")


# What every pattern above needs one of. Most text has none, and is known to be plain at a tenth of the cost.
_SIGNS = rf"[:=>%&@_]|eyj|xox|akia|-----begin|bearer|basic|{_NAMES}|\d(?:[ \u00a0-]?\d){{12}}"
_SUSPECT = re.compile(_SIGNS, re.IGNORECASE)
# ASCII has one small letter for each capital one: a pattern that looks for one takes a third of the time.
_SUSPECT_SMALL = re.compile(_SIGNS)


def is_secret(name: str, text: str) -> bool:
    """Say whether a value is nobody's to read, by what it is called or by its pattern."""
    plain = _printable(text)
    return _SECRET_NAME.search(name) is not None or _by_pattern(plain) != plain


def redact_text(text: str, limit: int = 300) -> str:
    """Return one line of foreign text, `limit` characters at most, without secrets or control characters."""
    line = " ".join(_by_pattern(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def redact_name(name: str) -> str:
    """Return a person's name, redacted; one that is an e-mail address stays, as people may be called so."""
    line = redact_text(name)
    return name if line == EMAIL and _EMAIL.fullmatch(name) else line


def _by_pattern(text: str) -> str:
    text = _printable(text if len(text) <= READ_AT_MOST else f"{text[:READ_AT_MOST]}…")
    if not (_SUSPECT_SMALL.search(text.lower()) if text.isascii() else _SUSPECT.search(text)):
        return text
    text = _HEADER.sub(_without_value, text)
    text = _TELLING.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1 {REDACTED}", text)
    text = _BASIC.sub(_without_basic, text)
    text = _IN_ADDRESS.sub(rf"\1{REDACTED}@", text)
    text = _NAMED.sub(_without_value, text)
    text = _SPOKEN.sub(rf"\1\2{REDACTED}", text)
    text = _EMAIL.sub(EMAIL, text)
    return _without_cards(text)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )


def _without_value(match: re.Match[str]) -> str:
    quote = match["quote"] or ""
    return f"{match[1]}{match[2]}{quote}{REDACTED}{quote}"


def _without_basic(match: re.Match[str]) -> str:
    try:
        credentials = base64.b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except (binascii.Error, ValueError):
        return match[0]
    return f"{match[1]} {REDACTED}" if b":" in credentials else match[0]


def _without_cards(text: str) -> str:
    return _DIGITS.sub(_without_card, text)


def _without_card(match: re.Match[str]) -> str:
    """Replace each stretch of whole digit groups that passes for a card number; 20 digits in a row do not."""
    groups = re.split(r"([ \u00a0-])", match[0])
    kept, start = [], 0
    while start < len(groups):
        end = _end_of_card(groups, start)
        kept.append(CARD if end else groups[start])
        start = end or start + 1
    return "".join(kept)


def _end_of_card(groups: list[str], start: int) -> int:
    """Return where the longest card number ends that begins with this group, or 0 if none does."""
    digits, found = "", 0
    if groups[start][:1] in FIRST_DIGITS:
        for index in range(start, len(groups), 2):
            digits += groups[index]
            if len(digits) > CARD_LENGTHS[-1]:
                break
            if len(digits) in CARD_LENGTHS and _passes_luhn(digits):
                found = index + 1
    return found


def _passes_luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0
