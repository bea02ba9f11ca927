"""How large a request may be, and which addresses take a batch."""

from ledger.rules.errors import TooLarge

BODY_MAX = 1024 * 1024
BATCH_BODY_MAX = 8 * BODY_MAX
BATCH_MAX = 500
"""Items of a batch at most."""
_BATCHES = frozenset({"/api/v1/operations/claim-batch", "/api/v1/attempts/outcome-batch"})


def is_batch(path: str) -> bool:
    """Say whether an address takes a batch."""
    return path in _BATCHES


def body_max(path: str) -> int:
    """Return how many bytes a body may have at this address."""
    return BATCH_BODY_MAX if is_batch(path) else BODY_MAX


def too_large(limit: int = BODY_MAX) -> TooLarge:
    """Return the refusal of a body beyond the limit in bytes."""
    less = "fewer items at once" if limit == BATCH_BODY_MAX else "less: a reference, say"
    return TooLarge(f"The request is larger than {limit // 1024} KiB. Send {less}.")
