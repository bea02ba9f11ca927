"""Presets: a file names one, and every line that it does not write itself comes from there.

| the file says | so |
|---|---|
| a preset, and some lines | the preset's lines under its own, one by one; a table is filled line by line |
| another kind of auth or paging | none of the preset's lines for that table |
| a preset or an operation that is not there | refused, with the list; nothing else is called missing |
| a preset whose secret is missing | refused, by its variable |
| something wrong on a line that the preset brought | the line that names the preset |
"""

import re
import tomllib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ledger.destinations.connectors import presets
from ledger.models import Destination, OperationType
from reconcile.configuration.positions import positions
from tests.databases import Database

BOOKS = """
[destinations.books]
preset = "books-v1"
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
account = "acct_1"

[operation_types."invoice.create"]
destination = "books"
preset = "invoice"
performed_by = "tieout"
"""
PRESET = """
[destination]
base_url = "https://books.example.com"
timeout = "20s"
auth = { kind = "bearer", token = "env:BOOKS_KEY" }

[destination.contract]
idempotency = "header"  # https://books.example.com/keys, read 2026-11-30
key_retention = "24h"   # https://books.example.com/keys, read 2026-11-30
saves = "all"           # https://books.example.com/keys, read 2026-11-30

[operations.invoice]
label = "Create invoice"
send = { path = "/invoices", body = "form", set = { "metadata.operation" = "{key}" } }
record = { id = "id", reference = "metadata.operation", status = "status", done_statuses = ["open", "paid"] }
lookup = { path = "/invoices?reference={key}", items = "data" }
list = { path = "/invoices", items = "data", paging = { style = "cursor", next = "next", parameter = "c" } }

[begun.events]
scheme = "standard"
secret = "env:BOOKS_EVENTS"
reference = "data.reference"

[needs]
account = "Write the company's number: account = \\"…\\"."
"""
Configure = Callable[..., str]


@pytest.fixture
def configure(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Run the command on a text, beside one preset of ours; gives what it said, or why it refused."""
    (tmp_path / "books-v1.toml").write_text(PRESET)
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    monkeypatch.setenv("BOOKS_KEY", "sk_test_0815")

    def run(text: str, *arguments: str, wrong: bool = False) -> str:
        file, stdout, stderr = tmp_path / "durban.txt", StringIO(), StringIO()
        file.write_text(text)
        try:
            call_command("configure", str(file), *arguments, stdout=stdout, stderr=stderr)
        except SystemExit:
            assert wrong, stderr.getvalue()
            return stderr.getvalue()
        assert not wrong, stdout.getvalue()
        return stdout.getvalue()

    return run


def invoices() -> OperationType:
    return OperationType.objects.select_related("destination").get(name="invoice.create")


def test_what_the_file_does_not_write_comes_from_its_preset(configure: Configure) -> None:
    configure(BOOKS)
    kind = invoices()
    assert kind.label == "Create invoice"
    assert kind.destination.reach.base_url == "https://books.example.com"
    assert kind.destination.reach.timeout_s == 20
    assert kind.promises.key_retention_s == 86400 and kind.promises.saves == "all"
    assert kind.how.send is not None and kind.how.send.body == "form"
    assert kind.how.record is not None and kind.how.record.done_statuses == ("open", "paid")


def test_the_files_own_lines_win_one_by_one(configure: Configure) -> None:
    configure(
        BOOKS.replace("entity =", 'timeout = "3s"\nauth = { token = "env:PATH" }\nentity =')
        + """
[operation_types."invoice.create".contract]
saves = "2xx"
[operation_types."invoice.create".send]
set = { order = "{source.reference}" }
[operation_types."invoice.create".record]
done_statuses = ["paid"]
"""
    )
    kind = invoices()
    assert kind.destination.reach.timeout_s == 3
    assert kind.destination.reach.auth is not None
    assert (kind.destination.reach.auth.kind, kind.destination.reach.auth.token) == ("bearer", "env:PATH")
    assert kind.promises.saves == "2xx" and kind.promises.key_retention_s == 86400
    assert kind.how.send is not None and kind.how.send.path == "/invoices"
    assert kind.how.send.set == {"metadata.operation": "{key}", "order": "{source.reference}"}
    assert kind.how.record is not None and kind.how.record.done_statuses == ("paid",)


def test_of_another_kind_of_auth_or_paging_nothing_is_taken(configure: Configure) -> None:
    """A token beside a password, or a cursor beside a page number, would be meant by nobody."""
    configure(
        BOOKS.replace("entity =", 'auth = { kind = "basic", user = "u", password = "env:PATH" }\nentity =')
        + """
[operation_types."invoice.create".list]
paging = { style = "page", parameter = "page" }
"""
    )
    kind = invoices()
    assert kind.destination.reach.auth is not None and kind.destination.reach.auth.token is None
    assert kind.how.list is not None and kind.how.list.items == "data"
    assert kind.how.list.paging.next is None and kind.how.list.paging.parameter == "page"


def test_a_section_that_the_file_begins_is_filled_and_another_one_is_left_out(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who takes no webhooks needs their secret."""
    configure(BOOKS)
    assert invoices().destination.reach.events is None
    begun = BOOKS + "\n[destinations.books.events]\n"
    assert "BOOKS_EVENTS is not set" in configure(begun, wrong=True)
    monkeypatch.setenv("BOOKS_EVENTS", "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    configure(begun)
    events = invoices().destination.reach.events
    assert events is not None and events.scheme == "standard"


def test_a_check_says_what_the_preset_brings_and_nothing_of_it_is_stored(configure: Configure) -> None:
    said = configure(BOOKS.replace("entity =", 'timeout = "3s"\nentity ='), "--check")
    assert '< destinations.books.contract.saves "all" (books-v1)' in said
    assert (
        '< operation_types."invoice.create".lookup.path "/invoices?reference={key}" (books-v1 invoice)'
        in said
    )
    assert "timeout" not in said
    assert not Destination.objects.exists()
    assert "<" not in configure(BOOKS), "a file that is taken in says what changes"


def test_a_preset_that_has_changed_is_a_change(configure: Configure, tmp_path: Path) -> None:
    configure(BOOKS)
    assert "= nothing changes" in configure(BOOKS)
    (tmp_path / "books-v1.toml").write_text(PRESET.replace('"24h"', '"12h"').replace('"paid"', '"settled"'))
    said = configure(BOOKS)
    assert "~ operation type invoice.create: contract.key_retention 24h -> 12h" in said
    assert 'record.done_statuses ["open", "paid"] -> ["open", "settled"]' in said


def test_a_preset_whose_secret_is_missing_is_refused_by_its_name(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOKS_KEY")
    said = configure(BOOKS, wrong=True)
    assert "line 3: destinations.books.auth.token\n    The environment variable BOOKS_KEY is not set" in said
    assert "One thing is wrong" in said and not Destination.objects.exists()


def test_what_only_the_user_knows_is_asked_for_in_the_presets_words(configure: Configure) -> None:
    said = configure(BOOKS.replace('account = "acct_1"\n', ""), wrong=True)
    assert "line 2: destinations.books.account\n    account is missing, and only you know it.\n" in said
    assert "Write the company's number" in said


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        (
            'preset = "books-v1"',
            'preset = "book-v1"',
            'line 3: destinations.books.preset\n    There is no preset "book-v1".\n'
            '    Did you mean "books-v1"? There is: books-v1.',
        ),
        (
            'preset = "invoice"',
            'preset = "invoices"',
            'line 10: operation_types."invoice.create".preset\n'
            '    The preset "books-v1" has no operation "invoices".\n'
            '    Did you mean "invoice"? There is: invoice.',
        ),
        (
            'preset = "invoice"',
            "preset = 5",
            'line 10: operation_types."invoice.create".preset\n    5 is not text.',
        ),
        (
            'preset = "books-v1"\n',
            'base_url = "https://books.example.com"\n',
            'line 10: operation_types."invoice.create".preset\n'
            '    The destination "books" has no preset to take "invoice" from.\n'
            '    Add preset = "…" to [destinations.books], or write the lines yourself. There is: books-v1.',
        ),
    ],
)
def test_a_preset_that_is_not_there_is_refused_with_what_there_is(
    configure: Configure, line: str, instead: str, said: str
) -> None:
    """Nothing that would have come from it is called missing: one thing is wrong, not four."""
    refused = configure(BOOKS.replace(line, instead), wrong=True)
    assert said in refused and "One thing is wrong" in refused


def test_all_that_is_wrong_is_said_beside_an_unknown_preset(configure: Configure) -> None:
    text = BOOKS.replace("books-v1", "bux").replace("entity", "entiti")
    refused = configure(text, wrong=True)
    assert 'There is no preset "bux"' in refused and "entiti is not known here" in refused
    assert "2 things are wrong" in refused


def test_what_is_wrong_with_a_brought_line_stands_at_the_line_that_names_the_preset(
    configure: Configure,
) -> None:
    """A line of the file's own keeps its own place."""
    text = BOOKS + '\n[operation_types."invoice.create".lookup]\nitems = "data["\n'
    assert 'line 14: operation_types."invoice.create".lookup.items' in configure(text, wrong=True)
    presets.FOLDER.joinpath("books-v1.toml").write_text(PRESET.replace("reference={key}", "reference={kee}"))
    assert 'line 10: operation_types."invoice.create".lookup.path' in configure(BOOKS, wrong=True)


@pytest.mark.parametrize("file", sorted(presets.FOLDER.glob("*.toml")), ids=lambda file: file.stem)
def test_each_promise_of_a_shipped_preset_names_where_and_when_it_was_read(file: Path) -> None:
    """A line of a contract, and a list of statuses: a document and a day, or that none is known."""
    text = file.read_text()
    tomllib.loads(text)
    lines = text.splitlines()
    unsaid = {
        lines[number - 1]
        for path, number in positions(text).items()
        if promises(path) and not re.search(f"^\\[|{SOURCE}", lines[number - 1])
    }
    assert unsaid == set()


SOURCE = r"# (https?://\S+, read \d{4}-\d\d-\d\d$|not (published|read): \w)"


def promises(path: tuple[str | int, ...]) -> bool:
    words = [str(step) for step in path]
    return "contract" in words[:-1] or words[-1].endswith("_statuses")


def test_a_promise_without_its_document_would_be_seen() -> None:
    """The reader above is itself tried: a bare line of a contract is found."""
    bare = positions("[destination.contract]\nsaves = 'all'\n[operations.x.record]\ndone_statuses = []\n")
    assert [line for path, line in bare.items() if promises(path)] == [2, 4]
