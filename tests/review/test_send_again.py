"""Send again: one click is one permit, whatever double clicks, tabs, refresh and back do; undo withdraws."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from ledger.models import Attempt, Command, Event, Operation, Permit
from ledger.rules.decisions import LOOKS
from tests import stories
from tests.people import browser_of


@pytest.fixture
def absent(durban: stories.Durban) -> Operation:
    """An invoice that ann has just seen to be absent."""
    return durban.looked(durban.absent(483), stories.ABSENT, actor="ann")


def post(
    client: Client, operation: Operation, *, command: uuid.UUID | str = "", reason: str = "Acme is waiting."
) -> Any:
    form = {"reason": reason, "command_id": str(command or uuid.uuid4())}
    return client.post(f"/operations/{operation.uid}/send-again/?view=late&place=3", form)


def text(response: Any) -> str:
    page: str = response.content.decode()
    return page


def test_it_waits_for_ones_own_check(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    ann = browser_of("ann")
    said = "Send again waits for a check made by you in the last five minutes."
    assert said in text(ann.get(f"/operations/{operation.uid}/"))
    response = post(ann, operation)
    assert response.status_code == 200
    assert said in text(response)
    durban.looked(operation, stories.ABSENT, actor="bob")
    assert said in text(post(ann, operation)), "somebody else's check is not one's own"
    assert not Permit.objects.exists()


def test_a_check_counts_for_five_minutes(durban: stories.Durban, absent: Operation) -> None:
    durban.clock.advance(301)
    response = post(browser_of("ann"), absent)
    assert "in the last five minutes" in text(response)
    assert not Permit.objects.exists()


@pytest.mark.parametrize("reason", ["", "   ", "x" * 1001, "null \x00"])
def test_it_needs_a_reason_and_keeps_what_was_written(absent: Operation, reason: str) -> None:
    response = post(browser_of("ann"), absent, reason=reason)
    assert response.status_code == 200
    assert 'id="e-reason"' in text(response)
    assert not Permit.objects.exists()


def test_it_needs_a_command(absent: Operation) -> None:
    response = post(browser_of("ann"), absent, command="not-a-uuid")
    assert response.status_code == 200
    assert "The form was not whole" in text(response)
    assert not Permit.objects.exists()


def test_the_dialog_names_all_that_will_happen(absent: Operation) -> None:
    page = text(browser_of("ann").get(f"/operations/{absent.uid}/send-again/"))
    for words in (
        "Send the invoice again?",
        "Durban Books, account main",
        "Durban Trading (Pty) Ltd",
        "1\u00a0240.00\u00a0ZAR to Acme",
        "Unchanged since",
        "The same as the first time",
        absent.idempotency_key,
        "left, closes",
        "absent; counts until",
        "If the first one arrives after all:",
        "makes no second one",
        "Not covered: a sender frozen between its check and its send.",
        ">Confirm<",
        ">Go back<",
    ):
        assert words in page
    assert "<dialog open" in page


def test_the_dialog_says_where_proof_lets_it_go_under_a_new_key(durban: stories.Durban) -> None:
    durban.invoice.contract = {**durban.invoice.contract, "saves": "all"}
    durban.invoice.save(update_fields=["contract"])
    operation = durban.tried(durban.invoiced(483), replace(stories.SILENT, http_status=500))
    for _ in range(LOOKS):
        durban.clock.advance(60)
        durban.looked(operation, stories.BLIND)
    durban.looked(operation, stories.ABSENT, actor="ann")
    page = text(browser_of("ann").get(f"/operations/{operation.uid}/send-again/"))
    assert "A new one" in page and "the old one would bring its saved error back" in page
    assert "The same as the first time" not in page


def test_30_a_double_click_is_one_permit(absent: Operation) -> None:
    ann, command = browser_of("ann"), uuid.uuid4()
    first, second = post(ann, absent, command=command), post(ann, absent, command=command)
    assert [first.status_code, second.status_code] == [303, 303]
    assert first["Location"] == f"/operations/{absent.uid}/?view=late&place=3"
    assert Permit.objects.count() == Command.objects.count() == 1
    assert Event.objects.filter(kind="permitted").count() == 1


def test_30_refresh_and_back_repeat_nothing(absent: Operation) -> None:
    ann, command = browser_of("ann"), uuid.uuid4()
    target = post(ann, absent, command=command)["Location"]
    for _ in range(2):
        assert "Allowed; takes effect at" in text(ann.get(target))
    post(ann, absent, command=command)
    again = text(ann.get(f"/operations/{absent.uid}/send-again/"))
    assert "Already allowed by ann; it takes effect at" in again
    assert ">Confirm<" not in again
    assert Permit.objects.count() == 1


def test_30_a_second_tab_with_its_own_command_is_told_so_in_words(absent: Operation) -> None:
    ann = browser_of("ann")
    post(ann, absent)
    for client in (ann, browser_of("bob")):
        response = post(client, absent)
        assert response.status_code == 200
        assert "Already allowed by ann; it takes effect at" in text(response)
    assert Permit.objects.count() == 1


def test_a_command_cannot_be_used_for_another_operation(durban: stories.Durban, absent: Operation) -> None:
    other = durban.looked(durban.absent(484), stories.ABSENT, actor="ann")
    ann, command = browser_of("ann"), uuid.uuid4()
    post(ann, absent, command=command)
    response = post(ann, other, command=command)
    assert response.status_code == 200
    assert "open the page again" in text(response)
    assert not other.permits.exists()


def test_undo_withdraws_and_a_later_deliberate_one_does_run(
    durban: stories.Durban, absent: Operation
) -> None:
    ann = browser_of("ann")
    post(ann, absent)
    page = text(ann.get(f"/operations/{absent.uid}/"))
    assert ">Undo<" in page
    form = {"command_id": str(uuid.uuid4())}
    for _ in range(2):
        page = text(ann.post(f"/operations/{absent.uid}/undo/", form, follow=True))
    assert "Undone: the permit is withdrawn" in page
    durban.clock.advance(11)
    assert not Operation.objects.permitted(durban.clock.now()).exists(), "nothing is left to send"
    assert post(ann, absent).status_code == 303
    durban.clock.advance(11)
    durban.tried(durban.again(absent), stories.done("INV-1190"))
    page = text(ann.get(f"/operations/{absent.uid}/"))
    assert "Durban Books confirmed INV-1190 at" in page
    assert Attempt.objects.filter(operation=absent).count() == 2


def test_17_a_second_deliberate_retry_is_another_command_under_the_same_key(
    durban: stories.Durban, absent: Operation
) -> None:
    """The click of yesterday, pressed again, is still the old one; a new click is a new try."""
    ann, first, second = browser_of("ann"), uuid.uuid4(), uuid.uuid4()
    assert post(ann, absent, command=first).status_code == 303
    durban.clock.advance(11)
    durban.tried(durban.again(absent), stories.SILENT)
    durban.clock.advance(31)
    durban.looked(absent, stories.ABSENT, actor="ann")
    assert post(ann, absent, command=first).status_code == 303
    assert Permit.objects.count() == 1
    assert post(ann, absent, command=second).status_code == 303
    durban.clock.advance(11)
    durban.tried(durban.again(absent), stories.done("INV-1190"))
    assert "Durban Books confirmed INV-1190 at" in text(ann.get(f"/operations/{absent.uid}/"))
    tries = Attempt.objects.filter(operation=absent)
    assert (tries.count(), tries.values("idempotency_key").distinct().count()) == (3, 1)
    assert set(Command.objects.filter(action="permit").values_list("command_id", flat=True)) == {
        first,
        second,
    }


def test_undo_comes_too_late_once_it_is_sent(durban: stories.Durban, absent: Operation) -> None:
    ann = browser_of("ann")
    post(ann, absent)
    durban.clock.advance(11)
    durban.started(durban.again(absent))
    page = text(ann.post(f"/operations/{absent.uid}/undo/", {"command_id": str(uuid.uuid4())}, follow=True))
    assert "Not undone." in page
    assert "It can no longer be undone here" in page


def test_36_it_is_refused_while_the_first_is_running_with_the_end_of_its_lease(
    durban: stories.Durban,
) -> None:
    operation = durban.invoiced(485)
    durban.started(operation)
    page = text(browser_of("ann").get(f"/operations/{operation.uid}/send-again/"))
    assert "In progress: its answer is expected by" in page
    assert ">Confirm<" not in page


def test_35_it_is_not_offered_on_what_is_done(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(402), stories.done("INV-1187"))
    ann = browser_of("ann")
    assert "Send again" not in text(ann.get(f"/operations/{operation.uid}/"))
    response = post(ann, operation)
    assert "It is done: another try could only make a second one." in text(response)
    assert not Permit.objects.exists()


def test_35_a_refused_one_is_corrected_not_repeated_before_a_look(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(455), stories.REFUSED)
    page = text(browser_of("ann").get(f"/operations/{operation.uid}/"))
    assert "Durban Books refused it: The customer is blocked. Nothing was created." in page
    assert "A new operation takes its place; this one never runs again." in page


def test_where_the_caller_performs_it_is_called_allow_another_try(durban: stories.Durban) -> None:
    durban.reminder.contract = {"idempotency": "header", "key_retention": "24h"}
    durban.reminder.save(update_fields=["contract"])
    operation, attempt, token = durban.reminded(398)
    stories.report(attempt, token, stories.REFUSED)
    ann = browser_of("ann")
    assert ">Allow another try<" in text(ann.get(f"/operations/{operation.uid}/"))
    page = text(ann.get(f"/operations/{operation.uid}/send-again/"))
    assert "Allow another try of the reminder?" in page
    assert post(ann, operation).status_code == 303
    durban.clock.advance(11)
    assert "waits for its automation" in text(ann.get(f"/operations/{operation.uid}/"))


def test_requested_is_never_shown_as_solved(durban: stories.Durban, absent: Operation) -> None:
    """Known failure 29: the page says allowed, then sent, and done only with evidence."""
    ann = browser_of("ann")
    post(ann, absent)
    page = text(ann.get(f"/operations/{absent.uid}/"))
    assert 'data-state="failed"' in page
    assert "Did not happen" in page
    durban.clock.advance(11)
    assert "not sent yet" in text(ann.get(f"/operations/{absent.uid}/"))
    durban.started(durban.again(absent))
    page = text(ann.get(f"/operations/{absent.uid}/"))
    assert 'data-state="running"' in page
    assert "Done" not in page


def test_the_reason_and_the_check_stand_in_the_trail(absent: Operation) -> None:
    """Known failure 47: the trail names the person and why."""
    ann = browser_of("ann")
    post(ann, absent, reason="Acme's buyer <b>asked</b>.")
    event = Event.objects.get(kind="permitted")
    assert (event.actor, event.reason) == ("ann", "Acme's buyer <b>asked</b>.")
    assert Permit.objects.get().lookup == absent.lookups.order_by("-id").first()
    page = text(ann.get(f"/operations/{absent.uid}/"))
    assert "&lt;b&gt;asked&lt;/b&gt;" in page
