"""The answer is lost, at every address that writes: who asks again in the same words does nothing twice.

What became of the first answer does not matter: none of it came, or a part. The second one says what the
first one said, but for what the contract names: an attempt's token is a new one, and 201 is 200.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.callers.cuts import Line, breaking
from tests.callers.writing import SAYINGS, SIGNED_WITH, Request, Saying, counted, hear_from_books, left
from tests.doors import Api, at_once
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

EACH = pytest.mark.parametrize("saying", SAYINGS, ids=lambda saying: saying.name)
WRITES = {"post", "put", "patch", "delete"}
TIMES = {"updated_at", "retry_at"}
"""When a thing was last changed moves with each event; when to ask again, with the clock."""


@pytest.fixture(scope="module")
def line(serving: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """A line to the server that loses every answer."""
    secret: Path = tmp_path_factory.mktemp("secrets") / "books"
    secret.write_text(SIGNED_WITH)
    hear_from_books(f"file:{secret}")
    with breaking(serving.server.url) as line:
        yield line


def send(api: Api, request: Request) -> tuple[int, Any]:
    answer = api.http.post(f"/api/v1/{request.path}", content=request.content, headers=request.headers)
    return answer.status_code, answer.json()


def without(body: Any, changes: frozenset[str], at: str = "") -> Any:
    """An answer without what may change from one to the next."""
    if isinstance(body, dict):
        kept = {name: value for name, value in body.items() if f"{at}{name}" not in changes | TIMES}
        return {
            name: without(value, changes, f"{at}{name}.") for name, value in kept.items() if name not in TIMES
        }
    if isinstance(body, list):
        return [without(value, changes, f"{at}*.") for value in body]
    return body


def test_the_table_has_every_address_that_writes(api: Api) -> None:
    paths = api.http.get("/api/v1/openapi.json").json()["paths"]
    writing = {path.removeprefix("/api/v1") for path, methods in paths.items() if WRITES & set(methods)}
    assert {saying.address for saying in SAYINGS} == writing


@pytest.mark.parametrize("passes", [0, 120], ids=["none came", "a part came"])
@EACH
def test_who_asks_again_gets_the_answer_that_was_lost(
    api: Api, line: Line, saying: Saying, passes: int
) -> None:
    request, line.passes = saying.ready(api), passes
    before = counted()
    status, lost = line.lose(request)
    assert (status, left(before)) == (saying.first, saying.rows)
    before = counted()
    again, told = send(api, request)
    assert again == saying.again
    assert without(told, saying.changes) == without(json.loads(lost), saying.changes)
    assert left(before) == saying.more


@EACH
def test_two_who_ask_again_at_once_are_told_the_same(api: Api, line: Line, saying: Saying) -> None:
    request, line.passes = saying.ready(api), 0
    _, lost = line.lose(request)
    before = counted()
    answers = at_once(2, lambda _: send(api, request))
    assert [status for status, _ in answers] == [saying.again] * 2
    first = without(json.loads(lost), saying.changes)
    assert [without(told, saying.changes) for _, told in answers] == [first, first]
    assert left(before) == {name: 2 * count for name, count in saying.more.items()}


@EACH
def test_two_who_ask_at_once_for_the_first_time_do_it_once(api: Api, line: Line, saying: Saying) -> None:
    request = saying.ready(api)
    before = counted()
    answers = at_once(2, lambda _: send(api, request))
    assert sorted(status for status, _ in answers) == sorted([saying.first, saying.again])
    one, other = (without(told, saying.changes) for _, told in answers)
    assert one == other
    assert left(before) == {
        name: saying.rows.get(name, 0) + saying.more.get(name, 0) for name in saying.rows | saying.more
    }
