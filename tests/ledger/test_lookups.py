"""Asking what the destination holds: what counts as proof, and what never does."""

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction

from ledger.destinations import listing, lookups
from ledger.destinations.connectors.base import IncompletePull, ListPage, Looked, LookRequest
from ledger.models import Lookup, Operation
from ledger.rules.states import CaseKind, State, Verdict
from tests.databases import Clock
from tests.ledger import odd_connectors
from tests.sandboxes import Sandbox
from tests.stories import CALLS, Durban, done

UNSETTLED_S = 31


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    return Durban(clock, sandbox.url)


def look(operation: Operation, *, actor: str = "worker") -> Lookup:
    return lookups.look(operation, actor=actor, reason="To see.")


def ask_by(durban: Durban, **lookup: Any) -> None:
    """Change how it is looked up, as `configure` does: what it has proved counts no longer."""
    durban.invoice.calls = {**CALLS, "lookup": {**CALLS["lookup"], **lookup}}
    durban.invoice.save(update_fields=["calls"])
    changed(durban)


def changed(durban: Durban) -> None:
    """Note that the rules of the look-up have changed, as `configure` does."""
    durban.clock.advance(1)
    durban.invoice.lookup_proved_at, durban.invoice.lookup_changed_at = None, durban.clock.now()
    durban.invoice.save(update_fields=["lookup_proved_at", "lookup_changed_at"])


def there(sandbox: Sandbox, operation: Operation, **changes: object) -> None:
    """Make its record over there, as a try whose answer was lost did."""
    record = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": operation.key}, **changes}
    assert sandbox.call("POST", "/invoices", body=record).status == 201


def known(durban: Durban, sandbox: Sandbox) -> Operation:
    """A completed operation whose record is there."""
    operation = durban.invoiced(1)
    there(sandbox, operation)
    return durban.tried(operation, done("INV-1101"))


# --- never absent


def test_an_operation_without_look_up_is_refused(durban: Durban) -> None:
    operation, _, _ = durban.reminded(483)
    with pytest.raises(lookups.NoLookup, match="Mailroom cannot be checked"):
        look(operation)


@pytest.mark.parametrize("mode", ["ignore_filter", "garble", "drop_before", "error_before", "truncate"])
def test_a_destination_that_misbehaves_could_not_be_looked_at(
    durban: Durban, sandbox: Sandbox, mode: str
) -> None:
    known(durban, sandbox)
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    sandbox.faults(mode, "GET")
    found = look(operation)
    assert (found.verdict, found.complete, found.proof) == (Verdict.COULD_NOT_LOOK, False, False)
    assert found.why
    assert durban.again(operation).state == State.UNCERTAIN


def test_a_404_from_a_wrong_path_could_not_look_and_ends_with_a_person(
    durban: Durban, sandbox: Sandbox
) -> None:
    ask_by(durban, path="/invoicez?reference={key}")
    durban.invoice.contract = {**durban.invoice.contract, "idempotency": "none"}
    durban.invoice.save(update_fields=["contract"])
    operation = durban.silent(483)
    for _ in range(3):
        durban.clock.advance(600)
        assert look(durban.again(operation)).verdict == Verdict.COULD_NOT_LOOK
    operation = durban.again(operation)
    assert (operation.state, operation.cases.open().get().kind) == (State.UNCERTAIN, CaseKind.COULD_NOT_LOOK)


def test_a_destination_that_is_down_could_not_be_looked_at(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    sandbox.kill()
    assert look(operation).why == "The connection was refused."


def test_a_missing_secret_or_a_failing_connector_could_not_look(
    durban: Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOKS_TOKEN", raising=False)
    operation = durban.silent(483)
    books = durban.invoice.destination
    books.connection = {**books.connection, "auth": {"kind": "bearer", "token": "env:BOOKS_TOKEN"}}
    books.save(update_fields=["connection"])
    found = look(durban.again(operation))
    assert (found.verdict, "BOOKS_TOKEN" in found.why) == (Verdict.COULD_NOT_LOOK, True)

    monkeypatch.setenv("BOOKS_TOKEN", "any")
    books.connector = "tests.ledger.odd_connectors:FailsToLook"
    books.save(update_fields=["connector"])
    found = look(durban.again(operation))
    assert found.why == "The connector failed (RuntimeError)."


def leaves(_: object) -> object:
    raise SystemExit(1)


def brought(**changes: Any) -> Callable[[LookRequest], Looked]:
    """A look-up that brings one record of the operation, with something that no record has."""
    changed = {name: changes.pop(name) for name in ("id", "total") if name in changes}

    def looked(request: LookRequest) -> Looked:
        record = {"id": "INV-1", "total": "1240.00", "currency": "ZAR", "status": "open", **changed}
        item = {**record, "metadata": {"operation": request.values["key"]}}
        return Looked(**{"items": (item,), "complete": True, **changes})

    return looked


def endless(request: LookRequest) -> Looked:
    """Two records of one id, each of which holds itself: whoever compares them never ends."""
    items = [brought()(request).items[0] for _ in range(2)]
    for item in items:
        assert isinstance(item, dict)
        item["self"] = item
    return Looked(tuple(items), complete=True)


UNUSABLE: dict[str, Callable[[LookRequest], object]] = {
    "ends the process": leaves,
    "brings nothing": lambda _: None,
    "brings no list": brought(items=None),
    "brings what is no data": brought(items=(object(),)),
    "an id that cannot be written": brought(id="INV-\ud800"),
    "an id that is shown turned round": brought(id="INV-\u202e7811"),
    "an id that is blank": brought(id=" "),
    "an id with too many digits": brought(id=10**5000),
    "an amount that is none": brought(total=object()),
    "records that hold themselves": endless,
    "an instant without an offset": brought(as_of=datetime(2026, 11, 30)),  # noqa: DTZ001 - that is the point
    "an instant in words": brought(as_of="2026-11-30"),
    "whole in words": brought(complete="no"),
    "a status in words": brought(status="200"),
    "a reason that is none": brought(complete=False, why=7),
}


def test_whatever_a_connector_of_one_s_own_brings_is_could_not_look_and_ends_with_a_person(
    durban: Durban,
) -> None:
    durban.invoice.contract = {**durban.invoice.contract, "idempotency": "none"}
    durban.invoice.save(update_fields=["contract"])
    durban.invoice.destination.connector = "tests.ledger.odd_connectors:Brings"
    durban.invoice.destination.save(update_fields=["connector"])
    operation = durban.silent(483)
    for what, brings in UNUSABLE.items():
        odd_connectors.Brings.looked = brings
        durban.clock.advance(600)
        found = look(durban.again(operation))
        assert (found.verdict, found.complete, bool(found.why)) == (Verdict.COULD_NOT_LOOK, False, True), what
    operation = durban.again(operation)
    assert (operation.state, operation.cases.open().get().kind) == (State.UNCERTAIN, CaseKind.COULD_NOT_LOOK)

    odd_connectors.Brings.looked = brought()
    assert look(operation).verdict == Verdict.ONE_MATCH, "what is as it should be is found"


def test_a_connector_that_cannot_be_made_could_not_look(durban: Durban) -> None:
    operation = durban.silent(483)
    durban.invoice.destination.connector = "tests.ledger.odd_connectors:Leaves"
    durban.invoice.destination.save(update_fields=["connector"])
    found = look(durban.again(operation))
    assert (found.verdict, found.why) == (
        Verdict.COULD_NOT_LOOK,
        "The connector of Durban Books cannot be made (Exited).",
    )


UNLISTABLE: dict[str, Callable[[object], object]] = {
    "ends the process": leaves,
    "brings nothing": lambda _: None,
    "brings items alone": lambda _: iter([[{"id": "INV-1"}]]),
    "brings no list of items": lambda _: iter([ListPage(items=None)]),  # type: ignore[arg-type]
    "a place that is no JSON": lambda _: iter([ListPage([], place={"at": object()})]),
    "a place with a NUL": lambda _: iter([ListPage([], place={"at": "\0"})]),
    "an instant without an offset": lambda _: iter([ListPage([], as_of=datetime(2026, 11, 30))]),  # noqa: DTZ001
}


def test_whatever_a_connector_of_one_s_own_lists_is_not_read_to_its_end(durban: Durban) -> None:
    durban.invoice.calls = {**CALLS, "list": {"path": "/invoices", "items": "data"}}
    durban.invoice.save(update_fields=["calls"])
    durban.invoice.destination.connector = "tests.ledger.odd_connectors:Brings"
    durban.invoice.destination.save(update_fields=["connector"])
    for what, brings in UNLISTABLE.items():
        odd_connectors.Brings.listed = brings
        pages = listing.pages(durban.invoice, since=durban.clock.now())
        with pytest.raises(IncompletePull) as incomplete:
            list(pages)
        assert incomplete.value.reason.startswith("The connector failed ("), what


# --- absence


def test_absence_is_no_proof_before_the_look_up_has_found_anything(durban: Durban) -> None:
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    found = look(operation)
    assert (found.verdict, found.complete, found.proof) == (Verdict.ABSENT, True, False)
    assert found.control_reference == ""


def test_absence_makes_the_look_up_prove_itself_on_a_known_record(durban: Durban, sandbox: Sandbox) -> None:
    known(durban, sandbox)
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    found = look(operation)
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, True, "INV-1101")
    durban.invoice.refresh_from_db()
    assert durban.invoice.lookup_proved_at is not None


def test_a_status_alone_proves_absence_only_beside_a_record_that_is_found_just_now(
    durban: Durban, sandbox: Sandbox
) -> None:
    """A gateway says "no such" of every record, in JSON, too, while what stands behind it is exchanged."""
    durban.invoice.contract = {**durban.invoice.contract, "absent": [404]}
    durban.invoice.save(update_fields=["contract"])
    assert look(known(durban, sandbox)).verdict == Verdict.ONE_MATCH, "the look-up has proved itself"
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    sandbox.faults("error_before", "GET", count=None, arg=404)
    found = look(durban.again(operation))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, False, "")
    assert found.why == (
        "Only status 404 says that it is not there, and a record that we know was not found just now."
    )
    assert durban.again(operation).state == State.UNCERTAIN
    assert [proof for _, proof in [lookups.tried(durban.again(operation))]] == [False]

    sandbox.clear_faults()
    sandbox.faults("error_before", "483", count=None, arg=404)
    found = look(durban.again(operation))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, True, "INV-1101")


def test_absence_before_the_settle_time_is_no_proof(durban: Durban, sandbox: Sandbox) -> None:
    known(durban, sandbox)
    found = look(durban.silent(483))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, False, "INV-1101")


def test_a_look_up_that_asks_the_wrong_question_proves_nothing(durban: Durban, sandbox: Sandbox) -> None:
    known(durban, sandbox)
    ask_by(durban, path="/invoices?reference={source.reference}")
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    found = look(operation)
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, False, "")


def test_a_record_known_at_another_account_proves_nothing(durban: Durban, sandbox: Sandbox) -> None:
    known(durban, sandbox)
    books = durban.invoice.destination
    books.account = "other"
    books.save(update_fields=["account"])
    changed(durban)
    operation = durban.silent(483)
    durban.clock.advance(UNSETTLED_S)
    assert not look(durban.again(operation)).proof


def test_what_was_sent_to_another_account_is_not_proved_absent_by_looking_at_this_one(
    durban: Durban, sandbox: Sandbox
) -> None:
    durban.tried(durban.invoiced(1), done("INV-900"))  # at the account that is no longer asked
    operation = durban.silent(483)
    books = durban.invoice.destination
    books.account = "other"
    books.save(update_fields=["account"])
    changed(durban)
    newer = durban.invoiced(2)
    there(sandbox, newer)
    assert look(durban.tried(newer, done("INV-1101"))).verdict == Verdict.ONE_MATCH
    durban.clock.advance(UNSETTLED_S)
    found = look(durban.again(operation))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, False, "")
    assert durban.again(operation).state == State.UNCERTAIN


def test_what_was_sent_under_other_rules_is_not_proved_absent_by_finding_newer_records(
    durban: Durban, sandbox: Sandbox
) -> None:
    operation = durban.silent(483)
    changed(durban)
    assert look(known(durban, sandbox)).verdict == Verdict.ONE_MATCH
    durban.clock.advance(UNSETTLED_S)
    found = look(durban.again(operation))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, False, "")


def test_after_a_change_of_rules_a_record_of_before_lets_absence_be_proof(
    durban: Durban, sandbox: Sandbox
) -> None:
    known(durban, sandbox)
    operation = durban.silent(483)
    ask_by(durban, path="/invoices?reference={key}&limit=50")
    durban.clock.advance(UNSETTLED_S)
    found = look(durban.again(operation))
    assert (found.verdict, found.proof, found.control_reference) == (Verdict.ABSENT, True, "INV-1101")


# --- what is there


def test_one_match_completes_it(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    there(sandbox, operation)
    found = look(operation)
    operation = durban.again(operation)
    assert (found.verdict, operation.state, operation.evidence) == (
        Verdict.ONE_MATCH,
        State.COMPLETED,
        "lookup",
    )
    assert operation.destination_reference == "INV-1101"


def test_several_are_held_and_kept_as_found(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(471)
    for _ in range(4):
        there(sandbox, operation)
    found = look(operation)
    assert (found.verdict, [record["id"] for record in found.records]) == (
        Verdict.SEVERAL,
        ["INV-1101", "INV-1102", "INV-1103", "INV-1104"],
    )
    assert durban.again(operation).cases.open().get().kind == CaseKind.SEVERAL


def test_a_void_record_beside_the_one_that_stands_is_history(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    there(sandbox, operation)
    sandbox.call("POST", "/invoices/INV-1101/void")
    there(sandbox, operation)
    assert look(operation).verdict == Verdict.ONE_MATCH
    assert durban.again(operation).destination_reference == "INV-1102"


def test_only_a_void_record_is_a_difference(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    there(sandbox, operation)
    sandbox.call("POST", "/invoices/INV-1101/void")
    found = look(operation)
    assert (found.verdict, found.records[0]["differs"]) == (Verdict.DIFFERS, ["status"])


def test_another_amount_is_a_difference(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(483)
    there(sandbox, operation, total="1204.00")
    found = look(operation)
    assert (found.verdict, found.records[0]["differs"]) == (Verdict.DIFFERS, ["amount"])
    assert durban.again(operation).state == State.UNCERTAIN


def test_a_longer_key_that_contains_ours_is_anothers(durban: Durban, sandbox: Sandbox) -> None:
    known(durban, sandbox)
    operation, longer = durban.silent(48), durban.invoiced(48)
    longer.key += "1"
    there(sandbox, longer)
    sandbox.faults("substring_filter", "GET", count=None)
    assert look(operation).verdict == Verdict.COULD_NOT_LOOK
    paging = {"style": "cursor", "next": "next_cursor", "parameter": "cursor"}
    ask_by(durban, paging=paging)
    assert look(durban.again(operation)).verdict == Verdict.ABSENT


def test_a_persons_look_up_is_theirs_and_leaves_an_event(durban: Durban) -> None:
    operation, command_id = durban.silent(483), uuid.uuid4()
    found = lookups.look(operation, actor="ann", reason="A customer asked.", command_id=command_id)
    event = operation.events.filter(kind="looked").get()
    assert (found.actor, event.actor, event.reason, event.command_id) == (
        "ann",
        "ann",
        "A customer asked.",
        command_id,
    )


# --- listing


def test_a_type_without_list_cannot_be_pulled(durban: Durban, clock: Clock) -> None:
    with pytest.raises(IncompletePull, match="name no list"):
        next(listing.pages(durban.invoice, since=clock.now()))


def test_nothing_is_listed_while_a_transaction_is_open(
    durban: Durban, sandbox: Sandbox, clock: Clock
) -> None:
    paging = {"style": "cursor", "next": "next_cursor", "parameter": "cursor"}
    durban.invoice.calls = {
        **CALLS,
        "list": {"path": "/invoices?updated_since={since}&limit=1", "items": "data", "paging": paging},
    }
    durban.invoice.save(update_fields=["calls"])
    durban.invoice.__dict__.pop("how", None)
    there(sandbox, durban.invoiced(1))
    there(sandbox, durban.invoiced(2))
    since = clock.now().replace(year=2020)
    assert [len(page.items) for page in listing.pages(durban.invoice, since=since)] == [1, 1]
    pages = listing.pages(durban.invoice, since=since)
    next(pages)
    with transaction.atomic(), pytest.raises(RuntimeError, match="transaction"):
        next(pages)
