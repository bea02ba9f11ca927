"""A person looks at a value that is hidden for their eyes: told by an event that never holds the value."""

import uuid
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q

from ledger import sight
from ledger.actions.changing import given
from ledger.models import Event, Operation, database_now
from ledger.rules.errors import NotFound, NotNow

REVEALED = "revealed"
MOST = 50
"""How many values one person looks at within a day, whatever their account is called; the guard's, too."""
A_DAY = timedelta(days=1)


def reveal(operation_id: int, *, path: str, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Write down that a person looks at one hidden value; its revision stays, for nothing has changed.

    The same click again is written once. Raises Malformed without a reason, NotNow after MOST within a day.
    """
    with transaction.atomic():
        # One person's values are counted one after the other, also from two tabs.
        account = get_user_model()._default_manager.select_for_update().get(username=actor).pk
        if not Operation.objects.filter(pk=operation_id).exists():
            raise NotFound("There is no such operation.")
        with sight.whole():
            # By their account, whatever it is called by then; by its name only where none was written down.
            theirs = Q(data__account=account) | Q(actor=actor) & ~Q(data__has_key="account")
            known = Event.objects.filter(theirs, kind=REVEALED, at__gt=database_now() - A_DAY)
            if known.filter(command_id=command_id, operation=operation_id, data__path=path).exists():
                return
            if known.count() >= MOST:
                raise NotNow(f"You have looked at {MOST} hidden values within a day: that is the most.")
            Event.objects.create(
                operation_id=operation_id,
                kind=REVEALED,
                actor=actor,
                reason=given(reason),
                command_id=command_id,
                data={"path": path, "account": account},
            )
