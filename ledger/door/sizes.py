"""How large a request may be, and which addresses take a batch."""

import json

from django.conf import settings

from ledger.rules.errors import TooLarge

BODY_MAX = 1024 * 1024
BATCH_BODY_MAX = 8 * BODY_MAX
BATCH_MAX = 500
"""Items of a batch at most."""
BATCH_VALUES_MAX = 50_000
"""Values of a batch's items at most, lists and objects counted: each one costs a digest and room in a row."""
_HOLDERS = (dict, list)
_BATCHES = frozenset({"/api/v1/operations/claim-batch", "/api/v1/attempts/outcome-batch"})


def is_batch(path: str) -> bool:
    """Say whether an address takes a batch."""
    return path in _BATCHES


def body_max(path: str) -> int:
    """Return how many bytes a body may have at this address."""
    return BATCH_BODY_MAX if is_batch(path) else BODY_MAX


def streamed_max(path: str) -> int | None:
    """Return how many bytes of files a page takes, which are not held in memory; None where it takes none."""
    limit: int | None = settings.STREAMED_BODIES.get(path)
    return limit


def too_large(limit: int = BODY_MAX) -> TooLarge:
    """Return the refusal of a body beyond the limit in bytes."""
    if limit > BATCH_BODY_MAX:
        return TooLarge(f"The files are larger than {limit // 2**20} MiB together. Export fewer days.")
    less = "fewer items at once" if limit == BATCH_BODY_MAX else "less: a reference, say"
    return TooLarge(f"The request is larger than {limit // 1024} KiB. Send {less}.")


def refuse_many(items: list[object]) -> None:
    """Raise TooLarge where a batch's items have more values than one request may make work of."""
    left = BATCH_VALUES_MAX
    inside: list[dict[str, object] | list[object]] = [items]
    while inside:
        one = inside.pop()
        left -= len(one)
        if left < 0:
            many = f"{BATCH_VALUES_MAX:,} values"
            raise TooLarge(f"The items of the batch have more than {many}. Send fewer items at once.")
        members = one.values() if isinstance(one, dict) else one
        inside += [member for member in members if isinstance(member, _HOLDERS)]


def refuse_long(item: object) -> None:
    """Raise TooLarge where an item, written without spaces, is larger than a request may be alone."""
    written = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    if len(written) > BODY_MAX or len(written.encode()) > BODY_MAX:
        raise TooLarge(f"The item is larger than {BODY_MAX // 1024} KiB. Send less: a reference, say.")
