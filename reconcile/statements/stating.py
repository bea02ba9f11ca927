"""How a file is to be read, as far as a person has stated it; what is not stated the file itself decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BOXES = {
    "encoding": "Encoding",
    "decimal": "Decimal mark",
    "days": "Days",
    "columns": "Columns",
    "sheet": "Sheet",
    "unit": "Amounts in",
    "totals": "Totals in the file",
    "profile": "Profile",
}
"""What states something on a page."""
SETTLED = {
    "unit": "it says itself that amounts are in whole units",
    "decimal": "no amount in it needs a decimal mark",
    "days": "no day in it needs an order",
    "encoding": "it says itself how its text is written",
}
"""Why something is not to be stated."""


@dataclass(frozen=True)
class How:
    """How a file is to be read, as far as it was stated; what is empty is decided by the file itself."""

    side: str
    """`source` or `destination`: what the options that state it begin with."""
    named: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    decimal: str = ""
    """`point` or `comma`."""
    days: str = ""
    """`dmy` or `mdy`."""
    sheet: str = ""
    """The sheet of a workbook; empty: the first one that can be seen."""

    unit: str = ""
    """`minor`: amounts are in the smallest units of their currency."""

    totals: str = ""
    """`told`: a total in the file that its lines do not come to is told, and does not refuse the file."""

    on_page: bool = False
    """It is stated in the boxes of a page, not by options of the command."""

    profile: str = ""
    """The profile by which it is read; what follows is said by a profile alone."""
    profile_digest: str = ""
    by_profile: frozenset[str] = frozenset()
    """What of the above only the profile says."""
    form: str = ""
    """What the file has to be: `csv`, `xlsx`, `json`, `camt`, `mt940` or `ofx`."""
    separator: str = ""
    header: int = 0
    """The line on which the header has to stand; 0: wherever it is."""
    sums: frozenset[str] = frozenset()
    """More words that a row of sums begins with, without case."""
    trailer: tuple[str, int, int] | None = None
    """What the last row begins with, and in which of its fields it has a count and a total; 0: in none."""
    negated: bool = False
    """What is taken away is written without a minus, and what is given with one."""
    timezone: str = ""
    """The zone whose day a time with an offset is of."""

    def option(self, what: str) -> str:
        """Return the option, or the box, that states something of this side's file."""
        return f"“{BOXES[what]}”" if self.on_page else f"--{self.side}-{what}"

    def remedy(self, what: str, *values: str) -> str:
        """Say how to state something that has these values."""
        option = self.option(what)
        if self.on_page:
            return f"Say which it is under {option}."
        return f"Say which it is: {' or '.join(f'{option} {value}' for value in values)}."

    def refused(self, settled: frozenset[str]) -> str:
        """Say what is stated that is settled already, and what to do about it; empty where nothing is."""
        stated = {name: getattr(self, name) for name in SETTLED}
        for what, why in SETTLED.items():
            if stated[what] and what in settled and what not in self.by_profile:
                back = f"Set {self.option(what)} back." if self.on_page else f"Leave {self.option(what)} out."
                return f"{why}. {back}"
        return ""

    @property
    def naming_sheet(self) -> str:
        """Say how to state a sheet."""
        return (
            f"Say which one it is under {self.option('sheet')}."
            if self.on_page
            else f"Name it: {self.option('sheet')} NAME."
        )

    def naming(self, part: str) -> str:
        """Say how to name the column of a part."""
        if self.on_page:
            return "choose it" + (" or write the one that all of it is in" if part == "currency" else "")
        also = ", such as currency=ZAR where all of it is in one" if part == "currency" else ""
        return f"name it with {self.option('columns')} {part}=…{also}"
