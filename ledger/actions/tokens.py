"""API tokens: issued, rotated and revoked, each with its event. Only a token's digest is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F

from ledger.models import ApiToken, Event, database_now
from ledger.rules.errors import Conflict, NotFound
from ledger.rules.tokens import new_token, token_hash

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('token ' || %s, 0))"


@dataclass(frozen=True)
class Terms:
    """What a token is for: types, life in seconds, requests a minute; None is as before, or no limit."""

    types: Sequence[str] | None = None
    expires_s: float | None = None
    per_minute: int | None = None


def issue(name: str, terms: Terms, *, actor: str) -> str:
    """Return a new token of a name that has none; Conflict where it has one."""
    with transaction.atomic():
        now = _alone(name)
        if ApiToken.objects.living(now).filter(name=name).exists():
            raise Conflict(
                f"{name} has a token already, and a name stands for one automation. --rotate issues its next "
                "one, revoke_key ends it; or give another name. No token was issued."
            )
        # What has expired is over since then, and leaves the name.
        ApiToken.objects.filter(name=name, revoked_at=None).update(revoked_at=F("expires_at"))
        return _made(
            name, terms, now=now, kind="key_issued", reason=f"API token issued to {name}", actor=actor
        )


def rotate(name: str, terms: Terms, *, overlap_s: float, actor: str) -> str:
    """Return the next token of a name, for the same types, at the same rate and for as long unless said.

    The one before lives on for `overlap_s` seconds, and no longer than it would have. NotFound without one.
    """
    with transaction.atomic():
        now = _alone(name)
        before = ApiToken.objects.filter(name=name, revoked_at=None).first()
        if before is None:
            raise NotFound(f"{name} has no token to rotate; without --rotate one is issued.")
        life = before.expires_at - before.created_at if before.expires_at else None
        meant = Terms(
            types=before.types if terms.types is None else terms.types,
            expires_s=life.total_seconds() if terms.expires_s is None and life else terms.expires_s,
            per_minute=before.per_minute if terms.per_minute is None else terms.per_minute,
        )
        ends_at = now + timedelta(seconds=overlap_s)
        before.revoked_at = min(ends_at, before.expires_at or ends_at)
        before.save(update_fields=["revoked_at"])
        until = f"{before.revoked_at:%Y-%m-%d %H:%M:%S} UTC"
        reason = f"Next API token issued to {name}; the one before ends at {until}"
        return _made(name, meant, now=now, kind="key_rotated", reason=reason, actor=actor)


def revoke(name: str, *, actor: str) -> int:
    """End every living token of a name at once, and return how many; NotFound where none lives."""
    with transaction.atomic():
        now = _alone(name)
        ended = ApiToken.objects.living(now).filter(name=name).update(revoked_at=now)
        if not ended:
            raise NotFound(f"{name} has no token that lives.")
        reason = f"API token of {name} revoked" if ended == 1 else f"{ended} API tokens of {name} revoked"
        Event.objects.create(
            kind="key_revoked", actor=actor, reason=reason, data={"name": name, "ended": ended}
        )
    return ended


def _alone(name: str) -> datetime:
    """Let nobody else issue, rotate or revoke a name's tokens meanwhile; return the time after the wait."""
    with connection.cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME, [name])
    return database_now()


def _made(name: str, terms: Terms, *, now: datetime, kind: str, reason: str, actor: str) -> str:
    token, types = new_token(), sorted(set(terms.types or ()))
    expires_at = None if terms.expires_s is None else now + timedelta(seconds=terms.expires_s)
    ApiToken.objects.create(
        name=name,
        token_hash=token_hash(token),
        types=types,
        created_at=now,
        expires_at=expires_at,
        per_minute=terms.per_minute,
    )
    told = {
        "name": name,
        "types": types,
        "expires_at": expires_at.isoformat() if expires_at else None,
        "per_minute": terms.per_minute,
    }
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=told)
    return token
