"""Which kinds of refusals an address may answer: its statuses, its document and its page follow from them."""

from collections import defaultdict
from collections.abc import Iterable

from ledger.rules import errors
from ledger.rules.errors import TieoutError

Kinds = tuple[type[TieoutError], ...]

SERVED: Kinds = (
    errors.Malformed,
    errors.UnknownMember,
    errors.NotFound,
    errors.TooSlow,
    errors.TooLarge,
    TieoutError,
    errors.Unavailable,
)
"""Of every address: how it was asked, and that it cannot be answered now."""
BY_TOKEN: Kinds = (errors.Unauthenticated, errors.TypeNotAllowed, errors.TooManyRequests)
"""Of every address that takes a token."""
ASKED: Kinds = (errors.DuplicateMember,)
"""Of what stands behind a question mark."""
BODY: Kinds = (errors.DuplicateMember, errors.NumberNotExact)
"""Of JSON in a body."""
MONEY: Kinds = (
    errors.AmountNotText,
    errors.MoneyError,
    errors.TooManyDecimals,
    errors.UnknownCurrency,
)
KEY: Kinds = (errors.KeyMissing, errors.KeyMalformed, errors.KeyDiffers, errors.TwoKeys)
BY_RULES: Kinds = (errors.RulesUnreadable,)
"""Of what is done by a type's rules."""
SECRET: Kinds = (errors.KeyringError, errors.SealError)
"""Of what digests, seals or opens a payload."""
HANDED: Kinds = (
    *(*BODY, *MONEY, *KEY, *BY_RULES, *SECRET),
    *(errors.WrongDoor, errors.OnHold, errors.AfterUnknown, errors.LostRace, errors.PayloadChanged),
)
"""Of an operation that is handed over or claimed."""
CLAIMED: Kinds = (*HANDED, errors.InFlight, errors.Waiting, errors.AttemptIdElsewhere)
HELD: Kinds = (*BODY, *BY_RULES, errors.WrongDoor, errors.StaleToken, errors.LostRace)
"""Of an attempt that its caller holds."""
CORRECTED: Kinds = (
    *(*BODY, *MONEY, *BY_RULES, *SECRET, errors.KeyMalformed),
    *(errors.InFlight, errors.NeedsOverride, errors.CorrectionOpen, errors.NothingToCorrect, errors.NotNow),
    *(errors.LostRace, errors.Conflict, errors.PayloadChanged),
)
SIGNED: Kinds = (*BODY, *BY_RULES, errors.NotSigned)
"""Of what a destination says, which has no token."""


def by_status(kinds: Iterable[type[TieoutError]]) -> dict[int, list[type[TieoutError]]]:
    """Return kinds by their status, each once, by name."""
    found: dict[int, list[type[TieoutError]]] = defaultdict(list)
    for kind in sorted(set(kinds), key=lambda kind: kind.type):
        found[kind.status].append(kind)
    return dict(sorted(found.items()))
