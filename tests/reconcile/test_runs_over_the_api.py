"""Runs over the HTTP API: who may start and read them, what is joined, and what is refused in words."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ledger.models import ApiToken
from ledger.rules.tokens import new_token, token_hash
from reconcile import leasing
from reconcile.actions import start
from reconcile.api import FindingsOut, RunOut
from reconcile.models import Plan, Run
from reconcile.running import execute, window
from tests.databases import Database
from tests.doors import database as database
from tests.doors import problem
from tests.processes import LOGS, Server, Spawn
from tests.reconcile.books import HELD, Books, record


class Controller:
    """An automation at the door that starts runs and reads them; every answer is held to its schema."""

    def __init__(self, http: httpx.Client, *types: str) -> None:
        self.http, token = http, new_token()
        ApiToken.objects.create(name=f"ledger {token[-6:]}", token_hash=token_hash(token), types=list(types))
        self.name, self.headers = f"api:ledger {token[-6:]}", {"Authorization": f"Bearer {token}"}

    def start(self, plan: str = "invoices", **days: Any) -> httpx.Response:
        answer = self.http.post(f"/api/v1/plans/{plan}/runs", json=days, headers=self.headers)
        if answer.status_code == 202:
            RunOut.model_validate_json(answer.content)
        return answer

    def read(self, uid: object) -> httpx.Response:
        answer = self.http.get(f"/api/v1/runs/{uid}", headers=self.headers)
        if answer.status_code == 200:
            RunOut.model_validate_json(answer.content)
        return answer

    def findings(self, uid: object, **asked: object) -> httpx.Response:
        asked_of = {name: str(value) for name, value in asked.items()}
        answer = self.http.get(f"/api/v1/runs/{uid}/findings", params=asked_of, headers=self.headers)
        if answer.status_code == 200:
            FindingsOut.model_validate_json(answer.content)
        return answer


@pytest.fixture(scope="module")
def books(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Operations of callers, and a list that the test writes; one for the module."""
    found = Books.configured(tmp_path_factory.mktemp("books"), performed_by="caller")
    Plan.objects.update(recipients=[])  # a run that is told of cannot be taken back
    return found


@pytest.fixture(scope="module")
def door(
    books: Books, database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, list[Path]]]:
    """A client at a server, and what the server said."""
    logs: list[Path] = []
    with (
        Spawn(database, tmp_path_factory.mktemp("server"), logs) as spawn,
        httpx.Client(base_url=Server.started(spawn).url, timeout=30) as client,
    ):
        yield client, logs


@pytest.fixture
def http(
    door: tuple[httpx.Client, list[Path]], database: Database, request: pytest.FixtureRequest
) -> httpx.Client:
    """The client, where no run is on record and the list is empty."""
    request.node.stash[LOGS] = door[1]
    HELD.__init__()  # type: ignore[misc]  # a fresh one for each test, where the connector finds it
    with database.rewriting("reconcile_run", "reconcile_finding"):
        Run.objects.all().delete()
    return door[0]


@pytest.fixture
def controller(http: httpx.Client) -> Controller:
    return Controller(http)


def carried_out(run: Run) -> Run:
    """The run once it is at its end, as a worker brings it there."""
    taken = leasing.take(run.pk)
    assert taken is not None
    execute(taken)
    taken.refresh_from_db()
    return taken


def test_a_second_start_joins_the_run_over_the_same_days(controller: Controller) -> None:
    first = controller.start(**{"from": "2026-11-01", "to": "2026-11-02"})
    again = controller.start(**{"from": "2026-11-01", "to": "2026-11-02"})
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert first.json()["window_from"] == "2026-10-31T22:00:00+00:00"
    assert first.json()["window_to"] == "2026-11-02T22:00:00+00:00", "the last day is included"
    for other in ({}, {"from": "2026-11-01"}):
        told = problem(controller.start(**other), 409, "already-running")
        assert told["retry"] == "wait"
    carried_out(Run.objects.get())
    assert controller.start().json()["id"] != first.json()["id"]


def test_a_dry_run_is_neither_joined_nor_shown(controller: Controller, books: Books) -> None:
    start_at, to = window(books.plan, None, None)
    dry = start(books.plan, window_from=start_at, window_to=to, actor="ann", dry_run=True)
    assert "a dry run" in problem(controller.start(), 409, "already-running")["detail"]
    problem(controller.read(dry.uid), 404, "not-found")
    problem(controller.findings(dry.uid), 404, "not-found")


def test_what_is_not_done_or_was_not_whole_says_nothing(controller: Controller) -> None:
    uid = controller.start().json()["id"]
    assert problem(controller.findings(uid), 409, "run-not-done")["retry"] == "wait"
    HELD.pages = [[record(1, key=None)], None]
    with pytest.raises(Exception, match="broke off"):
        carried_out(Run.objects.get(uid=uid))
    told = controller.read(uid).json()
    assert (told["state"], told["why_failed"], told["classes"]) == ("failed", "The list broke off.", None)
    assert "The list broke off." in problem(controller.findings(uid), 409, "conflict")["detail"]


def test_a_run_without_differences_has_an_empty_list(controller: Controller) -> None:
    uid = controller.start().json()["id"]
    carried_out(Run.objects.get(uid=uid))
    assert controller.findings(uid).json() == {"items": [], "next_cursor": None}
    assert controller.read(uid).json()["explained"] is True


def test_a_token_sees_plans_of_its_types_only(http: httpx.Client) -> None:
    stranger, whole = Controller(http, "reminder.send"), Controller(http)
    uid = whole.start().json()["id"]
    for answer in (stranger.start(), stranger.read(uid), stranger.findings(uid)):
        told = problem(answer, 403, "type-not-allowed")
        assert "invoice" not in answer.text, told
    assert Run.objects.count() == 1


def test_days_that_are_no_window_are_refused_in_words(controller: Controller) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"from": "2026-11-31"}, "from must be a day that exists"),
        ({"to": "yesterday"}, "to must be a day that exists"),
        ({"to": 20261130}, "to must be a day that exists"),
        ({"from": "2026-11-02", "to": "2026-11-01"}, "The window is empty"),
        ({"from": "9999-01-01"}, "The days of a window lie between"),
        ({"days": 3}, "days is not known"),
    ]
    for days, words in refused:
        answer = controller.start(**days)
        assert answer.status_code == 400
        assert words in answer.json()["detail"]
    assert not Run.objects.exists()


def test_what_there_is_not_is_not_found(controller: Controller) -> None:
    assert "plan" in problem(controller.start("invoice"), 404, "not-found")["detail"]
    problem(controller.read(uuid.uuid4()), 404, "not-found")
    problem(controller.findings(uuid.uuid4()), 404, "not-found")
    uid = controller.start().json()["id"]
    carried_out(Run.objects.get(uid=uid))
    for asked in ({"cursor": "x"}, {"limit": "0"}, {"sort": "amount"}):
        assert controller.findings(uid, **asked).status_code == 400


def test_what_another_type_made_is_told_to_whose_token_covers_it(
    http: httpx.Client, books: Books, tmp_path: Path
) -> None:
    other = books.elsewhere(tmp_path, "900").operation
    HELD.pages = [[record(1, key=other.key)]]
    uid = Controller(http).start().json()["id"]
    carried_out(Run.objects.get())
    [all_of_it] = Controller(http).findings(uid).json()["items"]
    both = Controller(http, "invoice.create", "invoice.issue").findings(uid).json()["items"]
    [one] = Controller(http, "invoice.create").findings(uid).json()["items"]
    assert [each["id"] for each in all_of_it["elsewhere"]] == [str(other.uid)] and both == [all_of_it]
    assert one == {**all_of_it, "elsewhere": []}
    assert "invoice.issue" not in str(one)
