"""One thing made is one type: what stands there twice is noted, also by two files, and is not in order.

| beside Durban Books and `invoice.create`                         | noted                       |
|------------------------------------------------------------------|-----------------------------|
| the demo's own file, and the recipes'                            | nothing                     |
| both files of the recipes                                        | their types                 |
| the same address and account, under another name                 | the destinations, the types |
| the same address, another account                                | nothing                     |
| only the list is the same                                        | the types                   |
| another reference in the record                                  | nothing                     |
| what follows another operation                                   | nothing                     |
"""

from pathlib import Path

import pytest

from config.environment import ROOT
from reconcile.configuration import configure
from tests.databases import Database
from tests.reconcile.test_configuration import BOOKS

pytestmark = pytest.mark.usefixtures("database")
RECIPES = ROOT / "docs" / "recipes"
DEMO = ROOT / "config" / "demo" / "durban.toml"

AGAIN = BOOKS.partition("[plans.")[0].replace("destinations.books", "destinations.durban")
AGAIN = AGAIN.replace('"books"', '"durban"').replace("invoice.create", "invoice.issue")
"""The same once more, as somebody else would write it who does not know of the first."""
LOOKUP = "/invoices?reference={key}"
LIST = "/invoices?updated_since={since}"


def noted(folder: Path, *texts: str, check: bool = False) -> list[str]:
    """Take one file in after the other; what is noted of the last one, but for what is left alone."""
    file, notes = folder / "durban.toml", list[str]()
    for text in texts:
        file.write_text(text)
        notes = configure(file, check=check and text is texts[-1]).notes
    return [note for note in notes if "left as it is" not in note]


def test_neither_the_demo_nor_a_recipe_makes_anything_twice(tmp_path: Path) -> None:
    files = DEMO, RECIPES / "books.toml"
    assert noted(tmp_path, files[0].read_text()) == []
    assert noted(tmp_path, *(file.read_text() for file in files)) == []
    [types] = noted(tmp_path, (RECIPES / "handed_over.toml").read_text(), check=True)
    assert types.startswith("operation types invoice.hand_over and invoice.issue look for the same records")


@pytest.mark.parametrize("check", [True, False])
def test_a_second_name_for_the_same_books_is_noted(tmp_path: Path, *, check: bool) -> None:
    destinations, types = noted(tmp_path, BOOKS, AGAIN, check=check)
    assert destinations.startswith("destinations books and durban share address and account:")
    assert "Make them one destination" in destinations and "its own name" in destinations
    assert types.startswith("operation types invoice.create and invoice.issue look for the same records")
    assert "is made more than once. One thing made is one type. Let all who make it use one" in types
    # Said again while it is so, and of the first file, too.
    assert len(noted(tmp_path, BOOKS, AGAIN, BOOKS)) == 2


@pytest.mark.parametrize(
    ("old", "new", "lots"),
    [
        ('timeout = "10s"', 'timeout = "10s"\naccount = "stall"', 0),
        ('base_url = "http://127.0.0.1:8010"', 'base_url = "http://127.0.0.1:8010/"', 2),
        ('base_url = "http://127.0.0.1:8010"', 'base_url = "http://127.0.0.1:8011"', 0),
        (LOOKUP, "/invoices?metadata={key}", 2),
        (LIST, "/invoices?since={since}", 2),
        ("metadata.operation", "metadata.order", 1),
        ('path = "/invoices"', 'path = "/invoices/{after.destination_reference}/post"', 1),
    ],
)
def test_what_tells_two_types_apart(tmp_path: Path, old: str, new: str, lots: int) -> None:
    assert len(noted(tmp_path, BOOKS, AGAIN.replace(old, new))) == lots


def test_neither_of_two_types_is_in_order_in_the_register(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "durban.toml"
    file.write_text(BOOKS + AGAIN)
    said = " ".join(" ".join(configure(file, check=True).register).split())
    assert said.count("One thing made is one type.") == 2
    assert "ask invoice.issue looks for the same records: what is handed to more than one of them" in said
    file.write_text(BOOKS + AGAIN.replace('timeout = "10s"', 'timeout = "10s"\naccount = "stall"'))
    assert "same records" not in " ".join(configure(file, check=True).register)
