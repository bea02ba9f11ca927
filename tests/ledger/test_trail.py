"""The trail: each change with its actor and reason in the same transaction, and no secret in it."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError

from ledger import actions
from ledger.actions import Report
from ledger.models import Event, Operation
from ledger.rules.states import CaseKind, Outcome, State
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.trails import kinds, sound

CARD, TOKEN = "4111111111111111", "sk_live_0123456789abcdefghijklmn"
PAYLOAD = {
    "order": "483",
    "customer": {"email": "thandi@example.com", "card": CARD},
    "note": "Ring the bell.",
}
THEIR_WORDS = f"Customer thandi@example.com is blocked; Authorization: Bearer {TOKEN}; card {CARD}."


def whole_life(clock: Clock) -> Operation:
    """Silence, a blind check, a case, a person's check, a permit, a refusal, another permit, success."""
    kind = make.kind(retry={"attempts": 1})
    words = Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500", message=THEIR_WORDS)
    operation = make.tried(kind, words, payload=PAYLOAD)
    make.looked(operation, make.BLIND)
    actions.hold(operation.pk, kind=CaseKind.COULD_NOT_LOOK, actor="policy", reason="Nobody can look.")
    clock.advance(60)
    refusal = Report(Outcome.REJECTED, http_status=422, error_code="http_422", message=THEIR_WORDS)
    for report in (refusal, make.done("INV-1187")):
        make.looked(operation, actor="ann", reason="Looked from its page.")
        make.permitted(operation)
        clock.advance(11)
        make.tried(kind, report, payload=PAYLOAD)
    return make.again(operation)


def test_a_whole_life_is_told_with_who_and_why(clock: Clock) -> None:
    operation = sound(whole_life(clock))
    assert operation.state == State.COMPLETED
    told = kinds(operation)
    assert told[:3] == ["accepted", "claimed", "recorded"] and told[-1] == "recorded"
    assert {"looked", "held", "permitted", "closed"} <= set(told)
    people = operation.events.filter(kind="permitted").order_by().values_list("actor", "reason").distinct()
    assert list(people) == [("ann", "The customer waits.")]
    ours = set(operation.events.values_list("actor", flat=True))
    assert ours == {"ann", "api:shop", "policy", "worker"}


def test_no_payload_no_secret_and_no_words_of_a_destination_are_in_events(clock: Clock) -> None:
    operation = whole_life(clock)
    events = list(Event.objects.values("kind", "actor", "reason", "data"))
    text = json.dumps(events)
    for secret in (CARD, TOKEN, "thandi@example.com", "Ring the bell", "blocked"):
        assert secret not in text
    kept = json.dumps(list(operation.attempts.values_list("message", flat=True))) + operation.first_cause
    assert "blocked" in kept, "what it means stays readable"
    for secret in (CARD, TOKEN):
        assert secret not in kept


def test_an_automations_words_are_redacted_when_they_are_reported(database: Database) -> None:
    operation, attempt, token = make.claimed(make.kind())
    words = f"password=hunter2 {TOKEN}"
    report = Report(Outcome.UNCERTAIN, message=words)
    actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    attempt.refresh_from_db()
    operation = make.again(operation)
    for text in (attempt.message, operation.first_cause):
        assert "hunter2" not in text and TOKEN not in text


def test_the_payload_is_kept_only_sealed_and_only_where_tieout_sends(database: Database) -> None:
    ours = make.handed(make.invoice_type(), payload=PAYLOAD)
    theirs, _, _ = make.claimed(make.kind(name="other"), payload=PAYLOAD)
    row = json.dumps(
        list(Operation.objects.values("leaf_digests", "payload_digest", "idempotency_key", "first_cause"))
    )
    sealed = make.again(ours).payload_sealed
    assert sealed is not None and make.again(theirs).payload_sealed is None
    for secret in (CARD, "thandi@example.com", "Ring the bell"):
        assert secret not in row and secret.encode() not in bytes(sealed)
    assert actions.open_payload(make.to_send(ours).operation) == PAYLOAD


@pytest.mark.parametrize("kind", ["attested", "late", "looked", "recorded", "held"])
def test_48_where_its_event_cannot_be_written_nothing_has_changed(clock: Clock, kind: str) -> None:
    """A change and its event are one transaction, on the long way and in the one statement."""
    operation, attempt, token = make.claimed(make.kind(), lease_s=1)
    expires = kind in ("attested", "late", "looked", "held")
    if expires:
        clock.advance(5)
        actions.expire(operation.pk, actor="worker")
    clock.database.as_owner(f"ALTER TABLE ledger_event ADD CHECK (kind <> '{kind}') NOT VALID")
    before = rows()
    report: dict[str, Any] = {"token": token, "report": make.done(), "actor": "api:shop"}
    word: dict[str, Any] = {"reason": "Seen.", "command_id": uuid.uuid4(), "reference": "INV-1"}
    acts: dict[str, Callable[[], object]] = {
        "attested": lambda: actions.attest(operation.pk, actor="ann", **word),
        "looked": lambda: make.looked(operation, make.there(operation, "INV-1", "INV-2")),
        "held": lambda: make.looked(operation, make.there(operation, "INV-1", "INV-2")),
        "late": lambda: actions.record(attempt.uid, **report),
        "recorded": lambda: actions.record(attempt.uid, **report),
    }
    with pytest.raises(IntegrityError, match="ledger_event"):
        acts[kind]()
    assert rows() == before


def rows() -> list[object]:
    """Every row that an action may have written."""
    of = Operation.objects.get()
    parts = ("attempts", "permits", "lookups", "cases", "events", "commands")
    return [
        Operation.objects.values().get(),
        *(list(getattr(of, part).order_by("id").values()) for part in parts),
    ]


def test_a_case_without_an_operation_is_opened_and_closed_with_its_events(database: Database) -> None:
    case = actions.open_case(
        kind=CaseKind.NEVER_SUBMITTED,
        owner="finance",
        due_s=60,
        actor="run 12",
        reason="On the list.",
        data={"records": 1},
    )
    for _ in range(2):
        actions.close_case(case.pk, actor="ann", reason="An old one.")
    told = Event.objects.values_list("kind", "actor", "reason", "data__case").order_by("id")
    assert list(told) == [
        ("held", "run 12", "On the list.", str(case.uid)),
        ("closed", "ann", "An old one.", str(case.uid)),
    ]
