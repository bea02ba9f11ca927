"""Automations at Durban as those who run them describe them, and what each of them did."""

import uuid
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from ledger import actions
from tests import stories

SAID = """
[automations.webshop]
name = "Web shop connector"
types = ["invoice.create"]
layers = ["platform: 2 replays", "connector: 2 calls"]
stable_key = "order number and version"
last_failure = "mail to shop@example.com"
owner = "the web shop's team"

[automations.old-connector]
name = "Older connector"
types = ["invoice.create"]
layers = ["connector: 3 retries"]
stable_key = "none"
last_failure = "its own log"
"""


def say(folder: Path, text: str = SAID, *arguments: str) -> str:
    """Take a configuration file in, and return what the command said."""
    file, stdout = folder / "register.toml", StringIO()
    file.write_text(text)
    call_command("configure", str(file), *arguments, stdout=stdout)
    return stdout.getvalue()


def issue(name: str, *types: str) -> None:
    """Issue an API token."""
    chosen = ["--type", *types] if types else []
    call_command("issue_key", name, *chosen, stdout=StringIO())


def claim(
    order: int, *, by: str, attempt_id: uuid.UUID | None = None, key: str = "", lease_s: float = 60
) -> actions.Reply:
    """Let an automation claim a reminder."""
    submission = actions.Submission(
        "reminder.send",
        {"order": str(order)},
        key=key or f"reminder/{order}/1",
        source={"system": "mail", "reference": str(order)},
        attempt_id=attempt_id,
        lease_s=lease_s,
    )
    return actions.claim(submission, actor=f"api:{by}")


def afternoon(durban: stories.Durban, folder: Path) -> None:
    """What was said, two tokens, and what came of them: invoices of one, reminders of another."""
    say(folder)
    issue("webshop", "invoice.create")
    issue("mailer")
    for order in (483, 484, 485):
        durban.invoiced(order)
    claim(398, by="mailer", lease_s=1)
    claim(399, by="mailer")
    durban.clock.advance(20)
    actions.expire(claim(398, by="mailer").operation.pk, actor="policy")
