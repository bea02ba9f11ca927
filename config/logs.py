"""Log lines without rows: what the database says of an error may carry a row's or a statement's values."""

import copy
import logging
import re
import traceback
from collections.abc import Iterator
from types import TracebackType

import psycopg
from django import db

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None] | None

CHAIN_MAX = 10
TAKEN_OUT = "[taken out]"
_VALUES = re.compile(
    r"\b(DETAIL|CONTEXT|QUERY|STATEMENT|LINE \d+):(?! *\[taken out\]).*?"
    r"(?=\nHINT:|Traceback \(most recent|\nThe above exception|\nDuring handling|\Z)",
    re.DOTALL,
)


class NotOfReadiness(logging.Filter):
    """Leaves out that `/readyz` has answered 503: whoever asks is told, and asks again until it is ready."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is of anything else."""
        path = getattr(getattr(record, "request", None), "path", "")
        return (path, getattr(record, "status_code", None)) != ("/readyz", 503)


class Line(logging.Formatter):
    """The one formatter of all handlers: of the database's errors it writes kind and place only."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record; one that another handler has written already is written anew."""
        mine = copy.copy(record)
        mine.exc_text = None
        mine.msg = _told(record.msg)
        if isinstance(record.args, tuple):
            mine.args = tuple(map(_told, record.args))
        elif record.args:
            mine.args = {name: _told(value) for name, value in record.args.items()}
        return _VALUES.sub(rf"\1: {TAKEN_OUT}", super().format(mine))

    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - the library's name
        """Write a traceback; the cause comes first, as Python writes it."""
        error = ei[1] if ei else None
        if error is None:
            return ""
        parts = []
        for one in reversed(list(_chain(error))):
            frames = "".join(traceback.format_tb(one.__traceback__))
            parts.append(f"Traceback (most recent call last):\n{frames}{_last_line(one)}")
        return "\n\nThe above exception was the cause of:\n\n".join(parts)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(CHAIN_MAX):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def _last_line(error: BaseException) -> str:
    if _of_database(error):
        return _kind(error)
    return "".join(traceback.format_exception_only(error)).rstrip("\n")


def _told(value: object) -> object:
    return _kind(value) if isinstance(value, BaseException) and _of_database(value) else value


def _of_database(error: BaseException) -> bool:
    return isinstance(error, psycopg.Error | db.Error)


def _kind(error: BaseException) -> str:
    """Name an error of the database: its class, its SQLSTATE, and the constraint where there is one."""
    state = next((one for one in _chain(error) if getattr(one, "sqlstate", None)), None)
    constraint = getattr(getattr(state, "diag", None), "constraint_name", None)
    named = (type(error).__name__, getattr(state, "sqlstate", None), constraint)
    return " ".join(str(name) for name in named if name)
