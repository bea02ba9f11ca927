"""What is told of red runs, addresses and remarks goes back a version with rows there, and forward again."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from ledger.models import Event
from reconcile.differences import remarking
from reconcile.models import Finding, Remark
from review.models import Message, Notice
from tests.databases import Database
from tests.people import person
from tests.reconcile.books import HELD, Books, command_id, key_of, record


def migrate(*to: str) -> None:
    call_command("migrate", *to, database="owner", verbosity=0, interactive=False)


def red() -> None:
    data: dict[str, Any] = {"plan": "invoices", "name": "invoices", "count": 1}
    Event.objects.create(kind="run_late", actor="schedule", reason="invoices: not done in time.", data=data)


def test_with_rows_there_it_goes_back_and_forward(database: Database, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller")
    type(books.plan).objects.update(recipients=["Ann@Example.com"])
    person("ann")
    HELD.pages = [[record(1, key=key_of("x1"))]]
    books.run()
    remarking.write(Finding.objects.get(), actor="ann", text="Known.", command_id=command_id())
    red()
    assert Notice.objects.filter(kind="red").count() == 1
    assert set(Message.objects.values_list("address", flat=True)) == {"Ann@example.com"}
    connection.close()
    migrate("review", "0028_asked_in_role")
    migrate("reconcile", "0037_profiles")
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind FROM review_notice")
        assert cursor.fetchall() == []
        cursor.execute("SELECT to_regclass('reconcile_remark'), to_regprocedure('reconcile_remark_told()')")
        assert cursor.fetchone() == (None, None)
    red()
    assert "ann@example.com" in Message.objects.values_list("address", flat=True), "as it was before"
    connection.close()
    migrate()
    red()
    assert Notice.objects.filter(kind="red").count() == 1 and not Remark.objects.exists()
