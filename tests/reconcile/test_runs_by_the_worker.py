"""A run that an automation starts: a worker carries it out, and it says what `reconcile --json` says."""

import httpx

from reconcile import findings, reports
from reconcile.models import Run
from tests.processes import Server, Spawn
from tests.reconcile.books import Books
from tests.reconcile.test_runs_over_the_api import Controller
from tests.workers import Worker, until


def test_a_run_is_started_carried_out_by_the_worker_and_read(books: Books, spawn: Spawn) -> None:
    books.sent("1")
    for order in ("2", "3", "4"):
        books.outside(order, total="1860.00")
    with httpx.Client(base_url=Server.started(spawn).url, timeout=30) as client:
        one = Controller(client, "invoice.create")
        started = one.start()
        told = started.json()
        assert (started.status_code, told["state"], told["classes"]) == (202, "running", None)
        assert (told["plan"], told["type"], told["started_by"]) == ("invoices", "invoice.create", one.name)
        assert told["page"].endswith(f"/runs/{told['id']}/")
        assert one.read(told["id"]).json() == told, "nothing was done in the request"
        worker = Worker.started(spawn)
        until(lambda: one.read(told["id"]).json()["state"] == "done", what="The run's end")
        worker.kill()
        done, items, cursor = one.read(told["id"]).json(), [], None
        for _ in range(4):
            page = one.findings(told["id"], limit=1, **({"cursor": cursor} if cursor else {})).json()
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
    run = Run.objects.get(uid=told["id"])
    printed = reports.books(run, findings.stored(run))
    assert {name: done.get(name, items) for name in printed} == printed
    assert len(items) == 3
    assert done["explained"] is True
    assert done["finished_at"] is not None
