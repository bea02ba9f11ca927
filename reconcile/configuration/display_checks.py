"""What is checked of the display's rates beyond their lines: currencies, rates, and the day."""

import re
from datetime import date
from decimal import Decimal

from ledger.rules import money
from reconcile.configuration.sections import Part
from reconcile.configuration.wrongs import Path, Wrongs

_RATE = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def check_display(part: Part, wrongs: Wrongs) -> None:
    """Check the rates of the display."""
    own, day = part.raw.get("currency"), part.raw.get("as_of")
    if isinstance(own, str):
        _check_currency(own, (*part.path, "currency"), wrongs)
    for currency, rate in part.under("rates").items():
        place: Path = (*part.path, "rates", currency)
        _check_currency(currency, place, wrongs)
        if currency == own:
            wrongs.add(place, f"{currency} is what the others are counted in.", "Leave the line out.")
        elif isinstance(rate, str) and not (_RATE.fullmatch(rate) and Decimal(rate) > 0):
            remedy = f'Write what one {currency} is worth, as text: {currency} = "18.20".'
            wrongs.add(place, f'"{rate}" is no rate.', remedy)
    if isinstance(day, str) and not _is_day(day):
        remedy = 'Write the day that the rates are of: as_of = "2026-11-27".'
        wrongs.add((*part.path, "as_of"), f'"{day}" is no day.', remedy)


def _check_currency(currency: str, path: Path, wrongs: Wrongs) -> None:
    try:
        money.decimals(currency)
    except money.UnknownCurrency as error:
        wrongs.add(path, error.detail, "Write the code in capitals, such as ZAR.")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
