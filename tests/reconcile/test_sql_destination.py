"""A shop's own database as a destination: callers write to it, Tieout looks there and reconciles with it."""

from pathlib import Path

import pytest

from ledger.destinations import lookups
from ledger.models import OperationType, database_now
from ledger.rules.states import Outcome, State, Verdict
from reconcile.configuration import configure
from reconcile.models import Plan, Record
from tests.databases import Database
from tests.reconcile.books import Books, adds_up, counts, refreshed

FILE = """
[destinations.shop]
name = "Web shop"
entity = "Durban Trading (Pty) Ltd"
connector = "sql"
url = "env:SHOP_DATABASE_URL"
contract = { settle = "0s" }

[operation_types."invoice.create"]
destination = "shop"
performed_by = "caller"
key = "order/{source.system}/{source.reference}/v{source.version}"

[operation_types."invoice.create".record]
id = "number"
reference = "ref"
amount = "total"
currency = "currency"
occurred_at = "made_at"

[operation_types."invoice.create".lookup]
query = "select number, ref, total, currency, made_at from shop.invoices where ref = {key}"

[operation_types."invoice.create".list]
query = "select number, ref, total, currency, made_at from shop.invoices where made_at >= {since}"

[plans.invoices]
operation_type = "invoice.create"
timezone = "Africa/Johannesburg"
grace = "0s"
"""
TABLE = (
    "create schema shop",
    "create table shop.invoices (number text, ref text, total numeric, currency text,"
    " made_at timestamptz default clock_timestamp())",
    "grant usage on schema shop to public",
    "grant select on shop.invoices to public",
)
REPLICA = (
    "create schema fakes",
    "grant usage on schema fakes to public",
    "create function fakes.pg_is_in_recovery() returns boolean language sql as 'select true'",
    "create table fakes.replayed (at timestamptz)",
    "grant select on fakes.replayed to public",
    "create function fakes.pg_last_xact_replay_timestamp() returns timestamptz language sql as"
    " 'select max(at) from fakes.replayed'",
)


@pytest.fixture
def shop(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    database.as_owner(*TABLE)
    monkeypatch.setenv("SHOP_DATABASE_URL", database.app_url)
    file = tmp_path / "shop.toml"
    file.write_text(FILE)
    configure(file)
    return Books(Plan.objects.select_related("operation_type__destination").get())


def holds(database: Database, order: str, total: str = "100.00") -> None:
    row = f"('S-{order}', 'order/shop/{order}/v1', {total}, 'ZAR')"
    database.as_owner(f"insert into shop.invoices (number, ref, total, currency) values {row}")


def test_doubt_ends_with_what_the_database_holds(shop: Books, database: Database) -> None:
    there, gone = (shop.claimed(order, Outcome.UNCERTAIN) for order in ("1", "2"))
    holds(database, "1")
    found = lookups.look(there, actor="worker", reason="A look.")
    assert (found.verdict, found.records[0]["amount"]) == (Verdict.ONE_MATCH, "100.00")
    assert refreshed(there).state == State.COMPLETED
    absent = lookups.look(gone, actor="worker", reason="A look.")
    assert absent.verdict == Verdict.ABSENT and absent.proof


def test_it_is_reconciled_with_its_list(shop: Books, database: Database) -> None:
    for order in ("1", "2", "3"):
        shop.claimed(order, Outcome.SUCCEEDED, reference=f"S-{order}")
    holds(database, "1")
    holds(database, "2", total="90.00")
    holds(database, "9")
    run, _ = shop.run()
    assert counts(run) == dict.fromkeys(
        ("amount_under", "matched", "missing_at_destination", "unexpected_at_destination"), 1
    )
    adds_up(run)


def test_a_replica_proves_only_what_it_has_replayed(shop: Books, database: Database) -> None:
    """It shows nothing of what came later, so what is absent there may be at the destination."""
    OperationType.objects.update(lookup_proved_at=database_now())
    path = "search_path = fakes, pg_catalog, public"
    database.as_superuser(*REPLICA, f"alter role tieout in database {database.name} set {path}")
    early = database_now()
    operation = shop.claimed("1", Outcome.UNCERTAIN)
    database.as_superuser(f"insert into fakes.replayed values ('{early.isoformat()}')")
    lookup = lookups.look(operation, actor="worker", reason="A look.")
    assert lookup.verdict == Verdict.COULD_NOT_LOOK and "too early to show all that was sent" in lookup.why
    database.as_superuser(f"insert into fakes.replayed values ('{database_now().isoformat()}')")
    lookup = lookups.look(operation, actor="worker", reason="Another look.")
    holds(database, "9")
    run, _ = shop.run()
    seen = Record.objects.get(run=run, side=Record.Side.DESTINATION).seen_at
    assert seen is not None and early < seen < lookup.asked_at
    assert lookup.verdict == Verdict.ABSENT and lookup.proof
