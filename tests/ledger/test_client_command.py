"""The client as a command: any program done once, its exit status told, what is on disk delivered."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.models import Attempt, Operation
from tests.clients import BARE, Shop, copied, way_to
from tests.clients import books as books
from tests.clients import shop as shop
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import new_key
from tests.doors import serving as serving
from tests.workers import until


def command(shop: Shop, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
    file = copied(shop.folder)
    return subprocess.Popen(
        [sys.executable, *BARE, str(file), *arguments],
        env={**shop.environ, **environ},
        cwd=shop.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(shop: Shop, *arguments: str, input: str = "", **environ: str) -> tuple[int, str]:
    process = command(shop, *arguments, **environ)
    out, err = process.communicate(input, timeout=60)
    return process.returncode, out + err


def attempt(key: str) -> Attempt:
    return Attempt.objects.get(operation__key=key)


def test_a_command_is_done_once_and_names_its_reference(shop: Shop) -> None:
    key = new_key("nightly")
    script = 'echo "$TIEOUT_KEY $TIEOUT_IDEMPOTENCY_KEY" >> done; echo MSG-1 > "$TIEOUT_REFERENCE_FILE"'
    run = ("run", "reminder.send", key, "--payload", "-", "--amount", "75.00", "--currency", "ZAR", "--")
    body = '{"order": "483"}'
    assert ran(shop, *run, "sh", "-c", script, input=body) == (0, "")
    status, words = ran(shop, *run, "sh", "-c", script, input=body)
    assert (status, words) == (0, f"tieout: reminder.send {key}: skip. It is done: MSG-1.\n")
    assert (shop.folder / "done").read_text() == f"{key} {attempt(key).idempotency_key}\n"
    assert Operation.objects.get(key=key).destination_reference == "MSG-1"
    assert shop.files() == []


@pytest.mark.parametrize(
    ("script", "options", "told"),
    [
        ("exit 75", (), (75, "retryable")),
        ("exit 65", (), (65, "rejected")),
        ("exit 1", (), (1, "uncertain")),
        ("exit 1", ("--retryable", "1"), (1, "retryable")),
        ("exit 2", ("--rejected", "2"), (2, "rejected")),
        ("kill -9 $$", (), (137, "uncertain")),
    ],
)
def test_its_exit_status_is_the_outcome_and_is_passed_on(
    shop: Shop, script: str, options: tuple[str, ...], told: tuple[int, str]
) -> None:
    key, (status, outcome) = new_key(), told
    assert ran(shop, "run", "reminder.send", key, *options, "--", "sh", "-c", script)[0] == status
    assert (attempt(key).outcome, attempt(key).error_code) == (outcome, f"exit_{status}")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            r"printf '\377\n' > $TIEOUT_REFERENCE_FILE",
            "There is no reference in $TIEOUT_REFERENCE_FILE: 'utf-8'",
        ),
        (
            "mkdir $TIEOUT_REFERENCE_FILE",
            "There is no reference in $TIEOUT_REFERENCE_FILE: it is no regular file.",
        ),
        (
            "mkfifo $TIEOUT_REFERENCE_FILE",
            "There is no reference in $TIEOUT_REFERENCE_FILE: it is no regular file.",
        ),
        (
            "ln -s reference $TIEOUT_REFERENCE_FILE",
            "There is no reference in $TIEOUT_REFERENCE_FILE: [Errno 40]",
        ),
        (
            r"printf 'MSG\t1' > $TIEOUT_REFERENCE_FILE",
            "told without destination_reference: Tieout answered 400",
        ),
        ("yes | tr -d '\n' | head -c 9999 > $TIEOUT_REFERENCE_FILE", "told without destination_reference"),
        ("rm -r ${TIEOUT_REFERENCE_FILE%/*}", ""),
    ],
)
def test_a_success_stands_whatever_it_wrote_as_its_reference(shop: Shop, script: str, words: str) -> None:
    key = new_key()
    status, said = ran(shop, "run", "reminder.send", key, "--", "sh", "-c", script)
    assert (status, attempt(key).outcome, shop.files()) == (0, "succeeded", [])
    assert Operation.objects.get(key=key).destination_reference == ""
    assert words in said and bool(said) == bool(words)


def test_the_first_line_is_the_reference_whatever_comes_after_it(shop: Shop) -> None:
    key = new_key()
    script = r"printf 'MSG-1\r\n\377' > $TIEOUT_REFERENCE_FILE"
    assert ran(shop, "run", "reminder.send", key, "--", "sh", "-c", script) == (0, "")
    assert Operation.objects.get(key=key).destination_reference == "MSG-1"


def test_a_command_that_is_not_there_was_not_done(shop: Shop) -> None:
    key = new_key()
    assert ran(shop, "run", "reminder.send", key, "--", "/no/such/program")[0] == 127
    assert (attempt(key).outcome, attempt(key).error_code) == ("retryable", "not_run")


def test_what_must_not_be_done_now_is_told_by_its_status(shop: Shop) -> None:
    key = new_key()
    held = shop.api.claimed(key, payload={})
    run = ("run", "reminder.send", key, "--", "touch", "done")
    assert ran(shop, *run)[0] == 75
    shop.api.outcome(held, "uncertain")
    status, words = ran(shop, *run)
    assert (status, f"/operations/{Operation.objects.get(key=key).uid}/" in words) == (76, True)
    (shop.folder / "payload").write_text('{"other": 1}')
    assert ran(shop, *run[:3], "--payload", "payload", *run[3:])[0] == 77
    assert ran(shop, "run", "no.such.type", key, "--", "true")[0] == 77
    assert ran(shop, "run", "reminder.send", key)[0] == 2
    (shop.folder / "payload").write_text("no JSON")
    assert ran(shop, *run[:3], "--payload", "payload", *run[3:])[0] == 64
    assert not (shop.folder / "done").exists()


def test_a_signal_reaches_the_command_and_its_end_is_told(shop: Shop) -> None:
    key = new_key()
    process = command(shop, "run", "reminder.send", key, "--", "sh", "-c", "touch begun; exec sleep 60")
    until((shop.folder / "begun").exists, what="The command's begin")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert (process.returncode, attempt(key).outcome) == (143, "uncertain")


def test_a_signal_ends_the_telling_and_what_came_back_waits_on_disk(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        told = {"TIEOUT_URL": way.url}
        process = command(shop, "run", "reminder.send", key, "--patience", "600", "--", "true", **told)
        until(lambda: shop.files(".outcome"), what="What came back, on disk")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, "told later" in said) == (0, True)
        way.mend()
        assert ran(shop, "flush", **told) == (0, "All is told.\n")
    assert attempt(key).outcome == "succeeded"


def test_a_system_without_a_signal_runs_it_all_the_same(shop: Shop) -> None:
    key = new_key()
    copied(shop.folder)
    without = "import signal, sys; del signal.SIGHUP; sys.path.insert(0, '.'); import tieout_client"
    start = f"{without}; sys.exit(tieout_client.main())"
    run = [sys.executable, *BARE, "-c", start, "run", "reminder.send", key, "--", "touch", "done"]
    ended = subprocess.run(run, env=shop.environ, cwd=shop.folder, timeout=60, check=False)
    assert (ended.returncode, attempt(key).outcome) == (0, "succeeded")
    assert (shop.folder / "done").exists()


def test_open_a_command_that_outlives_its_wrapper_is_not_done_again(shop: Shop, tmp_path: Path) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        told = {"TIEOUT_URL": way.url}
        run = ("run", "reminder.send", key, "--open", "--patience", "0.2", "--")
        script = "touch begun; while [ ! -e end ]; do sleep 0.05; done; touch ended"
        process = command(shop, *run, "sh", "-c", script, **told)
        until((shop.folder / "begun").exists, what="The command's begin")
        process.kill()
        process.wait()
        way.mend()
        assert ran(shop, *run, "true", **told)[0] == 75
        assert not Operation.objects.filter(key=key).exists(), "it is still being done"
        (shop.folder / "end").touch()
        until((shop.folder / "ended").exists, what="The command's end")
        until(lambda: ran(shop, "flush", **told) == (0, "All is told.\n"), what="The telling")
        process.communicate()
    assert attempt(key).outcome == "uncertain"


def test_flush_tells_what_is_on_disk_and_lists_what_remains(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        told = {"TIEOUT_URL": way.url}
        assert ran(shop, "run", "reminder.send", key, "--patience", "0.2", "--", "true", **told)[0] == 0
        (name,) = shop.files()
        assert ran(shop, "flush", "--patience", "0.2", **told)[0:2] == (75, f"{name}\n")
        way.mend()
        assert ran(shop, "flush", **told) == (0, "All is told.\n")
    assert attempt(key).outcome == "succeeded"
