"""camt.052, 053 and 054 (ISO 20022): entries and the details of batches, signed, and proved by the balances.

The sign is the entry's own indicator, also of a reversal; where a bank gives a reversal the sign of what is
reversed, its balances tell. From the message definition reports, versions 02 to 13: Ntry, TxDtls, Bal.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from typing import NamedTuple
from xml.etree.ElementTree import Element

from reconcile.histories.files import FileRefused
from reconcile.statements.forms import markup
from reconcile.statements.forms.bank import Control, Entry, laid_out, proved
from reconcile.statements.forms.markup import NoXml, Part, Parts
from reconcile.statements.layouts import Cell, Layout
from reconcile.statements.opening import File

KINDS = {"Stmt": "Statement", "Rpt": "Report", "Ntfctn": "Notification"}
WANTED = frozenset(("Bal", "TxsSummry", "StmtPgntn", "RptPgntn", "NtfctnPgntn", "Ntry"))
NAMESPACE = re.compile(r"camt\.05[234](?:\.\d{3}\.\d{2})?")
BOOKED, UNTOLD = "BOOK", ""
AMOUNT = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,17})?|\.[0-9]{1,17}")


class _Money(NamedTuple):
    amount: Decimal | None
    currency: str


def is_camt(head: str) -> bool:
    """Say whether a text begins as camt does."""
    return bool(NAMESPACE.search(head))


def look(file: File) -> Layout:
    """Prove the statements by their balances; FileRefused where one is not whole, or it is no camt."""
    found = NAMESPACE.search(file.head.decode("latin-1").replace("\0", ""))
    if found is None:
        raise FileRefused(f"{file.name} is XML or HTML, and no bank statement (camt, OFX) that is read here.")
    controls, unbooked = _controls(file)
    flipped = _flipped(controls)
    notes = proved(file, controls)
    notes += [f"A line of {file.name} is an entry, or a detail of a batch, counted from 1."]
    if unbooked:
        notes.append(f"Entries of {file.name} that are not booked are left out: {unbooked}.")
    if flipped:
        notes.append(f"Reversals in {file.name} carry the sign of what they reverse, as its balances prove.")
    return laid_out(
        file, found[0], partial(_entries, file, flipped=flipped), notes, also_settled=["encoding"]
    )


def _parts(file: File) -> Iterator[Part]:
    try:
        with file.raw() as raw:
            yield from markup.made(Parts(WANTED, frozenset(KINDS)), raw)
    except NoXml as error:
        raise FileRefused(f"{file.name} is no XML that can be read ({error}).") from None


def _controls(file: File) -> tuple[list[Control], int]:
    controls: list[Control] = []
    unbooked, paged = 0, False
    for name, part in _parts(file):
        if name in KINDS:
            controls.append(Control(f"{KINDS[name]} {len(controls) + 1}"))
            paged = False
        elif not controls:
            raise FileRefused(f"{file.name} has entries outside of a statement.")
        elif name == "Ntry":
            unbooked += _status(part) not in (BOOKED, UNTOLD)
            _count(part, controls[-1])
        elif name.endswith("Pgntn"):
            paged = _text(part, "PgNb") != "1" or _text(part, "LastPgInd") not in ("true", "1")
        elif not paged:  # of a page alone they prove nothing
            _claim(part, controls[-1])
    if not controls:
        raise FileRefused(f"{file.name} holds no statement.")
    return controls, unbooked


def _count(entry: Element, control: Control) -> None:
    if _status(entry) != BOOKED:
        control.claims.clear()  # they may count it
    elif (amount := _signed(entry)) is not None:
        control.add(amount, reversal=_is_reversal(entry))


def _claim(part: Element, control: Control) -> None:
    """Take a balance, or the totals that a statement states."""
    code = _text(part, "Tp/CdOrPrtry/Cd")
    if part.tag == "TxsSummry":
        control.claims = _claims(part)
    elif code == "OPBD" or (code == "PRCD" and control.opening is None):
        control.opening = _signed(part)
    elif code == "CLBD":
        control.closing = _signed(part)


def _claims(summary: Element) -> dict[str, Decimal]:
    paths = {
        "entries": "TtlNtries/NbOfNtries",
        "credits": "TtlCdtNtries/Sum",
        "debits": "TtlDbtNtries/Sum",
    }
    said = {name: _text(summary, path) for name, path in paths.items()}
    return {name: Decimal(text) for name, text in said.items() if AMOUNT.fullmatch(text)}


def _flipped(controls: list[Control]) -> bool:
    """Say whether the balances hold with every reversal the other way round, and not as it stands."""
    off = [control for control in controls if control.off]
    if not off or any(control.off != 2 * control.reversed for control in controls if control.provable):
        return False
    for control in controls:
        control.came -= 2 * control.reversed
        control.claims.clear()
    return True


def _entries(file: File, *, flipped: bool) -> Iterator[Entry]:
    number = 0
    for name, part in _parts(file):
        if name == "Ntry" and _status(part) in (BOOKED, UNTOLD):
            for made in _lines(part, flipped=flipped):
                number += 1
                yield replace(made, number=number)


def _lines(entry: Element, *, flipped: bool) -> Iterator[Entry]:
    """Yield a line for each detail of a batch that has its own amount, else one for the entry."""
    money, sign = _money(entry.find("Amt")), _sign(entry, flipped=flipped)
    details = entry.findall("NtryDtls/TxDtls")
    if _status(entry) == UNTOLD:
        why = "its status is one of the bank's own: whether it is booked cannot be told"
        yield replace(_entry(entry, details, "", money.currency), why=why)
        return
    if money.amount is None or not sign:
        why = f'the amount "{_text(entry, "Amt")[:40]}" cannot be read, or is neither credit nor debit'
        yield replace(_entry(entry, details, "", money.currency), why=why)
        return
    whole = sign * money.amount
    turned = flipped and _is_reversal(entry)
    amounts = [_of_detail(one, money.currency, sign, turned=turned) for one in details]
    if len(details) < 2 or None in amounts:
        alone = details if len(details) == 1 else []
        yield _entry(entry, alone, whole, money.currency)
        return
    total = sum(one for one in amounts if one is not None)
    why = "" if total == whole else f"the details of its batch come to {total}, and the entry to {whole}"
    for one, amount in zip(details, amounts, strict=True):
        yield replace(_entry(entry, [one], amount or Decimal(0), money.currency), why=why)


def _entry(entry: Element, details: list[Element], amount: Cell, currency: str) -> Entry:
    """Return an entry with the references of its first detail; its number is not known yet."""
    detail = details[0] if details else Element("none")
    return Entry(
        0,
        amount,
        currency,
        _day(entry, "BookgDt"),
        _day(entry, "ValDt"),
        end_to_end=_text(detail, "Refs/EndToEndId"),
        bank=_text(detail, "Refs/AcctSvcrRef") or _text(entry, "AcctSvcrRef"),
        payment=_text(detail, "RmtInf/Strd/CdtrRefInf/Ref"),
        other=_text(entry, "NtryRef"),
        text=(_text(detail, "RmtInf/Ustrd") or _text(entry, "AddtlNtryInf"))[:200],
    )


def _of_detail(detail: Element, currency: str, sign: int, *, turned: bool) -> Decimal | None:
    """Return the amount of a detail; its own indicator is turned with that of its entry."""
    money = _money(detail.find("Amt"))
    if money.amount is None:
        money = _money(detail.find("AmtDtls/TxAmt/Amt"))
    if money.amount is None or money.currency != currency:
        return None
    own = {"CRDT": 1, "DBIT": -1}.get(_text(detail, "CdtDbtInd"), 0)
    if not _text(detail, "CdtDbtInd"):
        return money.amount * sign
    return money.amount * (-own if turned else own)


def _status(entry: Element) -> str:
    """Return the status of an entry; one without any is booked, as a statement's entries are."""
    if entry.find("Sts") is None:
        return BOOKED
    return _text(entry, "Sts/Cd") or _text(entry, "Sts") or UNTOLD


def _is_reversal(entry: Element) -> bool:
    return _text(entry, "RvslInd") in ("true", "1")


def _sign(part: Element, *, flipped: bool = False) -> int:
    sign = {"CRDT": 1, "DBIT": -1}.get(_text(part, "CdtDbtInd"), 0)
    return -sign if flipped and _is_reversal(part) else sign


def _signed(part: Element) -> Decimal | None:
    amount, sign = _money(part.find("Amt")).amount, _sign(part)
    return sign * amount if amount is not None and sign else None


def _money(amount: Element | None) -> _Money:
    if amount is None:
        return _Money(None, "")
    text = (amount.text or "").strip()
    return _Money(Decimal(text) if AMOUNT.fullmatch(text) else None, amount.get("Ccy", ""))


def _day(part: Element, name: str) -> date | str:
    return (_text(part, f"{name}/Dt") or _text(part, f"{name}/DtTm"))[:10]


def _text(part: Element, path: str) -> str:
    return (part.findtext(path) or "").strip()
