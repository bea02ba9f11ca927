"""Questions that are built once in a process: in Django's words that takes longer than most answers.

A question is a function that returns a QuerySet. It is called once, with stand-ins for what it is given; from
then on its statement runs with what is given in their places. The server, too, plans it once for a
connection, which takes longer than most answers. Who sees some legal entities only is asked for by conditions
of their own: their questions are built once for all that is there of these entities.
"""

import re
from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

from ledger import sight
from ledger.actions import statements

Given = ParamSpec("Given")
Row = TypeVar("Row")
SIGHTS = 100
"""For so many sights a question is kept; what is there of an entity changes seldom."""
_NO_NUMBER = -2_000_000_000
"""No row has it, or one of the next below."""
_OF_ONE = ("query", "connection", "using")
"""What a compiler has of one time; all else is of its statement."""
_STAND_INS: dict[type, Callable[[int], Any]] = {
    int: lambda place: _NO_NUMBER - place,
    str: lambda place: f"given {place}\x01",
    UUID: lambda place: UUID(int=place),
    datetime: lambda place: datetime(1, 1, 1, tzinfo=UTC) + timedelta(days=place),
    list: lambda place: [_NO_NUMBER - place],
}


def built(asked: Callable[Given, QuerySet[Any, Row]]) -> Callable[Given, list[Row]]:
    """Answer a question with its rows; what it is given may change its values, never its shape."""
    kept: dict[object, QuerySet[Any, Row]] = {}

    @wraps(asked)
    def answered(*given: Given.args, **named: Given.kwargs) -> list[Row]:
        assert not named, "a place is all that tells what is given"
        here = sight.present()
        whose = None if here is None else here.content
        if (known := kept.get(whose)) is None:
            if len(kept) > SIGHTS:
                kept.clear()
            try:
                known = kept[whose] = _once(asked, given)
            except EmptyResultSet:
                return []
        rows = known.all()
        query: Any = rows.query
        query.given = given
        return list(rows)

    return answered


def _once(asked: Callable[..., QuerySet[Any, Row]], given: tuple[Any, ...]) -> QuerySet[Any, Row]:
    """Build a question with a stand-in for each value, and keep its statement."""
    stand_ins = [_STAND_INS[type(value)](place) for place, value in enumerate(given)]
    rows = asked(*stand_ins)
    compiler = rows.query.get_compiler(DEFAULT_DB_ALIAS)
    sql, values = compiler.as_sql()
    own = {name: value for name, value in vars(compiler).items() if name not in _OF_ONE}
    places = [stand_ins.index(value) for value in values if value in stand_ins]
    assert {*places} == {*range(len(given))}, "what is given stands in it as it is"
    query: Any = rows.query
    query.__class__, query.kept = _Query, (_settled(sql, values, stand_ins), places, own)
    return rows


def _settled(sql: str, values: Iterable[Any], stand_ins: list[Any]) -> str:
    """Write into a statement what never changes, as Django's cursor would; only what is given stays apart."""
    left, ops = iter(values), connections[DEFAULT_DB_ALIAS].ops

    def written(mark: re.Match[str]) -> str:
        if mark[0] == "%%" or (value := next(left)) in stand_ins:
            return mark[0]
        text: str = ops.compose_sql("%s", [value])  # type: ignore[attr-defined]  # PostgreSQL's has it
        return text.replace("%", "%%")

    return re.sub("%[%s]", written, sql)


class _Query(Query):
    """What is asked, as it was built, with what is given this time."""

    kept: tuple[str, list[int], dict[str, Any]]
    given: tuple[Any, ...]

    def chain(self, klass: Any = None) -> Self:
        """Return one that shares what was built: nothing is added to it any more."""
        return copy(self)

    def get_compiler(self, using: Any = None, connection: Any = None, elide_empty: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return what writes the statement that is kept."""
        compiler: Any = _Compiler
        return compiler(self, connection or connections[using], using, elide_empty)


class _Compiler(SQLCompiler):
    """Django's own, which reads rows as it was when it wrote their statement."""

    query: _Query

    def get_converters(self, expressions: Any) -> Any:
        """Return what makes values of columns, which is the statement's, too."""
        own = self.query.kept[-1]
        if "converters" not in own:
            own["converters"] = super().get_converters(expressions)
        return own["converters"]

    def execute_sql(self, *_how: Any, **_named: Any) -> Any:
        """Return all rows, as one piece."""
        sql, places, own = self.query.kept
        vars(self).update(own)
        return [statements.ask(sql, [self.query.given[place] for place in places])]
