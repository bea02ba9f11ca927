"""What is checked of the calls of an operation type, and of how a record is read, beyond their lines."""

from collections.abc import Iterator, Mapping

from ledger.rules import money, placeholders
from ledger.rules.calls import RecordMap
from reconcile.configuration.sections import Part
from reconcile.configuration.wrongs import Path, Wrongs, choices

SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})

_KNOWN_IN = {
    "send": placeholders.SEND,
    "lookup": placeholders.LOOKUP,
    "list": placeholders.LIST,
    "void": placeholders.LOOKUP,
}


def check_calls(part: Part, wrongs: Wrongs) -> None:
    """Check every call of one operation type."""
    for name in _KNOWN_IN:
        _check_call(part, name, wrongs)


def check_record(part: Part, wrongs: Wrongs) -> None:
    """Check how amounts are read: own decimals belong to minor units and to known currencies."""
    record, path = part.get("record", RecordMap), (*part.path, "record", "minor_decimals")
    if record is None or not record.minor_decimals:
        return
    if record.amount_unit != "minor":
        wrongs.add(path, "minor_decimals counts only in minor units.", 'Add amount_unit = "minor".')
    for currency in record.minor_decimals:
        try:
            money.decimals(currency)
        except money.UnknownCurrency as error:
            wrongs.add((*path, currency), error.detail, "Write the code in capitals, such as ISK.")


def _check_call(part: Part, name: str, wrongs: Wrongs) -> None:
    call, path = part.under(name), (*part.path, name)
    known = _KNOWN_IN[name]
    for place, template in _templates(call, path):
        if unknown := placeholders.unknown(template, known):
            what = f"Nothing can be put in place of {', '.join(f'{{{one}}}' for one in unknown)}."
            wrongs.add(place, what, choices(unknown[0], known))
    headers = call.get("headers")
    for header in headers if isinstance(headers, dict) else ():
        if header.lower() in SECRET_HEADERS:
            remedy = 'Write auth = { kind = "header", … } in the destination, with its secret as env:NAME.'
            wrongs.add((*path, "headers", header), "A secret never stands in this file.", remedy)


def _templates(call: Mapping[str, object], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what a call may have placeholders in: its path, its headers and its body."""
    for name in ("path", "headers", "body"):
        value = call.get(name)
        inner = value.items() if isinstance(value, dict) else ()
        if isinstance(value, str):
            yield (*path, name), value
        for key, template in inner:
            if isinstance(template, str):
                yield (*path, name, key), template
