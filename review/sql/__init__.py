"""SQL by hand: what keeps the queue's items, and the order of money at risk by age."""

from functools import cache
from pathlib import Path


@cache
def statement(name: str) -> str:
    """Return the SQL file of that name."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
