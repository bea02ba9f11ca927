"""The kit for connectors of the user's own: what is right passes, what is wrong in one way is caught."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.destinations.conformance import (
    BROKEN,
    HELD,
    UNPLAYED,
    HttpDouble,
    Play,
    Result,
    Scene,
    Stage,
    Subject,
    calling,
    check,
)
from ledger.destinations.connectors.base import (
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.destinations.connectors.http import HttpConnector
from ledger.destinations.connectors.sql import SqlConnector
from ledger.rules.calls import Calls
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from ledger.rules.outcomes import Answer
from tests.ledger.conformance import BY_CURSOR, CALLS, LOGIN, RECORD, blocks, module, subject

PAGES = {"items": "data", "paging": BY_CURSOR}
HTTP_CALLS = {
    "send": {"path": "/invoices", "set": {"reference": "{key}"}},
    "record": RECORD,
    "lookup": {"path": "/invoices?reference={key}", **PAGES},
    "list": {"path": "/invoices?since={since}", **PAGES},
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KASSE_LOGIN", LOGIN)
    monkeypatch.setattr(calling, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(calling, "LATE_S", 0.8)


def results(checked: Subject, double: object) -> list[Result]:
    return list(check(checked, double))  # type: ignore[arg-type]  # a double is made anew from the documents


def wrong(found: list[Result]) -> list[str]:
    return [f"{result.name}: {result.why}" for result in found if result.verdict != HELD]


def kasse(text: str) -> list[Result]:
    connector, double = module(text).Kasse, module(blocks()[1]).KasseDouble
    return results(subject(connector), double(Calls.read(CALLS)))


def test_the_documents_example_keeps_every_rule() -> None:
    found = kasse(blocks()[0])
    assert wrong(found) == []
    names = [result.name for result in found]
    assert "send: step 2, PUT /drafts/conformance-key-1: refuses the connection" in names
    assert "list: it goes on from a place, or begins anew" in names
    assert (
        len(names) == len(set(names)) - sum(names.count(name) - 1 for name in set(names)) or len(names) > 40
    )


AGAIN = """\
token = token or ""
                    body = dict(request.payload)
                    send = lambda one: self._ask(method, path, deadline, token=one, json=body)
                    answer = send(token)
                    answer = send(self._token(deadline)) if answer.status == 500 else answer"""
IN_TRANSACTION = """\
        from django.db import transaction
        transaction.get_connection().in_atomic_block = True
        request = httpx.Request("""
WRONG = [
    ("not sent after the draft", '"silent" if drafted else "not_sent"', '"not_sent"', "it proves retryable"),
    (
        "silence is taken as not sent",
        'return Answer("silent", status',
        'return Answer("not_sent", status',
        "it proves retryable",
    ),
    (
        "a token is used twice",
        "token = self._token(deadline)",
        "token = Kasse.kept = getattr(Kasse, 'kept', '') or self._token(deadline)",
        "send: ",
    ),
    (
        "success is made up",
        'return Answer("silent", status=error.status',
        'return Answer("answered", status=201, readable=True, body={"id": "1", "status": "open"}',
        "it proves succeeded",
    ),
    (
        "it tries again by itself",
        "answer = self._ask(method, path, deadline, token=token, json=dict(request.payload))",
        AGAIN,
        "tries belong to Tieout",
    ),
    (
        "it raises",
        'return Answer("silent", status=error.status, detail=str(error))',
        "raise",
        "it raised BrokenOff",
    ),
    (
        "a look-up that broke off is whole",
        "return Looked(tuple(items), complete=False, why=error.reason)",
        "pass",
        "it says absent",
    ),
    (
        "a list that broke off is whole",
        "raise IncompletePull(str(error)) from None",
        "return",
        "as if it were whole",
    ),
    ("it reads one page only", "if after is None:", "if True:", "of 3 records came"),
    ("it does not see that a list starts again", "if after in seen:", "if False:", "starts again"),
    (
        "its place is not gone on from",
        '(request.place or {}).get("after")',
        "None",
        "came after the first page",
    ),
    (
        "garbage is an empty list",
        'if not isinstance(body, dict) or not isinstance(body.get("invoices"), list):',
        "body = body or {'invoices': []}\n            if False:",
        "it says absent",
    ),
    ("a secret stands in its words", "why=error.reason", "why=error.reason + self._login", "a secret stands"),
    (
        "a secret stands in a place",
        '{"after": after} if',
        '{"after": after, "login": self._login} if',
        "a secret stands",
    ),
    ("its deadline is not kept", "Deadline(request.timeout_s), False", "Deadline(9), False", "had not ended"),
    (
        "a transaction is open meanwhile",
        "        request = httpx.Request(",
        IN_TRANSACTION,
        "a transaction of Tieout's",
    ),
]


@pytest.mark.parametrize(("what", "old", "new", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_each_connector_that_is_wrong_in_one_way_is_caught(what: str, old: str, new: str, said: str) -> None:
    text = blocks()[0]
    assert text.count(old) == 1, old
    caught = wrong(kasse(text.replace(old, new)))
    assert any(said in line for line in caught), caught


def test_nothing_is_sent_but_at_an_account_for_tests_wherever_look_ups_go() -> None:
    """A connector may ask at the address it is given and send to another one, of its options."""
    went: list[str] = []

    class Elsewhere(HttpConnector):
        def send(self, request: SendRequest) -> Answer:
            went.append(self._base)
            return Answer("answered", status=201, body={"id": "real-1", "status": "open"}, readable=True)

    calls = HTTP_CALLS
    checked = replace(subject(Elsewhere, calls, options={}), may_send=False)
    found = results(checked, HttpDouble(Calls.read(calls)))
    assert went == []
    assert [(one.name, one.verdict) for one in found if one.name.startswith("send")] == [("sends", UNPLAYED)]
    assert any(one.name == "look-up: one that is there is found" and one.verdict == HELD for one in found)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 503])
def test_a_refused_question_is_no_empty_answer(status: int) -> None:
    class Careless(HttpConnector):
        def look_up(self, request: LookRequest) -> Looked:
            looked = super().look_up(request)
            return Looked((), complete=True) if looked.status == status else looked

        def pages(self, request: ListRequest) -> Iterator[ListPage]:
            try:
                yield from super().pages(request)
            except IncompletePull as error:
                if error.status != status:
                    raise

    checked = replace(subject(Careless, HTTP_CALLS, options={}), may_send=False)
    double = HttpDouble(checked.calls)
    refused = f"answers with status {status}"
    broken = [one.name for one in results(checked, double) if one.verdict == BROKEN]
    assert [name for name in broken if not name.endswith("a page for people and status 404")] == [
        f"look-up: it could not look where the destination {refused}",
        f"list: it is not whole where the destination {refused}",
    ]
    listed = replace(checked, contract=Contract(absent=(status,)))
    assert not [one for one in results(listed, double) if refused in one.name]


def test_a_page_for_people_is_no_empty_answer() -> None:
    class Careless(HttpConnector):
        def look_up(self, request: LookRequest) -> Looked:
            looked = super().look_up(request)
            return Looked((), complete=True) if "not JSON" in looked.why else looked

    checked = replace(subject(Careless, HTTP_CALLS, options={}), may_send=False)
    caught = [one.name for one in results(checked, HttpDouble(checked.calls)) if one.verdict == BROKEN]
    assert any("a page for people" in name for name in caught)


def test_a_listed_status_with_a_page_for_people_is_no_empty_answer() -> None:
    class Believing(HttpConnector):
        def look_up(self, request: LookRequest) -> Looked:
            looked = super().look_up(request)
            return replace(looked, complete=True) if looked.status in request.contract.absent else looked

    listed = Contract(absent=(404,))
    for made, broken in ((HttpConnector, []), (Believing, ["look-up: it could not look where"])):
        checked = replace(subject(made, HTTP_CALLS, options={}), may_send=False, contract=listed)
        found = results(checked, HttpDouble(checked.calls))
        wrong = [one.name for one in found if one.verdict == BROKEN]
        ends = " the destination answers with a page for people and status 404"
        assert wrong == [f"{begins}{ends}" for begins in broken]


# --- our own


def test_the_connector_for_http_keeps_every_rule() -> None:
    calls = HTTP_CALLS
    checked = subject(HttpConnector, calls, options={}, auth={"kind": "bearer", "token": "env:KASSE_LOGIN"})
    found = results(checked, HttpDouble(Calls.read(calls)))
    assert wrong(found) == [] and len(found) > 30


def test_the_connector_for_databases_keeps_every_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select = "select id, reference, status from invoices where "
    calls = {
        "record": RECORD,
        "lookup": {"query": f"{select} reference = {{key}}"},
        "list": {"query": f"{select} {{since}} is not null"},
    }
    found = results(subject(SqlConnector, calls), Tables(tmp_path, monkeypatch))
    assert {result.verdict for result in found} == {HELD, UNPLAYED}
    assert sum(result.verdict == HELD for result in found) > 5
    assert not [result for result in found if result.verdict == BROKEN]


class Tables:
    """Plays a database: its file is there, is not there, or is none."""

    scenes = frozenset({Scene.ANSWERS, Scene.REFUSES, Scene.GARBLES})

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file, self.patch = folder / "played.db", monkeypatch

    @contextmanager
    def playing(self, play: Play, target: Target) -> Iterator[Stage]:
        self.file.unlink(missing_ok=True)
        if play.scene is Scene.GARBLES:
            self.file.write_bytes(b"no database at all" * 100)
        elif play.scene is Scene.ANSWERS:
            connection = sqlite3.connect(self.file)
            with connection:
                connection.execute("create table invoices (id text, reference text, status text)")
                rows = [(f"R-{one.number}", one.reference, "open") for one in play.held]
                connection.executemany("insert into invoices values (?, ?, ?)", rows)
            connection.close()
        self.patch.setenv("PLAYED_URL", f"sqlite://{self.file}")
        yield Stage(replace(target, reach=Connection(url="env:PLAYED_URL")))
