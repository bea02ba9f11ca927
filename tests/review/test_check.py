"""Check now: the destination is really asked, and what it holds decides what is offered."""

import uuid
from typing import Any

import psycopg
import pytest

from ledger.destinations import lookups
from ledger.destinations.connectors.base import Looked, LookRequest
from ledger.models import Lookup, Operation
from ledger.rules.states import State
from review import checking
from tests import stories
from tests.databases import Clock, Database
from tests.people import browser_of, person
from tests.sandboxes import Sandbox


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> stories.Durban:
    return stories.Durban(clock, sandbox.url)


def check(operation: Operation, *, who: str = "ann", command: uuid.UUID | None = None) -> Any:
    form = {"command_id": str(command or uuid.uuid4())}
    return browser_of(who).post(f"/operations/{operation.uid}/check/?place=1", form, follow=True)


def make(sandbox: Sandbox, operation: Operation, total: str = "1240.00") -> None:
    """Let the invoice be there after all, as if the lost request had arrived."""
    body = {"total": total, "currency": "ZAR", "metadata": {"operation": operation.key}}
    assert sandbox.call("POST", "/invoices", body=body).status == 201


def test_a_destination_that_is_down_is_could_not_look(durban: stories.Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    sandbox.stop()
    page = check(operation).content.decode()
    assert 'data-state="uncertain" data-verdict="could_not_look"' in page
    assert "it could not look, so nothing is known." in page


def test_a_connector_that_would_end_the_process_is_could_not_look(durban: stories.Durban) -> None:
    durban.invoice.destination.connector = "tests.ledger.odd_connectors:Leaves"
    durban.invoice.destination.save(update_fields=["connector"])
    answer = check(durban.silent(483))
    assert answer.status_code == 200
    assert 'data-state="uncertain" data-verdict="could_not_look"' in answer.content.decode()


def test_where_nothing_can_be_checked_it_is_said(durban: stories.Durban) -> None:
    page = check(durban.expired(398)).content.decode()
    assert "Mailroom cannot be checked: its rules name no look-up." in page


def test_one_match_closes_it(durban: stories.Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    make(sandbox, operation)
    page = check(operation).content.decode()
    assert 'data-state="completed" data-verdict="one_match"' in page
    assert sandbox.effects(operation.key) == 1


def test_absent_and_settled_offers_send_again(durban: stories.Durban, sandbox: Sandbox) -> None:
    known = durban.silent(402)
    make(sandbox, known)
    check(known)
    operation = durban.silent(483)
    assert 'data-verdict="absent"' in check(operation).content.decode()
    assert durban.again(operation).state == State.UNCERTAIN, "too early to be proof"
    durban.clock.advance(31)
    page = check(operation).content.decode()
    assert 'data-state="failed" data-verdict="absent"' in page
    assert 'id="do-send_again" class="btn primary"' in page
    assert "Your check counts until" in page


def test_several_stops(durban: stories.Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(471)
    for _ in range(4):
        make(sandbox, operation)
    page = check(operation).content.decode()
    assert 'data-verdict="several"' in page
    assert "Four invoices carry its reference; three are too many." in page
    assert "do-send_again" not in page


def test_another_amount_differs(durban: stories.Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(466)
    make(sandbox, operation, "1500.00")
    page = check(operation).content.decode()
    assert 'data-verdict="differs"' in page
    assert "260.00 too much" in page


def test_the_same_click_looks_once_and_a_later_one_again(durban: stories.Durban) -> None:
    operation, command = durban.silent(483), uuid.uuid4()
    for _ in range(2):
        check(operation, command=command)
    assert Lookup.objects.filter(actor="ann").count() == 1
    check(operation)
    assert Lookup.objects.filter(actor="ann").count() == 2


@pytest.mark.parametrize("busy", ["operation", "destination"])
def test_what_is_being_checked_is_not_asked_for_again(
    durban: stories.Durban, sandbox: Sandbox, database: Database, busy: str
) -> None:
    operation = durban.silent(483)
    place = durban.invoice.destination_id * checking.AT_ONCE
    keys = {
        "operation": [(checking.OPERATION, operation.pk)],
        "destination": [(checking.DESTINATION, place + one) for one in range(checking.AT_ONCE)],
    }[busy]
    with psycopg.connect(database.app_url) as other:
        for key in keys:
            assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", key).fetchone() == (True,)
        sandbox.stop()  # would be could not look
        assert "already being checked" in check(operation).content.decode()
        assert not Lookup.objects.filter(actor="ann").exists()
    check(operation)
    assert Lookup.objects.filter(actor="ann").count() == 1, "its place is free again"


def test_a_person_waits_fifteen_seconds_at_most_for_all_of_a_check(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    durban.invoice.destination.connection |= {"timeout": 240}
    durban.invoice.destination.save(update_fields=["connection"])
    operation, known = durban.silent(483), durban.silent(402)
    waits: list[float] = []

    def looked(_: object, request: LookRequest, **room: object) -> Looked:
        waits.append(request.timeout_s)
        return Looked((), complete=True)

    monkeypatch.setattr(lookups, "_looked", looked)
    check(operation)
    assert waits
    assert all(0 < wait <= 15 for wait in waits)
    lookups.look(durban.again(known), actor="worker", reason="Its check was due.")
    assert waits[-1] == 240, "software may wait as long as the destination is given"


def test_htmx_gets_the_main_part_only(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    form = {"command_id": str(uuid.uuid4())}
    response = browser_of("ann").post(
        f"/operations/{operation.uid}/check/", form, headers={"HX-Request": "true"}, follow=True
    )
    html = response.content.decode().strip()
    assert html.startswith("<main id=")
    assert html.endswith("</main>")


def test_approving_looks_again_and_only_what_changed_there_ends_the_request(
    durban: stories.Durban, sandbox: Sandbox
) -> None:
    """The maker's click was on one record; by the time of the second person there are two."""
    durban.invoice.review = {"four_eyes_above": {"ZAR": "1000.00"}}
    durban.invoice.save(update_fields=["review"])
    operation = durban.silent(318)
    make(sandbox, operation, "1300.00")
    check(operation)
    person("bob")
    for changed in (True, False):
        ask = {"command_id": str(uuid.uuid4()), "reason": "The customer has it.", "reference": "INV-1"}
        assert (
            browser_of("ann").post(f"/operations/{operation.uid}/confirm-with-reference/", ask).status_code
            == 303
        )
        if changed:
            make(sandbox, operation, "1400.00")
        request = operation.approvals.latest("id")
        yes = {"command_id": str(uuid.uuid4()), "approval": str(request.uid)}
        dialog = browser_of("bob").get(f"/operations/{operation.uid}/approve/").content.decode()
        assert "Durban Books is checked once more as you approve" in dialog
        answer = browser_of("bob").post(f"/operations/{operation.uid}/approve/", yes)
        request.refresh_from_db()
        if changed:
            assert "What is there changed: INV-" in request.why
            assert "is there, 1\u00a0400.00 ZAR." in answer.content.decode()
        else:
            assert (answer.status_code, request.answer) == (303, "approved")
    assert durban.again(operation).evidence == "attested"
