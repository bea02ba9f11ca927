"""Placeholders, and what `set` writes into a payload or asks of a caller."""

from decimal import Decimal

import pytest

from ledger.rules.calls import RecordMap
from ledger.rules.errors import Malformed
from ledger.rules.placeholders import LIST, LOOKUP, SEND, apply_set, fill, missing_set, of_money, unknown

VALUES = {"key": "order/webshop/483/v1", "source.reference": "483", "amount": ""}


def test_a_missing_or_empty_value_is_refused_by_name() -> None:
    for template in ("/x/{destination_reference}", "/x?total={amount}"):
        with pytest.raises(Malformed, match=r"destination_reference|amount"):
            fill(template, VALUES)


def test_values_in_paths_are_percent_encoded_and_never_filled_twice() -> None:
    assert fill("/x?r={key}", VALUES, encode=True) == "/x?r=order%2Fwebshop%2F483%2Fv1"
    assert fill("{key}", {"key": "{amount}&a=b", "amount": "1"}, encode=True) == "%7Bamount%7D%26a%3Db"


@pytest.mark.parametrize("name", sorted(LOOKUP | LIST))
@pytest.mark.parametrize("template", ["/{%s}/void", "/x/{%s}", "/.{%s}?a=b", "{%s}."])
def test_no_value_leads_out_of_a_path(name: str, template: str) -> None:
    template %= name
    refused = 0
    for value in (".", ".."):
        try:
            path = fill(template, {name: value}, encode=True)
        except Malformed:
            refused += 1
            continue
        assert not {".", ".."} & set(path.partition("?")[0].split("/"))
    assert refused
    assert fill("/x?r={key}", {"key": ".."}, encode=True) == "/x?r=.."


def test_placeholders_that_nothing_fills_are_named() -> None:
    assert unknown("/x/{key}/{order}", SEND) == ["order"]
    assert unknown("/x/{destination_reference}", SEND) == ["destination_reference"]
    assert unknown("/x/{destination_reference}", LOOKUP) == []
    assert unknown("/x?since={since}", LIST) == []


def test_set_writes_by_dotted_path_and_leaves_the_callers_payload_alone() -> None:
    payload = {"order": "483", "metadata": {"a": 1}}
    written = apply_set(payload, {"metadata.operation": "{key}", "x.y": "no {source.reference}"}, VALUES)
    assert written == {
        "order": "483",
        "metadata": {"a": 1, "operation": "order/webshop/483/v1"},
        "x": {"y": "no 483"},
    }
    assert payload == {"order": "483", "metadata": {"a": 1}}


def test_set_reaches_into_lists_and_refuses_what_is_no_object() -> None:
    assert apply_set({"l": [{}, {}]}, {"l.1.k": "{key}"}, VALUES)["l"][1] == {"k": VALUES["key"]}
    payloads: list[dict[str, object]] = [{"metadata": "text"}, {"metadata": None}, {"metadata": []}]
    for payload in payloads:
        with pytest.raises(Malformed, match="metadata"):
            apply_set(payload, {"metadata.operation": "{key}"}, VALUES)


def test_a_caller_is_told_every_path_that_is_missing_or_differs() -> None:
    asked = {"metadata.operation": "{key}", "reference": "{source.reference}", "ok": "{key}"}
    payload = {"metadata": {"operation": "other"}, "ok": VALUES["key"]}
    assert missing_set(payload, asked, VALUES) == ["metadata.operation", "reference"]
    assert missing_set(apply_set({}, asked, VALUES), asked, VALUES) == []


def test_minor_units_are_a_whole_number_alone_and_digits_within_a_text() -> None:
    record = RecordMap(id="id", reference="r", amount_unit="minor", minor_decimals={"ISK": 2})
    values = of_money(Decimal(500), "ISK", record)
    asked = {"amount": "{amount_minor}", "note": "{amount_minor} of {currency}", "plain": "{amount}"}
    written = apply_set({}, asked, values)
    assert written == {"amount": 50000, "note": "50000 of ISK", "plain": "500"}
    assert missing_set(written, asked, values) == []
    assert missing_set({**written, "amount": "50000"}, asked, values) == ["amount"]
    assert missing_set({"amount": True}, {"amount": "{amount_minor}"}, {"amount_minor": 1}) == ["amount"]
    assert apply_set({}, {"a": "{amount_minor}"}, of_money(Decimal(0), "ISK", None)) == {"a": 0}


def test_minor_units_that_are_not_exact_are_not_there() -> None:
    record = RecordMap(id="id", reference="r", amount_unit="minor", minor_decimals={"MGA": 0})
    with pytest.raises(Malformed, match="amount_minor"):
        fill("{amount_minor}", of_money(Decimal("7.50"), "MGA", record))
    with pytest.raises(Malformed, match="amount"):
        fill("{amount}", of_money(None, "", record))
