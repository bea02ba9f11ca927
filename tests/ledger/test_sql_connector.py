"""Databases as destinations: asked by bound values, never written to, read to their end or said not to be."""

import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from ledger.destinations.connectors import databases, sql
from ledger.destinations.connectors.base import (
    ConfigurationError,
    IncompletePull,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.destinations.connectors.sql import SqlConnector
from ledger.rules.calls import ListCall, LookupCall, RecordMap, SendCall
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from tests.databases import Database

KEY = "order/483"
RECORD = RecordMap(id="number", reference="ref", amount="total", currency="currency")
SINCE = datetime(2026, 11, 1, tzinfo=UTC)
BY_KEY = "select number, ref, total, currency from invoices where ref = {key}"
TABLE = "create table invoices (number text, ref text, total {money}, currency text, updated_at {moment})"
ROWS = (
    "insert into invoices values ('INV-1', 'order/483', '1240.00', 'ZAR', '2026-11-10 09:00:00'),"
    " ('INV-2', 'it''s 5%', '7.00', 'ZAR', '2026-10-01 09:00:00')"
)


@dataclass
class Shop:
    """A shop's database, of one kind or the other."""

    url: str
    kind: str

    def look(self, query: str = BY_KEY, *, timeout_s: float = 10, **values: str) -> Looked:
        """Look an operation up by a query."""
        call = LookupCall(query=query)
        asked = {"key": KEY, "since": "2026-11-01T00:00:00Z", **values}
        return connector(self.url).look_up(LookRequest(call, Contract(), RECORD, asked, timeout_s))

    def pages(self, query: str, since: datetime = SINCE, **call: Any) -> list[list[object]]:
        """List by a query."""
        asked = ListRequest(ListCall(query=query, **call), Contract(), RECORD, since, timeout_s=10)
        return [page.items for page in connector(self.url).pages(asked)]


def connector(url: str) -> SqlConnector:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_URL", url)
        return SqlConnector(Target("shop", "Web shop", "main", Connection(url="env:SHOP_URL")))


@pytest.fixture(params=["postgresql", "sqlite"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "sqlite":
        return sqlite_shop(tmp_path)
    return postgresql_shop(request.getfixturevalue("database"))


@pytest.fixture
def postgresql(database: Database) -> Shop:
    return postgresql_shop(database)


def sqlite_shop(folder: Path) -> Shop:
    file = folder / "a shop.db"
    connection = sqlite3.connect(file)
    connection.executescript(f"{TABLE.format(money='text', moment='text')};{ROWS};")
    connection.close()
    return Shop(f"sqlite://{file}", "sqlite")


def postgresql_shop(database: Database) -> Shop:
    """Its role may write: that it does not is the connector's own doing."""
    database.as_owner(
        TABLE.format(money="numeric(12,2)", moment="timestamptz"),
        ROWS,
        "create sequence numbers",
        "grant select, insert, update, delete on invoices to public",
        "grant all on numbers to public",
    )
    return Shop(database.app_url, "postgresql")


def words(looked: Looked) -> str:
    assert not looked.complete
    return looked.why


def test_what_a_replica_replays_between_its_instant_and_its_rows_is_among_the_rows(
    postgresql: Shop, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A primary plays the replica: its instant is its clock's, and a record comes right before it is read."""
    as_of = "SELECT clock_timestamp() WHERE %s::timestamptz IS NOT NULL"
    monkeypatch.setattr(databases, "_AS_OF", as_of)
    execute = psycopg.Connection.execute

    def replaying(connection: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if query == as_of:
            database.as_owner("insert into invoices (number, ref) values ('INV-9', 'order/999')")
        return execute(connection, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", replaying)
    looked = postgresql.look(key="order/999")
    assert looked.as_of is not None
    assert [row["number"] for row in rows(looked)] == ["INV-9"]


# --- what is asked, and how


def test_a_look_up_brings_the_rows_as_records_by_column_name(shop: Shop) -> None:
    looked = shop.look()
    total = Decimal("1240.00") if shop.kind == "postgresql" else "1240.00"
    assert looked.items == ({"number": "INV-1", "ref": KEY, "total": total, "currency": "ZAR"},)
    assert looked.complete and looked.as_of is None
    assert shop.look(key="order/484") == Looked((), complete=True)


def test_values_stand_beside_the_query_and_never_in_it(shop: Shop) -> None:
    assert shop.look(key="x' or '1'='1") == Looked((), complete=True)
    assert [row["number"] for row in rows(shop.look(key="it's 5%"))] == ["INV-2"]
    twice = "select number from invoices where ref = {key} and ref like '%5%' and {key} = {source.reference}"
    both = shop.look(twice, **{"key": "it's 5%", "source.reference": "it's 5%"})  # type: ignore[arg-type]
    assert [row["number"] for row in rows(both)] == ["INV-2"]


def rows(looked: Looked) -> list[dict[str, Any]]:
    assert looked.complete, looked.why
    return [item for item in looked.items if isinstance(item, dict)]


def test_a_value_that_is_not_there_is_not_asked_with(shop: Shop) -> None:
    query = "select number from invoices where number = {destination_reference}"
    assert "There is no destination_reference" in words(shop.look(query, destination_reference=""))


# --- what may not be


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("insert into invoices (ref) values ({key}) returning ref", "refused"),
        ("delete from invoices where ref = {key} returning ref", "refused"),
        ("select ref from invoices where ref = {key}; delete from invoices", "refused"),
        ("update invoices set ref = {key}", "refused"),
    ],
)
def test_what_writes_is_refused_by_the_database_and_nothing_is_written(
    shop: Shop, query: str, said: str
) -> None:
    before = shop.look("select * from invoices where ref = {key} or 1 = 1")
    assert said in words(shop.look(query))
    assert shop.look("select * from invoices where ref = {key} or 1 = 1") == before


@pytest.mark.parametrize("query", ["vacuum into {key}", "attach {key} as other", "vacuum"])
def test_a_query_of_sqlite_makes_no_file(tmp_path: Path, query: str) -> None:
    shop = sqlite_shop(tmp_path)
    for other in (tmp_path / "made.db", f"file:{tmp_path}/made.db?mode=rwc"):
        assert "refused" in words(shop.look(query, key=str(other)))
    assert [one.name for one in tmp_path.iterdir()] == ["a shop.db"]


@pytest.mark.parametrize(
    "query",
    [
        "select nextval('numbers'), {key}",
        "select ref from invoices where ref = {key} for update",
        "select set_config('transaction_read_only', 'off', true), nextval('numbers'), {key}",
    ],
)
def test_what_writes_in_passing_is_refused_too(postgresql: Shop, query: str) -> None:
    assert "refused" in words(postgresql.look(query))


def test_it_sends_nothing(shop: Shop) -> None:
    request = SendRequest(SendCall(), Contract(), {}, "k", {}, timeout_s=1)
    assert connector(shop.url).send(request).stage == "not_sent"


def test_an_address_of_another_database_is_refused_without_being_told() -> None:
    for url in ("mysql://root:hunter2@db/shop", "hunter2", "sqlite:shop.db", "sqlite://host/shop.db"):
        with pytest.raises(ConfigurationError) as refused:
            connector(url)
        assert "hunter2" not in refused.value.detail and "sqlite:///absolute/path" in refused.value.detail
    assert "hunter2" not in repr(connector("postgresql://tieout:hunter2@db/shop"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("'\\x00'::bytea", "has a kind (bytes) that is not read"),
        ("1.5::float8", "is a binary float, which is not exact"),
        ("interval '1 day'", "has a kind (timedelta) that is not read"),
        ("'infinity'::timestamptz", "none that can be kept"),
        ('\'{"a": 1, "a": 2}\'::json', "cannot be read exactly"),
        ("1 as ref, 2", "called ref"),
    ],
)
def test_a_value_that_is_not_exact_is_refused_in_words(postgresql: Shop, value: str, said: str) -> None:
    assert said in words(postgresql.look(f"select {value} as ref, number from invoices where ref = {{key}}"))


def test_a_binary_float_of_sqlite_is_refused_too(tmp_path: Path) -> None:
    assert "binary float" in words(sqlite_shop(tmp_path).look("select 0.1 as total, {key} as ref"))


def test_exact_values_stay_what_they_are(postgresql: Shop) -> None:
    query = (
        "select {key} as ref, 10.50 as total, true as paid, null as note, date '2026-11-10' as on_day,"
        " timestamptz '2026-11-10 09:00+02' as at, timestamp '2026-11-10 09:00' as local,"
        """ '{"tax": 0.10}'::jsonb as more, array[1, 2] as lines"""
    )
    (row,) = rows(postgresql.look(query))
    assert row == {
        "ref": KEY,
        "total": Decimal("10.50"),
        "paid": True,
        "note": None,
        "on_day": "2026-11-10",
        "at": "2026-11-10T07:00:00+00:00",
        "local": "2026-11-10T09:00:00",
        "more": {"tax": Decimal("0.10")},
        "lines": [1, 2],
    }


# --- time, size and trouble


def test_a_query_that_takes_too_long_could_not_look(shop: Shop) -> None:
    counting = "with recursive n(i) as (values (1) union all select i + 1 from n) select max(i), {key} from n"
    slow = "select pg_sleep(60)::text, {key} as ref" if shop.kind == "postgresql" else counting
    assert "did not answer in time" in words(shop.look(slow, timeout_s=0.2))


def test_a_query_that_takes_too_long_is_ended_at_the_database(postgresql: Shop) -> None:
    """Left alone it would go on there, and each further try would add one."""
    words(postgresql.look("select pg_sleep(60)::text, {key} as ref", timeout_s=0.2))
    going = "select pid::text from pg_stat_activity where wait_event = 'PgSleep' and {key} <> ''"
    assert rows(postgresql.look(going)) == []


def test_a_database_that_falls_silent_is_left_at_the_deadline(postgresql: Shop) -> None:
    with falls_silent(postgresql.url, at=b"order/484") as url:
        frozen = Shop(url, "postgresql")
        assert frozen.look().complete
        assert "did not answer in time" in words(frozen.look(key="order/484", timeout_s=0.2))


def test_a_database_that_is_not_there_could_not_look(tmp_path: Path) -> None:
    assert "could not be reached" in words(Shop("postgresql://t@127.0.0.1:1/none", "postgresql").look())
    assert "cannot be opened" in words(Shop(f"sqlite://{tmp_path}/none.db", "sqlite").look())
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_is_wrong_says_how_and_not_what_it_holds(shop: Shop) -> None:
    said = words(shop.look("select nobody from invoices where ref = {key}"))
    assert said.startswith("The database refused the query (") and "nobody" not in said


def test_more_rows_than_are_read_could_not_look(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "LOOK_ITEMS", 1)
    assert "more than 1 rows" in words(shop.look("select ref from invoices where {key} = {key}"))


def test_a_list_comes_page_by_page_and_its_break_is_said(postgresql: Shop) -> None:
    counted = "select n, 'x' || n as ref from generate_series(1, 2500) n where {since} is not null"
    assert [len(page) for page in postgresql.pages(counted)] == [1000, 1000, 500]
    broken = "select 1 / (1500 - n) as n from generate_series(1, 2500) n where {since} is not null"
    asked = ListRequest(ListCall(query=broken), Contract(), RECORD, SINCE, timeout_s=10)
    pages = connector(postgresql.url).pages(asked)
    assert len(next(pages).items) == 1000
    with pytest.raises(IncompletePull, match="DivisionByZero"):
        next(pages)


def test_a_list_that_is_too_long_is_not_whole(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "PULL_ITEMS", 1)
    with pytest.raises(IncompletePull, match="more than 1 rows"):
        shop.pages("select ref from invoices where {since} = {since}")


@pytest.mark.parametrize(
    ("moment", "zone", "numbers"),
    [("08:59:59+00:00", None, 1), ("09:00:01+00:00", None, 0), ("07:30:00+00:00", "Africa/Johannesburg", 0)],
)
def test_since_is_an_instant_and_a_column_without_a_zone_counts_in_the_stated_one(
    postgresql: Shop, moment: str, zone: str | None, numbers: int
) -> None:
    query = "select number from invoices where (updated_at at time zone 'UTC')::timestamp >= {since}"
    pages = postgresql.pages(query, datetime.fromisoformat(f"2026-11-10T{moment}"), timezone=zone)
    assert sum(map(len, pages)) == numbers


def test_since_is_written_for_sqlite_as_its_column_is(tmp_path: Path) -> None:
    query = "select number from invoices where updated_at >= {since}"
    pages = sqlite_shop(tmp_path).pages(query, since_format="%Y-%m-%d %H:%M:%S")
    assert pages == [[{"number": "INV-1"}]]


@contextmanager
def falls_silent(url: str, *, at: bytes) -> Iterator[str]:
    """The address of the same database, which says nothing more once these bytes were on their way to it."""
    inside, name = parse_qs(urlsplit(url).query), urlsplit(url).path
    path = f"{inside['host'][0]}/.s.PGSQL.{inside.get('port', ['5432'])[0]}"
    listener = socket.create_server(("127.0.0.1", 0))
    user, password = urlsplit(url).username, urlsplit(url).password

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, socket.socket(socket.AF_UNIX) as beyond:
                    beyond.connect(path)
                    back = threading.Thread(target=passing, args=(beyond, client, b"\0none"), daemon=True)
                    back.start()
                    passing(client, beyond, at)
                    back.join(10)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        here = f"127.0.0.1:{listener.getsockname()[1]}"
        yield f"postgresql://{user}:{password}@{here}{name}?sslmode=disable&gssencmode=disable"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def passing(source: socket.socket, target: socket.socket, at: bytes) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            if at in part:
                while source.recv(65536):
                    pass
                break
            target.sendall(part)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
