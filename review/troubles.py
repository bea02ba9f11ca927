"""What is in trouble besides operations: paused destinations, the worker, webhooks that are not taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from ledger.door import health
from ledger.models import Delivery, Pause, Webhook
from review import wording
from review.instants import instant

COUNTED = 10_000


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong, and where to see more; no address where there is no page of it."""

    what: str
    why: str
    see: str = ""
    address: str = ""


def read(now: datetime, pauses: Sequence[Pause]) -> list[Trouble]:
    """Read what is wrong now; three queries, none of them over what is done."""
    silence = health.of_worker(now)
    found = [Trouble("The worker.", silence)] if silence else []
    found += [_paused(pause, now) for pause in pauses]
    failing = list(Webhook.objects.filter(failing_since__isnull=False).order_by("failing_since"))
    found += [_failing(webhook, now) for webhook in failing]
    given_up = Delivery.objects.filter(state=Delivery.State.GIVEN_UP).order_by("-pk")
    count = given_up.values("pk")[: COUNTED + 1].count()
    if count:
        words = f"{wording.bounded(count, COUNTED)} given up"
        address = f"{reverse('deliveries')}?view={Delivery.State.GIVEN_UP}"
        found.append(Trouble("Webhooks.", "What others were to be told was given up.", words, address))
    return found


def _paused(pause: Pause, now: datetime) -> Trouble:
    whom = " for automations" if pause.callers_only else ""
    cause = "it refused our credentials" if pause.http_status else "it cannot be used as it is set up"
    if pause.callers_only:
        cause = "it refused the credentials of an automation"
    return Trouble(
        f"{pause.destination.title} is paused{whom}",
        f"since {instant(pause.paused_at, now)}: {cause}.",
        "See the pause",
        reverse("pause", args=[pause.uid]),
    )


def _failing(webhook: Webhook, now: datetime) -> Trouble:
    since = instant(webhook.failing_since or now, now)
    tries = wording.several(webhook.failures, "try")
    return Trouble(
        f"{webhook.name} takes no messages",
        f"since {since}: {tries} in a row failed.",
        "What waits",
        f"{reverse('deliveries')}?view={Delivery.State.WAITING}",
    )
