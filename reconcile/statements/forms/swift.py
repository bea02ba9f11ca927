"""MT940 and MT942 (SWIFT): entries as the library reads them, a statement at a time, proved by the balances.

Fields 20, 60, 61, 62, 86 and 90 of the Category 9 message reference guide. Each entry is one field 61; RC
takes away and RD gives back.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import mt940

from reconcile.histories.files import FileRefused
from reconcile.statements.forms.bank import Control, Entry, laid_out, proved
from reconcile.statements.layouts import Layout
from reconcile.statements.opening import File, lines

BLOCK_MAX = 8 * 2**20
"""How many characters one statement may have: it stands in memory."""
BEGINS = re.compile(r"^:20:", re.MULTILINE)
ACCOUNT = re.compile(r"^:2[58][A-Z]?:", re.MULTILINE)
STRICT = re.compile(r":61:\d{6}(?:\d{4}|\s{4})?R?[CD][A-Z]?\s?\d{1,15},\d{0,4}(?![\d.,])", re.IGNORECASE)
END_TO_END = re.compile(r"/EREF/([^/]+)")
OPENING = ("final_opening_balance", "intermediate_opening_balance", "opening_balance")
CLOSING = ("final_closing_balance", "intermediate_closing_balance", "closing_balance")


@dataclass(frozen=True)
class _Block:
    """One statement: its text, on which line it begins, and on which lines its entries do."""

    text: str
    begins: int
    entries: list[int]


def is_swift(head: str) -> bool:
    """Say whether a text begins as such a statement does, whatever stands around it."""
    return bool(BEGINS.search(head) and ACCOUNT.search(head))


def look(file: File) -> Layout:
    """Prove the statements by their balances; FileRefused where one is not whole."""
    encoding = file.encoding()
    controls = []
    interim = False
    for block in _blocks(file, encoding):
        interim = interim or "\n:34F:" in block.text or "\n:13D:" in block.text
        controls.append(_control(f"The statement on line {block.begins}", _read(file, block)))
    if not controls:
        raise FileRefused(f"{file.name} holds no statement.")
    form = "MT942" if interim else "MT940"
    return laid_out(file, form, partial(_entries, file, encoding), proved(file, controls))


def _blocks(file: File, encoding: str) -> Iterator[_Block]:
    held: list[str] = []
    begins, size = 0, 0
    entries: list[int] = []
    with file.text(encoding) as text:
        for number, line in enumerate(lines(text, file.name), 1):
            line = line.removeprefix("\ufeff").rstrip("\r\n")
            if line.startswith((":20:", "-}")) or line == "-":
                if held:
                    yield _Block("\n".join(held), begins, entries)
                held, begins, size, entries = [], number, 0, []
            if not held and not line.startswith(":20:"):
                if re.match(r":\d\d[A-Z]?:", line):
                    raise FileRefused(
                        f"Line {number} of {file.name} stands outside of a statement: {line[:20]}…"
                    )
                continue
            if line.startswith(":61:"):
                entries.append(number)
                if not STRICT.match(line):
                    raise FileRefused(
                        f"Line {number} of {file.name} is no entry that can be read: {line[:40]}"
                    )
            held.append(line)
            size += len(line)
            if size > BLOCK_MAX:
                raise FileRefused(f"The statement on line {begins} of {file.name} has more than 8 MB.")
    if held:
        yield _Block("\n".join(held), begins, entries)


def _read(file: File, block: _Block) -> Any:
    """Read a statement; FileRefused where a field is none, or an entry would be lost."""
    statement = mt940.models.Transactions(options=mt940.Options.all())
    try:
        statement.parse(block.text)
    except (ArithmeticError, RuntimeError, ValueError, KeyError, TypeError) as error:
        said = str(error.args[0] if error.args else error).partition("\n")[0][:80]
        raise FileRefused(
            f"The statement on line {block.begins} of {file.name} cannot be read: {said}"
        ) from None
    found = sum("status" in entry.data for entry in statement)
    if found != len(block.entries):
        raise FileRefused(
            f"The statement on line {block.begins} of {file.name} has {len(block.entries)} entries, and"
            f" {found} could be read."
        )
    return statement


def _control(name: str, statement: Any) -> Control:
    opening, closing = (
        next((statement.data[key].amount.amount for key in keys if key in statement.data), None)
        for keys in (OPENING, CLOSING)
    )
    control = Control(name, opening, closing)
    for entry in statement:
        if "status" in entry.data:
            control.add(entry.data["amount"].amount)
    for claim, key in (("credits", "sum_credit_entries"), ("debits", "sum_debit_entries")):
        if key in statement.data:
            control.claims[claim] = abs(statement.data[key].amount)
    return control


def _entries(file: File, encoding: str) -> Iterator[Entry]:
    for block in _blocks(file, encoding):
        entries = (entry.data for entry in _read(file, block) if "status" in entry.data)
        for line, data in zip(block.entries, entries, strict=True):
            yield _entry(line, data)


def _entry(line: int, data: dict[str, Any]) -> Entry:
    amount: Decimal = data["amount"].amount
    details = (data.get("transaction_details") or "").replace("\n", "")
    eref = END_TO_END.search(details)
    return Entry(
        line,
        amount,
        data["amount"].currency or "",
        data.get("entry_date") or data["date"],
        data["date"],
        end_to_end=_text(data, "end_to_end_reference") or (eref[1] if eref else ""),
        bank=_text(data, "bank_reference"),
        owner=_text(data, "customer_reference"),
        text=details[:200],
    )


def _text(data: dict[str, Any], name: str) -> str:
    return (data.get(name) or "").strip()
