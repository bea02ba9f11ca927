"""A script with the one-file client is killed with -9 before each line, run again, and makes one effect.

The client's own lines count as well as the script's. One box runs with the client alone: nothing installed.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger.models import Attempt, Operation
from tests.clients import CLIENT, Box, Shop, boxed
from tests.clients import books as books
from tests.clients import shop as shop
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import new_key
from tests.doors import serving as serving
from tests.workers import one_round

LEASE_S = 60
STEPS = {"job.py", "_claim", "_start", "_say", "_tell"}
BROKEN = {
    "it forgets its attempt_id": (
        ('spool.write(name, {"attempt_id": str(uuid.uuid4())}, first=True)\n                continue',),
        ('kept = {"attempt_id": str(uuid.uuid4())}',),
    ),
    "it starts after the send": (
        ("                    self._start()\n", "        name, fact = self._fact(outcome, members)\n"),
        (
            "                    pass\n",
            "        self._start()\n        name, fact = self._fact(outcome, members)\n",
        ),
    ),
}


@dataclass
class Life:
    """What one operation went through."""

    key: str
    started: bool
    ended: bool
    again: str


def lines_of(box: Box, *, every: bool = False) -> list[tuple[str, int]]:
    ran = box.run(trace=True, every=every, KEY=new_key())
    assert ran.said == "proceed succeeded"
    return ran.lines


def killed_and_run_again(box: Box, n: int, *, every: bool = False) -> Life:
    key = new_key()
    assert box.run(kill_at=n, every=every, KEY=key).killed
    attempt = Attempt.objects.filter(operation__key=key).first()
    told = attempt is not None and attempt.outcome is not None
    said = any((box.folder / "spool").glob("[!.]*.outcome"))
    again = box.run(KEY=key)
    return Life(key, attempt is not None and attempt.started_at is not None, told or said, again.said)


def settle(shop: Shop, lives: Iterable[Life]) -> None:
    """Let the leases end, the worker look, and the next tries come due."""
    keys = [life.key for life in lives]
    while Operation.objects.filter(key__in=keys, state__in=["running", "uncertain"]).exists():
        shop.api.clock.advance(LEASE_S)
        one_round()
    shop.api.clock.advance(3600)


def check(shop: Shop, box: Box, points: Iterable[int], *, every: bool = False) -> None:
    lives = [killed_and_run_again(box, n, every=every) for n in points]
    for life in lives:
        # What was not started is done at once: its claim is still the script's, for its attempt_id was kept.
        wanted = "skip None" if life.ended else "wait None" if life.started else "proceed succeeded"
        assert life.again == wanted, life
    settle(shop, lives)
    for life in lives:
        if life.again == "wait None":
            life.again = box.run(KEY=life.key).said
            assert life.again in ("proceed succeeded", "skip None"), life
        operation, effects = Operation.objects.get(key=life.key), shop.books.records(life.key)
        assert len(effects) == 1, life
        assert (operation.state, operation.destination_reference) == ("completed", effects[0]["id"])
    assert shop.files() == []


def steps(lines: list[tuple[str, int]], names: set[str]) -> list[int]:
    """The places of the script's lines, or of the client's lines in functions of these names."""
    tree = ast.parse(CLIENT.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {
        line: node.name for node in functions for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return [
        n
        for n, (file, line) in enumerate(lines, 1)
        if (inside.get(line) if file != "job.py" else file) in names
    ]


def test_killed_before_a_line_and_run_again_it_makes_one_effect(shop: Shop, tmp_path: Path) -> None:
    with boxed(tmp_path, shop.environ) as box:
        points = steps(lines_of(box), STEPS)
        assert len(points) > 40
        check(shop, box, points)


@pytest.mark.long
def test_killed_before_every_line_that_it_goes_through_it_makes_one_effect(
    shop: Shop, tmp_path: Path
) -> None:
    with boxed(tmp_path, shop.environ) as box:
        check(shop, box, range(1, len(lines_of(box, every=True)) + 1), every=True)


@pytest.mark.parametrize(("sound", "broken"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_client_does_not_pass(
    shop: Shop, tmp_path: Path, sound: tuple[str, ...], broken: tuple[str, ...]
) -> None:
    source = CLIENT.read_text()
    for words, others in zip(sound, broken, strict=True):
        assert source.count(words) == 1
        source = source.replace(words, others)
    with boxed(tmp_path, shop.environ, source=source) as box:
        lines = lines_of(box)
        with pytest.raises(AssertionError):
            check(shop, box, [*steps(lines, {"_start"}), *range(len(lines) - 3, len(lines))])
