"""The connector for a database that is only read: a query for a look-up, a query for a list.

Values go beside the query and never into its text. Whatever the query says, the database refuses to write.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from ledger.destinations.connectors import databases
from ledger.destinations.connectors.base import (
    LOOK_ITEMS,
    PULL_ITEMS,
    ConfigurationError,
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
    kept_text,
)
from ledger.destinations.connectors.wire import Deadline
from ledger.destinations.pacing import LIST_WAIT_S
from ledger.rules import moments, placeholders
from ledger.rules.calls import Question
from ledger.rules.errors import Malformed
from ledger.rules.outcomes import Answer
from ledger.rules.placeholders import Values

PAGE_ROWS = 1000
_PLAIN = (bool, int, str, Decimal)


class SqlConnector:
    """Looks up and lists by the queries of the configuration; the address is read when it is made."""

    def __init__(self, target: Target) -> None:
        if target.reach.url is None:
            raise ConfigurationError(f"{target.title} has no url.")
        self._url = kept_text(target.reach.url)
        self._kind = databases.kind_of(self._url)
        self._account, self._pace = target.account, target.pace

    def send(self, request: SendRequest) -> Answer:
        """Send nothing: this connector only reads."""
        return Answer("not_sent", detail="A database is only read here: callers perform what goes there.")

    def look_up(self, request: LookRequest) -> Looked:
        """Ask for one operation, reading every row; a failure is part of the result."""
        deadline = Deadline(request.timeout_s)
        rows: list[object] = []
        as_of: datetime | None = None
        try:
            for page in self._pages(request.call, request.values, clock=lambda: deadline):
                rows += page.items
                as_of = page.as_of
                if len(rows) > LOOK_ITEMS:
                    raise IncompletePull(f"The query brings more than {LOOK_ITEMS} rows.")
        except IncompletePull as error:
            return Looked(tuple(rows), complete=False, why=error.reason)
        except (Malformed, ConfigurationError) as error:
            return Looked((), complete=False, why=error.detail)
        return Looked(tuple(rows), complete=True, as_of=as_of)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Yield what the query brings, page by page, in one transaction; raises IncompletePull."""
        call, read = request.call, 0
        values = {"since": moments.write(request.since, form=call.since_format, zone=call.timezone)}
        try:
            with self._room():
                clock = lambda: Deadline(request.timeout_s)  # noqa: E731 - a new one for each page
                for page in self._pages(call, {**values, "account": self._account}, clock=clock):
                    read += len(page.items)
                    if page.items:
                        yield page
                    if read > PULL_ITEMS:
                        raise IncompletePull(f"The query brings more than {PULL_ITEMS} rows.")
        except (Malformed, ConfigurationError) as error:
            raise IncompletePull(error.detail) from None

    def _room(self) -> AbstractContextManager[None]:
        return nullcontext() if self._pace is None else self._pace.room(wait_s=LIST_WAIT_S)

    def _pages(self, call: Question, values: Values, *, clock: Callable[[], Deadline]) -> Iterator[ListPage]:
        """Yield the rows of a query as objects, at last an empty page, which tells of when they were, too."""
        if call.query is None:
            raise ConfigurationError("A call of this destination has no query.")
        bound = _bound(call, values, self._kind)
        query = _statement(call.query, self._kind)
        with databases.session(self._url, zone=call.timezone or "UTC", deadline=clock()) as session:
            for rows in session.pages(query, bound, clock=clock, size=PAGE_ROWS):
                yield ListPage([_exact(row) for row in rows], as_of=session.as_of)
            yield ListPage([], as_of=session.as_of)


def _statement(query: str, kind: str) -> str:
    """Write a query's placeholders as the database's own."""
    mark = r"%({})s" if kind == "postgresql" else ":{}"
    text = query.strip().removesuffix(";")
    text = text.replace("%", "%%") if kind == "postgresql" else text
    for name in dict.fromkeys(placeholders.named(query)):
        text = text.replace(f"{{{name}}}", mark.format(_member(name)))
    return text


def _bound(call: Question, values: Values, kind: str) -> dict[str, object]:
    """Return what goes beside the query; raises Malformed where a value is missing.

    PostgreSQL is given an instant, which it compares in the session's zone, unless its form is stated.
    """
    bound: dict[str, object] = {}
    for name in placeholders.named(call.query or ""):
        value = values.get(name, "")
        if value == "":
            raise Malformed(f"There is no {name} to put in place of {{{name}}}.")
        instant = name == "since" and call.since_format is None and kind == "postgresql"
        bound[_member(name)] = datetime.fromisoformat(str(value)) if instant else value
    return bound


def _member(name: str) -> str:
    return name.replace(".", "_")


def _exact(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value, name) for name, value in row.items()}


def _value(value: Any, column: str) -> Any:
    """Return a value as a record has it: text, exact numbers; raises IncompletePull for any other kind."""
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return [_value(one, column) for one in value]
    if isinstance(value, dict):
        return {name: _value(one, column) for name, one in value.items()}
    kind = re.sub(r"[^a-z_]", "", type(value).__name__.lower())
    what = (
        "is a binary float, which is not exact"
        if kind == "float"
        else f"has a kind ({kind}) that is not read"
    )
    raise IncompletePull(f"Column {column} {what}: let the query make text or numeric of it.")
