"""Known by name: a person is never taken for software, nor software for a person."""

import ast
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

from config.environment import ROOT
from ledger.models import Event, Lookup
from ledger.rules.actors import RESERVED, NotAPersonsName, is_software, person
from tests import stories
from tests.databases import Clock, Database
from tests.people import PASSWORD

NAMES = [*sorted(RESERVED), "Worker", " policy ", "api:webshop", "reconciliation 7", "a:b", ""]


def actors_written() -> Iterator[str]:
    """Every actor that stands in the code as it is, by argument, parameter or constant."""
    for floor in ("ledger", "reconcile", "config"):
        for file in (ROOT / floor).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.keyword(arg="actor", value=ast.Constant(value=str(name))):
                        yield name
                    case ast.Assign(targets=[ast.Name(id="ACTOR")], value=ast.Constant(value=str(name))):
                        yield name


def test_every_actor_that_the_code_writes_is_software() -> None:
    written = set(actors_written())
    assert {"worker", "policy", "configure", "issue_key"} <= written
    assert {name for name in written if not is_software(name)} == set()


def test_rule_query_and_guard_take_the_same_names_for_software(database: Database) -> None:
    software = [*sorted(RESERVED), "api:webshop", "destination:books", "reconciliation 7", "a:b"]
    people = [
        "ann",
        "jo@example.com",
        "Ann.Worker",
        "workers",
        "apis",
        "reconciliations-zoe",
        "reconciliation-7",
    ]
    for name in software + people:
        Event.objects.create(kind="walked", actor=name, reason="Somebody walked by.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT actor FROM ledger_event WHERE ledger_is_person(actor) ORDER BY id")
        guarded = [name for (name,) in cursor.fetchall()]
    asked = Event.objects.by_people().order_by("id").values_list("actor", flat=True)
    assert guarded == [*asked] == [name for name in software + people if not is_software(name)] == people


@pytest.mark.parametrize("name", NAMES)
def test_no_account_is_made_under_a_name_of_software(database: Database, name: str) -> None:
    with pytest.raises(NotAPersonsName):
        User.objects.create(username=name)
    assert not User.objects.exists()


def test_a_persons_actor_is_their_name() -> None:
    assert [person(name) for name in ("ann", "Ann.Worker", "jo@example.com")] == [
        "ann",
        "Ann.Worker",
        "jo@example.com",
    ]


def test_an_older_account_of_that_name_neither_signs_in_nor_acts(clock: Clock) -> None:
    operation = stories.Durban(clock).silent(483)
    there = User.objects.create_user("old", password=PASSWORD)
    there.groups.add(Group.objects.get(name="reviewer"))
    User.objects.filter(pk=there.pk).update(username="worker")
    client = Client()
    page = client.post("/accounts/login/", {"login": "worker", "password": PASSWORD}, follow=True)
    assert "the name is kept for software" in page.content.decode()
    assert "_auth_user_id" not in client.session
    before = Lookup.objects.count(), Event.objects.count()
    client.force_login(User.objects.get(), backend="allauth.account.auth_backends.AuthenticationBackend")
    form = {"command_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}
    page = client.post(f"/operations/{operation.uid}/check/", form, follow=True)
    assert "the name is kept for software" in page.content.decode()
    assert (Lookup.objects.count(), Event.objects.count()) == before
