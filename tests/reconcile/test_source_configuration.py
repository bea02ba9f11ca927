"""What `configure` says of a plan's source, line by line; a source is a rule like any other."""

from pathlib import Path

import pytest

from ledger.models import Event
from reconcile.configuration import Configured, Refused, configure
from reconcile.models import Plan
from tests.databases import Database
from tests.reconcile.books import FILE, LISTED

PLAN = FILE.format(
    connector=LISTED, url="http://books.test", performed_by="caller", grace="0s", tolerance="0.00", limit="9"
)
SQL = (
    PLAN
    + """
[plans.invoices.source]
name = "Web shop"
connector = "sql"
url = "env:SHOP_DATABASE_URL"
query = "select number from orders where placed_at >= {since}"
control = "select count(*), sum(total) from orders where placed_at >= {since}"
lead = "3d"
record = { reference = "number", system = "'shop'", version = "'1'" }
"""
)
HTTP = (
    PLAN
    + """
[plans.invoices.source]
connector = "http"
base_url = "http://shop.test"
list = { path = "/orders?since={since}", items = "data" }
control = { path = "/orders/count", count = "count" }
"""
)
SOURCE = "plans.invoices.source"
QUERY = 'query = "select number from orders where placed_at >= {since}"'
WRONG = [
    (SQL, 'url = "env:SHOP_DATABASE_URL"\n', "", f"{SOURCE}.url", "Say where its address is kept"),
    (
        SQL,
        '"env:SHOP_DATABASE_URL"',
        '"postgresql://u:hunter2@db/x"',
        f"{SOURCE}.url",
        "A secret never stands",
    ),
    (SQL, '"env:SHOP_DATABASE_URL"', '"env:NO_SUCH"', f"{SOURCE}.url", "NO_SUCH is not set"),
    (SQL, 'connector = "sql"', 'connector = "sq"', f"{SOURCE}.connector", '"sql"'),
    (SQL, 'connector = "sql"\n', "", f"{SOURCE}.connector", "connector is missing."),
    (SQL, f"{QUERY}\n", "", f"{SOURCE}.query", "query is missing."),
    (SQL, QUERY, QUERY.replace("{since}", "{key}"), f"{SOURCE}.query", "put in place of {key}"),
    (SQL, QUERY, QUERY.replace("{since}", "'{since}'"), f"{SOURCE}.query", "is no part of a text"),
    (SQL, QUERY, QUERY.replace("select", "drop; select"), f"{SOURCE}.query", "a second statement"),
    (SQL, QUERY, f'{QUERY}\nlist = {{ query = "select 1" }}', f"{SOURCE}.query", "There is a list beside it"),
    (SQL, "sum(total)", "1; drop", f"{SOURCE}.control.query", "a second statement"),
    (SQL, "lead =", "speed = 1\nlead =", f"{SOURCE}.speed", "is not known"),
    (SQL, "lead =", "lad =", f"{SOURCE}.lad", 'Did you mean "lead"?'),
    (SQL, '"3d"', '"3 days"', f"{SOURCE}.lead", "is not a duration"),
    (SQL, 'reference = "number"', 'reference = "num ber"', f"{SOURCE}.record.reference", "JMESPath"),
    (SQL, "\"'shop'\"", "\"' '\"", f"{SOURCE}.record.system", "system would always be blank."),
    (SQL, 'reference = "number"', "minor_decimals = { ZAR = 3 }", f"{SOURCE}.record.minor_decimals", "minor"),
    (HTTP, "list = {", "lists = {", f"{SOURCE}.list", "list is missing."),
    (HTTP, 'path = "/orders?since={since}", ', "", f"{SOURCE}.list.path", "path is missing."),
    (HTTP, 'path = "/orders/count"', 'query = "select 1"', f"{SOURCE}.control.query", "asked of a database"),
    (HTTP, '"http://shop.test"', '"http://ann:hunter2@shop.test"', f"{SOURCE}.base_url", "Credentials"),
    (
        HTTP,
        'items = "data" }',
        'headers = { Authorization = "hunter2" } }',
        f"{SOURCE}.list.headers.Authorization",
        "A secret never stands",
    ),
    (HTTP, "[plans.invoices.source]", "[plans.invoices]\nsource = 3\n[plans.other]", "plans", ""),
]


@pytest.fixture(autouse=True)
def address(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DATABASE_URL", database.app_url)


def taken(folder: Path, text: str) -> Configured:
    file = folder / "shop.toml"
    file.write_text(text)
    return configure(file)


def test_each_wrong_line_is_said_with_its_place_and_a_remedy(tmp_path: Path) -> None:
    for text, old, new, path, said in WRONG[:-1]:
        assert text.count(old) == 1, old
        with pytest.raises(Refused) as refusal:
            taken(tmp_path, text.replace(old, new))
        by_path = {str(one).split("\n")[0].rpartition(": ")[2]: str(one) for one in refusal.value.wrongs}
        assert said in by_path.get(path, ""), (new, by_path)
        assert "hunter2" not in str(refusal.value)


def test_a_source_is_taken_in_and_its_query_stands_nowhere(tmp_path: Path) -> None:
    assert taken(tmp_path, SQL).notes == []
    assert taken(tmp_path, SQL).changes == []
    version = Plan.objects.get().rules_version
    moved = SQL.replace("select number from orders", "select number from sales").replace('"3d"', '"4d"')
    assert taken(tmp_path, moved).changes == [
        "~ plan invoices: source.lead 3d -> 4d\n~ plan invoices: source.query changed"
    ]
    assert not any("sales" in str(event.data) for event in Event.objects.all())
    plan = Plan.objects.get()
    assert plan.rules_version == version + 1
    assert plan.third is not None and plan.third.covers == "shop"
    assert "source" in taken(tmp_path, PLAN).changes[0]
    assert Plan.objects.get().third is None
    assert taken(tmp_path, HTTP).notes == []
