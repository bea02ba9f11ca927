"""Money: text becomes an exact amount of a known currency here, at one door, and nowhere else.

Decimals come from ISO 4217, as published on 2026-01-01. Codes without decimals of their own (metals, test
codes, units of account) are not money here. Codes withdrawn since 2023 are still read, because books still
hold them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from typing import Literal

from ledger.rules.errors import AmountNotText, MoneyError, TooManyDecimals, UnknownCurrency

__all__ = [
    "AmountNotText",
    "Money",
    "MoneyError",
    "TooManyDecimals",
    "UnknownCurrency",
    "decimals",
    "minor",
    "parse",
    "read",
    "read_currency",
    "show",
    "text",
    "written",
]

Unit = Literal["major", "minor"]

INTEGER_DIGITS = 15
"""The most digits before the point; the column is numeric(20,4)."""

_TWO_DECIMALS = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
    CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL
    MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR
    PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
    TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG
    """.split()
)
_WITHDRAWN = frozenset("ANG BGN CUC HRK SLL ZWL".split())
_OTHER_DECIMALS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
DECIMALS = dict.fromkeys(_TWO_DECIMALS | _WITHDRAWN, 2) | {
    code: places for places, codes in _OTHER_DECIMALS.items() for code in codes.split()
}
"""Every known currency, and how many decimals it has."""

# Thirty-eight digits hold any sum of a run; a step that would round stops instead.
_EXACT = Context(prec=38, traps=[Inexact, InvalidOperation, Overflow, DivisionByZero])
_PLAIN = re.compile(r"-?[0-9]+(?:\.([0-9]+))?")
_AS_PUBLISHED: Mapping[str, int] = {}
_NO_BREAK_SPACE = "\u00a0"


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in major units, with as many decimals as its currency has."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        """Bring the amount to its currency's decimals without rounding; raises MoneyError."""
        if not isinstance(self.amount, Decimal):
            raise MoneyError("An amount is a Decimal; text becomes one through money.parse.")
        object.__setattr__(self, "amount", _exact(self.amount, self.currency))


def decimals(currency: str) -> int:
    """Return how many decimals a currency has (ISO 4217); raises UnknownCurrency."""
    if currency in DECIMALS:
        return DECIMALS[currency]
    if isinstance(currency, str) and currency.upper() in DECIMALS:
        raise UnknownCurrency(f"Write the currency in capitals: {currency.upper()}.")
    raise UnknownCurrency("The currency is not a known ISO 4217 code of three letters, such as ZAR.")


def parse(value: str, currency: str) -> Money:
    """Read an amount that a caller or a person wrote, as "-1240.00"; raises MoneyError with what to write.

    Digits, at most one point, at most a leading minus; no more decimals than the currency has; at most 15
    digits before the point.
    """
    if not isinstance(value, str):
        raise AmountNotText('The amount is not text. Write it in quotes, as "1240.00".')
    places = decimals(currency)
    match = _PLAIN.fullmatch(value)
    if match is None:
        raise MoneyError(_what_is_wrong(value))
    if len(match[1] or "") > places:
        raise TooManyDecimals(f"The amount has {len(match[1])} decimals; {currency} has {places or 'none'}.")
    return _limited(Decimal(value), currency)


def read(
    value: object,
    unit: Unit = "major",
    *,
    currency: object,
    minor_decimals: Mapping[str, int] = _AS_PUBLISHED,
) -> Money:
    """Read an amount as a destination returned it, decoded by `loads_decimal`; raises MoneyError.

    Text or an exact number, in major units or (`unit="minor"`) in the currency's smallest; nothing is guessed
    or rounded: decimals beyond the currency's are nought, as in "10.5000". `minor_decimals`: by currency,
    where the destination's smallest unit is another one than ISO 4217's.
    """
    code = read_currency(currency)
    amount = _number(value)
    if unit == "minor":
        amount = _from_minor(amount, code, minor_decimals.get(code, decimals(code)))
    return _limited(amount, code)


def minor(money: Money, *, minor_decimals: Mapping[str, int] = _AS_PUBLISHED) -> int:
    """Return an amount in the currency's smallest unit, or the destination's; raises MoneyError."""
    places = minor_decimals.get(money.currency, decimals(money.currency))
    amount = money.amount.scaleb(places, context=_EXACT)
    if amount != amount.to_integral_value():
        raise TooManyDecimals(
            f"The amount has more decimals than the {places} that {money.currency} has here."
        )
    return int(amount)


def read_currency(value: object) -> str:
    """Read a currency as a destination returned it, in capitals or not; raises UnknownCurrency."""
    code = value.upper() if isinstance(value, str) and value.isascii() else ""
    decimals(code)
    return code


def text(money: Money) -> str:
    """Write an amount for an API or a file: "1240.00"."""
    return f"{money.amount:f}"


def written(amount: Decimal, currency: str) -> str:
    """Return the text of an amount in major units, as `text` does of money; raises MoneyError."""
    if type(amount) is not Decimal:
        return text(Money(amount, currency))  # looked at there
    return _written(str(amount), currency)


@lru_cache(maxsize=1024)
def _written(amount: str, currency: str) -> str:
    # One operation's amount is written five times on its way.
    return text(Money(Decimal(amount), currency))


def show(money: Money) -> str:
    """Write an amount for a screen, thousands apart by no-break spaces: "1 240.00"."""
    return f"{money.amount:,f}".replace(",", _NO_BREAK_SPACE)


def _number(value: object) -> Decimal:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) is None:
            raise MoneyError(_what_is_wrong(value))
        return Decimal(value)
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float):
        raise MoneyError(
            "The amount is a binary float, which is not exact; decode the answer with loads_decimal."
        )
    if isinstance(value, dict | list):
        raise MoneyError(
            "The amount is not one value; point its path at the number inside, as in total.decimal."
        )
    raise MoneyError("There is no amount: neither text nor a number.")


def _from_minor(amount: Decimal, currency: str, places: int) -> Decimal:
    if amount != amount.to_integral_value():
        raise MoneyError(f"The amount is not whole, yet it is read in minor units of {currency}.")
    sign, digits, exponent = amount.as_tuple()
    assert isinstance(exponent, int)  # only NaN and infinity have another kind
    return Decimal((sign, digits, exponent - places))


def _limited(amount: Decimal, currency: str) -> Money:
    money = Money(amount, currency)
    if money.amount.copy_abs() >= 10**INTEGER_DIGITS:
        raise MoneyError(f"The amount has more than {INTEGER_DIGITS} digits before the point.")
    return money


def _exact(amount: Decimal, currency: str) -> Decimal:
    places = decimals(currency)
    try:
        exact = amount.quantize(Decimal(1).scaleb(-places), context=_EXACT)
    except Inexact:
        raise TooManyDecimals(
            f"The amount has more decimals than {currency}, which has {places or 'none'}."
        ) from None
    except DecimalException:
        raise MoneyError("The amount is not a number of a size that can be kept.") from None
    # Minus nought and nought are one amount, and must give one text.
    return exact.copy_abs() if exact.is_zero() else exact


def _what_is_wrong(value: str) -> str:
    plain = 'Write digits and a point, as "1240.00" or "-1240.00".'
    if not value.strip():
        return f"The amount is blank. {plain}"
    if value != value.strip() or re.search(r"\d[\s,'’_]\d", value):
        return f"The amount has blanks, commas or thousands separators. {plain}"
    if re.fullmatch(r"[-+]?[0-9.]+[eE][-+]?[0-9]+", value):
        return f"The amount is in exponent notation. {plain}"
    if value.lower().lstrip("+-") in {"nan", "snan", "inf", "infinity"}:
        return f"The amount is not a number. {plain}"
    if value.startswith("+"):
        return f"The amount has a plus sign. {plain}"
    return f"The amount cannot be read. {plain}"
