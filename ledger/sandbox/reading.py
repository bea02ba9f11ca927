"""What is read out of requests, and the words for what cannot be."""

import re
from datetime import datetime

from ledger.sandbox.books import written
from ledger.sandbox.messages import RefusedError, refuse

AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,2})?")
CURRENCY = re.compile(r"[A-Z]{3}")


def invalid(message: str) -> RefusedError:
    """Return the refusal of a request that says something wrong."""
    return RefusedError(refuse(400, "invalid_request", message=message))


def instant(text: str, name: str) -> str:
    """Read an instant as the books write it; raises RefusedError."""
    try:
        read = datetime.fromisoformat(text)
        if read.tzinfo is None:
            raise ValueError("no zone")
        return written(read)
    except (ValueError, OverflowError):
        raise invalid(f"{name} must be a time with a zone, such as 2026-11-27T15:00:00Z.") from None
