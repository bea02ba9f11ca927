"""What is checked of the calls of an operation type, and of how a record is read, beyond their lines."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ledger.rules import money, placeholders
from ledger.rules.calls import COUNTED, LookupCall, Question, RecordMap
from ledger.rules.digests import canonical
from ledger.rules.errors import Malformed
from ledger.rules.paths import dotted, split
from ledger.rules.placeholders import PAYLOAD
from reconcile.configuration.destination_checks import check_secret
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part
from reconcile.configuration.wrongs import Path, Wrongs, choices

SECRET_HEADERS = re.compile("token|key|secret|auth|cookie|passw|credential|signature", re.IGNORECASE)
"""What the name of a header says that carries a secret."""

_KNOWN_IN = {
    "send": placeholders.SEND,
    "lookup": placeholders.LOOKUP,
    "list": placeholders.LIST,
    "void": placeholders.REVERSAL,
    "void.credit": placeholders.REVERSAL,
}


def check_calls(part: Part, wrongs: Wrongs, *, key_name: str) -> None:
    """Check every call of one operation type; `key_name` is the header of our keys, which is no secret."""
    for name, known in _KNOWN_IN.items():
        _check_call(part, name, wrongs, known=known)
        _check_headers(part, name, wrongs, key_name=key_name)
    _check_wrap(part, wrongs)
    for name in ("lookup", "list"):
        _check_question(part, name, wrongs)
    for name in ("void", "void.credit"):
        _check_json(_under(part, name).get("body"), (*part.path, *name.split("."), "body"), wrongs)


def check_question(part: Part, name: str, wrongs: Wrongs) -> None:
    """Check one question of a section that is no operation type's: it asks for what is there since then."""
    _check_call(part, name, wrongs, known=frozenset({"since", "position"}))
    _check_headers(part, name, wrongs, key_name="")
    _check_question(part, name, wrongs)


def _under(part: Part, name: str) -> Mapping[str, Any]:
    """Return a call as it was written, also one inside another; empty where there is none."""
    outer, _, inner = name.partition(".")
    call = part.under(outer)
    within = call.get(inner) if inner else call
    return within if isinstance(within, dict) else {}


def check_record(part: Part, wrongs: Wrongs) -> None:
    """Check how amounts are read: own decimals belong to minor units and to known currencies."""
    record = part.get("record", RecordMap)
    if record is not None:
        check_minor((*part.path, "record"), record.amount_unit, record.minor_decimals, wrongs)


def check_minor(record: Path, unit: str, decimals: Mapping[str, int], wrongs: Wrongs) -> None:
    """Check the decimals of smallest units by currency, as the section of a record states them."""
    path = (*record, "minor_decimals")
    if decimals and unit != "minor":
        wrongs.add(path, "minor_decimals counts only in minor units.", 'Add amount_unit = "minor".')
    for currency in decimals:
        try:
            money.decimals(currency)
        except money.UnknownCurrency as error:
            wrongs.add((*path, currency), error.detail, "Write the code in capitals, such as ISK.")


def _check_call(part: Part, name: str, wrongs: Wrongs, *, known: frozenset[str]) -> None:
    call, path = _under(part, name), (*part.path, *name.split("."))
    for place, template in _templates(call, path):
        if unknown := placeholders.unknown(template, known):
            what = f"Nothing can be put in place of {', '.join(f'{{{one}}}' for one in unknown)}."
            wrongs.add(place, what, choices(unknown[0], known))
        if place[len(path)] in ("body", "wrap", "headers"):
            check_secret(place, template, wrongs)


def _check_headers(part: Part, name: str, wrongs: Wrongs, *, key_name: str) -> None:
    """Refuse a value where a header's name says that it is a secret: only its place may stand here."""
    headers = _under(part, name).get("headers")
    for header, value in headers.items() if isinstance(headers, dict) else ():
        ours = header.lower() == key_name.lower() or not isinstance(value, str)
        if ours or not SECRET_HEADERS.search(header) or value.startswith(("env:", "file:")):
            continue
        # What an operation is called is no secret; but Authorization and Cookie carry nothing else.
        if not placeholders.named(value) or re.search("authorization|cookie", header, re.IGNORECASE):
            remedy = "Write env:NAME or file:PATH, and put the value there."
            wrongs.add(
                (*part.path, *name.split("."), "headers", header),
                "A secret never stands in this file.",
                remedy,
            )


def _templates(call: Mapping[str, object], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what a call may have placeholders in: its path, its headers, its body and what is around it."""
    for name in ("path", "query", "headers", "body", "wrap"):
        for inner, text in placeholders.texts(call.get(name)):
            if text != placeholders.PAYLOAD or name != "wrap":
                yield (*path, name, *inner), text


def _check_wrap(part: Part, wrongs: Wrongs) -> None:
    """Check that the payload stands in what goes out, once and whole."""
    wrap, path = part.under("send").get("wrap"), (*part.path, "send", "wrap")
    if isinstance(wrap, dict) and [text for _, text in placeholders.texts(wrap)].count(PAYLOAD) != 1:
        remedy = 'Write it where it belongs, such as wrap = { variables = { input = "{payload}" } }.'
        wrongs.add(path, "The payload must stand in it once, as a value of its own.", remedy)
    _check_json(wrap, path, wrongs)


def _check_question(part: Part, name: str, wrongs: Wrongs) -> None:
    """Check that a question can carry its body and the place of its pages."""
    call = part.get(name, Question)
    if call is None:
        return
    path, paging = (*part.path, name), call.paging
    within = paging.where == "body"
    if call.method == "GET" and (call.body is not None or within):
        wrongs.add((*path, "method"), "A question with a body cannot be a GET.", 'Write method = "POST".')
    named = any("{position}" in text for _, text in _templates(part.under(name), path))
    if paging.style in COUNTED and not named and paging.parameter is None:
        remedy = 'Name it: parameter = "page"; or write {position} where it belongs.'
        wrongs.add((*path, "paging"), "Nothing says where the page's number is asked for.", remedy)
    if named and paging.style not in COUNTED:
        remedy = 'Write paging = { style = "page" } or "offset", or leave {position} out.'
        wrongs.add((*path, "paging"), "Only pages that are counted have a {position}.", remedy)
    if within and paging.parameter is not None and not _is_path(paging.parameter):
        remedy = 'Write names with dots between, such as "variables.after".'
        wrongs.add((*path, "paging", "parameter"), "This is no path into a body.", remedy)
    _check_json(call.body, (*path, "body"), wrongs)


def check_match(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check that what must match tells one operation from every other, and nothing of it changes."""
    call, path = part.get("lookup", LookupCall), (*part.path, "lookup", "match")
    if call is None or not call.match:
        return
    named = {name for text in call.match.values() for name in placeholders.named(text)}
    for place, text in call.match.items():
        if unknown := placeholders.unknown(text, placeholders.MATCH):
            what = f"{{{unknown[0]}}} does not tell one operation from another."
            wrongs.add((*path, place), what, choices(unknown[0], placeholders.MATCH))
    parts = set(placeholders.named(str(part.raw.get("key", "")))) or {"key"}
    alone = "key" in named or placeholders.FIRST in named
    if named <= placeholders.MATCH and not alone and (missing := sorted(parts - named)):
        remedy = f"Let a field match {' and '.join(f'{{{name}}}' for name in missing)}, or one match {{key}}."
        wrongs.add(path, "Two operations could match one record.", remedy)
    record = part.get("record", RecordMap)
    if "list" in part.raw and record is not None and record.amount and not record.currency:
        layout.notes.append(
            f"{dotted((*part.path, 'record', 'currency'))} is missing: where {dotted(path)} tells records,"
            " the amount of a listed one cannot be read without it."
        )


def _is_path(text: str) -> bool:
    try:
        return split(text) != ()
    except ValueError:
        return False


def _check_json(body: object, path: Path, wrongs: Wrongs) -> None:
    try:
        canonical(body)
    except Malformed:
        wrongs.add(path, "A number in it cannot be kept exactly.", "Write it in quotes, as text.")
