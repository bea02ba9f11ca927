"""The worlds that reconciliations are tried in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.databases import Database
from tests.reconcile.books import SOURCE, Books
from tests.sandboxes import Sandbox

Made = Callable[..., Books]


@pytest.fixture
def books(database: Database, sandbox: Sandbox, tmp_path: Path) -> Books:
    """Invoices that Tieout sends to a real sandbox."""
    return Books.configured(tmp_path, sandbox=sandbox)


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    """Operations of callers, and a destination's list that the test writes."""
    return Books.configured(tmp_path, performed_by="caller")


@pytest.fixture
def sourced(database: Database, tmp_path: Path) -> Books:
    """Operations of callers, a destination's list and a source's rows that the test writes."""
    return Books.configured(tmp_path, performed_by="caller", source=SOURCE)
