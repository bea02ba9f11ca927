"""Puts into the outbox what is due: each person's one digest a day, and what a team's chat has not heard."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q
from django.urls import reverse

from ledger.models import Team, TieoutNow, database_now
from ledger.sight import Sight, limited
from ledger.worker.words import in_words
from review import access
from review.models import Channel, Message, Reader
from review.notices import digest

BATCH = 50
AGAIN = timedelta(hours=1)
"""When a digest that could not be made is tried again."""
NEWER = "A newer digest has taken its place."
CHAT_EVERY = timedelta(minutes=15)
"""How often a chat is spoken to at most: hundreds that fall due together are one message."""

log = logging.getLogger(__name__)


def make() -> int:
    """Make what is due; returns how many messages. Each pass is quick: what is left comes with the next."""
    now = database_now()
    return _digests(now) + _chats(now)


def _digests(now: datetime) -> int:
    if not settings.MAIL:
        return 0
    _expect(now)
    due = Reader.objects.filter(digest_due_at__lte=now, digest_off=False).select_related("person")
    return sum(_alone(reader, now) for reader in due.order_by("digest_due_at")[:BATCH])


def _apart(what: str, act: Callable[[], bool]) -> bool | None:
    """Do it for one of many; None where it breaks: the others do not wait for it."""
    try:
        return act()
    except (OperationalError, InterfaceError):
        raise  # the database is lost, which is no fault of this one
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are not to wait for it
        log.error("%s: %s", what, in_words(error))  # noqa: TRY400
    return None


def _alone(reader: Reader, now: datetime) -> bool:
    """Make one person's digest; one that cannot be made is put off."""
    made = _apart(f"Digest of reader {reader.pk}", partial(_digest, reader, now))
    if made is None:
        ours = Reader.objects.filter(pk=reader.pk, digest_due_at=reader.digest_due_at)
        ours.update(digest_due_at=now + AGAIN)
    return bool(made)


def _expect(now: datetime) -> None:
    """Work out when digests come next, for whoever has an address and wants one."""
    wanted = User.objects.filter(~Q(email=""), is_active=True)
    for person in wanted.filter(reader=None)[:BATCH]:
        Reader.objects.get_or_create(person=person)
    readers = Reader.objects.filter(digest_due_at=None, digest_off=False, person__in=wanted)
    for reader in readers[:BATCH]:
        if _apart(f"Next digest of reader {reader.pk}", partial(_plan, reader, now)) is None:
            Reader.objects.filter(pk=reader.pk, digest_due_at=None).update(digest_due_at=now + AGAIN)


def _plan(reader: Reader, now: datetime) -> bool:
    at = digest.next_at(reader, now)
    return bool(Reader.objects.filter(pk=reader.pk, digest_due_at=None).update(digest_due_at=at))


def _digest(reader: Reader, now: datetime) -> bool:
    """Make one person's digest, where anything is to be said; True where it was made."""
    person, due_at = reader.person, reader.digest_due_at
    quiet = digest.quiet_until(reader, now)
    ours = Reader.objects.filter(pk=reader.pk, digest_due_at=due_at)
    if quiet is not None:
        ours.update(digest_due_at=quiet)
        return False
    wanted = person.is_active and person.email
    with limited(Sight(partial(access.entities, person))):
        lines = digest.lines(person, now) if wanted else []
    with transaction.atomic():
        # Who is switched off, or has no address any more, is asked again once that changes.
        if not ours.update(digest_due_at=digest.next_at(reader, now) if wanted else None) or not lines:
            return False
        day = now.astimezone(digest.zone_of(reader)).date()
        channel, _ = Channel.objects.get_or_create(name=Channel.MAIL)
        old = Message.objects.filter(person=person, state=Message.State.WAITING).exclude(day=day)
        old.update(state=Message.State.DROPPED, due_at=None, words=NEWER)
        _, made = Message.objects.get_or_create(
            person=person, day=day, defaults={"channel": channel, "lines": lines}
        )
    return made


def _chats(now: datetime) -> int:
    """Make one message for each team whose chat has not heard of what went to it."""
    teams = {Channel.CHAT + team.name: team for team in Team.objects.exclude(chat="")}
    if not teams:
        return 0
    known = {one.name: one for one in Channel.objects.filter(name__in=teams)}
    for name in teams.keys() - known.keys():
        Channel.objects.get_or_create(name=name)
    waiting = [one for one in known.values() if one.pending or one.red]
    said = (
        _apart(f"Chat of channel {one.pk}", partial(_speak, teams[one.name], one, now)) for one in waiting
    )
    return sum(map(bool, said))


def _speak(team: Team, channel: Channel, now: datetime) -> bool:
    return _may_speak(team, channel, now) and _chat(channel)


def _may_speak(team: Team, channel: Channel, now: datetime) -> bool:
    """Say whether a team may be told now: not too often, and within its hours."""
    lately = channel.spoke_at is not None and now - channel.spoke_at < CHAT_EVERY
    hours = team.working
    return not lately and (hours is None or hours.is_open(now))


def _chat(channel: Channel) -> bool:
    with transaction.atomic():
        ours = Channel.objects.filter(pk=channel.pk, pending=channel.pending, red=channel.red)
        told = {"pending": F("pending") - channel.pending, "red": F("red") - channel.red}
        if not ours.update(**told, spoke_at=TieoutNow()):
            return False  # more has come: the next pass counts it
        lines = []
        if channel.pending:
            items = digest.figures(channel.pending, "item")
            words = f"{items} passed on to {channel.team}, as nobody had answered in time"
            lines.append((words, f"{reverse('queue')}?view=escalated&order=due"))
        if channel.red:
            lines.append((f"{digest.figures(channel.red, 'reconciliation')} did not report", reverse("runs")))
        Message.objects.create(channel=channel, lines=lines)
    return True
