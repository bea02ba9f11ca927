"""Money is read exactly or refused, at the API's door and from what destinations return."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.errors import TieoutError
from ledger.rules.money import (
    DECIMALS,
    AmountNotText,
    Money,
    MoneyError,
    TooManyDecimals,
    UnknownCurrency,
    minor,
    parse,
    read,
    read_currency,
    show,
    text,
)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "blank"),
        ("  ", "blank"),
        (" 10.00", "blanks"),
        ("10.00\n", "blanks"),
        ("1 240.00", "thousands"),
        ("1\u00a0240.00", "thousands"),
        ("1,240.00", "commas"),
        ("10,50", "commas"),
        ("3,50,496.69", "commas"),
        ("1'240.00", "thousands"),
        ("1_240.00", "thousands"),
        ("1e3", "exponent"),
        ("1E+2", "exponent"),
        ("NaN", "not a number"),
        ("-Infinity", "not a number"),
        ("+10.00", "plus"),
        ("--10.00", "cannot be read"),
        ("−10.00", "cannot be read"),
        ("(10.00)", "cannot be read"),
        ("10.00-", "cannot be read"),
        ("R 10.00", "cannot be read"),
        ("10.", "cannot be read"),
        (".50", "cannot be read"),
        ("1.2.3", "cannot be read"),
        ("٣.٠٠", "cannot be read"),
        ("0x10", "cannot be read"),
    ],
)
def test_an_amount_that_is_not_plain_digits_is_refused_in_words(written: str, says: str) -> None:
    with pytest.raises(MoneyError, match=says):
        parse(written, "ZAR")


@pytest.mark.parametrize("number", [10, 10.5, Decimal("10.50"), None, True, ["10.50"]])
def test_an_amount_that_is_not_text_is_refused(number: object) -> None:
    with pytest.raises(AmountNotText, match="quotes"):
        parse(number, "ZAR")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "currency"),
    [("10.001", "ZAR"), ("10.000", "ZAR"), ("10.0", "JPY"), ("1.0001", "BHD"), ("1.00001", "CLF")],
)
def test_more_decimals_than_the_currency_has_are_refused(written: str, currency: str) -> None:
    with pytest.raises(TooManyDecimals, match="decimals"):
        parse(written, currency)


def test_fifteen_digits_before_the_point_are_the_most() -> None:
    assert text(parse("9" * 15 + ".9999", "CLF")) == "9" * 15 + ".9999"
    with pytest.raises(MoneyError, match="15 digits"):
        parse("1" + "0" * 15, "ZAR")
    with pytest.raises(MoneyError):
        parse("9" * 100_000, "ZAR")


@pytest.mark.parametrize("code", ["", "RAND", "XAU", "XDR", "XTS", "ZA", "ZAR ", "ＺＡＲ"])
def test_a_currency_that_is_not_known_is_refused(code: str) -> None:
    with pytest.raises(UnknownCurrency, match="ISO 4217"):
        parse("10.00", code)


def test_a_callers_currency_is_written_in_capitals() -> None:
    with pytest.raises(UnknownCurrency, match="ZAR"):
        parse("10.00", "zar")
    assert read_currency("zar") == "ZAR"


@pytest.mark.parametrize("found", [None, 710, "", "ß", ["ZAR"]])
def test_a_destinations_currency_that_is_not_known_is_refused(found: object) -> None:
    with pytest.raises(UnknownCurrency):
        read_currency(found)


def test_known_failure_55_ten_is_one_amount_however_it_is_written() -> None:
    assert parse("10", "ZAR") == parse("10.0", "ZAR") == parse("10.00", "ZAR") == parse("010.00", "ZAR")
    assert text(parse("10", "ZAR")) == "10.00"
    assert text(Money(Decimal("10.0000"), "ZAR")) == "10.00"
    assert text(parse("-0.00", "ZAR")) == text(parse("0", "ZAR")) == "0.00"


@pytest.mark.parametrize(
    ("found", "unit", "currency", "amount"),
    [
        ("10.50", "major", "ZAR", "10.50"),
        ("10.5000", "major", "ZAR", "10.50"),
        ("-10.50", "major", "ZAR", "-10.50"),
        (10, "major", "ZAR", "10.00"),
        (Decimal("10.5"), "major", "ZAR", "10.50"),
        (Decimal("1E+3"), "major", "ZAR", "1000.00"),
        (1050, "minor", "ZAR", "10.50"),
        ("1050", "minor", "ZAR", "10.50"),
        ("-1050", "minor", "ZAR", "-10.50"),
        (Decimal("1050.0"), "minor", "ZAR", "10.50"),
        (1050, "minor", "JPY", "1050"),
        (1050, "minor", "KWD", "1.050"),
    ],
)
def test_known_failure_55_units_are_stated_and_read_exactly(
    found: object, unit: str, currency: str, amount: str
) -> None:
    assert text(read(found, unit, currency=currency)) == amount  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "unit", "says"),
    [
        (10.5, "major", "float"),
        (10.0, "minor", "float"),
        (True, "major", "neither"),
        (None, "major", "neither"),
        ("", "major", "blank"),
        ("n/a", "major", "cannot be read"),
        ("10.505", "major", "decimals"),
        (Decimal("10.505"), "major", "decimals"),
        ("10.50", "minor", "not whole"),
        (Decimal("NaN"), "major", "neither"),
        (Decimal("1E+999999"), "major", "size"),
        (Decimal("1E-999999"), "major", "decimals"),
        (10**400, "minor", "size"),
        (10**16, "major", "15 digits"),
        ({"decimal": "10.50"}, "major", "point its path"),
        (["10.50"], "major", "point its path"),
    ],
)
def test_known_failure_55_an_amount_that_cannot_be_read_is_never_nought(
    found: object, unit: str, says: str
) -> None:
    with pytest.raises(MoneyError, match=says):
        read(found, unit, currency="ZAR")  # type: ignore[arg-type]


def test_a_screen_sets_thousands_apart_by_no_break_spaces() -> None:
    assert show(parse("1240.00", "ZAR")) == "1\u00a0240.00"
    assert show(parse("-1234567.5", "ZAR")) == "-1\u00a0234\u00a0567.50"
    assert show(parse("999", "JPY")) == "999"


def test_a_sum_larger_than_one_amount_may_be_can_still_be_shown() -> None:
    assert show(Money(Decimal(10) ** 20, "ZAR")).endswith("\u00a0000.00")


def test_money_is_never_made_of_a_float() -> None:
    with pytest.raises(MoneyError):
        Money(10.5, "ZAR")  # type: ignore[arg-type]


def test_every_refusal_of_money_is_a_value_error_of_the_one_tree() -> None:
    for kind in (MoneyError, AmountNotText, TooManyDecimals, UnknownCurrency):
        assert issubclass(kind, ValueError)
        assert issubclass(kind, TieoutError)
        assert kind.status == 400


@given(
    st.sampled_from(sorted(DECIMALS)),
    st.integers(min_value=-(10**15) + 1, max_value=10**15 - 1),
)
def test_minor_units_text_and_screen_say_the_same_amount(currency: str, minor: int) -> None:
    money = read(minor, "minor", currency=currency)
    assert parse(text(money), currency) == money
    assert show(money).replace("\u00a0", "") == text(money)
    assert money.amount * 10 ** DECIMALS[currency] == minor


@given(st.text(max_size=12))
def test_any_text_is_read_exactly_or_refused(written: str) -> None:
    try:
        money = parse(written, "ZAR")
    except MoneyError:
        return
    assert money.amount == Decimal(written)


def test_a_destinations_own_smallest_units_count_both_ways() -> None:
    """Some count hundredths of currencies that have none, or whole ones of currencies that do."""
    own = {"ISK": 2, "MGA": 0}
    assert read(50000, "minor", currency="ISK", minor_decimals=own) == parse("500", "ISK")
    assert read(50000, "minor", currency="JPY", minor_decimals=own) == parse("50000", "JPY")
    assert read(1000, "minor", currency="BHD") == parse("1.000", "BHD")
    assert read(7, "minor", currency="MGA", minor_decimals=own) == parse("7.00", "MGA")
    with pytest.raises(TooManyDecimals):
        read(50050, "minor", currency="ISK", minor_decimals=own)
    assert minor(parse("500", "ISK"), minor_decimals=own) == 50000
    assert minor(parse("-12.40", "ZAR")) == -1240
    assert minor(parse("1.234", "BHD")) == 1234
    with pytest.raises(TooManyDecimals):
        minor(parse("7.50", "MGA"), minor_decimals=own)
