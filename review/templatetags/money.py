"""Amounts for templates, in the currency's own decimals."""

from decimal import Decimal

from django import template

from review import amounts

register = template.Library()


@register.filter
def money(amount: Decimal | str | None, currency: str) -> str:
    """Write an amount, thousands apart: "1 240.00"; a dash where there is none."""
    return amounts.show(amount, currency)
