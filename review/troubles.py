"""What is in trouble besides operations: paused destinations, the worker, webhooks that are not taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Coalesce
from django.urls import reverse

from ledger import sight
from ledger.door import health
from ledger.models import Case, Delivery, Pause, Webhook
from reconcile.models import Period, Run
from review import expected, periods, wording
from review.instants import instant
from review.models import Channel

COUNTED = 10_000
OWN = Value(date.min)
"""Stands for the days of a run over its plan's own window."""
RUNS = 4
"""So many runs that broke off are named."""


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong, and where to see more; no address where there is no page of it."""

    what: str
    why: str
    see: str = ""
    address: str = ""
    command: str = ""
    """What puts it right, or says what is wrong with it, typed by whoever runs Tieout."""


START, DOCTOR = "manage.py worker", "manage.py doctor"
REMEDY = (
    "Nothing is sent, checked or reconciled by itself until it works; what people press is kept, and waits. "
    "A frozen one is started again within half a minute; else whoever runs Tieout starts one:"
)
ASK = "Whoever runs Tieout asks what is wrong:"


def read(now: datetime, pauses: Sequence[Pause], ran: expected.Expected) -> list[Trouble]:
    """Read what is wrong now; five queries, none of them over what is done.

    `ran`: how each plan's latest due time went, which says itself which run of it broke off.
    """
    silence = health.of_worker(now)
    found = [Trouble("The worker.", f"{silence} {REMEDY}", command=START)] if silence else []
    found += [_paused(pause, now) for pause in pauses]
    found += _broken_off(now, ran)
    failing = list(Webhook.objects.filter(failing_since__isnull=False).order_by("failing_since"))
    found += [_failing(webhook, now) for webhook in failing]
    given_up = Delivery.objects.filter(state=Delivery.State.GIVEN_UP).order_by("-pk")
    count = given_up.values("pk")[: COUNTED + 1].count()
    if count:
        words = f"{wording.bounded(count, COUNTED)} given up"
        address = f"{reverse('deliveries')}?view={Delivery.State.GIVEN_UP}"
        found.append(Trouble("Webhooks.", "What others were to be told was given up.", words, address))
    return [*found, *_of_notices(now), *map(_no_longer_as_signed, periods.drifted())]


def _no_longer_as_signed(found: tuple[Period, int]) -> Trouble:
    period, count = found
    name = f"{period.title} of {period.plan.name}"
    items = "1 item is" if count == 1 else f"{count} items are"
    address = reverse("period", args=[period.uid])
    return Trouble("A signed period.", f"{items} no longer as signed in {name}.", "See which", address)


def _of_notices(now: datetime) -> list[Trouble]:
    """Read which messages do not arrive, and what stands in the name of whoever gets none; one query.

    A chat or a mail server tells of every entity: who sees some alone is shown neither.
    """
    gone = User.objects.filter(is_active=False, username=OuterRef("assignee"))
    theirs = Case.objects.open().exclude(assignee="").filter(Exists(gone)).values("pk")[: COUNTED + 1]
    counted, given = theirs.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_UNTOLD.replace("{theirs}", counted), [COUNTED + 1, *given, Channel.CHAT])
        given_up, late, hands, failing = cursor.fetchone()
    found = _untold(given_up, failing or [], now, late=late) if sight.present() is None else []
    if hands:
        items = wording.bounded(hands, COUNTED)
        why = f"{items} open in the name of people whose account is closed; no notice reaches them."
        found.append(Trouble("Nobody’s hands.", why, "Hand over", reverse("hand-over")))
    return found


def _untold(given_up: int, failing: list[tuple[str, int, str]], now: datetime, *, late: int) -> list[Trouble]:
    found = [_silent(team, tries, datetime.fromisoformat(since), now) for team, tries, since in failing]
    if given_up:
        count = wording.bounded(given_up, COUNTED)
        messages = "message was" if given_up == 1 else "messages were"
        why = f"{count} {messages} given up, by mail or chat; nothing has arrived there since."
        found.append(Trouble("Notices.", f"{why} {ASK}", command=DOCTOR))
    if late:
        mails, they = (
            ("A mail about a run has", "it") if late == 1 else (f"{late} mails about runs have", "them")
        )
        why = f"{mails} not arrived: the mail server did not take {they} yet. Each is tried again."
        found.append(Trouble("Reports.", why))
    return found


_UNTOLD = """
SELECT
    (SELECT count(*) FROM (
        SELECT FROM review_message AS m WHERE state = 'given_up' AND NOT EXISTS (
            SELECT FROM review_message AS later
            WHERE later.channel_id = m.channel_id AND later.person_id IS NOT DISTINCT FROM m.person_id
            AND later.address = m.address
            AND later.id > m.id AND later.state = 'delivered'
        ) LIMIT %s
    ) AS counted),
    (SELECT count(*) FROM review_message WHERE state = 'waiting' AND address <> '' AND tries > 0),
    (SELECT count(*) FROM ({theirs}) AS counted),
    (SELECT json_agg(json_build_array(CASE WHEN starts_with(name, %s) THEN substr(name, 6) ELSE '' END,
        failures, failing_since) ORDER BY failing_since) FROM review_channel WHERE failing_since IS NOT NULL)
"""
"""What was given up is no trouble any more once the next message has arrived there: it says what waits."""


def _silent(team: str, failures: int, since: datetime, now: datetime) -> Trouble:
    what = f"The chat of {team}" if team else "The mail server"
    tries = wording.several(failures, "try")
    why = f"since {instant(since, now)}: {tries} in a row failed. {ASK}"
    return Trouble(f"{what} takes no messages", why, command=DOCTOR)


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


def _broken_off(now: datetime, ran: expected.Expected) -> list[Trouble]:
    """Read which runs of the last days broke off, and were followed by none over the same days; one query."""
    since = (
        Run.objects.filter(plan=OuterRef("plan"), pk__gt=OuterRef("pk"), dry_run=False)
        .alias(first=Coalesce("first_day", OWN), last=Coalesce("last_day", OWN))
        .filter(first=Coalesce(OuterRef("first_day"), OWN), last=Coalesce(OuterRef("last_day"), OWN))
    )
    told = [line.run.pk for line in ran.lines if line.standing == "did not" and line.run is not None]
    runs = Run.objects.filter(
        plan__in=[line.plan.pk for line in ran.lines],
        started_at__gt=now - expected.LATELY,
        state=Run.State.FAILED,
        dry_run=False,
    )
    rows = list(
        runs.exclude(pk__in=told).exclude(Exists(since)).select_related("plan").order_by("-pk")[: RUNS + 1]
    )
    found = [
        Trouble(
            f"Run {run.pk} of {run.plan.name} did not run to its end",
            f"{instant(run.started_at, now)}: {run.why_failed} Nothing of it counts.",
            "See why, and run it again",
            reverse("run", args=[run.uid]),
        )
        for run in rows[:RUNS]
    ]
    if len(rows) > RUNS:
        found.append(Trouble("Runs.", "More did not run to their end.", "All runs", reverse("runs")))
    return found


def _failing(webhook: Webhook, now: datetime) -> Trouble:
    since = instant(webhook.failing_since or now, now)
    tries = wording.several(webhook.failures, "try")
    return Trouble(
        f"{webhook.name} takes no messages",
        f"since {since}: {tries} in a row failed.",
        "What waits",
        f"{reverse('deliveries')}?view={Delivery.State.WAITING}",
    )
