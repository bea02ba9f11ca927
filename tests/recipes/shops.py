"""A web shop as the recipes have it: their configuration taken in, their files in a folder, Durban Books."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.environment import ROOT
from ledger.models import Operation
from tests.doors import Api, new_key
from tests.sandboxes import Sandbox
from tests.workers import one_round, until

RECIPES = ROOT / "docs" / "recipes"
BOOKS = "http://127.0.0.1:8010"
LEASE_AND_MORE_S = 300


@dataclass
class Shop:
    """Tieout, Durban Books, and a folder with the recipes and the client, as they are copied."""

    api: Api
    books: Sandbox
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        """What a recipe finds in its environment."""
        return {
            "PATH": os.environ["PATH"],
            "TIEOUT_URL": self.api.server.url,
            "TIEOUT_TOKEN": self.api.token,
            "TIEOUT_SPOOL": str(self.folder / "spool"),
            "BOOKS_URL": self.books.url,
            "PAUSE_S": "0.3",
        }

    @contextmanager
    def running(self, *command: str, log: Path, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
        """`python *command` in the folder and in a group of its own, which is killed at the end."""
        with log.open("ab") as said:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=self.folder,
                env={**self.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def ran(self, *command: str, input: str = "", **environ: str) -> tuple[int, str]:
        """Run a command in the folder to its end; its exit status, and what it said."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environ, **environ},
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def effects(self, order: dict[str, Any]) -> int:
        """How many invoices Durban Books holds for this order."""
        return self.books.effects(key(order))

    def operation(self, order: dict[str, Any]) -> Operation:
        """What Tieout has of it."""
        return Operation.objects.get(key=key(order))

    def tries(self, order: dict[str, Any]) -> list[str | None]:
        """The outcomes of its attempts, in order."""
        attempts = self.operation(order).attempts.order_by("number")
        return list(attempts.values_list("outcome", flat=True))

    def time_passes(self) -> None:
        """Let every lease end, the worker find it and look, and every pause be over."""
        for _ in range(3):
            self.api.clock.advance(LEASE_AND_MORE_S)
            one_round()

    def makes_and_keeps_silent(self) -> None:
        """Let Durban Books make the next invoice, and answer after everybody has gone."""
        self.books.faults("delay_after", "POST /invoices", arg=60)


def new_order() -> dict[str, Any]:
    """An order that no other test has."""
    number = new_key().removeprefix("order/")
    return {"id": number, "total": "1240.00", "currency": "ZAR", "customer": "Acme"}


def key(order: dict[str, Any]) -> str:
    """The key that each recipe makes for it."""
    return f"order/stall/{order['id']}/v1"


def worked_until(met: Callable[[], object], *, what: str) -> None:
    """Do the worker's work until it is so; fails the test where it does not become so in two minutes."""

    def at_last() -> object:
        one_round()
        return met()

    until(at_last, seconds=120, what=what)
