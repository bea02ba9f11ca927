"""SQL by hand: the guards of each migration, and the hot path's statements."""

from functools import cache
from pathlib import Path


@cache
def statement(name: str) -> str:
    """Return the SQL file of that name."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
