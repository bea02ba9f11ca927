"""OAuth 2 (RFC 6749): a destination's access token, by client credentials or by a sign-in's refresh token.

What is said to the token endpoint is oauthlib's; that it is said once, under the call's one deadline, by one
process, and kept, is ours. Whatever fails here happens before a byte of the call: it was not sent.
"""

import base64
import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote_plus

import httpx
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from oauthlib.oauth2 import OAuth2Error
from oauthlib.oauth2.rfc6749.parameters import parse_token_response, prepare_token_request

from ledger import actions
from ledger.actions import granting
from ledger.actions.granting import Held
from ledger.destinations.connectors import wire
from ledger.destinations.connectors.base import ConfigurationError, Target, secret
from ledger.models import Destination
from ledger.rules.connections import Auth
from ledger.rules.digests import canonical

ANSWER_MAX_BYTES = 64 * 1024
WAIT_S = 0.1
"""Between two looks at whether another process has renewed it."""
FRESH_S = 60.0
"""An access token that is younger and refused is refused for good: another one would be, too."""
PATIENCE_S = 20.0
"""How long it is tried to store what was given, while the database does not answer."""
AGAIN_S = 0.5
LIFE_MAX_S = 10 * 366 * 86400
REFUSALS = frozenset(
    {"invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}
    | {"invalid_request", "access_denied"}
)
"""What a token endpoint may say that no waiting changes (RFC 6749, 5.2)."""
SUCCESS, UNAUTHORIZED, REFUSING = 200, 401, (400, 401, 403)

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class _Given:
    """What a token endpoint gave; seconds until it ends, None where that was not said."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    life_s: float | None


class _NothingGiven(Exception):
    """A token endpoint gave nothing; `code` where it refused, `lost` where it may have given something."""

    def __init__(self, words: str, *, code: str = "", lost: bool = False) -> None:
        super().__init__(words)
        self.code, self.lost = code, lost


class Access:
    """A destination's access token, shared by all workers; secrets are read when it is made."""

    def __init__(self, target: Target, auth: Auth, route: wire.Route) -> None:
        self._target, self._auth, self._route = target, auth, route
        client = auth.client_id or ""
        self._client = secret(client) if client.startswith(("env:", "file:")) else client
        self._secret = secret(auth.client_secret or "")
        self._signed_in = "" if auth.refresh_token is None else secret(auth.refresh_token)
        # What a sign-in may do was said when somebody signed in.
        scope = None if self._signed_in else auth.scope
        parts = ["tieout/grant/1", auth.token_url, self._client, self._signed_in, scope]
        self._origin = hashlib.sha256(canonical(parts)).hexdigest()
        self._used: Held | None = None

    def token(self, deadline: wire.Deadline) -> str:
        """Return an access token that is good now, renewed where that is due; raises NotSent.

        Raises ConfigurationError, with the destination paused, where only a person can go on.
        """
        while True:
            known = _stored(self._held)
            if not known.good or known.due:
                known = self._renewed(known, deadline) or known
            if known.good:
                self._used = known
                return known.access_token
            if deadline.left_s() <= WAIT_S:
                raise wire.NotSent("Its access token was being renewed, and was not there in time.")
            time.sleep(WAIT_S)

    def lapsed(self) -> bool:
        """Say of a 401 whether the token used was only too old: the next one has a chance. It is given up."""
        used = self._used
        if used is None:
            return False
        try:
            now = self._held()
            if now.version == used.version and now.age_s >= FRESH_S:
                granting.give_up(now)
                return True
        except (DatabaseError, InterfaceError):
            return False
        return now.version != used.version

    def _held(self) -> Held:
        return granting.held(self._origin, destination=self._target.name)

    def _renewed(self, known: Held, deadline: wire.Deadline) -> Held | None:
        """Renew it, unless another process does; None where that is so, or where the old one is good yet."""
        for_s = deadline.left_s()
        holder = _stored(lambda: granting.take(known, for_s=for_s)) if for_s > 0 else None
        if holder is None:
            return None
        try:
            given = self._given(known, deadline)
        except _NothingGiven as nothing:
            lost = nothing.lost
            _stored(lambda: granting.give_back(known, holder, unfinished=lost))
            if nothing.code:
                raise self._ended(known, nothing.code) from None
            if known.good:
                return None
            raise wire.NotSent(f"{nothing} So there is no access token.") from None
        return self._kept(known, given)

    def _given(self, known: Held, deadline: wire.Deadline) -> _Given:
        """Ask the token endpoint; raises _NothingGiven."""
        try:
            asked = self._request(known)
            whole = wire.exchange(asked, deadline=deadline, limit_bytes=ANSWER_MAX_BYTES, route=self._route)
        except wire.NotSent as error:
            raise _NothingGiven(str(error)) from None
        except wire.BrokenOff as error:
            raise _NothingGiven(str(error), lost=True) from None
        return _read(whole)

    def _request(self, known: Held) -> httpx.Request:
        refresh_token = known.refresh_token or self._signed_in
        in_body = self._auth.client_auth == "body"
        body = prepare_token_request(
            "refresh_token" if refresh_token else "client_credentials",
            include_client_id=in_body,
            client_id=self._client,
            client_secret=self._secret if in_body else None,
            refresh_token=refresh_token,
            scope=None if refresh_token else self._auth.scope,
        )
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        if not in_body:
            pair = f"{quote_plus(self._client)}:{quote_plus(self._secret)}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode('ascii')}"
        return httpx.Request("POST", self._auth.token_url or "", headers=headers, content=body.encode())

    def _kept(self, known: Held, given: _Given) -> Held:
        """Store it at once, with patience: of a refresh token that is not stored nobody has another."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return granting.keep(
                    known,
                    origin=self._origin,
                    destination=self._target.name,
                    access_token=given.access_token,
                    refresh_token=given.refresh_token or known.refresh_token,
                    life_s=given.life_s,
                )
            except (OperationalError, InterfaceError) as error:
                connection.close()
                told = f"{self._target.name}: its access token is not stored ({type(error).__name__})"
                logger.warning(told)
                if time.monotonic() >= until:
                    raise wire.NotSent("Its access token could not be stored.") from None
                time.sleep(AGAIN_S)

    def _ended(self, known: Held, code: str) -> ConfigurationError:
        """Pause the destination: whatever is tried, only a person can give access again."""
        why = f"Its token endpoint refuses us ({code}): see client_id, client_secret and scope."
        if code == "invalid_grant" and self._signed_in:
            lost = " A renewal was cut off before, and what it brought was lost." if known.unfinished else ""
            why = (
                f"Its sign-in has ended (invalid_grant).{lost} Sign in there again, and put the new refresh "
                f"token into {self._auth.refresh_token}."
            )
        try:
            actions.pause(Destination.objects.get(name=self._target.name).pk, why=why)
        except (DatabaseError, InterfaceError):
            logger.warning("%s: it could not be paused", self._target.name)
        return ConfigurationError(why)


def _read(whole: wire.Whole) -> _Given:
    """Read a token endpoint's answer without keeping a word of its own; raises _NothingGiven."""
    body = whole.body.decode("utf-8", errors="replace")
    if whole.status == SUCCESS:
        return _read_token(body)
    try:
        parse_token_response(body)
    except OAuth2Error as error:
        if error.error in REFUSALS and whole.status in REFUSING:
            raise _NothingGiven("refused", code=error.error) from None
    except Exception:  # noqa: BLE001, S110 - whatever stands there, its status counts
        pass
    if whole.status == UNAUTHORIZED:
        raise _NothingGiven("refused", code="invalid_client")
    raise _NothingGiven(f"The token endpoint answered with status {whole.status}.")


def _read_token(body: str) -> _Given:
    try:
        told = parse_token_response(body)
        token, refresh_token = told["access_token"], told.get("refresh_token") or ""
        life, kind = told.get("expires_in"), told.get("token_type") or "bearer"
        usable = all(one.isascii() and one.isprintable() and " " not in one for one in (token, refresh_token))
        life_s = None if life is None else min(float(life), LIFE_MAX_S)
    except OAuth2Error as error:
        code = error.error if error.error in REFUSALS else ""
        raise _NothingGiven("The token endpoint gave no token.", code=code, lost=not code) from None
    except Exception:  # noqa: BLE001 - an answer may be anything
        raise _NothingGiven("The token endpoint's answer cannot be read.", lost=True) from None
    if not token or not usable or kind.lower() != "bearer" or (life_s or 1) <= 0:
        raise _NothingGiven("The token endpoint gave a token that cannot be used.", lost=True)
    return _Given(token, refresh_token, life_s)


def _stored(act: Callable[[], T]) -> T:
    """Do something with what is stored before the call; without the database it is not sent."""
    try:
        return act()
    except (DatabaseError, InterfaceError):
        connection.close()
        raise wire.NotSent("What is stored of its access could not be read.") from None
