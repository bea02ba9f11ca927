"""Made-up statements of banks, in the forms that banks send."""

BOOKED = "<Sts>BOOK</Sts>"


def entry(
    amount: str, sign: str, *details: str, status: str = BOOKED, reversal: bool = False, bank: str = "X"
) -> str:
    """Return an entry of camt; each detail is what stands inside of it."""
    reversed_ = "<RvslInd>true</RvslInd>" if reversal else ""
    inside = "".join(f"<TxDtls>{detail}</TxDtls>" for detail in details)
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{sign}</CdtDbtInd>{reversed_}{status}'
        f"<BookgDt><Dt>2026-11-02</Dt></BookgDt><AcctSvcrRef>{bank}</AcctSvcrRef>"
        f"<NtryDtls>{inside}</NtryDtls></Ntry>"
    )


def camt(*entries: str, opening: str = "100.00", closing: str = "", summary: str = "") -> str:
    """Return camt.053 with one statement; without a closing balance it has none."""

    def balance(code: str, amount: str) -> str:
        sign = "DBIT" if amount.startswith("-") else "CRDT"
        return (
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
            f'<Amt Ccy="EUR">{amount.lstrip("-")}</Amt><CdtDbtInd>{sign}</CdtDbtInd></Bal>'
        )

    balances = balance("OPBD", opening) + balance("CLBD", closing) if closing else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>'
        f"<Id>1</Id>{balances}{summary}{''.join(entries)}</Stmt></BkToCstmrStmt></Document>"
    )


def ids(end_to_end: str, amount: str = "", sign: str = "") -> str:
    """Return what stands in a detail."""
    held = f"<Refs><EndToEndId>{end_to_end}</EndToEndId></Refs>"
    held += f'<Amt Ccy="EUR">{amount}</Amt>' if amount else ""
    return held + (f"<CdtDbtInd>{sign}</CdtDbtInd>" if sign else "")
