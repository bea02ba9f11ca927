"""A destination's own webhooks come in: who signed is checked first, then the event is a reason to look."""

import logging
from collections.abc import Sequence

from django.http import HttpRequest

from ledger import actions
from ledger.destinations.connectors.base import ConfigurationError, secret
from ledger.models import Destination, database_now
from ledger.rules import hearing
from ledger.rules.errors import NotFound, NotSigned, Unavailable
from ledger.rules.events import EventRules

log = logging.getLogger(__name__)


def take(request: HttpRequest, name: str) -> str:
    """Take an event in and say whether it was new, known, or about nothing of ours.

    Raises NotFound, NotSigned, Malformed, and Unavailable where none of our secrets can be read.
    """
    destination = Destination.objects.filter(name=name).first()
    rules = destination.reach.events if destination is not None else None
    if destination is None or rules is None:
        raise NotFound(
            "No destination of this name sends events here; its configuration has no events section."
        )
    headers = {header.lower(): value for header, value in request.headers.items()}
    secrets = _secrets(destination, rules)
    try:
        hearing.signed(rules, secrets=secrets, headers=headers, body=request.body, now=database_now())
    except NotSigned:
        actions.refuse_unsigned(destination)
        raise
    return actions.hear(destination, hearing.read(rules, headers=headers, body=request.body))


def _secrets(destination: Destination, rules: EventRules) -> Sequence[str]:
    """Return the secrets that are there; one that is being replaced may be away."""
    found = []
    for place in rules.secret:
        try:
            value = secret(place)
        except ConfigurationError as error:
            log.warning("An event of %s: %s", destination.name, error)
            continue
        if not hearing.check_secret(rules.scheme, value):
            found.append(value)
    if not found:
        raise Unavailable("The secret that events are checked with cannot be read here. Send it again later.")
    return found
