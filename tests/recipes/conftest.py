"""One Tieout and one Durban Books for all recipes, set up by the recipes' own file."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import copied
from tests.databases import Clock, Database
from tests.doors import Api, opened
from tests.processes import LOGS, Manage, Standing
from tests.recipes.shops import BOOKS, RECIPES, Shop
from tests.sandboxes import Sandbox, running_sandbox


@pytest.fixture(scope="package")
def database(standing: Standing) -> Iterator[Database]:
    """One database for all recipes: their orders have numbers of their own."""
    with standing.database() as clone:
        yield clone


@pytest.fixture(scope="package")
def serving(standing: Standing, database: Database) -> Iterator[Api]:
    """The open door, and a clock that is only ever moved on."""
    with opened(standing, Clock.put_into(database)) as api:
        yield api


@pytest.fixture(scope="package")
def books(serving: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Durban Books, and what the recipes' own files say of it."""
    folder = tmp_path_factory.mktemp("books")
    with running_sandbox(folder) as sandbox:
        for name in ("books.toml", "handed_over.toml"):
            text = (RECIPES / name).read_text()
            assert BOOKS in text
            file = folder / name
            file.write_text(text.replace(BOOKS, sandbox.url))
            Manage(serving.clock.database)("configure", str(file))
        yield sandbox


@pytest.fixture
def shop(serving: Api, books: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Shop:
    """A folder of the test's own, with copies of the recipes and the client."""
    request.node.stash[LOGS] = [serving.log]
    copied(tmp_path)
    for file in [*RECIPES.glob("*.py"), *Path(__file__).parent.glob("naive_*.py")]:
        shutil.copy(file, tmp_path)
    books.clear_faults()
    return Shop(serving, books, tmp_path)
