"""A hidden value is shown to who may look, in one answer and nowhere else, and told without it."""

import uuid
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from ledger import actions
from ledger.actions import revealing
from ledger.models import Event, Operation
from review.access import NO_REVEAL
from tests import stories
from tests.ledger.sessions import at_once
from tests.people import browser_of, person


def asks(
    name: str, operation: Operation, path: str = "total", reason: str = "Acme asked.", **more: Any
) -> Any:
    form = {"command_id": str(uuid.uuid4()), "path": path, "reason": reason, **more}
    return browser_of(name).post(f"/operations/{operation.uid}/hidden/", form)


def test_one_value_is_shown_in_one_answer_and_told_without_it(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    durban.invoice.review = {"due": "4h", "redact": ["total"]}
    durban.invoice.save(update_fields=["review"])
    operation, hidden = durban.silent(480, "1234.56"), "1234.56</b>"
    assert hidden not in browser_of("bob").get(f"/operations/{operation.uid}/hidden/").content.decode()
    click = str(uuid.uuid4())
    for _ in range(2):
        answer = asks("bob", operation, command_id=click)
        assert hidden in answer.content.decode() and "no-store" in answer["Cache-Control"]
        assert 'name="reason"' not in answer.content.decode(), "nothing is left to ask for"
    told = Event.objects.get(kind="revealed")
    assert (told.actor, told.reason, told.data) == (
        "bob",
        "Acme asked.",
        {"path": "total", "account": person("bob").pk},
    )
    assert told.operation == operation and durban.again(operation).revision == operation.revision
    assert "looked at a hidden field: total" in browser_of("vic").get("/trail/").content.decode()
    assert '"1234.56"' not in browser_of("bob").get(f"/operations/{operation.uid}/evidence/").content.decode()
    for name in ("ann", "vic", "ada"):
        refused = asks(name, operation).content.decode()
        assert hidden not in refused and NO_REVEAL in refused and 'aria-disabled="true"' in refused
    for wrong in ({"path": "order"}, {"reason": " "}, {"path": "nowhere"}):
        assert hidden not in asks("bob", operation, **wrong).content.decode()
    assert hidden in asks("ira", operation).content.decode(), "an auditor, for their term"
    monkeypatch.setattr(revealing, "MOST", 2)
    assert hidden in asks("bob", operation).content.decode()
    bob = person("bob")
    bob.username = "robert"
    bob.save(update_fields=["username"])
    over = asks("robert", operation).content.decode()
    assert hidden not in over and "2 hidden values within a day" in over
    assert Event.objects.filter(kind="revealed").count() == 3


def revealed(operation: Operation, actor: str = "bob") -> str:
    said: dict[str, Any] = {"path": "total", "reason": "Acme asked.", "command_id": uuid.uuid4()}
    actions.reveal(operation.pk, actor=actor, **said)
    return "shown"


def test_the_fiftieth_value_of_a_day_is_shown_once_from_however_many_tabs(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database counts as well: also whoever passes the action by."""
    operation, bob = durban.silent(480), person("bob")
    person("eve")
    said: dict[str, Any] = {"kind": "revealed", "actor": "bob", "reason": "Acme.", "operation": operation}
    whose = {"path": "total", "account": bob.pk}
    for wrong in ({}, {"path": "total"}, {**whose, "account": person("eve").pk}):
        with pytest.raises(IntegrityError, match="named with their account"), transaction.atomic():
            Event.objects.create(**said, data=wrong)
    for _ in range(49):
        revealed(operation)
    monkeypatch.setattr(revealing, "MOST", 1000)  # as if the action did not count
    shown = at_once([partial(passed, said, whose) for _ in range(3)])
    assert sorted(shown) == ["refused", "refused", "shown"]
    User.objects.filter(pk=bob.pk).update(username="robert")
    with pytest.raises(IntegrityError, match="more than 50 hidden values"), transaction.atomic():
        Event.objects.create(**(said | {"actor": "robert"}), data=whose)
    with (
        pytest.raises(IntegrityError, match="more than 50"),
        transaction.atomic(),
        connection.cursor() as sql,
    ):
        sql.execute(
            "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, data) "
            "SELECT gen_random_uuid(), operation_id, kind, 'robert', reason, '', '', data FROM ledger_event "
            "WHERE kind = 'revealed' LIMIT 1"
        )
    assert revealed(operation, "eve") == "shown", "each has their own"
    durban.clock.advance(86401)
    assert revealed(operation, "robert") == "shown"


def passed(said: dict[str, Any], data: dict[str, Any]) -> str:
    try:
        Event.objects.create(**said, data=data)
    except IntegrityError:
        return "refused"
    return "shown"
