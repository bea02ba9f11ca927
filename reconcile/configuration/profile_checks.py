"""What is checked of a profile beyond its lines: what its form has no use for, and its columns."""

from reconcile.configuration.sections import Part
from reconcile.configuration.type_checks import check_zone
from reconcile.configuration.wrongs import Wrongs
from reconcile.statements.profiles.rules import ProfileRules

OF_BANKS = ("camt", "mt940", "ofx")
USELESS = {
    "encoding": ("xlsx", "camt", "ofx"),
    "separator": ("xlsx", "json", *OF_BANKS),
    "header": ("json", *OF_BANKS),
    "sheet": ("csv", "json", *OF_BANKS),
    "decimal": OF_BANKS,
    "days": OF_BANKS,
    "timezone": OF_BANKS,
    "unit": OF_BANKS,
    "sums": OF_BANKS,
    "trailer": ("json", *OF_BANKS),
}
"""Which lines say nothing in which forms: those settle it themselves, or have no such thing."""


def check_profile(part: Part, wrongs: Wrongs) -> None:
    """Check one profile."""
    check_zone(part.raw.get("timezone"), (*part.path, "timezone"), wrongs)
    form = part.raw.get("form")
    for name, forms in USELESS.items():
        if name in part.raw and form in forms:
            wrongs.add((*part.path, name), f"A file of form {form} has no use for it.", "Leave the line out.")
    rules = part.get("head", ProfileRules)
    if rules is None:
        return
    columns, path = rules.columns, (*part.path, "columns")
    if columns.amount and (columns.debit or columns.credit):
        remedy = "Name the one, or debit and credit."
        wrongs.add(path, "An amount and debit or credit are named: which of them counts?", remedy)
    if bool(columns.debit) != bool(columns.credit):
        wrongs.add(path, "Of debit and credit one alone is named.", "Name both, or an amount.")
    names = [name for name in rules.named.values() if name]
    if len(set(names)) < len(names):
        wrongs.add(path, "Two parts are named to stand in one column.", "Name another column.")
