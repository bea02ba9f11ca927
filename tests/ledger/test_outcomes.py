"""The outcome table, row by row: what one answer proves of one attempt, and nothing more."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ledger.rules.calls import RecordMap, SendCall
from ledger.rules.contracts import Contract
from ledger.rules.outcomes import Answer, Report, classify, retry_after_s
from ledger.rules.states import Outcome

KEY = "order/webshop/483/v1"
BOOKS = RecordMap(
    id="id",
    reference="metadata.operation",
    amount="total",
    currency="currency",
    status="status",
    pending_statuses=("processing",),
    done_statuses=("open", "paid"),
    failed_statuses=("declined",),
    void_statuses=("void",),
)
CONTRACT = Contract()


def invoice(**changes: object) -> dict[str, object]:
    document: dict[str, object] = {
        "id": "INV-1187",
        "metadata": {"operation": KEY},
        "total": "1240.00",
        "currency": "ZAR",
        "status": "open",
    }
    return {**document, **changes}


def answered(status: int, body: object = None, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer("answered", status=status, headers=names, body=body, readable=True)


def garbled(status: int, kind: str = "text/html") -> Answer:
    return Answer(
        "answered", status=status, headers={"content-type": kind}, readable=False, detail="Not JSON."
    )


def read(
    answer: Answer,
    contract: Contract = CONTRACT,
    *,
    map: RecordMap | None = BOOKS,
    amount: Decimal | None = Decimal("1240.0000"),
    currency: str | None = "ZAR",
) -> Report:
    return classify(answer, contract=contract, map=map, reference=KEY, amount=amount, currency=currency)


NOT_SENT = Answer("not_sent", detail="The connection was refused.")
SILENT = Answer("silent", detail="Read time-out after 10.0 s.")

TABLE = [
    # what came back, outcome, error code
    ("refused, DNS, TLS before a byte", NOT_SENT, Outcome.RETRYABLE, "not_sent"),
    ("429 is listed as not done", answered(429), Outcome.RETRYABLE, "http_429"),
    *[(f"{s} is listed as rejected", answered(s), Outcome.REJECTED, f"http_{s}") for s in CONTRACT.rejected],
    ("a plain-text refusal", garbled(422), Outcome.REJECTED, "http_422"),
    ("a throttle page of a proxy", garbled(429), Outcome.RETRYABLE, "http_429"),
    ("our record, done", answered(201, invoice()), Outcome.SUCCEEDED, ""),
    ("our record, done at once although taken only", answered(202, invoice()), Outcome.SUCCEEDED, ""),
    ("amount as a JSON number", answered(200, invoice(total=Decimal("1240.0"))), Outcome.SUCCEEDED, ""),
    ("a record without our reference", answered(200, {"id": "INV-1"}), Outcome.SUCCEEDED, ""),
    ("our record, pending", answered(200, invoice(status="processing")), Outcome.ACCEPTED, ""),
    ("taken, pending", answered(202, invoice(status="processing")), Outcome.ACCEPTED, ""),
    ("taken, no status", answered(202, {"id": "INV-1"}), Outcome.ACCEPTED, ""),
    ("taken, no body", answered(202), Outcome.ACCEPTED, ""),
    ("our record, declined", answered(200, invoice(status="declined")), Outcome.REJECTED, "declined"),
    ("our record, void", answered(200, invoice(status="void")), Outcome.UNCERTAIN, "differs"),
    (
        "a status that is not listed",
        answered(200, invoice(status="odd")),
        Outcome.UNCERTAIN,
        "unknown_status",
    ),
    (
        "another's record",
        answered(200, invoice(metadata={"operation": "order/webshop/48/v1"})),
        Outcome.UNCERTAIN,
        "other_record",
    ),
    ("another amount", answered(200, invoice(total="1240.01")), Outcome.UNCERTAIN, "differs"),
    ("another currency", answered(200, invoice(currency="USD")), Outcome.UNCERTAIN, "differs"),
    ("an amount that cannot be read", answered(200, invoice(total="R1240")), Outcome.UNCERTAIN, "unreadable"),
    ("an id that is no id", answered(200, invoice(id={"n": 1})), Outcome.UNCERTAIN, "unreadable"),
    ("no record in it", answered(200, {}), Outcome.UNCERTAIN, "no_record"),
    ("an empty 2xx where a record is due", answered(204), Outcome.UNCERTAIN, "no_record"),
    ("a list instead of a record", answered(200, [invoice()]), Outcome.UNCERTAIN, "no_record"),
    ("a 2xx that cannot be read", garbled(200), Outcome.UNCERTAIN, "unreadable"),
    ("a 202 that cannot be read", garbled(202), Outcome.UNCERTAIN, "unreadable"),
    ("409, the key is in use", answered(409), Outcome.UNCERTAIN, "in_use"),
    ("time-out or reset after a byte", SILENT, Outcome.UNCERTAIN, "silent"),
    ("broken off after a refusing status", Answer("silent", status=422), Outcome.UNCERTAIN, "silent"),
    ("408", answered(408), Outcome.UNCERTAIN, "http_408"),
    *[(f"{s}", answered(s), Outcome.UNCERTAIN, f"http_{s}") for s in (500, 502, 503, 504, 520, 599)],
    *[
        (f"{s}, not listed", answered(s), Outcome.UNCERTAIN, f"http_{s}")
        for s in (300, 302, 304, 402, 418, 451)
    ],
]


@pytest.mark.parametrize(
    ("answer", "outcome", "code"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_each_row_of_the_outcome_table(answer: Answer, outcome: Outcome, code: str) -> None:
    report = read(answer)
    assert (report.outcome, report.error_code) == (outcome, code)
    assert report.http_status == answer.status


def test_no_status_that_nobody_listed_ever_proves_anything() -> None:
    listed = {*CONTRACT.not_done, *CONTRACT.rejected}
    for status in range(300, 600):
        if status not in listed:
            assert read(answered(status)).outcome is Outcome.UNCERTAIN, status


def test_a_5xx_never_frees_the_key_whatever_its_body_says() -> None:
    assert read(answered(500, invoice())).outcome is Outcome.UNCERTAIN
    assert read(answered(503, {"error": {"message": "nothing was done"}})).outcome is Outcome.UNCERTAIN


def test_success_names_the_destinations_record() -> None:
    assert read(answered(201, invoice())).destination_reference == "INV-1187"
    assert read(answered(201, invoice(id=1187))).destination_reference == "1187"


def test_without_a_record_section_a_2xx_is_a_success_without_reference() -> None:
    report = read(answered(204), map=None)
    assert (report.outcome, report.destination_reference) == (Outcome.SUCCEEDED, "")
    assert read(answered(202), map=None).outcome is Outcome.ACCEPTED
    assert read(garbled(200), map=None).outcome is Outcome.UNCERTAIN


def test_an_operation_without_amount_compares_none() -> None:
    assert read(answered(201, invoice()), amount=None, currency=None).outcome is Outcome.SUCCEEDED


def test_cents_are_read_as_cents() -> None:
    cents = BOOKS.model_copy(update={"amount_unit": "minor"})
    assert read(answered(201, invoice(total=124000)), map=cents).outcome is Outcome.SUCCEEDED
    assert read(answered(201, invoice(total=1240)), map=cents).error_code == "differs"


# --- the contract's own words


def test_exists_is_looked_up_at_once_by_status_or_by_body() -> None:
    by_status = Contract(exists=(409,))
    by_body = Contract(when={"exists": "error.code == 'already_exists'"})
    assert read(answered(409), by_status).error_code == "exists"
    report = read(answered(400, {"error": {"code": "already_exists"}}), by_body)
    assert (report.outcome, report.error_code) == (Outcome.UNCERTAIN, "exists")


def test_the_body_comes_before_the_status() -> None:
    contract = Contract(when={"not_done": "error.code == 'busy'", "rejected": "error.code == 'blocked'"})
    assert read(answered(500, {"error": {"code": "busy"}}), contract).outcome is Outcome.RETRYABLE
    assert read(answered(200, {"error": {"code": "blocked"}}), contract).outcome is Outcome.REJECTED
    assert read(answered(200, invoice()), contract).outcome is Outcome.SUCCEEDED


def test_of_two_rules_that_fit_the_one_that_claims_least_counts() -> None:
    contract = Contract(when={"rejected": "error", "exists": "error.code == 'already_paid'"})
    assert read(answered(520, {"error": {"code": "already_paid"}}), contract).error_code == "exists"


def test_a_rule_that_does_not_apply_to_an_answer_is_no_rule() -> None:
    contract = Contract(when={"rejected": "contains(error.message, 'blocked')"})
    assert read(answered(201, invoice()), contract).outcome is Outcome.SUCCEEDED


def test_garbled_json_is_not_read_by_its_status_where_the_body_would_have_decided() -> None:
    contract = Contract(when={"exists": "error.code == 'already_exists'"})
    assert read(garbled(400, "application/json"), contract).outcome is Outcome.UNCERTAIN
    assert read(garbled(400, "text/html"), contract).outcome is Outcome.REJECTED


# --- Retry-After


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("99999999999", 366 * 86400.0),
    ],
)
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    assert read(answered(429, retry_after=value)).retry_after_s == seconds


def test_retry_after_as_a_date_counts_by_the_destinations_own_clock() -> None:
    date, until = "Sun, 29 Nov 2026 09:00:00 GMT", "Sun, 29 Nov 2026 09:02:00 GMT"
    assert retry_after_s(answered(429, retry_after=until, date=date)) == 120
    assert retry_after_s(answered(429, retry_after=date, date=until)) == 0
    assert retry_after_s(answered(429, retry_after=until)) is None
    here = Answer(
        "answered", 429, headers={"retry-after": until}, received_at=datetime(2026, 11, 29, 9, 1, tzinfo=UTC)
    )
    assert retry_after_s(here) == 60


def test_an_in_use_key_keeps_its_retry_after() -> None:
    assert read(answered(409, retry_after="5")).retry_after_s == 5


def test_an_answer_may_say_itself_that_it_was_given_before() -> None:
    marked = Contract(replay_header="Idempotent-Replayed")
    for status in (201, 409, 429, 500):
        body = invoice() if status == 201 else None
        assert read(answered(status, body, idempotent_replayed="true"), marked).replayed
        for first in (answered(status, body), answered(status, body, idempotent_replayed="false")):
            assert not read(first, marked).replayed
        assert not read(answered(status, body, idempotent_replayed="true")).replayed, "no header is agreed"


# --- words


def test_a_refusal_in_the_destinations_words_is_redacted_and_clipped() -> None:
    body = {
        "error": {"message": "The customer thandi@example.com is blocked. " + "x" * 1000},
        "secret": "s3cr3t",
    }
    message = read(answered(422, body)).message
    assert message.startswith("Answered with status 422: The customer")
    assert "thandi" not in message
    assert "s3cr3t" not in message
    assert len(message) <= 300


def test_nothing_else_of_a_body_is_kept() -> None:
    assert (
        read(answered(500, {"trace": "at line 7", "customer": "Thandi"})).message
        == "Answered with status 500."
    )


def test_silence_is_told_in_our_words() -> None:
    assert read(SILENT).message == "Read time-out after 10.0 s."


INSIDE = SendCall(path="/graphql", item="data.create.invoice")


@pytest.mark.parametrize(
    ("body", "outcome", "code"),
    [
        ({"data": {"create": {"invoice": invoice()}}}, Outcome.SUCCEEDED, ""),
        ({"data": {"create": {"invoice": invoice()}}, "errors": []}, Outcome.SUCCEEDED, ""),
        ({"data": {"create": {"invoice": invoice()}}, "errors": [1]}, Outcome.UNCERTAIN, "errors"),
        ({"data": None, "errors": [{"message": "timeout"}]}, Outcome.UNCERTAIN, "errors"),
        ({"error": {"message": "Odoo Server Error"}}, Outcome.UNCERTAIN, "errors"),
        ({"data": {"create": {"invoice": None}}}, Outcome.UNCERTAIN, "no_record"),
        (invoice(), Outcome.UNCERTAIN, "no_record"),
        ({"data": {"create": {"invoice": invoice(total="1.00")}}}, Outcome.UNCERTAIN, "differs"),
    ],
)  # fmt: skip
def test_a_record_inside_an_answer_is_success_only_without_an_error_beside_it(
    body: object, outcome: Outcome, code: str
) -> None:
    report = classify(
        answered(200, body),
        contract=CONTRACT,
        map=BOOKS,
        reference=KEY,
        amount=Decimal("1240.00"),
        currency="ZAR",
        call=INSIDE,
    )
    assert (report.outcome, report.error_code) == (outcome, code)


def test_a_refusal_in_a_200_is_what_the_contract_says_it_is() -> None:
    contract = Contract(when={"rejected": "data.create.userErrors"})
    refused = {"data": {"create": {"invoice": None, "userErrors": [{"field": "total"}]}}}
    report = classify(
        answered(200, refused),
        contract=contract,
        map=BOOKS,
        reference=KEY,
        amount=None,
        currency=None,
        call=INSIDE,
    )
    assert report.outcome is Outcome.REJECTED


def test_an_error_in_a_200_without_a_record_is_no_success_and_a_records_own_error_is_no_failure() -> None:
    assert read(answered(200, {"error": "no"}), map=None).outcome is Outcome.UNCERTAIN
    assert read(answered(200, {"ok": True}), map=None).outcome is Outcome.SUCCEEDED
    assert read(answered(200, invoice(error="late fee"))).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (invoice(metadata={}, order=483), ""),
        (invoice(metadata={"operation": "theirs"}, order="483"), ""),
        (invoice(), ""),
        (invoice(order="4830"), "other_record"),
        (invoice(order=[483]), "unreadable"),
    ],
)
def test_where_several_fields_tell_a_record_its_reference_does_not(body: object, code: str) -> None:
    report = classify(
        answered(200, body),
        contract=CONTRACT,
        map=BOOKS,
        reference=KEY,
        amount=None,
        currency=None,
        match={"order": "483"},
    )
    assert report.error_code == code
