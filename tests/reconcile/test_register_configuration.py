"""Automations in the configuration file: stored with their event, and `--check` prints their register."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ledger.models import Automation, Destination, Event, OperationType
from tests import stories
from tests.databases import Database
from tests.reconcile.test_configuration import BOOKS
from tests.registers import SAID, say

WRONG = """
[automations.shop]
types = ["invoice.create"]
layers = ["Zapier: 3", "requests", "proxy: none"]
last_failre = "mail"
"""
MAILER = """
[automations.mailer]
types = ["reminder.send"]
layers = ["cron: none"]
"""


def test_what_is_said_is_stored_with_its_event_and_again_is_nothing(
    durban: stories.Durban, tmp_path: Path
) -> None:
    assert "+ automation webshop\n+ automation old-connector\n" in say(tmp_path)
    shop = Automation.objects.get(name="webshop")
    assert (shop.title, shop.types, shop.owner) == (
        "Web shop connector",
        ["invoice.create"],
        "the web shop's team",
    )
    assert shop.layers == ["platform: 2 replays", "connector: 2 calls"]
    assert (shop.stable_key, shop.last_failure) == ("order number and version", "mail to shop@example.com")
    event = Event.objects.get(kind="configured", data__section="automations.webshop")
    assert event.actor == "configure" and event.data["made"]
    assert "= nothing changes" in say(tmp_path)
    assert Event.objects.filter(kind="configured").count() == 2
    changed = say(tmp_path, SAID.replace('"none"', '"order number"'))
    assert '~ automation old-connector: stable_key "none" -> "order number"' in changed
    assert "not in this file, and left as it is:" in say(tmp_path, "[automations.webshop]\n")
    assert "automation old-connector" in say(tmp_path, "[automations.webshop]\n")


def test_people_read_what_it_is_called_and_who_runs_it(durban: stories.Durban, tmp_path: Path) -> None:
    whole = say(tmp_path, SAID, "--check")
    assert "Web shop connector · webshop · Create invoice at Durban Books" in whole
    assert " · run by the web shop's team" in whole
    bare = SAID.replace('name = "Web shop connector"\n', "").replace('owner = "the web shop\'s team"\n', "")
    assert "webshop · Create invoice at Durban Books\n" in say(tmp_path, bare, "--check")


def test_a_layer_that_says_nothing_is_refused_with_its_line_and_how_to_write_it(
    durban: stories.Durban, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stderr, file = StringIO(), tmp_path / "register.toml"
    file.write_text(WRONG)
    with pytest.raises(SystemExit):
        call_command("configure", str(file), stderr=stderr)
    said = stderr.getvalue()
    assert "3 things are wrong" in said
    assert 'line 4: automations.shop.layers.0\n    "3" does not say how often.' in said
    assert "line 4: automations.shop.layers.1\n    A layer says who repeats a call, and how often." in said
    assert (
        '    Write "Zapier: 3 replays", "requests: 4 calls", "connector: none" or "proxy: not known".' in said
    )
    assert 'Did you mean "last_failure"?' in said
    assert not Automation.objects.exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((f'stable_key = "{text}"', "does not say what its key is made of") for text in (
            "none yet", "a new UUID each time", "n/a", "not known", "No", "?", "UUID", "random",
        )),
        *((f'last_failure = "{text}"', "does not say who is told") for text in (
            "n/a", "not known", "Nobody", "-", "tbd", "unknown so far",
        )),
    ],
)  # fmt: skip
def test_a_near_miss_of_none_and_unknown_is_refused_with_the_word_to_write(
    database: Database, tmp_path: Path, line: str, said: str
) -> None:
    stderr, file = StringIO(), tmp_path / "register.toml"
    file.write_text(f"[automations.shop]\n{line}\n")
    with pytest.raises(SystemExit):
        call_command("configure", str(file), stderr=stderr)
    assert f'{said}.\n    Write "none" where ' in stderr.getvalue()
    assert not Automation.objects.exists()


def test_the_two_words_and_words_that_only_begin_like_them_are_taken(
    database: Database, tmp_path: Path
) -> None:
    for key, told in (
        ("unknown", "unknown"), ("None", "none"), ("UUID of the order", "no-reply mail to shop@example.com"),
        ("note number", "the notification channel"), ("order no. and version", "the Navigator team"),
    ):  # fmt: skip
        say(tmp_path, f'[automations.shop]\nstable_key = "{key}"\nlast_failure = "{told}"\n')
        shop = Automation.objects.get()
        assert (shop.stable_key, shop.last_failure) == (key, told)


def test_check_prints_the_register_of_what_the_file_says_and_changes_nothing(
    database: Database, tmp_path: Path
) -> None:
    printed = say(tmp_path, BOOKS + SAID, "--check")
    said = " ".join(printed.split())
    assert "1 of 3 are in order." in said
    assert "\ninvoice.create · Durban Books, main · sent by Tieout\n" in printed
    assert "  ok  Retries: one owner; Tieout, up to 5 tries within 12 h\n" in printed
    assert "issue_key webshop makes one" in said
    assert "4 by connector for one event; none of them comes through Tieout" in said
    assert "Promised, not drilled." in said
    assert said.endswith("register.toml is right. Nothing was changed; without --check, this would be.")
    for model in (Automation, Destination, OperationType, Event):
        assert not model._default_manager.exists()
    assert "are in order" not in say(tmp_path, BOOKS + SAID)


def test_check_tells_what_would_be_and_only_of_this_file(durban: stories.Durban, tmp_path: Path) -> None:
    say(tmp_path)
    said = say(
        tmp_path, '[automations.mailer]\ntypes = ["reminder.send"]\nlayers = ["cron: none"]\n', "--check"
    )
    assert "The only one is not in order yet." in said
    assert "mailer · Send reminder at Mailroom" in said and "Older connector ·" not in said
    assert not Automation.objects.filter(name="mailer").exists()
    unchanged = say(tmp_path, SAID, "--check")
    assert "None of 2 are in order." in unchanged and "= nothing changes" in unchanged
