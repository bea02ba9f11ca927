"""What `configure` says of the lines that tell how a destination is asked and read: place, fault, remedy."""

from pathlib import Path

import pytest

from ledger.models import Event, OperationType
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


CURSOR = 'paging = { style = "cursor", next = "n", parameter = "c"'
POST = 'method = "POST"\n'
MINOR = 'amount_unit = "minor"\nminor_decimals = '
AT, IN_FILE = "send.headers.", "A secret never stands in this file. Write env:NAME or file:PATH"
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
    ("send", 'wrap = { input = "{key}" }', "send.wrap", "The payload must stand in it once"),
    ("send", 'wrap = { a = "{payload}", b = "{payload}" }', "send.wrap", "The payload must stand in it once"),
    ("send", 'wrap = { a = "{payload}", b = "{since}" }', "send.wrap.b", "in place of {since}"),
    ("send", 'wrap = { a = "{payload}", b = ["env:NO_SUCH"] }', "send.wrap.b.0", "NO_SUCH is not set"),
    ("send", 'wrap = { a = "{payload}", b = 9007199254740993 }', "send.wrap", "in quotes, as text"),
    ("send", 'headers = { X-Shopify-Access-Token = "shpat_1" }', f"{AT}X-Shopify-Access-Token", IN_FILE),
    ("send", 'headers = { X-My-Secret = "s3cret" }', f"{AT}X-My-Secret", IN_FILE),
    ("send", 'headers = { x-auth = "s3cret" }', f"{AT}x-auth", IN_FILE),
    ("send", 'headers = { Authorization = "Bearer {key}" }', f"{AT}Authorization", IN_FILE),
    ("send", 'headers = { X-Token = "env:NO_SUCH" }', f"{AT}X-Token", "NO_SUCH is not set"),
    ("lookup", 'headers = { ApiKey = "s3cret" }', "lookup.headers.ApiKey", IN_FILE),
    ("list", 'headers = { Idempotency-Token = "1" }', "list.headers.Idempotency-Token", IN_FILE),
    ("send", 'form_arrays = "php"', "send.form_arrays", "empty, index"),
    ("send", 'item = "data["', "send.item", "not a JMESPath"),
    ("lookup", 'body = { q = "{key}" }', "lookup.method", 'Write method = "POST".'),
    ("lookup", POST + 'body = { q = [["{kay}"]] }', "lookup.body.q.0.0", 'Did you mean "key"?'),
    ("lookup", POST + 'body = { q = "file:/no/such" }', "lookup.body.q", "cannot be read"),
    ("lookup", POST + 'body = "q"', "lookup.body", "is not a table"),
    ("lookup", POST + 'body_as = "xml"', "lookup.body_as", "form, json"),
    ("lookup", 'match = { order = "{amount}" }', "lookup.match.order", "not tell one operation from"),
    ("lookup", 'match = { kind = "order" }', "lookup.match", "{source.reference}, or one match {key}"),
    ("lookup", 'match = { "a[" = "{key}" }', "lookup.match.a[", "not a JMESPath"),
    ("lookup", 'fails = "errors["', "lookup.fails", "not a JMESPath"),
    ("lookup", 'paging = { style = "page" }', "lookup.paging", "{position}"),
    ("lookup", 'path = "/l?r={key}&p={position}"', "lookup.paging", "Only pages that are counted"),
    ("list", 'paging = { style = "cursor", next = "n" }', "list.paging", "needs parameter"),
    ("list", CURSOR + ', in = "head" }', "list.paging.in", "body, query"),
    ("list", CURSOR + ', in = "body" }', "list.method", "POST"),
    ("list", POST + 'paging = { style = "cursor", next = "n", parameter = "a..b", in = "body" }',
     "list.paging.parameter", "no path into a body"),
    ("list", 'paging = { style = "link", next = "n", overlap = 1 }', "list.paging", 'goes with "offset"'),
    ("list", 'paging = { style = "offset", parameter = "o", pages = "p" }', "list.paging", '"page"'),
    ("list", 'paging = { style = "page", parameter = "p", first = "*" }', "list.paging", "number"),
    ("list", 'paging = { style = "page", parameter = "p", total = "[" }', "list.paging", "not a JMESPath"),
]  # fmt: skip


def test_a_line_that_cannot_work_is_refused_with_its_place_and_remedy(
    database: Database, tmp_path: Path
) -> None:
    for section, lines, place, said in WRONG:
        wrongs = refused(tmp_path, section, lines)
        assert list(wrongs) == [place], lines
        assert said in wrongs[place], lines
    assert not OperationType.objects.exists()


RIGHT = [
    ("send", 'headers = { Idempotency-Key = "ours", X-Request-Key = "o-{key}", X-Token = "env:HOME" }'),
    ("record", 'time_format = "%d.%m.%Y"\ntimezone = "Europe/Berlin"\namount_sign = "negated"'),
    ("record", 'amount_unit = "minor"\nminor_decimals = { ISK = 2, UGX = 2 }'),
    ("list", 'since_format = "date"\ntimezone = "Europe/Berlin"'),
    ("send", 'wrap = { a = "{payload}" }\nform_arrays = "empty"\nitem = "data.made"\nfails = "errors"'),
    ("lookup", 'method = "POST"\nbody = { q = [["ref", "{key}"]] }\nbody_as = "form"\nfails = "error"'),
    ("lookup", 'match = { "order.number" = "{source.reference}", kind = "order" }'),
    ("list", 'paging = { style = "page", first = 0, total = "header:X-Total" }\npath = "/l?p={position}"'),
    ("send", 'set = { "reference" = "{key}", "amount" = "{amount_minor}", "currency" = "{currency}" }'),
]


def test_what_a_body_carries_is_neither_said_nor_kept_in_events(database: Database, tmp_path: Path) -> None:
    taken(tmp_path, FILE)
    secret = '[["sk_live_do_not_print", "{key}"]]'
    bodies = (
        ("lookup", POST + f"body = {{ q = {secret} }}"),
        ("send", f'wrap = {{ a = "{{payload}}", b = {secret} }}'),
    )
    for section, lines in bodies:
        said = taken(tmp_path, with_lines(section, lines))
        assert any("changed" in line for line in said.changes)
        assert "sk_live" not in str(said)
    assert "sk_live" not in str([*Event.objects.values_list("data", flat=True)])


def test_a_line_is_shown_when_it_changes_and_nothing_when_it_does_not(
    database: Database, tmp_path: Path
) -> None:
    for section, lines in RIGHT:
        taken(tmp_path, FILE)
        said = taken(tmp_path, with_lines(section, lines)).changes
        names = [line.partition(" = ")[0] for line in lines.splitlines()]
        assert all(any(f"{section}.{name}" in line for line in said) for name in names), lines
        assert taken(tmp_path, with_lines(section, lines)).changes == []
        assert OperationType.objects.get().trouble == ""


def test_what_is_barred_in_closed_periods_has_to_be_known_to_be_in_one(
    database: Database, tmp_path: Path
) -> None:
    void = '[operation_types."payment.create".void]\npath = "/payments/{destination_reference}/void"\n'
    void += 'when_closed = "credit"\n'
    with pytest.raises(Refused) as refusal:
        taken(tmp_path, FILE + "\n" + void)
    assert "when_closed counts only where record.period tells" in str(refusal.value)
    told = with_lines("record", 'period = "closed"') + "\n" + void
    assert any("is in a closed period is for people" in note for note in taken(tmp_path, told).notes)
    credit = (
        '[operation_types."payment.create".void.credit]\npath = "/payments/{destination_reference}/credit"\n'
    )
    undated = taken(tmp_path, told + credit).notes
    assert any("names no {today}" in note for note in undated)
    dated = told + credit + 'body = { on = "{today}" }\n'
    assert not any("{today}" in note for note in taken(tmp_path, dated).notes)
