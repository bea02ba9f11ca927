"""What happens to people's accounts, in the trail: made, given roles, ended, a second factor reset."""

from collections.abc import Mapping
from typing import Any

from ledger.actions.changing import given
from ledger.models import Event


def tell_of_account(
    name: str, *, kind: str, actor: str, reason: str, data: Mapping[str, Any] | None = None
) -> None:
    """Write one event about a person's account, in the transaction of what it tells of.

    Raises Malformed without a reason.
    """
    Event.objects.create(kind=kind, actor=actor, reason=given(reason), data={"person": name, **(data or {})})
