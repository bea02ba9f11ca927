"""One person stands in for another: named with start, end and reason, or ended; each with its event."""

import uuid
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import connection, transaction

from ledger.actions.changing import given, once
from ledger.models import Deputy, Event, database_now
from ledger.models.deputy import EARLIEST, LATEST
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.second_person import Asker

HANDS = """
SELECT id, username, hand
FROM auth_user, LATERAL (SELECT ledger_one_hand(id, %(maker)s, %(since)s, tieout_now()) AS hand) AS asked
WHERE hand OR id = %(maker)s OR id = %(about)s
"""


def name_deputy(
    principal: str,
    deputy: str,
    *,
    starts_at: datetime,
    ends_at: datetime,
    actor: str,
    reason: str,
    command_id: uuid.UUID,
) -> Deputy:
    """Let one person stand in for another; it gives no right. NotFound where there is no such account."""

    def make() -> Deputy:
        names = {principal, deputy}
        if get_user_model()._default_manager.filter(username__in=names, is_active=True).count() != len(names):
            raise NotFound("There is no such person.")
        if len(names) == 1:
            raise Malformed("Nobody stands in for themselves.")
        if starts_at < EARLIEST or ends_at >= LATEST:
            raise Malformed("It starts and ends between 2000 and 2099.")
        if ends_at <= max(starts_at, database_now()):
            raise Malformed("It ends after it starts, and later than now.")
        made = Deputy.objects.create(
            principal=principal,
            deputy=deputy,
            starts_at=starts_at,
            ends_at=ends_at,
            reason=given(reason),
            made_by=actor,
            command_id=command_id,
        )
        _tell(made, "deputy_named", actor=actor, reason=made.reason)
        return made

    return once(Deputy.objects.filter(command_id=command_id), make)


def end_deputy(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """End it from now on; NotNow where it has ended."""
    with transaction.atomic():
        one = Deputy.objects.select_for_update().filter(uid=uid).first()
        if one is None:
            raise NotFound("Nobody stands in like that.")
        now = database_now()
        if one.ended_at is not None or one.ends_at <= now:
            raise NotNow("It has ended already.")
        one.ended_at, one.ended_by, one.why = now, actor, given(reason)
        one.save(update_fields=["ended_at", "ended_by", "why"])
        _tell(one, "deputy_ended", actor=actor, reason=one.why)


def _tell(one: Deputy, kind: str, *, actor: str, reason: str) -> None:
    data = {
        "deputy": str(one.uid),
        "person": str(one),
        "starts_at": one.starts_at.isoformat(timespec="seconds"),
        "ends_at": one.ends_at.isoformat(timespec="seconds"),
    }
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)


def asker(
    maker: str, account: int | None, *, since: datetime, who: str = "", about: int | None = None
) -> Asker:
    """Return whose request it is by the names of now, and who has been one hand with them since then.

    `account`: of who asked, or of `who`; `about`: of whom it is about.
    """
    with connection.cursor() as cursor:
        cursor.execute(HANDS, {"maker": account, "about": about, "since": since})
        found = cursor.fetchall()
    names = {pk: name for pk, name, _ in found}
    return Asker(
        maker=maker,
        account=names.get(account, ""),
        who=who,
        about=names.get(about, ""),
        hands=frozenset(name for _, name, is_hand in found if is_hand),
    )
