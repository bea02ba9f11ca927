"""Addresses of one thing by its id, worked out once for each kind: a page of the queue holds a hundred."""

from functools import lru_cache
from uuid import UUID

from django.urls import get_script_prefix, reverse

_NONE = UUID(int=0)


def of(name: str, uid: UUID) -> str:
    """Return the address of a route that takes nothing but an id."""
    before, after = _around(name, get_script_prefix())
    return f"{before}{uid}{after}"


@lru_cache(100)
def _around(name: str, _prefix: str) -> tuple[str, str]:
    before, _, after = reverse(name, args=[_NONE]).partition(str(_NONE))
    return before, after
