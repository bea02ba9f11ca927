"""`issue_key`: a token is printed once, alone, and only its digest is kept."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from ledger.models import ApiToken, Destination, Event, OperationType, TieoutNow
from ledger.rules.tokens import token_hash
from tests.databases import Database
from tests.processes import Manage


@pytest.fixture
def types(database: Database) -> list[str]:
    """Two operation types."""
    mailroom = Destination.objects.create(
        name="mailroom", title="Mailroom", entity="Durban", connector="http", account="main", connection={}
    )
    names = ["invoice.create", "reminder.send"]
    for name in names:
        OperationType.objects.create(
            name=name,
            destination=mailroom,
            label=name,
            noun="item",
            performed_by="caller",
            lease_s=60,
            owner="finance",
            contract={},
            calls={},
            retry={},
            review={},
        )
    return names


def issued(*arguments: str) -> str:
    said = StringIO()
    call_command("issue_key", *arguments, stdout=said)
    return said.getvalue()


@pytest.mark.usefixtures("types")
def test_an_unknown_type_is_refused_with_what_there_is(database: Database) -> None:
    with pytest.raises(CommandError) as refused:
        issued("webshop", "--type", "invoice.creat", "other")
    said = str(refused.value)
    assert '"invoice.creat" is not an operation type. Did you mean "invoice.create"?' in said
    assert '"other" is not an operation type.' in said
    assert "There are: invoice.create, reminder.send." in said
    assert not ApiToken.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize("name", ["", "  ", " webshop", "web\nshop", "x" * 101])
def test_a_name_that_nobody_could_read_in_the_trail_is_refused(database: Database, name: str) -> None:
    with pytest.raises(CommandError, match="cannot be used"):
        issued(name)
    assert not ApiToken.objects.exists()


def test_a_name_stands_for_one_living_token(database: Database) -> None:
    issued("webshop")
    with pytest.raises(CommandError, match="webshop has a token already"):
        issued("webshop")
    with pytest.raises(IntegrityError, match="token_name_once"):
        ApiToken.objects.create(name="webshop", token_hash="other")
    ApiToken.objects.update(revoked_at=TieoutNow())
    issued("webshop")
    assert ApiToken.objects.count() == 2


def test_the_token_stands_alone_on_stdout_and_is_kept_as_a_digest(
    database: Database, types: list[str]
) -> None:
    token = issued("webshop", "--type", *types).removesuffix("\n")
    assert token.startswith("tieout_")
    assert len(token) == len("tieout_") + 43
    row = ApiToken.objects.get()
    assert (row.name, row.types, row.token_hash) == ("webshop", types, token_hash(token))
    assert not any(token in str(column) for column in ApiToken.objects.values_list().get())
    event = Event.objects.get()
    assert (event.kind, event.actor, event.data) == (
        "key_issued",
        "issue_key",
        {"name": "webshop", "types": types, "expires_at": None, "per_minute": None},
    )
    assert token_hash(token) not in str(Event.objects.values().get())


def test_a_token_without_types_covers_every_type_and_each_token_is_new(database: Database) -> None:
    assert issued("webshop") != issued("till")
    assert all(row.allows("anything.at_all") for row in ApiToken.objects.all())


def test_a_refusal_is_said_without_a_traceback(run_manage: Manage) -> None:
    done = run_manage("issue_key", "webshop", "--type", "invoice.create", check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "There is none yet; run configure first." in done.stderr
    assert "Traceback" not in done.stderr
