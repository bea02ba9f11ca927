"""The one error tree: each refusal has its own status, type, title and advice on retrying.

The mapping to HTTP stands in the door; `problem()` gives the members of an RFC 9457 document.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

Retry = Literal["wait", "never", "after-review"]

RESERVED = frozenset({"type", "title", "status", "detail", "retry"})


class TieoutError(Exception):
    """Something that Tieout refuses or cannot do, in words that a person can act on."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong in Tieout"
    retry: ClassVar[Retry] = "never"

    def __init__(self, detail: str, **members: object) -> None:
        """Keep the sentence, and further members of the problem document such as `case` or `changed`."""
        if taken := RESERVED & members.keys():
            raise TypeError(f"a problem names {', '.join(sorted(taken))} itself")
        super().__init__(detail)
        self.detail = detail
        self.members: dict[str, object] = members

    def problem(self) -> dict[str, object]:
        """Return the problem document (RFC 9457); its `type` is a reference relative to the server."""
        return {
            "type": f"/problems/{self.type}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "retry": self.retry,
            **self.members,
        }


class Malformed(TieoutError):
    """The request cannot be read."""

    status = 400
    type = "malformed"
    title = "The request cannot be read"


class UnknownMember(Malformed):
    """The request names something that does not exist; ignoring it could change what was meant."""

    type = "unknown-member"
    title = "The request has a member that is not known"


class DuplicateMember(Malformed):
    """One JSON object names a member twice, so two readers could see two different payloads."""

    type = "duplicate-member"
    title = "A member is named twice"


class NumberNotExact(Malformed):
    """A JSON number cannot be kept as it was written."""

    type = "number-not-exact"
    title = "A number cannot be kept exactly"


class MoneyError(Malformed, ValueError):
    """An amount or a currency that cannot be read exactly."""

    type = "amount-malformed"
    title = "The amount cannot be read"


class AmountNotText(MoneyError):
    """An amount came as a number where text is asked for."""

    type = "amount-not-text"
    title = "The amount is not text"


class TooManyDecimals(MoneyError):
    """An amount has more decimals than its currency."""

    type = "too-many-decimals"
    title = "The amount has too many decimals"


class UnknownCurrency(MoneyError):
    """A currency that is no code of ISO 4217 with a known number of decimals."""

    type = "unknown-currency"
    title = "The currency is not known"


class KeyMissing(Malformed):
    """There is no operation key, and one is never invented."""

    type = "key-missing"
    title = "The operation has no key"


class KeyMalformed(Malformed):
    """The operation key could not be told from another one, or could not be kept."""

    type = "key-malformed"
    title = "The operation key cannot be used"


class KeyDiffers(Malformed):
    """The `Idempotency-Key` header and the member `key` name two operations."""

    type = "key-differs"
    title = "Header and body name different keys"


class TwoKeys(Malformed):
    """More than one `Idempotency-Key` header came."""

    type = "two-keys"
    title = "The request has two Idempotency-Key headers"


class Unauthenticated(TieoutError):
    """No token, or one that is not known."""

    status = 401
    type = "unauthenticated"
    title = "The token is missing or not known"


class NotSigned(Unauthenticated):
    """An event of a destination that nobody has signed whose secret is known, or too long ago."""

    type = "not-signed"
    title = "The event is not signed by its destination"


class TypeNotAllowed(TieoutError):
    """The token does not cover this operation type."""

    status = 403
    type = "type-not-allowed"
    title = "The token does not cover this operation type"


class NotFound(TieoutError):
    """Nothing here has that name."""

    status = 404
    type = "not-found"
    title = "There is no such thing here"


class WrongMethod(TieoutError):
    """The address is known, and takes other methods."""

    status = 405
    type = "wrong-method"
    title = "This address takes other methods"


class TooSlow(TieoutError):
    """The request's body did not come to its end in time."""

    status = 408
    type = "too-slow"
    title = "The request took too long to arrive"
    retry = "wait"


class Conflict(TieoutError):
    """What is asked does not fit what is on record."""

    status = 409
    type = "conflict"
    title = "The request does not fit what is on record"


class WrongDoor(Conflict):
    """The operation type is performed by the other side."""

    type = "wrong-door"
    title = "This operation type is performed by the other side"


class InFlight(Conflict):
    """An attempt holds the lease."""

    type = "in-flight"
    title = "An attempt is under way"
    retry = "wait"


class Waiting(Conflict):
    """The next try is not due yet, or a look-up has still to answer."""

    type = "waiting"
    title = "The operation waits for its next step"
    retry = "wait"


class OnHold(Conflict):
    """Software has stopped; a person decides."""

    type = "on-hold"
    title = "A person has to decide first"
    retry = "after-review"


class StaleToken(Conflict):
    """The attempt token is void: the attempt has ended, or was claimed again."""

    type = "stale-token"
    title = "The attempt token is no longer valid"


class AfterUnknown(Conflict):
    """What an operation is to come after was not handed over."""

    type = "after-unknown"
    title = "What it comes after is not on record"


class OutcomeDiffers(Conflict):
    """The attempt already has another outcome."""

    type = "outcome-differs"
    title = "The attempt already has another outcome"


class StartedElsewhere(Conflict):
    """Another process has already started this attempt."""

    type = "started-elsewhere"
    title = "Another process started this attempt"


class AttemptIdElsewhere(Conflict):
    """The attempt id belongs to another attempt: another operation's, or one that has ended."""

    type = "attempt-id-elsewhere"
    title = "The attempt id belongs to another attempt"


class NotNow(Conflict):
    """An action is not open to this person now; the words say why and what would open it."""

    type = "not-now"
    title = "This cannot be done now"
    retry = "after-review"


class NothingToCorrect(Conflict):
    """A correction says what its operation, or its correction that is done, says already."""

    type = "nothing-to-correct"
    title = "The correction changes nothing"


class CorrectionOpen(Conflict):
    """An operation has one correction at a time, and the present one is not finished."""

    type = "correction-open"
    title = "Another correction is under way"
    retry = "after-review"


class NeedsOverride(Conflict):
    """The evidence does not allow it; a second person would have to."""

    type = "needs-override"
    title = "This needs an override"
    retry = "after-review"


class LostRace(Conflict):
    """Somebody else changed the operation first; reading it again shows what they did."""

    type = "lost-race"
    title = "Somebody else was first"
    retry = "wait"


class TooLarge(TieoutError):
    """More than Tieout takes in one request."""

    status = 413
    type = "too-large"
    title = "The request is too large"


class TooManyRequests(TieoutError):
    """The automation has made as many requests as its token allows in a minute."""

    status = 429
    type = "too-many-requests"
    title = "Too many requests in this minute"
    retry = "wait"

    def __init__(self, detail: str, *, wait_s: int) -> None:
        """Keep in how many seconds the next minute begins."""
        super().__init__(detail)
        self.wait_s = wait_s


class PayloadChanged(TieoutError):
    """The key is used, with another payload, amount or currency; a correction is the way."""

    status = 422
    type = "payload-changed"
    title = "The key was used with another payload"


class KeyringError(TieoutError, ValueError):
    """A list of secret keys is wrong, or a key that is needed is no longer listed."""

    type = "keyring"
    title = "A secret key is missing or wrong"


class SealError(TieoutError):
    """A sealed payload cannot be opened: wrong key, other operation, or changed bytes."""

    type = "cannot-unseal"
    title = "A stored payload cannot be opened"


class Unavailable(TieoutError):
    """Tieout cannot answer now, and nothing was decided."""

    status = 503
    type = "unavailable"
    title = "Tieout cannot answer now"
    retry = "wait"


class RulesUnreadable(Unavailable):
    """What is stored of a type's or a destination's rules was written by another version, or by hand."""

    type = "rules-unreadable"
    title = "Stored rules cannot be read"


def kinds(root: type[TieoutError] = TieoutError) -> Iterator[type[TieoutError]]:
    """Yield every kind of error below and including `root`, for documentation and for tests."""
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)
