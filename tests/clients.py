"""The one-file client as users have it: a copy alone in an empty folder, without any installed package."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.environment import ROOT
from ledger.door import client
from ledger.models import Destination, OperationType, database_now
from tests.doors import Api
from tests.ledger.wires import Handler, reset
from tests.ledger.wires import serving as wired
from tests.sandboxes import Sandbox, running_sandbox

CLIENT = ROOT / "ledger" / "door" / "client.py"
BARE = ("-I", "-S")
"""Neither the project nor anything that is installed can be imported."""
JOB = '''\
"""An invoice of Durban Books', made once."""

import json
import os
import sys
import urllib.request

from tieout_client import Tieout

key = os.environ["KEY"]
body = {"order": "483", "total": "75.00", "currency": "ZAR", "metadata": {"operation": key}}
tieout = Tieout(patience_s=float(os.environ.get("PATIENCE", "20")))
with tieout.operation("ticket.open", key=key, payload=body, amount="75.00", currency="ZAR") as op:
    if op.proceed:
        request = urllib.request.Request(os.environ["BOOKS"] + "/invoices", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            made = json.load(answer)
        op.succeeded(made["id"])
print(op.decision, op.said)
'''
DRIVER = '''\
"""Runs job.py in children of its own; kills one with -9 before its n-th line, as a power cut would."""

import json, os, signal, sys
import http.client, urllib.request, logging, argparse, tempfile, uuid, ssl, hashlib  # loaded once for all

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
FILES = {os.path.join(FOLDER, name) for name in ("job.py", "tieout_client.py")}
with open(os.path.join(FOLDER, "job.py")) as file:
    JOB = compile(file.read(), os.path.join(FOLDER, "job.py"), "exec")


def traced(kill_at, every, lines):
    seen, count = set(), [0]

    def line(frame, event, _):
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and (every or place not in seen):
            seen.add(place)
            lines.append([os.path.basename(place[0]), place[1]])
            count[0] += 1
            if count[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame, event, _):
        name, outside = frame.f_code.co_filename, frame.f_code.co_name == "<module>" and not every
        return None if name not in FILES or (outside and name.endswith("client.py")) else line

    return call


for order in sys.stdin:
    asked = json.loads(order)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.environ.update(asked["environ"])
        os.dup2(writing, 1)
        lines = []
        if asked["trace"]:
            sys.settrace(traced(asked["kill_at"], asked["every"], lines))
        try:
            exec(JOB, {"__name__": "__main__"})
        except BaseException as error:
            print(type(error).__name__, error)
        sys.settrace(None)
        print(json.dumps(lines), flush=True)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        words = said.read()
    _, status = os.waitpid(child, 0)
    print(json.dumps({"killed": os.WIFSIGNALED(status), "said": words}), flush=True)
'''


@dataclass
class Box:
    """A folder with the client and a script beside it, and an interpreter that forks for each run."""

    folder: Path
    environ: Mapping[str, str]
    process: subprocess.Popen[str] = field(repr=False)

    def run(self, *, kill_at: int = 0, trace: bool = False, every: bool = False, **environ: str) -> "Ran":
        """Run the script once; with `kill_at`, kill it before that line."""
        order = {"environ": environ, "kill_at": kill_at, "trace": trace or bool(kill_at), "every": every}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        *words, lines = answer["said"].splitlines() or ["[]"]
        if answer["killed"]:
            return Ran(True, answer["said"].strip(), [])
        return Ran(False, "\n".join(words), [tuple(line) for line in json.loads(lines)])


@dataclass(frozen=True)
class Ran:
    """What became of one run: whether it was killed, its words, and the lines that it went through."""

    killed: bool
    said: str
    lines: list[tuple[str, int]]


def copied(folder: Path, source: str | None = None) -> Path:
    """Put the client into a folder, as it is downloaded, or another text of it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tieout_client.py"
    if source is None:
        shutil.copy(CLIENT, file)
    else:
        file.write_text(source)
    return file


@contextmanager
def boxed(folder: Path, environ: Mapping[str, str], *, source: str | None = None) -> Iterator[Box]:
    """A box whose script finds Tieout and Durban Books in its environment; it ends with the block."""
    copied(folder, source)
    (folder / "job.py").write_text(JOB)
    (folder / "driver.py").write_text(DRIVER)
    command = [sys.executable, *BARE, str(folder / "driver.py")]
    with subprocess.Popen(
        command, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        yield Box(folder, environ, process)
        process.kill()


@dataclass
class Shop:
    """What a script of the web shop has around it: Tieout, Durban Books, and a folder for its spool."""

    api: Api
    books: Sandbox
    folder: Path

    @property
    def spool(self) -> Path:
        """The spool folder."""
        return self.folder / "spool"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a script."""
        return {
            "PATH": os.environ["PATH"],
            "TIEOUT_URL": self.api.server.url,
            "TIEOUT_TOKEN": self.api.token,
            "TIEOUT_SPOOL": str(self.spool),
            "BOOKS": self.books.url,
        }

    def client(self, **changes: Any) -> client.Tieout:
        """The client in this process."""
        given = {
            "url": self.api.server.url,
            "token": self.api.token,
            "spool": str(self.spool),
            "patience_s": 20,
        }
        return client.Tieout(**{**given, **changes})

    def files(self, suffix: str = "") -> list[str]:
        """What is in the spool, but for the lock."""
        return sorted(path.name for path in self.spool.glob(f"[!.]*{suffix}"))


@pytest.fixture(scope="module")
def books(serving: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Durban Books for the module; its look-up has proved itself."""
    with running_sandbox(tmp_path_factory.mktemp("books")) as sandbox:
        Destination.objects.update(connection={"base_url": sandbox.url, "timeout": 3})
        OperationType.objects.update(lookup_proved_at=database_now())
        yield sandbox


@pytest.fixture
def shop(api: Api, books: Sandbox, tmp_path: Path) -> Shop:
    """A spool of the test's own beside the module's Tieout and Durban Books."""
    return Shop(api, books, tmp_path)


def forwarding(shop: Shop, change: Callable[[bytes], bytes | None] = lambda answer: answer) -> Handler:
    """Pass each request on to Tieout, and its answer back as `change` makes it; None is a reset."""
    upstream = urlsplit(shop.api.server.url)

    def handle(connection: socket.socket, request: bytes) -> None:
        with socket.create_connection((upstream.hostname or "", upstream.port or 0)) as other:
            head, _, rest = request.partition(b"\r\n")
            other.sendall(head + b"\r\nConnection: close\r\n" + rest)  # the end of its answer is then seen
            answer = change(b"".join(iter(lambda: other.recv(65536), b"")))
        reset(connection) if answer is None else connection.sendall(answer)

    return handle


@dataclass
class Way:
    """A way to Tieout that can be cut, for all or for some addresses; requests are lost, or answers."""

    url: str = ""
    lost: str | None = None
    before: bool = True
    count: int | None = None
    requests: list[bytes] = field(default_factory=list)

    def cut(self, lost: str = "", *, before: bool = True, count: int | None = None) -> None:
        """Lose what has this in its address, so many times or until it is mended."""
        self.lost, self.before, self.count = lost, before, count

    def mend(self) -> None:
        """Let everything through again."""
        self.lost = None

    def loses(self, request: bytes) -> bool:
        """Whether this one is lost."""
        if self.lost is None or self.count == 0 or self.lost not in request.split(b"\r\n")[0].decode():
            return False
        if self.count is not None:
            self.count -= 1
        return True


@contextmanager
def way_to(shop: Shop) -> Iterator[Way]:
    """A way to Tieout with an address of its own."""
    way = Way()
    whole, broken = forwarding(shop), forwarding(shop, lambda _: None)

    def handle(connection: socket.socket, request: bytes) -> None:
        if not way.loses(request):
            whole(connection, request)
        elif way.before:
            reset(connection)
        else:
            broken(connection, request)

    with wired(handle) as wire:
        way.url, way.requests = wire.url, wire.requests
        yield way
