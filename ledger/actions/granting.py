"""Keep the access that a token endpoint gives: read it, renew it by one process alone, give it up."""

import json
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import F, Q

from ledger.actions.submission import payload_keys
from ledger.models import Destination, Grant, TieoutNow, database_now
from ledger.rules import sealing
from ledger.rules.errors import SealError

EARLY_S, EARLY_PART = 60.0, 0.5
"""It is renewed a minute before its end, or after half of its life where that is later."""
SAFE_S, SAFE_PART = 5.0, 0.1
"""It is not used in its last seconds, for it must arrive, and clocks differ."""
FORGET = timedelta(days=1)
"""How long a grant of other credentials is kept, for processes that still have those."""


@dataclass(frozen=True)
class Held:
    """What is stored of a grant; `good` may be used, `due` is to be renewed.

    `unfinished`: when a renewal began that nobody has ended, so that what it brought is lost.
    """

    pk: int
    version: int
    access_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    good: bool = False
    due: bool = True
    age_s: float = 0.0
    unfinished: datetime | None = None


def held(origin: str, *, destination: str) -> Held:
    """Return what is stored of a grant; where that is nothing, or cannot be opened, it is to be renewed."""
    grant = Grant.objects.filter(origin=origin).first()
    if grant is None:
        row = Grant(origin=origin, destination=Destination.objects.get(name=destination))
        Grant.objects.bulk_create([row], ignore_conflicts=True)
        grant = Grant.objects.get(origin=origin)
    bare = Held(grant.pk, grant.version, unfinished=grant.asked_at)
    if grant.sealed is None or grant.issued_at is None:
        return bare
    try:
        opened = json.loads(sealing.unseal(payload_keys(), bytes(grant.sealed), bound_to=origin))
    except SealError:
        return bare
    now = database_now()
    return Held(
        pk=grant.pk,
        version=grant.version,
        access_token=opened["access_token"],
        refresh_token=opened["refresh_token"],
        good=grant.ends_at is None or now < grant.ends_at,
        due=grant.renew_at is not None and now >= grant.renew_at,
        age_s=(now - grant.issued_at).total_seconds(),
        unfinished=grant.asked_at,
    )


def take(known: Held, *, for_s: float) -> uuid.UUID | None:
    """Give the renewal to this process alone for so many seconds; None where another has it, or did it."""
    holder, free = uuid.uuid4(), Q(held_until=None) | Q(held_until__lte=TieoutNow())
    taken = Grant.objects.filter(free, pk=known.pk, version=known.version).update(
        holder=holder, held_until=TieoutNow() + timedelta(seconds=for_s), asked_at=TieoutNow()
    )
    return holder if taken else None


def give_back(known: Held, holder: uuid.UUID, *, unfinished: bool) -> None:
    """End a renewal that brought nothing; `unfinished` where something may have been given and got lost."""
    asked_at = F("asked_at") if unfinished else None
    Grant.objects.filter(pk=known.pk, holder=holder).update(holder=None, held_until=None, asked_at=asked_at)


def keep(
    known: Held, *, origin: str, destination: str, access_token: str, refresh_token: str, life_s: float | None
) -> Held:
    """Store what was given, in one statement; of two processes that were given something, the first counts.

    `life_s` are the seconds until it ends, None where that was not said.
    """
    told = json.dumps({"access_token": access_token, "refresh_token": refresh_token}).encode()
    now = database_now()
    early_s = min(EARLY_S, EARLY_PART * (life_s or 0))
    safe_s = min(SAFE_S, SAFE_PART * (life_s or 0))
    Grant.objects.filter(pk=known.pk, version=known.version).update(
        destination=Destination.objects.get(name=destination),
        sealed=sealing.seal(payload_keys(), told, bound_to=origin),
        version=known.version + 1,
        issued_at=now,
        renew_at=None if life_s is None else now + timedelta(seconds=life_s - early_s),
        ends_at=None if life_s is None else now + timedelta(seconds=life_s - safe_s),
        holder=None,
        held_until=None,
        asked_at=None,
    )
    others = Grant.objects.filter(destination__name=destination).exclude(pk=known.pk)
    unused = [Q((name, None)) | Q((f"{name}__lt", now - FORGET)) for name in ("issued_at", "asked_at")]
    others.filter(*unused).delete()
    return Held(known.pk, known.version + 1, access_token, refresh_token, good=True, due=False)


def give_up(known: Held) -> None:
    """Use an access token no more that was refused; one that has come since stays."""
    Grant.objects.filter(pk=known.pk, version=known.version).update(renew_at=TieoutNow(), ends_at=TieoutNow())
