"""What `configure` says of the lines that tell how a destination is asked and read: place, fault, remedy."""

from pathlib import Path

import pytest

from ledger.models import OperationType
from reconcile.configuration import Configured, Refused, configure
from tests.databases import Database

NAME = 'operation_types."payment.create"'
FILE = """
[destinations.pay]
name = "Pay"
entity = "Durban Trading (Pty) Ltd"
base_url = "http://127.0.0.1:8010"

[operation_types."payment.create"]
destination = "pay"
performed_by = "tieout"
key = "order/{source.reference}"

[operation_types."payment.create".send]
path = "/payments"
set = { "reference" = "{key}" }

[operation_types."payment.create".record]
id = "id"
reference = "reference"

[operation_types."payment.create".lookup]
path = "/payments?reference={key}"

[operation_types."payment.create".list]
path = "/payments?since={since}"
"""


def with_lines(section: str, lines: str) -> str:
    """The file with lines added to one section of the type; those of the same name are replaced."""
    head, header, rest = FILE.partition(f'[operation_types."payment.create".{section}]\n')
    assert header
    names = {line.partition(" = ")[0] for line in lines.splitlines()}
    body, blank, after = rest.partition("\n\n")
    kept = [line for line in body.splitlines() if line.partition(" = ")[0] not in names]
    return head + header + "\n".join([lines, *kept]) + blank + after


def taken(folder: Path, text: str) -> Configured:
    """Take a text in as a file; raises Refused."""
    file = folder / "pay.toml"
    file.write_text(text)
    return configure(file)


def refused(folder: Path, section: str, lines: str) -> dict[str, str]:
    """What is said of the file with those lines: what is wrong and the remedy, by path below the type."""
    with pytest.raises(Refused) as refusal:
        taken(folder, with_lines(section, lines))
    return {
        str(wrong).split("\n")[0].partition(f"{NAME}.")[2]: f"{wrong.what} {wrong.remedy}"
        for wrong in refusal.value.wrongs
    }


MINOR = 'amount_unit = "minor"\nminor_decimals = '
WRONG: list[tuple[str, str, str, str]] = [
    ("record", 'time_format = "iso"', "record.time_format", "does not tell year, month and day"),
    ("record", 'time_format = "%d.%m.%Q"', "record.time_format", "%Q cannot be used"),
    ("record", 'timezone = "Berlin"', "record.timezone", "Write a name of the IANA list"),
    ("record", 'amount_sign = "minus"', "record.amount_sign", "There is: negated."),
    ("record", "minor_decimals = { ISK = 2 }", "record.minor_decimals", 'Add amount_unit = "minor".'),
    ("record", MINOR + "{ ISK = 9 }", "record.minor_decimals.ISK", "at most 4"),
    ("record", MINOR + "{ QQQ = 2 }", "record.minor_decimals.QQQ", "in capitals"),
    ("list", 'since_format = "%H:%M"', "list.since_format", "does not tell year"),
    ("list", 'timezone = "Berlin"', "list.timezone", "IANA"),
]  # fmt: skip


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[1])
def test_a_line_that_cannot_work_is_refused_with_its_remedy(
    database: Database, tmp_path: Path, row: tuple[str, str, str, str]
) -> None:
    section, lines, place, said = row
    wrongs = refused(tmp_path, section, lines)
    assert list(wrongs) == [place]
    assert said in wrongs[place]
    assert not OperationType.objects.exists()


RIGHT = [
    ("record", 'time_format = "%d.%m.%Y"\ntimezone = "Europe/Berlin"\namount_sign = "negated"'),
    ("record", 'amount_unit = "minor"\nminor_decimals = { ISK = 2, UGX = 2 }'),
    ("list", 'since_format = "date"\ntimezone = "Europe/Berlin"'),
    ("send", 'set = { "reference" = "{key}", "amount" = "{amount_minor}", "currency" = "{currency}" }'),
]


@pytest.mark.parametrize(("section", "lines"), RIGHT, ids=[row[1] for row in RIGHT])
def test_a_line_is_shown_when_it_changes_and_nothing_when_it_does_not(
    database: Database, tmp_path: Path, section: str, lines: str
) -> None:
    taken(tmp_path, FILE)
    said = taken(tmp_path, with_lines(section, lines)).changes
    names = [line.partition(" = ")[0] for line in lines.splitlines()]
    assert all(any(f"{section}.{name}" in line for line in said) for name in names)
    assert taken(tmp_path, with_lines(section, lines)).changes == []
    assert OperationType.objects.get().trouble == ""
