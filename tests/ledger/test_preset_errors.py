"""What each preset concludes from an error, in the words of its destination's documents."""

from typing import Any

import pytest

from ledger.destinations.connectors import presets
from ledger.rules.calls import RecordMap, SendCall
from ledger.rules.contracts import Contract
from ledger.rules.outcomes import Answer, classify

Record = dict[str, Any]


def stripes(type: str, code: str = "") -> Record:
    return {"error": {"type": type, "code": code, "message": "No."}}


def intuits(message: str) -> Record:
    return {
        "Fault": {"Error": [{"Message": message, "code": "6140"}], "type": "ValidationFault"},
        "time": "t",
    }


@pytest.mark.parametrize(
    ("preset", "status", "body", "proves"),
    [
        ("stripe-v1", 400, stripes("invalid_request_error"), "rejected http_400"),
        ("stripe-v1", 400, stripes("idempotency_error"), "uncertain exists"),
        ("stripe-v1", 409, stripes("idempotency_error", "idempotency_key_in_use"), "uncertain in_use"),
        ("stripe-v1", 402, stripes("card_error", "card_declined"), "uncertain http_402"),
        ("stripe-v1", 424, stripes("api_error"), "uncertain http_424"),
        ("stripe-v1", 429, stripes("rate_limit_error"), "retryable http_429"),
        ("stripe-v1", 500, stripes("api_error"), "uncertain http_500"),
        ("xero", 400, {"ErrorNumber": 10, "Type": "ValidationException"}, "rejected http_400"),
        ("xero", 503, {}, "uncertain http_503"),
        ("quickbooks-online", 400, intuits("A business validation error"), "rejected http_400"),
        ("quickbooks-online", 400, intuits("Duplicate Document Number Error"), "uncertain exists"),
        ("quickbooks-online", 200, intuits("A business validation error"), "uncertain "),
    ],
)
def test_an_error_proves_what_its_documents_say_and_no_more(
    preset: str, status: int, body: Record, proves: str
) -> None:
    """Declined, in use, used with other data, a number that is taken: none of it says that nothing is."""
    found = presets.read(preset)
    assert found is not None
    calls = next(iter(found.operations.values()))
    report = classify(
        Answer("answered", status=status, body=body, readable=True),
        contract=Contract.read(found.destination["contract"]),
        map=RecordMap.read(calls["record"]),
        reference="order/483",
        amount=None,
        currency=None,
        call=SendCall.read(calls["send"]),
    )
    assert f"{report.outcome} {report.error_code}".startswith(proves)
