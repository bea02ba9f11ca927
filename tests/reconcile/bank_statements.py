"""Made-up statements of banks, in the forms that banks send."""

from collections.abc import Mapping

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


def mt940(*fields: str, opening: str = "C251230EUR100,00", closing: str = "", envelope: bool = False) -> str:
    """Return one statement of MT940; a field is what stands behind its first colon."""
    ends = f":62F:{closing}\r\n" if closing else ""
    inside = "".join(f":{field}\r\n" for field in fields)
    text = f":20:S\r\n:25:ACCOUNT\r\n:28C:1/1\r\n:60F:{opening}\r\n{inside}{ends}-"
    return f"{{1:F01BANK}}{{2:I940}}{{4:\r\n{text}}}\r\n" if envelope else f"{text}\r\n"


def ofx(version: int, *entries: Mapping[str, str | Mapping[str, str]]) -> str:
    """Return a statement of OFX in euros; version 1 leaves the ends of its values out."""

    def held(values: Mapping[str, str | Mapping[str, str]]) -> str:
        return "".join(
            f"<{name}>{value}" + (f"</{name}>" if version == 2 else "\n")
            if isinstance(value, str)
            else f"<{name}>{held(value)}</{name}>"
            for name, value in values.items()
        )

    head = "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nENCODING:USASCII\nCHARSET:1252\n\n"
    if version == 2:
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<?OFX OFXHEADER="200" VERSION="211"?>\n'
    inside = "".join(f"<STMTTRN>{held(entry)}</STMTTRN>" for entry in entries)
    statement = f"{held({'CURDEF': 'EUR'})}<BANKTRANLIST>{inside}</BANKTRANLIST>"
    return (
        f"{head}<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>{statement}</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
    )
