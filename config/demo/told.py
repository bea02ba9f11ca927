"""What the demo tells those who use it: the file `demo.json`."""

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, told: dict[str, Any]) -> None:
    """Write it whole, for its owner alone: it carries passwords."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(told, file, indent=2)
    draft.replace(path)
