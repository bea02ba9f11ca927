"""References as exports write them: letter by letter, and what a spreadsheet has damaged is never matched."""

from dataclasses import dataclass

from reconcile.histories.reading import SHORTENED
from reconcile.statements.layouts import Cell

TEXT_MAX = 200
KEPT = 15
"""How many digits of a number a spreadsheet keeps; it writes noughts for the others."""
SURE = 3
"""How many noughts behind them are no chance: one in a thousand would end so by itself."""


@dataclass
class Evidence:
    """What the long numbers among the references of a file say: whether a spreadsheet has cut all of them."""

    noughts: int = 0
    others: bool = False

    def see(self, cell: Cell) -> None:
        """Look at one reference."""
        text = str(cell).strip()
        if is_long(text):
            behind = text[KEPT:]
            self.others = self.others or bool(behind.strip("0"))
            self.noughts += len(behind)

    @property
    def cut(self) -> bool:
        """Say whether they are cut: each ends in noughts, and there are too many of those for chance."""
        return self.noughts >= SURE and not self.others


def is_long(text: str) -> bool:
    """Say whether it is a number of more digits than a spreadsheet keeps."""
    return len(text) > KEPT and text.isascii() and text.isdigit()


def wrong(text: str, *, cut: bool) -> str:
    """Say what is wrong with a reference, empty where nothing is."""
    if not text:
        return "it has no reference"
    if len(text) > TEXT_MAX:
        return f"its reference has more than {TEXT_MAX} characters"
    if not text.isprintable():
        odd = {letter for letter in text if not letter.isprintable()}
        if all(letter.isspace() and letter not in "\t\n\r\v\f" for letter in odd):
            return "its reference has a blank of another kind in it, such as a no-break space"
        return "its reference has a control character"
    if text[0] == "'" and text[1:2] in set("0123456789=+-@"):
        return f"its reference {text} has an apostrophe before it, as spreadsheets are told what is text"
    if cut and is_long(text):
        return f"its reference {text} was cut by a spreadsheet: behind 15 digits all of them have noughts"
    if ("E" in text or "e" in text) and SHORTENED.fullmatch(text):
        return f"its reference {text} was shortened by a spreadsheet: its digits are lost"
    return ""
