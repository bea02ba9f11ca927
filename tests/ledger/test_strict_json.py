"""JSON is read so that no other reader could have seen another payload, or it is refused with its path."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.digests import canonical
from ledger.rules.errors import DuplicateMember, Malformed, NumberNotExact
from ledger.rules.strict_json import loads, loads_decimal

DEEPEST = 64


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "line 1"),
        (b"{} {}", "Extra data"),
        (b"[1,]", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b"[01]", "not JSON"),
        (b'["a\nb"]', "not JSON"),
        (b'["\xff"]', r"not UTF-8 \(byte 3\)"),
        (b'["\xed\xa0\x80"]', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": ["\\ud800"]}', r"a\.0 has half of a surrogate"),
        (b'{"\\udfff": 1}', "half of a surrogate"),
    ],
)
def test_what_is_not_json_of_whole_characters_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        loads(data)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b'{"a": 1, "a": 1}', "$"),
        (b'{"lines": [{}, {"x": {"total": 1, "total": 2}}]}', "lines.1.x"),
        (b'{"a": 1, "\\u0061": 2}', "$"),
    ],
)
def test_known_failure_22_a_member_named_twice_is_refused(data: bytes, path: str) -> None:
    for reader in (loads, loads_decimal):
        with pytest.raises(DuplicateMember) as caught:
            reader(data)
        assert caught.value.members == {"path": path}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_known_failure_22_what_json_does_not_have_is_refused(number: str) -> None:
    for reader in (loads, loads_decimal):
        with pytest.raises(NumberNotExact, match=r"^a\.0 is -?(NaN|Infinity)"):
            reader(f'{{"a": [{number}]}}'.encode())


@pytest.mark.parametrize(
    "number",
    [
        "9007199254740992",
        "-9007199254740992",
        "1" + "0" * 5000,
        "9007199254740993.0",
        "1e20",
        "123456789012345678e-2",
        "0.123456789012345678",
        "1e400",
        "-1e400",
        "1e-400",
    ],
)
def test_known_failure_22_a_number_that_would_change_is_refused_with_its_path(number: str) -> None:
    with pytest.raises(NumberNotExact) as caught:
        loads(f'{{"lines": [{{"total": {number}}}]}}'.encode())
    assert caught.value.members == {"path": "lines.0.total"}
    assert "send it as text" in caught.value.detail
    assert number not in caught.value.detail


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("9007199254740991", 2**53 - 1),
        ("-9007199254740991", -(2**53) + 1),
        ("-0", 0),
        ("-0.0", 0),
        ("0e999", 0),
        ("1e6", 1_000_000),
        ("0.1", 0.1),
        ("1.10", 1.1),
        ("0.30000000000000004", 0.30000000000000004),
        ("333333333.33333329", 333333333.3333333),
        ("1E30", 1e30),
        ("0.000000000000000000000000001", 1e-27),
        ("1000.000000000000000000000", 1000),
    ],
)
def test_a_number_that_a_double_holds_is_taken(number: str, value: float) -> None:
    assert loads(number.encode()) == value


def test_nesting_is_taken_to_64_levels_and_no_further() -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        value = "1"
        for _ in range(DEEPEST):
            value = opening + value + closing
        assert loads(value.encode())
        for times in (1, 100_000):
            with pytest.raises(Malformed, match="deeper than 64"):
                loads((opening * times + value + closing * times).encode())


def test_a_long_path_is_clipped() -> None:
    with pytest.raises(DuplicateMember) as caught:
        loads(json.dumps({"n" * 5000: "@"}).replace('"@"', '{"a":1,"a":1}').encode())
    assert len(caught.value.detail) < 300


def test_a_destinations_numbers_are_read_as_exact_decimals() -> None:
    assert loads_decimal(b'{"total": 10.50, "id": 12345678901234567890123}') == {
        "total": Decimal("10.50"),
        "id": 12345678901234567890123,
    }
    assert (
        str(loads_decimal(b"0.1000000000000000055511151231257827")) == "0.1000000000000000055511151231257827"
    )


def test_a_destinations_byte_order_mark_is_taken() -> None:
    assert loads_decimal(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("data", [b"<html>", b"1" * 5000, b"1e99999999999999999999", b'{"id": "INV-'])
def test_a_destinations_answer_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        loads_decimal(data)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda x: not (x.is_integer() and 2**53 <= abs(x) < 1e21)
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_is_read_can_be_written_canonically_and_read_again(value: object) -> None:
    once = loads(json.dumps(value).encode())
    assert once == value
    assert canonical(loads(canonical(once))) == canonical(once)


@given(st.binary(max_size=40) | st.text('[]{}",:01e.-+\\ua', max_size=20).map(str.encode))
def test_any_bytes_are_read_or_refused_in_words(data: bytes) -> None:
    for reader in (loads, loads_decimal):
        said, value = "", None
        try:
            value = reader(data)
        except Malformed as error:
            said = error.detail
        assert said.isprintable()
        assert not isinstance(value, float) or math.isfinite(value)
