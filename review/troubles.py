"""What is in trouble besides operations: paused destinations, the worker, webhooks that are not taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.urls import reverse

from ledger.door import health
from ledger.models import Delivery, Pause, Webhook
from review import wording
from review.instants import instant
from review.models import Channel

COUNTED = 10_000


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong, and where to see more; no address where there is no page of it."""

    what: str
    why: str
    see: str = ""
    address: str = ""


def read(now: datetime, pauses: Sequence[Pause]) -> list[Trouble]:
    """Read what is wrong now; four queries, none of them over what is done."""
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
    return [*found, *_of_notices(now)]


def _of_notices(now: datetime) -> list[Trouble]:
    """Read which messages do not arrive, and what stands in the name of whoever gets none; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_UNTOLD, {"most": COUNTED + 1, "chat": Channel.CHAT})
        given_up, theirs, failing = cursor.fetchone()
    found = [_silent(team, tries, datetime.fromisoformat(since), now) for team, tries, since in failing or []]
    if given_up:
        why = f"{wording.bounded(given_up, COUNTED)} could not be told by mail or chat, and were given up."
        found.append(Trouble("Notices.", why))
    if theirs:
        items = wording.bounded(theirs, COUNTED)
        why = f"{items} open in the name of people whose account is closed; no notice reaches them."
        found.append(Trouble("Nobody’s hands.", why, "Hand over", reverse("hand-over")))
    return found


_UNTOLD = """
SELECT
    (SELECT count(*) FROM (SELECT FROM review_message WHERE state = 'given_up' LIMIT %(most)s) AS counted),
    (SELECT count(*) FROM (
        SELECT FROM ledger_case AS c JOIN auth_user AS u ON u.username = c.assignee
        WHERE c.closed_at IS NULL AND c.assignee <> '' AND NOT u.is_active LIMIT %(most)s
    ) AS counted),
    (SELECT json_agg(json_build_array(CASE WHEN starts_with(name, %(chat)s) THEN substr(name, 6) ELSE '' END,
        failures, failing_since) ORDER BY failing_since) FROM review_channel WHERE failing_since IS NOT NULL)
"""


def _silent(team: str, failures: int, since: datetime, now: datetime) -> Trouble:
    what = f"The chat of {team}" if team else "The mail server"
    tries = wording.several(failures, "try")
    return Trouble(f"{what} takes no messages", f"since {instant(since, now)}: {tries} in a row failed.")


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
