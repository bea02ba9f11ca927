"""A real Celery worker runs docs/recipes/celery_app.py: delivered twice and killed, it makes one invoice.

| what happens                                        | without Tieout | with it |
|-----------------------------------------------------|----------------|---------|
| its child process is killed after the invoice       | 2              | 1       |
| the whole worker is killed, and Redis' time-out ends | 2              | 1       |
| the answer is lost, and the task retries             |                | 1       |
| it is refused                                       |                | 0, and a person is asked |
"""

import json
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.processes import LOGS
from tests.recipes.shops import Shop, new_order, worked_until
from tests.workers import living, until

RECIPE, NAIVE = "celery_app.make_invoice", "naive_celery.make_naively"
WORKER = (
    "-m",
    "celery",
    "--quiet",
    "-A",
    "naive_celery",
    "worker",
    "--concurrency",
    "1",
    "--loglevel",
    "INFO",
)
BARE = ("--without-gossip", "--without-mingle", "--without-heartbeat")


class Queue:
    """A shop's queue, and what its worker says."""

    def __init__(self, shop: Shop, **broker: str) -> None:
        self.shop, self.broker = shop, broker
        self.log = shop.folder / "worker.log"
        self.log.touch()

    def put(self, task: str, order: dict[str, Any]) -> None:
        """Queue a task, as the shop does."""
        said = self.shop.ran(*PYTHON, "-c", PUT, task, json.dumps(order), **self.broker)
        assert said == (0, "")

    @contextmanager
    def worker(self) -> Iterator[psutil.Process]:
        """A worker that is ready, and then gone."""
        said = len(self.words)
        with self.shop.running(*WORKER, *BARE, log=self.log, **self.broker) as process:
            until(lambda: " ready." in self.words[said:], what="The worker")
            yield psutil.Process(process.pid)

    @property
    def words(self) -> str:
        """What workers have said up to now."""
        return self.log.read_text()


PYTHON = (sys.executable,)
PUT = "import json, sys; from naive_celery import app; app.send_task(sys.argv[1], [json.loads(sys.argv[2])])"


@pytest.fixture
def queue(shop: Shop, request: pytest.FixtureRequest) -> Queue:
    folders = {name: str(shop.folder / "queue") for name in ("data_folder_in", "data_folder_out")}
    Path(folders["data_folder_in"]).mkdir()
    options = {**folders, "control_folder": str(shop.folder / "control"), "polling_interval": 0.1}
    made = Queue(shop, BROKER_URL="filesystem://", BROKER_OPTIONS=json.dumps(options))
    request.node.stash[LOGS].append(made.log)
    return made


def killed_after_the_invoice(shop: Shop, processes: list[psutil.Process], order: dict[str, Any]) -> None:
    until(lambda: shop.effects(order), what="The invoice")
    for process in processes:
        process.kill()
    until(lambda: not living(processes), what="Their end")


@pytest.mark.parametrize(("task", "invoices"), [(RECIPE, 1), pytest.param(NAIVE, 2, marks=pytest.mark.long)])
def test_a_task_whose_process_is_killed_is_delivered_again(
    shop: Shop, queue: Queue, task: str, invoices: int
) -> None:
    order = new_order()
    with queue.worker() as worker:
        shop.makes_and_keeps_silent()
        queue.put(task, order)
        killed_after_the_invoice(shop, worker.children(), order)
        if task == RECIPE:
            until(lambda: "Wait(" in queue.words, what="Its being told to wait")
        comes_to_its_end(shop, queue)
    assert "WorkerLostError" in queue.words
    assert shop.effects(order) == invoices


def comes_to_its_end(shop: Shop, queue: Queue) -> None:
    shop.api.clock.advance(300)
    worked_until(lambda: "succeeded in" in queue.words, what="The task's end")


def test_a_task_that_retries_after_a_lost_answer_makes_one(shop: Shop, queue: Queue) -> None:
    order = new_order()
    shop.books.faults("ignore_keys", count=None)
    shop.books.faults("drop_after", "POST /invoices")
    with queue.worker():
        queue.put(RECIPE, order)
        until(lambda: shop.effects(order) == 1, what="The invoice")
        comes_to_its_end(shop, queue)
        refused = {**new_order(), "customer": "Blocked & Sons"}
        queue.put(RECIPE, refused)
        until(lambda: "raised unexpected" in queue.words, what="The refusal")
    assert "retry: Retry in 0.3s" in queue.words
    assert shop.effects(order) == 1
    assert shop.tries(order) == ["uncertain"]
    assert shop.tries(refused) == ["rejected"]
    assert f"/operations/{shop.operation(refused).uid}/" in queue.words


@pytest.mark.long
@pytest.mark.parametrize(("task", "invoices"), [(NAIVE, 2), (RECIPE, 1)])
def test_a_task_whose_worker_is_killed_comes_again_when_its_visibility_ends(
    shop: Shop, request: pytest.FixtureRequest, task: str, invoices: int
) -> None:
    order = new_order()
    with redis(shop) as url:
        queue = Queue(shop, BROKER_URL=url, BROKER_OPTIONS='{"visibility_timeout": 2}')
        request.node.stash[LOGS].append(queue.log)
        with queue.worker() as worker:
            shop.makes_and_keeps_silent()
            queue.put(task, order)
            killed_after_the_invoice(shop, [worker, *worker.children()], order)
        with queue.worker():
            comes_to_its_end(shop, queue)
    assert shop.effects(order) == invoices


@contextmanager
def redis(shop: Shop) -> Iterator[str]:
    """A Redis of the test's own, which keeps nothing."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.fail("redis-server is missing: install the package redis-server. Only this test needs it.")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(shop.folder))
    with shop.running("-c", EXEC, program, *options, log=shop.folder / "redis.log"):
        yield f"redis://127.0.0.1:{port}/0"


EXEC = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
