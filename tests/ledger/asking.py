"""Asking the database in SQL, and rows of every table to ask about."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from ledger import actions
from ledger.models import Operation
from ledger.rules.states import CaseKind
from tests import factories as make
from tests.databases import Database

Asked = psycopg.Connection[Any]
TOLD = (
    "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, revision, data) "
    "SELECT gen_random_uuid(), id, 'moved', 'a test', 'It says so.', '', state, revision, '{}' "
    "FROM ledger_operation WHERE id = %s"
)
"""Tells of an operation as it stands, as each change must."""


@pytest.fixture
def sql(database: Database) -> Iterator[Asked]:
    """A session of the application's role; each refusal is rolled back."""
    with closing(psycopg.connect(database.app_url, autocommit=True)) as connection:
        yield connection


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
