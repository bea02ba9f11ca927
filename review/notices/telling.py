"""One try of one message: by mail to a person or an address, or to a team's chat; what came of it."""

import json
import smtplib
from dataclasses import dataclass

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from ledger.destinations.connectors.base import ConfigurationError, refuse_open_transaction, secret
from ledger.models import Event, Team
from ledger.webhooks import posting
from reconcile import letters
from reconcile.models import Plan
from review.models import Message
from review.notices import attaching

CLOSED = "Their account is closed."
NO_ADDRESS = "They have no address any more."
NO_RECIPIENT = "Their plan no longer names this address."
NO_TEAM = "The team has no chat any more."
NO_MAIL = "There is no mail server: SMTP_HOST is not set."


@dataclass(frozen=True)
class Told:
    """What came of a try; `gone`: nobody is to be told any more; `own`: it is no fault of the way."""

    words: str = ""
    taken: bool = False
    gone: bool = False
    own: bool = False


def text(message: Message) -> str:
    """Return what a message says: a line for each count, with the address of its page."""
    return "\n".join(f"{words}: {settings.PUBLIC_URL}{path}" for words, path in message.lines)


def tell(message: Message) -> Told:
    """Try once; RuntimeError inside a transaction."""
    refuse_open_transaction()
    if message.person is not None:
        return _mail(message)
    return _report(message) if message.address else _chat(message)


def _mail(message: Message) -> Told:
    person = message.person
    assert person is not None
    if not person.is_active:
        return Told(CLOSED, gone=True)
    if not person.email:
        return Told(NO_ADDRESS, gone=True)
    if not settings.MAIL:
        return Told(NO_MAIL)
    return _sent(_letter(message, person.email))


def _report(message: Message) -> Told:
    """Mail what a run came to; where no mail goes out at all, nobody waits for it."""
    if not settings.MAIL:
        return Told(NO_MAIL, gone=True)
    if not _is_recipient(message):
        return Told(NO_RECIPIENT, gone=True)
    if message.run is None:
        said = letters.Letter(message.lines[0][0], text(message).splitlines())
    else:
        said = letters.of(message.run)
        said.lines.append(f"\n{settings.PUBLIC_URL}{reverse('run', args=[message.run.uid])}")
    attached = None
    try:
        attached = attaching.of(message.run, message.address) if message.run is not None else None
    except OverflowError:
        said.lines.append(attaching.TOO_LARGE)
    letter = _written(message, said.subject, "\n".join(said.lines), message.address)
    if attached is not None:
        letter.attach(*attached)
    return _sent(letter)


def _is_recipient(message: Message) -> bool:
    """Say whether the plan that a message tells of still names its address: it may have waited for long."""
    if message.run is not None:
        plans = Plan.objects.filter(pk=message.run.plan_id)
    else:
        event = Event.objects.get(pk=message.about.removeprefix("event "))
        plans = Plan.objects.filter(name=event.data["plan"])
    named = {one.lower() for plan in plans for one in plan.recipients}
    return message.address.lower() in named


def _sent(letter: EmailMessage) -> Told:
    try:
        letter.send()
    except smtplib.SMTPRecipientsRefused as error:
        status = next((code for code, _ in error.recipients.values()), 0)
        return Told(f"The mail server refused their address with {status}.", own=True)
    except smtplib.SMTPResponseException as error:
        return Told(f"The mail server answered {error.smtp_code}.")
    except (smtplib.SMTPException, OSError) as error:
        return Told(f"The mail server could not be told: {type(error).__name__}.")
    return Told("The mail server took it.", taken=True)


def _letter(message: Message, to: str) -> EmailMessage:
    first = message.lines[0][0]
    more = f", and {len(message.lines) - 1} more" if len(message.lines) > 1 else ""
    own = f"Choose when it comes, or that it does not: {settings.PUBLIC_URL}/you/"
    return _written(message, f"{first}{more}", f"{text(message)}\n\n{own}", to)


def _written(message: Message, subject: str, body: str, to: str) -> EmailMessage:
    headers = {
        # The same in every try: a second one is known by it.
        "Message-ID": f"<{message.uid}@{settings.DEFAULT_FROM_EMAIL.partition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    return EmailMessage(f"Tieout: {subject}", f"{body}\n", to=[to], headers=headers)


def _chat(message: Message) -> Told:
    team = Team.objects.filter(name=message.channel.team).exclude(chat="").first()
    if team is None:
        return Told(NO_TEAM, gone=True)
    try:
        address = secret(team.chat)
    except ConfigurationError as error:
        return Told(error.detail)
    key = f"msg_{message.uid.hex}"
    headers = {"Content-Type": "application/json", "User-Agent": "Tieout", "webhook-id": key}
    content = json.dumps(_FORMS[team.chat_kind](text(message))).encode()
    answered = posting.send(address, content=content, headers=headers, allow_private=team.allow_private)
    return Told(answered.words, taken=answered.taken)


def _slack(said: str) -> dict[str, object]:
    return {"text": said}


def _teams(said: str) -> dict[str, object]:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": said, "wrap": True}],
    }
    form = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": form, "content": card}]}


_FORMS = {"slack": _slack, "teams": _teams}
