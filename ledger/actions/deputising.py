"""One person stands in for another: named with start, end and reason, or ended; each with its event."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.contrib.auth import get_user_model
from django.db import connection, transaction

from ledger.actions.changing import given, once
from ledger.models import Approval, Deputy, Event, database_now
from ledger.models.deputy import EARLIEST, LATEST
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.second_person import Asker

HANDS = """
SELECT place, id, username, hand
FROM unnest(%(makers)s::integer[], %(abouts)s::integer[], %(since)s::timestamptz[])
    WITH ORDINALITY AS asked (maker, about, since, place), auth_user,
    LATERAL (SELECT ledger_one_hand(id, asked.maker, asked.since, tieout_now()) AS hand) AS one
WHERE id = asked.maker OR id = asked.about OR (id = %(only)s OR %(only)s::integer IS NULL) AND hand
"""


@dataclass(frozen=True)
class Asking:
    """One request: who asks, their account or that of `who`, since when, and the account that it is about."""

    maker: str
    account: int | None
    since: datetime
    who: str = ""
    about: int | None = None

    @classmethod
    def of(cls, approval: Approval) -> Self:
        """Read what somebody asks of an operation."""
        who = approval.data.get("who", "")
        return cls(approval.maker, approval.maker_account, approval.made_at, who)


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


def asker(asked: Asking) -> Asker:
    """Return whose request it is by the names of now, and who has been one hand with them since then."""
    return askers([asked])[0]


def askers(asked: Sequence[Asking], *, only: int | None = None) -> list[Asker]:
    """Return the same for many, with one question; `only`: the one account that matters as another hand."""
    columns: dict[str, list[Any]] = {
        "makers": [one.account for one in asked],
        "abouts": [one.about for one in asked],
        "since": [one.since for one in asked],
    }
    names: list[dict[int, str]] = [{} for _ in asked]
    hands: list[set[str]] = [set() for _ in asked]
    with connection.cursor() as cursor:
        cursor.execute(HANDS, {**columns, "only": only})
        for place, pk, name, is_hand in cursor.fetchall():
            names[place - 1][pk] = name
            hands[place - 1] |= {name} if is_hand else set()
    return [
        Asker(
            maker=one.maker,
            account=known.get(one.account or 0, ""),
            who=one.who,
            about=known.get(one.about or 0, ""),
            hands=frozenset(theirs),
        )
        for one, known, theirs in zip(asked, names, hands, strict=True)
    ]
