"""A connector of the user's own, as docs/connectors.md has it: checked by the command, and sent through."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ledger.destinations import lookups, sending
from ledger.destinations.conformance import Held, HttpDouble, Play, Scene, calling
from ledger.destinations.connectors.base import Target
from ledger.models import Destination, Operation
from ledger.rules.calls import Calls
from ledger.rules.states import State, Verdict
from tests import factories as make
from tests.databases import Database
from tests.ledger.conformance import CALLS, LOGIN, blocks, module

DOUBLE = "kasse_double:KasseDouble"


@pytest.fixture(autouse=True)
def kasse(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Destination]:
    """The example's two modules where Python finds them, and a destination that names them."""
    for name, text in zip(("kasse", "kasse_double"), blocks(), strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("KASSE_LOGIN", LOGIN)
    monkeypatch.setattr(calling, "TIMEOUT_S", 0.5)
    reach = {"base_url": "http://127.0.0.1:1", "timeout": 3, "options": {"login": "env:KASSE_LOGIN"}}
    yield make.destination("kasse", title="Kasse", connector="kasse:Kasse", connection=reach, drills=True)
    for name in ("kasse", "kasse_double"):
        sys.modules.pop(name, None)


def kind_at(destination: Destination) -> None:
    make.kind(by="tieout", destination=destination, calls=CALLS, contract={"settle": "0s", "saves": "all"})


def checked(*arguments: str) -> tuple[int, str]:
    """The exit status of the command, and what it printed."""
    said = StringIO()
    try:
        call_command("check_connector", *arguments, stdout=said, stderr=said)
    except SystemExit as ended:
        return int(str(ended.code)), said.getvalue()
    return 0, said.getvalue()


def test_the_command_prints_what_holds(kasse: Destination) -> None:
    kind_at(kasse)
    status, said = checked("kasse", "invoice.create", "--double", DOUBLE)
    assert status == 0, said
    assert "invoice.create at Kasse\n  holds: look-up: one that is there is found\n" in said
    assert "does not hold" not in said and LOGIN not in said


def test_the_command_prints_what_does_not_hold_and_why(kasse: Destination, tmp_path: Path) -> None:
    kind_at(kasse)
    text = blocks()[0].replace('"silent" if drafted else "not_sent"', '"not_sent"')
    (tmp_path / "kasse.py").write_text(text)
    status, said = checked("kasse", "--double", DOUBLE)
    assert status == 1
    assert (
        "does not hold: send: step 3, POST /tokens: refuses the connection (a request that may have made"
        in said
    )


def test_a_secret_of_the_type_s_own_headers_is_known_where_it_should_not_be(
    kasse: Destination, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KASSE_TOKEN", "of-the-header-0123456789")
    look = {"headers": {"X-Token": "env:KASSE_TOKEN"}}
    make.kind(by="tieout", destination=kasse, calls={**CALLS, "lookup": look}, contract={"settle": "0s"})
    leaks = 'why=error.reason + __import__("os").environ["KASSE_TOKEN"]'
    (tmp_path / "kasse.py").write_text(blocks()[0].replace("why=error.reason", leaks))
    status, said = checked("kasse", "--double", DOUBLE)
    assert status == 1 and "(a secret stands in its repr, its words or a place)" in said
    assert "of-the-header" not in said


def test_what_cannot_be_played_is_said(kasse: Destination) -> None:
    assert checked("kasse") == (2, "Not all was checked: each line above says why.\n")
    for arguments, words in {
        ("nobody",): "is not a destination",
        ("kasse", "--double", "kasse_double:Nobody"): "cannot be loaded",
    }.items():
        if "--double" in arguments:
            kind_at(kasse)
        with pytest.raises(CommandError, match=words):
            checked(*arguments)


def test_a_second_step_that_got_no_answer_is_doubt_which_a_look_up_ends(kasse: Destination) -> None:
    kind_at(kasse)
    operation = through(kasse, Play(Scene.RESETS, "send", at=4))
    assert (operation.state, operation.attempts.get().outcome) == (State.UNCERTAIN, "uncertain")
    with played(kasse, Play(Scene.ANSWERS, "look_up", (Held(operation.key, 1),))):
        lookup = lookups.look(make.again(operation), actor="worker", reason="A look.")
    assert lookup.verdict == Verdict.ONE_MATCH
    assert make.again(operation).state == State.COMPLETED


def test_a_draft_without_its_posting_is_doubt_and_without_a_token_nothing_was_sent(
    kasse: Destination,
) -> None:
    kind_at(kasse)
    assert through(kasse, Play(Scene.REFUSES, "send", at=4)).state == State.UNCERTAIN
    assert through(kasse, Play(Scene.RESETS, "send", at=1), key="order/484").state == State.PENDING


def through(destination: Destination, play: Play, key: str = "order/483") -> Operation:
    """An operation that was sent to the played destination."""
    kind = destination.types.get()
    operation = make.handed(kind, key, payload={"reference": key})
    with played(destination, play):
        sending.send(operation.pk)
    return make.again(operation)


@contextmanager
def played(destination: Destination, play: Play) -> Iterator[None]:
    """The destination's address leads to the played one meanwhile."""
    double: HttpDouble = module(blocks()[1]).KasseDouble(Calls.read(CALLS))
    target = Target(destination.name, destination.title, destination.account, destination.reach)
    with double.playing(play, target) as stage:
        connection = stage.target.reach.stored()
        Destination.objects.filter(pk=destination.pk).update(connection=connection)
        yield
