"""What `configure` says of lines that do not go with a destination's connector, and of queries."""

from pathlib import Path

import pytest

from ledger.models import Destination, Event, OperationType
from reconcile.configuration import Configured, Refused, configure
from tests.databases import Database

SQL = """
[destinations.shop]
name = "Web shop"
entity = "Durban Trading (Pty) Ltd"
connector = "sql"
url = "env:SHOP_DATABASE_URL"

[operation_types."refund.create"]
destination = "shop"
performed_by = "caller"

[operation_types."refund.create".record]
id = "number"
reference = "ref"

[operation_types."refund.create".lookup]
query = "select number, ref from refunds where ref = {key}"

[operation_types."refund.create".list]
query = "select number, ref from refunds where updated_at >= {since}"
"""
SHOP, REFUND = "destinations.shop", 'operation_types."refund.create"'
QUERY = 'query = "select number, ref from refunds where ref = {key}"'
LIST = 'query = "select number, ref from refunds where updated_at >= {since}"'
HTTP = 'connector = "http"\nbase_url = "http://127.0.0.1:1"'
AS_OF = 'as_of = { name = "refunds-%Y-%m-%d.csv", timezone = "UTC" }'
FILE = f"""
[destinations.shop]
name = "Web shop"
entity = "Durban Trading (Pty) Ltd"
connector = "file"
path = "/tmp"
format = "csv"
{AS_OF}

[{REFUND}]
destination = "shop"
performed_by = "caller"
record = {{ id = "number", reference = "ref" }}
lookup = {{}}
list = {{}}
"""
WRONG = [
    (
        SQL,
        'url = "env:SHOP_DATABASE_URL"\n',
        "",
        f"{SHOP}.url",
        'Say where its address is kept: url = "env:NAME"',
    ),
    (SQL, '"env:SHOP_DATABASE_URL"', '"postgresql://u:hunter2@db/x"', f"{SHOP}.url", "A secret never stands"),
    (SQL, '"env:SHOP_DATABASE_URL"', '"env:NO_SUCH"', f"{SHOP}.url", "NO_SUCH is not set"),
    (
        SQL,
        '"env:SHOP_DATABASE_URL"',
        '"env:MYSQL_URL"',
        f"{SHOP}.url",
        "write postgresql://HOST/DATABASE, with",
    ),
    (SQL, "url =", 'base_url = "http://a"\nurl =', f"{SHOP}.base_url", "does not go with connector"),
    (SQL, "url =", "options = { a = 1 }\nurl =", f"{SHOP}.options", "does not go with connector"),
    (SQL, '"caller"', '"tieout"', f"{REFUND}.performed_by", 'Write performed_by = "caller".'),
    (SQL, f"[{REFUND}.record]", f"[{REFUND}.send]\n[{REFUND}.record]", f"{REFUND}.send", "it only reads"),
    (SQL, QUERY, "", f"{REFUND}.lookup.query", "query is missing."),
    (
        SQL,
        QUERY,
        f'{QUERY}\nitems = "data"',
        f"{REFUND}.lookup.items",
        "there is: match, query, since_format",
    ),
    (SQL, "ref = {key}", "ref = '{key}'", f"{REFUND}.lookup.query", "where reference = {key}"),
    (SQL, "ref = {key}", "ref = {key} or ref = {kay}", f"{REFUND}.lookup.query", 'Did you mean "key"?'),
    (SQL, " where ref = {key}", "", f"{REFUND}.lookup.query", "it would read everything"),
    (SQL, "ref = {key}", "ref = {account}", f"{REFUND}.lookup.query", "The query does not name {key}"),
    (SQL, "ref = {key}", "ref = {key}; delete from refunds", f"{REFUND}.lookup.query", "a second statement"),
    (SQL, " where updated_at >= {since}", "", f"{REFUND}.list.query", "The query does not name {since}"),
    (
        SQL,
        'connector = "sql"\nurl = "env:SHOP_DATABASE_URL"',
        HTTP,
        f"{REFUND}.lookup.path",
        "path is missing.",
    ),
    (SQL, 'connector = "sql"', HTTP, f"{SHOP}.url", 'does not go with connector "http"'),
    (FILE, "path =", "paths =", f"{SHOP}.path", "Name the folder of exports"),
    (FILE, '"/tmp"', '"exports"', f"{SHOP}.path", "Write it from the root"),
    (FILE, '"/tmp"', '"/no/such/folder"', f"{SHOP}.path", "There is no such folder here."),
    (FILE, '"csv"', '"xlsx"', f"{SHOP}.format", "There are: csv, json, jsonl."),
    (FILE, AS_OF, "", f"{SHOP}.as_of", "Say how its name tells the time"),
    (FILE, "-%d.csv", ".csv", f"{SHOP}.as_of.name", "does not tell year, month and day"),
    (FILE, '"UTC"', '"Durban"', f"{SHOP}.as_of.timezone", "IANA"),
    (FILE, AS_OF, f'{AS_OF}\nencoding = "rot13"', f"{SHOP}.encoding", "There is no such encoding"),
    (FILE, AS_OF, f'{AS_OF}\nseparator = "||"', f"{SHOP}.separator", "is too long"),
    (FILE, AS_OF, f'{AS_OF}\nurl = "env:A"', f"{SHOP}.url", "does not go with connector"),
    (FILE, "lookup = {}", f"lookup = {{ {QUERY} }}", f"{REFUND}.lookup.query", "there is: items, match"),
    (FILE, '"caller"', '"tieout"', f"{REFUND}.performed_by", 'Write performed_by = "caller".'),
    (SQL, '"sql"', '"sq"', f"{SHOP}.connector", '"sql"'),
]


@pytest.fixture(autouse=True)
def address(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DATABASE_URL", database.app_url)
    monkeypatch.setenv("MYSQL_URL", "mysql://root:hunter2@db/shop")


def taken(folder: Path, text: str) -> Configured:
    file = folder / "shop.toml"
    file.write_text(text)
    return configure(file)


@pytest.mark.parametrize(("text", "old", "new", "path", "said"), WRONG)
def test_each_wrong_line_is_said_with_its_place_and_a_remedy(
    tmp_path: Path, text: str, *, old: str, new: str, path: str, said: str
) -> None:
    assert text.count(old) == 1, old
    with pytest.raises(Refused) as refusal:
        taken(tmp_path, text.replace(old, new))
    by_path = {str(wrong).split("\n")[0].rpartition(": ")[2]: str(wrong) for wrong in refusal.value.wrongs}
    assert said in by_path[path]
    assert "hunter2" not in str(refusal.value)


def test_a_database_is_taken_in_and_its_address_and_queries_stand_nowhere(tmp_path: Path) -> None:
    assert taken(tmp_path, SQL).notes == []
    assert taken(tmp_path, SQL).changes == []
    moved = SQL.replace(
        "select number, ref from refunds where ref", "select number, ref from returns where ref"
    )
    changes = taken(tmp_path, moved).changes
    assert "~ operation type refund.create: lookup.query changed" in changes
    assert not any("returns" in str(event.data) for event in Event.objects.all())
    assert Destination.objects.get(name="shop").reach.url == "env:SHOP_DATABASE_URL"


def test_a_folder_of_exports_is_taken_in_and_another_one_has_to_prove_itself_again(tmp_path: Path) -> None:
    assert taken(tmp_path, FILE).notes == []
    assert taken(tmp_path, FILE).changes == []
    kinds = OperationType.objects.filter(name="refund.create")
    before = kinds.get().lookup_changed_at
    assert "path" in taken(tmp_path, FILE.replace('"/tmp"', f'"{tmp_path}"')).changes[0]
    assert kinds.get().lookup_changed_at > before


def test_another_database_has_to_prove_its_look_up_again(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken(tmp_path, SQL)
    kinds = OperationType.objects.filter(name="refund.create")
    before = kinds.get().lookup_changed_at
    monkeypatch.setenv("OTHER_URL", database.app_url)
    taken(tmp_path, SQL.replace("SHOP_DATABASE_URL", "OTHER_URL"))
    assert kinds.get().lookup_changed_at > before


def test_a_limit_that_would_read_as_absence_is_pointed_out(tmp_path: Path) -> None:
    notes = taken(tmp_path, SQL.replace("{since}", "{since} limit 100")).notes
    assert len(notes) == 1 and "rows that a limit leaves out count as absent" in notes[0]


def test_a_connector_of_ones_own_has_options_and_their_secrets_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "hunter2")
    options = 'options = { shard = 3, key = "env:SHOP_KEY" }'
    text = SQL.replace('"sql"', '"tests.ledger.odd_connectors:Plain"').replace("url =", f"{options}\nurl =")
    taken(tmp_path, text)
    assert Destination.objects.get(name="shop").reach.options == {"shard": 3, "key": "env:SHOP_KEY"}
    assert "hunter2" not in str([event.data for event in Event.objects.all()])
    with pytest.raises(Refused, match="NO_KEY is not set"):
        taken(tmp_path, text.replace("SHOP_KEY", "NO_KEY"))
