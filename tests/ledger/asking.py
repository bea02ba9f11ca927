"""Asking the database in SQL, and rows of every table to ask about."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from ledger import actions
from ledger.models import Operation
from ledger.rules.states import CaseKind
from tests import factories as make

Asked = psycopg.Connection[Any]


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(psycopg.Error, match=words):
        yield


def operation_ready_to_go_again() -> Operation:
    """In doubt, held, and looked at by ann, who may allow another try: a row of every table."""
    operation = make.uncertain_operation(make.kind(contract={"settle": "0s"}))
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="ann", reason="Look at it.")
    make.looked(operation, actor="ann")
    return operation
