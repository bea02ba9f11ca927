"""What went wrong, in words that carry no payload."""

import traceback
from pathlib import Path

from ledger.rules.errors import TieoutError


def in_words(error: BaseException) -> str:
    """Return our own errors' words; of any other only its kind and place, for its text may carry values."""
    if isinstance(error, TieoutError):
        return str(error)
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    kind = f"{type(error).__name__} {sqlstate}" if sqlstate else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (ours or frames)[-3:]]
    return f"{kind} at {' > '.join(places)}" if places else kind
