"""What a destination tells by its own webhooks: who signed it, what it is about, what it may speak against.

Three schemes. Standard Webhooks (standardwebhooks.com): headers `webhook-id`, `webhook-timestamp` and
`webhook-signature`. Stripe's: `Stripe-Signature: t=…,v1=…`, a hexadecimal HMAC-SHA256 of "{t}.{body}". And a
plain HMAC-SHA256 of the body, or of "{timestamp}.{body}", in headers that the configuration names.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from standardwebhooks import Webhook

from ledger.rules import strict_json
from ledger.rules.calls import RecordMap
from ledger.rules.errors import Malformed, NotSigned
from ledger.rules.events import EventRules
from ledger.rules.records import Found, judge, search
from ledger.rules.states import LIVE, Standing, State, Verdict

SIGNATURES_MAX = 20
AT_ONCE = 3
"""Look-ups of an operation within a day that may follow each other at once because its destination spoke."""
PAUSE_S, PAUSE_MAX_S = 30.0, 3600.0
STRIPE, STANDARD = "stripe-signature", "webhook-signature"

_NAME = re.compile(r"[A-Za-z0-9._:/=+-]{1,200}")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")


@dataclass(frozen=True)
class Told:
    """What a signed event says: its id and kind, the reference that it names, and perhaps the record."""

    id: str
    type: str
    reference: str
    account: str | None
    record: object


def check_secret(scheme: str, secret: str) -> str:
    """Return why a secret cannot be one of this scheme; nothing where it can."""
    if scheme != "standard":
        return ""
    try:
        text = secret.removeprefix("whsec_").rstrip("=")
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return "it is not base64"
    return "" if key else "it is empty"


def signed(
    rules: EventRules, *, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime
) -> None:
    """Raise NotSigned unless one of the secrets has signed this body, now; header names in lower case."""
    check = {"standard": _standard, "stripe": _stripe, "hmac": _hmac}[rules.scheme]
    sign, given, sent_at = check(rules, headers, body)
    if sent_at is not None and abs((now - sent_at).total_seconds()) > rules.tolerance_s:
        raise NotSigned(
            f"The event was signed more than {rules.tolerance_s:g} seconds from now. "
            "Send it again, signed anew; if that goes on, a clock is wrong."
        )
    if len(given) > SIGNATURES_MAX:
        raise NotSigned(f"More than {SIGNATURES_MAX} signatures came. Send those that count.")
    expected = [sign(secret) for secret in secrets]
    if not _any_equal(expected, given):
        raise NotSigned("No signature is by a secret that is known here. Compare the secret on both sides.")


Signing = tuple[Callable[[str], str], list[str], datetime | None]


def _standard(rules: EventRules, headers: Mapping[str, str], body: bytes) -> Signing:
    name, seconds = _header(headers, "webhook-id"), _header(headers, "webhook-timestamp")
    sent_at = _instant(seconds)
    given = [one for one in _header(headers, STANDARD).split(" ") if one.startswith("v1,")]
    text = _text(body)
    return lambda secret: Webhook(secret).sign(name, sent_at, text), given, sent_at


def _stripe(rules: EventRules, headers: Mapping[str, str], body: bytes) -> Signing:
    parts = [part.split("=", 1) for part in _header(headers, STRIPE).split(",") if "=" in part]
    times = [value for name, value in parts if name.strip() == "t"]
    if len(times) != 1:
        raise NotSigned("Stripe-Signature says not once when it was signed (t=…).")
    content = f"{times[0]}.".encode() + body
    given = [value for name, value in parts if name.strip() == "v1"]
    return lambda secret: _digest(secret, content).hex(), given, _instant(times[0])


def _hmac(rules: EventRules, headers: Mapping[str, str], body: bytes) -> Signing:
    given = _header(headers, str(rules.signature_header).lower())
    prefix = rules.prefix or ""
    if not given.startswith(prefix):
        raise NotSigned(f"The signature does not begin with {prefix}.")
    content, sent_at = body, None
    if rules.timestamp_header:
        seconds = _header(headers, rules.timestamp_header.lower())
        content, sent_at = f"{seconds}.".encode() + body, _instant(seconds)

    def sign(secret: str) -> str:
        digest = _digest(secret, content)
        return base64.b64encode(digest).decode() if rules.encoding == "base64" else digest.hex()

    value = given.removeprefix(prefix)
    return sign, [value if rules.encoding == "base64" else value.lower()], sent_at


def _digest(secret: str, content: bytes) -> bytes:
    return hmac.new(secret.encode(), content, hashlib.sha256).digest()


def _any_equal(expected: Iterable[str], given: Iterable[str]) -> bool:
    """Compare each with each, all of them, in a time that tells nothing."""
    equal = [hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in given]
    return any(equal)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "").strip()
    if not value or not value.isascii():
        raise NotSigned(f"The header {name} is missing. Only signed events are taken.")
    return value


def _instant(seconds: str) -> datetime:
    if not _SECONDS.fullmatch(seconds):
        raise NotSigned("When it was signed must be whole seconds since 1970.")
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError):
        raise NotSigned("When it was signed is no time that exists.") from None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise NotSigned("The event is not UTF-8, in which this scheme signs.") from None


def read(rules: EventRules, *, headers: Mapping[str, str], body: bytes) -> Told:
    """Read what a signed event is about; raises Malformed where it has no id that can be kept."""
    event = strict_json.loads_decimal(body)
    by_header = rules.scheme == "standard" and rules.id is None
    name = headers.get("webhook-id", "") if by_header else _word(search(rules.id or "id", event))
    if not _NAME.fullmatch(name):
        raise Malformed("The event has no id of 1 to 200 letters, digits and . _ : / = + - signs.")
    kind = _word(search(rules.type, event))
    return Told(
        id=name,
        type=kind if _NAME.fullmatch(kind) else "",
        reference=_word(search(rules.reference, event)),
        account=None if rules.account is None else _word(search(rules.account, event)),
        record=search(rules.record, event),
    )


def _word(value: object) -> str:
    """Return a name or whole number as text, nothing for whatever else stands there."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    return text if "\0" not in text else ""


def says_nothing_new(
    told: Told,
    *,
    map: RecordMap | None,
    state: State,
    key: str,
    destination_reference: str,
    amount: Decimal | None,
    currency: str,
) -> bool:
    """Say whether the record that an event carries is as we know it to be of a finished operation."""
    if map is None or told.record is None:
        return False
    items = [told.record]
    found = judge(items, map=map, reference=key, amount=amount, currency=currency or None, complete=True)
    if state is State.COMPLETED:
        return _as_done(found, destination_reference)
    gone = bool(found.records) and not any(record.standing in LIVE for record in found.records)
    return state is State.FAILED and found.complete and gone


def _as_done(found: Found, destination_reference: str) -> bool:
    match = found.match
    done = found.verdict is Verdict.ONE_MATCH and found.standing is Standing.DONE
    return done and match is not None and match.id == destination_reference


def pause_s(looks: int) -> float:
    """Return how long after the last look the next one waits, in seconds, by the looks of the last day."""
    if looks < AT_ONCE:
        return 0.0
    return float(min(PAUSE_S * 2.0 ** min(looks - AT_ONCE, 60), PAUSE_MAX_S))
