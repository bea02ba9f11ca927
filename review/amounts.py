"""Amounts in words, in the currency's own decimals."""

from decimal import Decimal

from ledger.rules import money


def show(amount: Decimal | str | None, currency: str) -> str:
    """Return "1 240.00"; a dash where there is no amount, and the bare text where it is no known money."""
    if amount is None or amount == "":
        return "–"
    try:
        return money.show(money.read(amount, currency=currency))
    except money.MoneyError:
        return str(amount)


def whole(amount: Decimal | str | None, currency: str) -> str:
    """Return "1 240.00 ZAR", in one piece; empty where there is no amount."""
    return "" if amount is None or amount == "" else f"{show(amount, currency)}\u00a0{currency}"


def signed(amount: Decimal, currency: str) -> str:
    """Return a difference: "+620.00", "−0.40", "0.00"."""
    sign = "+" if amount > 0 else "−" if amount < 0 else ""
    return f"{sign}{show(abs(amount), currency)}"
