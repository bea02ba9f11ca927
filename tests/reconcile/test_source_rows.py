"""One row of a source: each part is read by itself, and the operation's key is made of what names it."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from reconcile.pulling import Listed
from reconcile.sources import rows
from reconcile.sources.rules import RowMap

TEMPLATE = "order/{source.system}/{source.reference}/v{source.version}"
WHOLE = {"reference": 483, "system": "shop", "version": "1", "amount": "1240.00", "currency": "ZAR"}
PLAIN = Listed(reference="order/shop/483/v1", amount=Decimal("1240.00"), currency="ZAR", standing="done")


def read(map: RowMap, item: object, template: str = TEMPLATE) -> dict[str, Any]:
    """What of a row is not as in the plain one."""
    found = rows.read(map, item, template=template)
    return {name: value for name, value in vars(found).items() if value != getattr(PLAIN, name)}


@pytest.mark.parametrize(
    ("map", "more", "otherwise"),
    [
        ({}, {}, {}),
        ({"system": "'shop'", "version": "'1'"}, {"system": None, "version": None}, {}),
        ({"reference": "number"}, {"number": "483"}, {}),
        ({"key": "order_key"}, {"order_key": "mine/1"}, {"reference": "mine/1"}),
        ({"id": "row.id"}, {"row": {"id": 7}}, {"id": "7"}),
        ({"amount": "sums.total"}, {"sums": {"total": "1240.00"}, "amount": None}, {}),
        ({"amount_unit": "minor"}, {"amount": 124000}, {}),
        ({"amount_unit": "minor", "minor_decimals": {"ZAR": 3}}, {"amount": 1240000}, {}),
        ({"amount_sign": "negated"}, {"amount": "-1240.00"}, {}),
        ({"currency": "'ZAR'"}, {"currency": None}, {}),
        ({"amounts": False}, {"amount": None}, {"amount": None, "currency": ""}),
        ({"date": "placed"}, {"placed": "2026-11-10"}, {"occurred_on": date(2026, 11, 10)}),
        (
            {"time_format": "%d.%m.%Y %H:%M", "timezone": "Africa/Johannesburg"},
            {"date": "10.11.2026 12:00"},
            {"occurred_at": datetime(2026, 11, 10, 10, tzinfo=UTC)},
        ),
        ({"status": "state"}, {"state": "canceled"}, {"status": "canceled", "standing": "void"}),
        ({"cancelled_statuses": ["gone"]}, {"status": "cancelled"}, {"status": "cancelled"}),
        ({"cancelled_statuses": ["gone"]}, {"status": "gone"}, {"status": "gone", "standing": "void"}),
    ],
)
def test_a_row_is_read_part_by_part(
    map: dict[str, Any], more: dict[str, Any], otherwise: dict[str, Any]
) -> None:
    assert read(RowMap.read(map), WHOLE | more) == otherwise


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"amount": "ten"}, "amount: The amount cannot be read."),
        ({"amount": None}, "it has no amount."),
        ({"currency": None}, "amount: the record names no currency."),
        ({"version": None, "system": " "}, "it has no system and no version."),
        ({"reference": "a\nb"}, "reference has control characters, or some that cannot be seen."),
        ({"reference": None}, "it has no reference."),
    ],
)
def test_what_of_a_row_cannot_be_read_is_said_and_never_guessed(more: dict[str, Any], why: str) -> None:
    assert rows.read(RowMap(), WHOLE | more, template=TEMPLATE).why == f"It cannot be read: {why}"


def test_where_the_type_has_no_template_the_reference_is_the_key() -> None:
    assert read(RowMap(), WHOLE, template="") == {"reference": "483"}


def test_what_stands_in_a_part_of_a_key_never_makes_another_ones() -> None:
    """As keys are made everywhere: a slash within a part is none of the key's own."""
    found = rows.read(RowMap(), WHOLE | {"reference": "4/83"}, template=TEMPLATE)
    assert found.reference == "order/shop/4%2F83/v1"
