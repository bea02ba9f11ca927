"""What people do about no operation and no account, in the trail: a sample drawn, a review of access."""

from collections.abc import Mapping
from typing import Any

from ledger.actions.changing import given
from ledger.models import Event


def note(*, kind: str, actor: str, reason: str, data: Mapping[str, Any]) -> str:
    """Write one event in the transaction of what it tells of; return its reason as it is kept.

    Raises Malformed without a reason.
    """
    kept = given(reason)
    Event.objects.create(kind=kind, actor=actor, reason=kept, data=dict(data))
    return kept
