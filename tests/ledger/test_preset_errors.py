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


def adyens(code: str) -> Record:
    return {"status": 422, "errorCode": code, "message": "No.", "errorType": "validation"}


def paypals(issue: str) -> Record:
    return {"name": "UNPROCESSABLE_ENTITY", "message": "No.", "details": [{"issue": issue}]}


def squares(code: str) -> Record:
    return {"errors": [{"category": "INVALID_REQUEST_ERROR", "code": code, "detail": "No."}]}


def shopifys(code: str) -> Record:
    return {"errors": [{"message": "No.", "extensions": {"code": code}}]}


def of_order(*errors: str, order: Record | None = None) -> Record:
    return {"data": {"orderCreate": {"order": order, "userErrors": [{"message": one} for one in errors]}}}


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
        ("adyen payment", 422, adyens("130"), "rejected http_422"),
        ("adyen payment", 422, adyens("704"), "uncertain in_use"),
        ("adyen payment", 409, adyens("704"), "uncertain in_use"),
        ("adyen payment", 503, adyens("703"), "retryable http_503"),
        ("adyen payment", 500, adyens("905"), "uncertain http_500"),
        ("adyen payment", 200, {"pspReference": "N1", "resultCode": "Refused"}, "rejected declined"),
        ("adyen payment", 200, {"resultCode": "RedirectShopper"}, "accepted "),
        ("adyen payment", 200, {"pspReference": "N1", "resultCode": "Error"}, "uncertain unknown_status"),
        ("adyen refund", 201, {"pspReference": "N1", "status": "received"}, "succeeded "),
        ("paypal invoice", 422, paypals("USER_NOT_FOUND"), "rejected http_422"),
        ("paypal refund", 409, paypals("PREVIOUS_REQUEST_IN_PROGRESS"), "uncertain in_use"),
        ("paypal refund", 201, {"id": "1J", "status": "PENDING", "custom_id": "order/483"}, "accepted "),
        (
            "paypal refund",
            201,
            {"id": "1J", "status": "FAILED", "custom_id": "order/483"},
            "rejected declined",
        ),
        (
            "paypal refund",
            201,
            {"id": "1J", "status": "COMPLETED", "custom_id": "other"},
            "uncertain other_record",
        ),
        ("square payment", 400, squares("INVALID_VALUE"), "rejected http_400"),
        ("square payment", 400, squares("IDEMPOTENCY_KEY_REUSED"), "uncertain exists"),
        ("square payment", 402, squares("CARD_DECLINED"), "uncertain http_402"),
        ("square payment", 429, squares("RATE_LIMITED"), "retryable http_429"),
        ("shopify order", 200, of_order("Line items can't be blank"), "rejected "),
        ("shopify order", 200, shopifys("THROTTLED"), "retryable "),
        ("shopify refund", 200, shopifys("THROTTLED"), "retryable "),
        ("shopify order", 200, shopifys("INTERNAL_SERVER_ERROR"), "uncertain errors"),
        ("shopify order", 200, of_order("Half of it", order={"id": "gid://1"}), "succeeded "),
        ("shopify order", 200, {"data": {"orderCreate": None}}, "uncertain no_record"),
        ("odoo invoice", 422, {"name": "odoo.exceptions.UserError", "message": "No."}, "rejected http_422"),
        ("odoo invoice", 500, {"name": "builtins.ValueError", "message": "No."}, "uncertain http_500"),
        ("erpnext invoice", 417, {"exc_type": "ValidationError"}, "rejected http_417"),
        ("erpnext invoice", 409, {"exc_type": "DuplicateEntryError"}, "uncertain exists"),
        ("erpnext invoice", 502, {}, "uncertain http_502"),
        ("zendesk ticket", 422, {"error": "RecordInvalid"}, "rejected http_422"),
        ("zendesk ticket", 400, {"error": "IdempotentRequestError"}, "uncertain exists"),
        ("zendesk ticket", 409, {"error": "DatabaseConflict"}, "uncertain in_use"),
    ],
)
def test_an_error_proves_what_its_documents_say_and_no_more(
    preset: str, status: int, body: Record, proves: str
) -> None:
    """Declined, in use, used with other data, a number that is taken: none of it says that nothing is."""
    name, _, operation = preset.partition(" ")
    found = presets.read(name)
    assert found is not None
    calls = found.operations[operation or next(iter(found.operations))]
    contract = {**found.destination["contract"], **calls.get("contract", {})}
    report = classify(
        Answer("answered", status=status, body=body, readable=True),
        contract=Contract.read(contract),
        map=RecordMap.read(calls["record"]),
        reference="order/483",
        amount=None,
        currency=None,
        call=SendCall.read(calls["send"]),
    )
    assert f"{report.outcome} {report.error_code}".startswith(proves)
