"""What the configuration file has set up: schedules, destinations with their secrets, webhooks, chats."""

from collections.abc import Iterator

from ledger.destinations.connectors.base import ConfigurationError, kept_text
from ledger.models import Destination, Pause, Team, Webhook, database_now
from review import expected, periods
from review.doctor.lines import Line, ok, warning, wrong
from review.models import Channel, Message

UNTOLD = 10
PUT_IT_THERE = "Put it there, where the worker runs, and restart; or name another place and configure."


def schedules() -> Iterator[Line]:
    """Say of each plan whether it runs by itself, and has run."""
    paused = set(Pause.objects.open().of_all().values_list("destination_id", flat=True))
    lines = expected.read(database_now(), paused=paused).lines
    for line in lines:
        name = f"schedule {line.plan.name}"
        if line.standing == "did not":
            yield wrong(
                name, f"{line.badge.words}. {line.note}", f"manage.py reconcile {line.plan.name} runs it now."
            )
        else:
            yield ok(name, line.badge.words)
    if not lines:
        yield warning(
            "schedules", "No plan is set up: nothing is reconciled.", "Add [plans.NAME] and configure."
        )


def closed_periods() -> Iterator[Line]:
    """Say which signed periods are no longer as they were signed."""
    found = periods.drifted()
    for period, count in found:
        items = "1 item is" if count == 1 else f"{count} items are"
        remedy = "Its page under Periods names each; the next open period answers for them."
        yield warning(
            f"period {period.plan.name} {period.first_day:%Y-%m}", f"{items} not as signed.", remedy
        )
    if not found:
        yield ok("signed periods", "each as signed, as far as runs have looked since")


def destinations() -> Iterator[Line]:
    """Say of each destination whether it can be used: its rules, its pause, its secrets."""
    found = list(Destination.objects.prefetch_related("types").order_by("name"))
    paused = set(Pause.objects.open().values_list("destination__name", flat=True))
    for one in found:
        yield from _destination(one, paused=one.name in paused)
    if not found:
        yield warning("destinations", "None is set up.", "manage.py configure FILE.toml")


def _destination(one: Destination, *, paused: bool) -> Iterator[Line]:
    name, kinds = f"destination {one.name}", list(one.types.all())
    troubles = {trouble for trouble in (one.trouble, *(kind.trouble for kind in kinds)) if trouble}
    found = [wrong(name, why, "Take its file in again: manage.py configure.") for why in sorted(troubles)]
    kept = [one.connection, *(kind.calls for kind in kinds)]
    found += [wrong(name, why, PUT_IT_THERE) for why in _unreadable(kept)]
    if paused:
        remedy = f"Correct it there, then manage.py resume {one.name} --reason TEXT, or its page."
        found.append(wrong(name, "It is paused.", remedy))
    yield from found or [ok(name, f"{len(kinds)} types, its secrets are readable")]


def webhooks() -> Iterator[Line]:
    """Say of each webhook whether it can be told."""
    for one in Webhook.objects.order_by("name"):
        name = f"webhook {one.name}"
        found = [wrong(name, why, PUT_IT_THERE) for why in _unreadable(one.secrets)]
        if one.failing_since is not None:
            words = f"It takes no messages: {one.failures} tries in a row failed."
            found.append(warning(name, words, "See Deliveries for what it answered."))
        yield from found or [ok(name, "its secrets are readable")]


def notices() -> Iterator[Line]:
    """Say of each team's chat, and of the mail server, whether it takes what it is told."""
    for team in Team.objects.exclude(chat="").order_by("name"):
        unreadable = _unreadable(team.chat)
        yield from (wrong(f"chat {team.name}", why, PUT_IT_THERE) for why in unreadable)
        if not unreadable:
            yield ok(f"chat {team.name}", "its address is readable")
    for channel in Channel.objects.filter(failing_since__isnull=False).order_by("name"):
        words = f"It takes no messages: {channel.failures} tries in a row failed."
        yield warning(channel.name, words, "Look at the server, and at its address.")
    for message in Message.objects.not_mailed().select_related("run__plan").order_by("-pk")[:UNTOLD]:
        name = f"report {message.run.plan.name}" if message.run else "report"
        remedy = "Correct the plan's recipients, or the mail server; it is tried for three days."
        yield warning(name, f"A recipient was not told of {message.about}: {message.words}", remedy)


def _unreadable(kept: object) -> list[str]:
    """Return why secrets that are named somewhere cannot be read, each place once; never a value."""
    why: list[str] = []
    for reference in sorted(set(_named(kept))):
        try:
            kept_text(reference)
        except ConfigurationError as error:
            why.append(error.detail)
    return why


def _named(kept: object) -> Iterator[str]:
    if isinstance(kept, str) and kept.startswith(("env:", "file:")):
        yield kept
    for inner in kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list) else ():
        yield from _named(inner)
