"""One try of one delivery over the network, and what came of it in words of ours."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from ledger.destinations.connectors import wire
from ledger.destinations.connectors.base import ConfigurationError, refuse_open_transaction, secret
from ledger.models import Delivery
from ledger.rules.hearing import check_secret
from ledger.rules.webhooks import GONE, public
from ledger.webhooks import messages

TIMEOUT_S = 10.0
READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class Answered:
    """What a receiver said; without a status, why it could not be asked."""

    words: str
    status: int | None = None

    @property
    def taken(self) -> bool:
        """Say whether it has it."""
        return self.status is not None and 200 <= self.status < 300


def post(delivery: Delivery) -> Answered:
    """Tell a receiver once; whatever goes wrong on the way is said. RuntimeError inside a transaction."""
    refuse_open_transaction()
    webhook = delivery.webhook
    try:
        secrets = [_secret(place) for place in webhook.secrets]
    except ConfigurationError as error:
        return Answered(error.detail)
    content = messages.body(delivery)
    headers = messages.headers(delivery, content, secrets)
    return send(webhook.url, content=content, headers=headers, allow_private=webhook.allow_private)


def send(url: str, *, content: bytes, headers: Mapping[str, str], allow_private: bool) -> Answered:
    """POST once to an address outside, which leads into no private network unless that is allowed.

    RuntimeError inside a transaction.
    """
    refuse_open_transaction()
    try:
        request = httpx.Request("POST", url, headers=dict(headers), content=content)
    except httpx.InvalidURL:
        return Answered("Its address cannot be read: correct the configuration file.")
    route = wire.Route(allowed=None if allow_private else public)
    try:
        whole = wire.exchange(request, deadline=wire.Deadline(TIMEOUT_S), limit_bytes=READ_BYTES, route=route)
    except (wire.NotSent, wire.BrokenOff) as error:
        return Answered(str(error))
    return Answered(_said(whole.status), whole.status)


def _secret(place: str) -> str:
    value = secret(place)
    if why := check_secret("standard", value):
        raise ConfigurationError(f"The secret in {place.partition(':')[2]} cannot sign: {why}.")
    return value


def _said(status: int) -> str:
    if status == GONE:
        return "It answered 410: nobody is there any more."
    return f"It answered {status}{': redirects are not followed' if 300 <= status < 400 else ''}."
