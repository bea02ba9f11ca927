"""Where the time of one operation over HTTP goes: our own stages, timed apart from what they call."""

import io
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.bench import loop, product

REST = "Django, ninja and middleware"
FAST_SQL, OTHER_SQL = "SQL: claim and outcome, with events", "SQL: everything else"


class Clock:
    """Gives each moment to the innermost stage that is under way."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._under_way: list[str] = []
        self._since = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what follows for this stage, less what stages inside it take."""
        self._switch()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._switch()
            self._under_way.pop()

    def under_way(self, name: str) -> bool:
        """Say whether the innermost stage is this one."""
        return self._under_way[-1:] == [name]

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._under_way:
            self.spent[self._under_way[-1]] += now - self._since
        self._since = now


def stages() -> dict[str, list[tuple[Any, str]]]:
    """Return what is timed as which stage."""
    from django.db.backends.utils import CursorWrapper
    from ninja.operation import Operation as Endpoint

    from ledger import actions
    from ledger.actions import accepting, batching, recording, statements
    from ledger.door import answers, auth, batches, bodies, reading

    return {
        "read the body": [(bodies, "whole")],
        "know the token": [(auth.Bearer, "__call__")],
        "parse strict JSON": [(reading.StrictParser, "parse_body")],
        "check the members": [(Endpoint, "_get_values"), (batches, "_read")],
        "digest payload, leaves and key": [
            (accepting, "prepare"),
            (accepting, "row_of"),
            (recording, "row_of"),
        ],
        "ledger actions": [
            (actions, "claim"),
            (actions, "record"),
            *((batching, name) for name in ("_asked", "_successes", "_written")),
            *((accepting, name) for name in ("answer_first", "answer_repeated", "answer_standing")),
            *((recording, name) for name in ("read_as", "reply_to")),
        ],
        FAST_SQL: [(statements, "run"), (statements, "run_for_all")],
        OTHER_SQL: [(CursorWrapper, "execute")],
        "write the answer": [(answers, "told"), (answers, "respond"), (batches, "_item")],
    }


def profile(token: str, *, seconds: float, at_once: int = 1) -> dict[str, float]:
    """Return microseconds of each stage of one operation, claim and outcome, through WSGI in this process."""
    do = _operation if at_once == 1 else _batch
    from config.wsgi import application

    clock = Clock()
    call = _caller(application, token)
    keys = loop.new()
    for _ in range(3):
        do(call, [next(keys) for _ in range(at_once)])
    units, began = 0, time.perf_counter()
    with _timed(clock):
        while not units or time.perf_counter() - began < seconds:
            handed = [next(keys) for _ in range(at_once)]
            with clock.stage(REST):
                do(call, handed)
            units += at_once
    longest_first = sorted(clock.spent.items(), key=lambda one: -one[1])
    return {name: seconds / units * 1e6 for name, seconds in longest_first}


Call = Callable[[str, bytes], Mapping[str, Any]]


def _operation(call: Call, keys: list[str]) -> None:
    (key,) = keys
    attempt = call("operations/claim", product.claim_body(key))["attempt"]
    told = call(f"attempts/{attempt['id']}/outcome", product.outcome_body(attempt["token"]))
    assert told["decision"] == "skip", told


def _batch(call: Call, keys: list[str]) -> None:
    claims = product.batch_body(product.claim_body(key) for key in keys)
    attempts = [one["attempt"] for one in call("operations/claim-batch", claims)["items"]]
    told = call("attempts/outcome-batch", product.batch_body(map(product.report_body, attempts)))
    assert {one["decision"] for one in told["items"]} == {"skip"}, told


def _caller(application: Any, token: str) -> Call:
    def call(path: str, body: bytes) -> Mapping[str, Any]:
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": f"/api/v1/{path}",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_HOST": "127.0.0.1:8000",
            "HTTP_AUTHORIZATION": f"Bearer {token}",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
        }
        answer = application(environ, lambda *_: None)
        told: Mapping[str, Any] = json.loads(b"".join(answer))
        answer.close()
        return told

    return call


@contextmanager
def _timed(clock: Clock) -> Iterator[None]:
    """Put the clock around every stage, and take it off again."""
    put: list[tuple[Any, str, Any]] = []
    for name, places in stages().items():
        for owner, attribute in places:
            plain = getattr(owner, attribute)
            put.append((owner, attribute, plain))
            setattr(owner, attribute, _around(plain, clock, name))
    try:
        yield
    finally:
        for owner, attribute, plain in put:
            setattr(owner, attribute, plain)


def _around(plain: Callable[..., Any], clock: Clock, name: str) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        # Any SQL of the fast path goes through Django's cursor, too, and stays what it is.
        if name == OTHER_SQL and clock.under_way(FAST_SQL):
            return plain(*arguments, **named)
        with clock.stage(name):
            return plain(*arguments, **named)

    return timed
