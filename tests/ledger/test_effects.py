"""Effects counted at the destination, while it misbehaves and everything of ours is killed with -9.

| contract         | there                                    | what is counted                         |
|------------------|------------------------------------------|-----------------------------------------|
| keys, no look-up | drops, delays, errs; delivers twice      | exactly one effect for each             |
| look-up, no keys | drops, delays, errs, truncates its lists | exactly one effect for each             |
| neither          | drops, delays, errs                      | one delivery at most; a doubt is a case |

Each operation is handed over twice, by eight callers at once. A delay is shorter than the settle time. A
sender frozen between its check and its send is the stated limit, and not tried here.
"""

import itertools
import os
import queue
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.db import OperationalError, connections

from config import environment, postgres, processes
from config.cluster import Cluster
from ledger.destinations import lookups
from ledger.models import ApiToken, Attempt, Destination, Operation, OperationType, database_now
from ledger.rules.states import State
from ledger.rules.tokens import new_token, token_hash
from tests import factories as make
from tests.databases import Database, Template
from tests.processes import Server, Spawn
from tests.sandboxes import Sandbox
from tests.workers import Worker, gone, until

pytestmark = pytest.mark.long

COUNT = int(os.environ.get("EFFECTS", "200"))
KILLS = int(os.environ.get("KILLS", "5"))
CALLERS = 8
TIMEOUT_S, SETTLE_S = 2.0, 8.0
LEASE_S = 2 * TIMEOUT_S + 10
GRACE_S = 60
DONE_S = 1800
# Whatever commits is written before a process dies; only a power cut would ask for more.
SAFE_FROM_KILL = {"fsync": "off"}
SEND = {"set": {"metadata.operation": "{key}"}}
RECORD = {"id": "id", "reference": "metadata.operation", "amount": "total", "status": "status"}
RECEIVED = {202, 200, 409}
TROUBLE = (
    "drop_before",
    "drop_after",
    "delay_before",
    "delay_after",
    "error_before",
    "error_after",
    "garble",
)
TROUBLES = {"keyed": (*TROUBLE, "deliver_twice"), "seen": (*TROUBLE, "truncate"), "blind": TROUBLE}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def database(folder: Path, django_db_blocker: Any) -> Iterator[Database]:
    """A server of this test's own, which may be killed."""
    postgres.hold(folder, pg_bin=environment.read().pg_bin, extra=SAFE_FROM_KILL)
    template = Template(folder, django_db_blocker, itertools.count(1))
    own = template.database(postgres.DATABASE)
    try:
        with django_db_blocker.unblock(), template.used(own):
            processes.prepare()
            yield own
    finally:
        postgres.release(folder)


def make_types(base_url: str) -> None:
    """Three contracts at one destination, with as many tries as it takes."""
    books = Destination.objects.create(
        name="books",
        title="Durban Books",
        entity="Durban Trading (Pty) Ltd",
        connector="http",
        account="main",
        connection={"base_url": base_url, "timeout": TIMEOUT_S},
    )
    rows: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "keyed": ("/invoices", {"idempotency": "header", "key_retention": "24h", "saves": "2xx"}, {}),
        "seen": ("/invoices", {}, {"lookup": make.LOOKUP}),
        "blind": ("/reminders", {}, {}),
    }
    for name, (path, contract, lookup) in rows.items():
        record = {"record": RECORD} if path == "/invoices" else {}
        OperationType.objects.create(
            name=name,
            destination=books,
            label=name,
            noun=name,
            performed_by="tieout",
            lease_s=LEASE_S,
            owner="finance",
            contract=contract | {"settle": f"{SETTLE_S:g}s"},
            calls={"send": {**SEND, "path": path}, **record, **lookup},
            retry={"attempts": 100, "base": "1s", "cap": "4s"},
            review={},
        )


class Callers:
    """Eight automations; each hands over what comes next until it is told that it was received."""

    def __init__(self, url: str, dice: random.Random) -> None:
        self.token, self.url = new_token(), url
        ApiToken.objects.create(name="webshop", token_hash=token_hash(self.token), types=[])
        twice = [(kind, number) for kind in TROUBLES for number in range(COUNT)] * 2
        dice.shuffle(twice)
        self.over = threading.Event()
        """Set where the test has ended, whatever became of it: nobody is waited for then."""
        self.left: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        for one in twice:
            self.left.put(one)

    def hand_over(self) -> None:
        """Work through what is left, with all the patience that a killed server asks for."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=30) as http:
            while True:
                try:
                    kind, number = self.left.get_nowait()
                except queue.Empty:
                    return
                while not self.over.is_set() and not self._received(http, kind, number):
                    time.sleep(0.2)

    def _received(self, http: httpx.Client, kind: str, number: int) -> bool:
        body = {
            "type": kind,
            "key": key(kind, number),
            "payload": {"total": "10.00", "to": "acme", "text": "It is due."},
            "amount": "10.00",
            "currency": "ZAR",
        }
        try:
            answer = http.post("/api/v1/operations", json=body)
        except httpx.HTTPError:
            return False
        assert answer.status_code in RECEIVED or answer.status_code >= 500, answer.text
        return answer.status_code in RECEIVED


def key(kind: str, number: int) -> str:
    return f"{kind}-{number}"


@contextmanager
def misbehaving(sandbox: Sandbox, dice: random.Random) -> Iterator[None]:
    """Let about a third of all requests go wrong, each in a way of its own."""
    over = threading.Event()

    def order() -> None:
        while not over.wait(0.1):
            kind = dice.choice(list(TROUBLES))
            mode = dice.choice(TROUBLES[kind])
            # A GET that breaks off is no send; and nothing lands later than the settle time allows.
            arg = dice.uniform(0.1, 1.5 * TIMEOUT_S) if "delay" in mode else None
            if len(sandbox.pending_faults()) < 3:
                sandbox.faults(mode, f"{kind}-", arg=arg)

    with ThreadPoolExecutor(1) as pool:
        ordering = pool.submit(order)
        try:
            yield
        finally:
            over.set()
            ordering.result()
            sandbox.clear_faults()


def kill_the_server(folder: Path) -> None:
    """End every process of PostgreSQL at once, and start it again."""
    head = Cluster(folder / "postgres").process()
    assert head is not None
    everything = [head, *head.children(recursive=True)]
    for one in everything:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    gone(everything)
    connections.close_all()
    postgres.hold(folder, pg_bin=environment.read().pg_bin, extra=SAFE_FROM_KILL)


def unfinished() -> int:
    """How many operations go on by themselves; none may run long after its lease."""
    try:
        late = database_now() - timedelta(seconds=GRACE_S)
        assert not Operation.objects.filter(state=State.RUNNING, lease_until__lt=late).exists()
        return Operation.objects.open().filter(held_at=None).count()
    except OperationalError:
        connections.close_all()
        return 1


def ann_resolves_what_is_held() -> None:
    """What could not be looked at three times in a row is a person's: she looks, and allows another try."""
    held = Operation.objects.held().filter(operation_type__name="seen")
    for operation in held.select_related("operation_type__destination"):
        lookups.look(operation, actor="ann", reason="Her own check.")
        operation.refresh_from_db()
        if operation.state in (State.UNCERTAIN, State.FAILED) and not operation.permits.open().exists():
            make.permitted(operation)


def test_every_effect_is_counted_at_the_destination(
    database: Database, folder: Path, spawn: Spawn, sandbox: Sandbox
) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")
    dice = random.Random(seed)
    make_types(sandbox.url)
    callers, worker = Callers(Server.started(spawn).url, dice), Worker.started(spawn)
    with ThreadPoolExecutor(CALLERS) as pool, misbehaving(sandbox, random.Random(seed + 1)):
        handing = [pool.submit(callers.hand_over) for _ in range(CALLERS)]
        try:
            for _ in range(KILLS):
                time.sleep(dice.uniform(3, 8))  # a kill comes when it comes
                worker.kill()
                worker = Worker.started(spawn)
                time.sleep(dice.uniform(1, 4))
                kill_the_server(folder)
            for one in handing:
                one.result(DONE_S)
            until(lambda: unfinished() == 0, seconds=DONE_S, what="The end of what goes on by itself")
        finally:
            callers.over.set()
    deadline = time.monotonic() + DONE_S
    while Operation.objects.held().filter(operation_type__name="seen").exists():
        assert time.monotonic() < deadline, "what is held is never resolved"
        ann_resolves_what_is_held()
        time.sleep(1)
    until(lambda: unfinished() == 0, seconds=DONE_S, what="The end of what she has allowed")
    count_effects(sandbox)


def count_effects(sandbox: Sandbox) -> None:
    """Ask the destination, and hold the ledger against it."""
    effects = {kind: [sandbox.effects(key(kind, number)) for number in range(COUNT)] for kind in TROUBLES}
    assert effects["keyed"] == [1] * COUNT
    assert effects["seen"] == [1] * COUNT
    assert max(effects["blind"]) <= 1
    states = dict(Operation.objects.values_list("key", "state"))
    assert len(states) == COUNT * len(TROUBLES)
    assert {states[key(kind, n)] for kind in ("keyed", "seen") for n in range(COUNT)} == {State.COMPLETED}
    for number in range(COUNT):
        name = key("blind", number)
        assert sandbox.deliveries(name) <= 1, "sent twice, and nobody was asked"
        assert states[name] in (State.COMPLETED, State.UNCERTAIN), why(name)
        assert states[name] == State.COMPLETED or Operation.objects.held().filter(key=name).exists()


def why(name: str) -> list[object]:
    """What its tries came to."""
    return list(Attempt.objects.filter(operation__key=name).values_list("outcome", "http_status", "message"))
