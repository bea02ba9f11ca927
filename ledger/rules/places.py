"""Where a destination is: all that decides where a call arrives, and whose records are seen there."""

from collections.abc import Mapping
from typing import Any

LOOKED_AT = frozenset({"base_url", "account", "auth", "connector", "options", "proxy", "tls", "url"}) | {
    *("path", "pattern", "format", "encoding", "separator", "as_of")
}
"""The lines of a destination that decide it."""


def where(destination: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides where a destination is, of all its lines by their names."""
    return {name: value for name, value in destination.items() if name in LOOKED_AT and value is not None}
