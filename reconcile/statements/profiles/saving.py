"""How a file was read, in the words of a profile: what a person has answered once need not be asked again."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from reconcile.configuration import present
from reconcile.statements.forms.delimited import SEPARATORS
from reconcile.statements.profiles.rules import HEADER_MOST, ProfileRules

FORMS = {"CSV": "csv", "XLSX": "xlsx", "JSON": "json", "camt": "camt", "MT94": "mt940", "OFX": "ofx"}
"""What the words for a form begin with."""
ENCODED = ("csv", "json", "mt940")
MARKS = {".": "point", ",": "comma"}


def section(file: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """Return a section of the configuration file that reads files as this one; empty where none would.

    `file` is what was stated of it, `told` how it is read.
    """
    name = file.get("profile") or re.sub(r"[^a-z0-9]+", "-", PurePath(file["name"]).stem.lower()).strip("-")
    before = told.get("rules") or {}
    try:
        rules = ProfileRules.read(
            before | {"name": before.get("name") or name or "file"} | _answers(file, told)
        )
    except ValidationError:
        return ""  # such as a heading of more letters than any
    return "".join(f"{line}\n" for line in present.table(("profiles", name or "file"), rules.words()))


def _answers(file: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    form = next(said for begins, said in FORMS.items() if told["form"].startswith(begins))
    settled = {*told.get("settled", ())}
    answers: dict[str, Any] = {"form": form, "columns": _columns(form, file, told)}
    encoding = str(told["encoding"] or "").removesuffix("-sig")
    if form in ENCODED and encoding:
        answers["encoding"] = encoding
    if form == "csv":
        answers["separator"] = {words: mark for mark, words in SEPARATORS.items()}[told["separator"]]
    if form in ("csv", "xlsx") and 0 < told["header_line"] <= HEADER_MOST:
        answers["header"] = told["header_line"]
    if form == "xlsx":
        answers["sheet"] = told["form"].partition(", sheet ")[2]
    if "decimal" not in settled:
        answers["decimal"] = MARKS[told["decimal_mark"]]
    if "days" not in settled and told["days"]:
        answers["days"] = told["days"]
    if told["unit"]:
        answers["unit"] = told["unit"]
    return answers


def _columns(form: str, file: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, str]:
    """Return the headings, of a bank's statement only those that somebody has named."""
    if form in ("camt", "mt940", "ofx"):
        before = (told.get("rules") or {}).get("columns") or {}
        return {**before, **file["named"]}
    whole = {"currency": told["currency"]} if told["currency"] else {}
    return {**told["columns"], **whole}
