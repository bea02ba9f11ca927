"""A statement's file as rows, by its form; which form it is its content says, never its name."""

from collections.abc import Callable
from pathlib import Path, PurePath

from reconcile.histories.files import MARKS, FileRefused
from reconcile.statements.forms import camt, delimited, json_rows, ofx, swift, workbook
from reconcile.statements.layouts import Layout
from reconcile.statements.opening import File, opened
from reconcile.statements.stating import How
from reconcile.statements.unlinked import Unlinked

REFUSED = {
    b"\xd0\xcf\x11\xe0": "an old workbook, or one with a password",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed",
}
NAMED = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".xlsx": "XLSX",
    ".xml": "camt",
    ".ofx": "OFX",
    ".qfx": "OFX",
    ".sta": "MT940",
    ".940": "MT940",
    ".942": "MT942",
    ".mt940": "MT940",
}
"""What the end of a name says; only to tell where it is something else."""
FORMS = {
    "csv": ("CSV", delimited.look),
    "xlsx": ("XLSX", workbook.look),
    "json": ("JSON", json_rows.look),
    "camt": ("camt", camt.look),
    "mt940": ("MT940 or MT942", swift.look),
    "ofx": ("OFX", ofx.look),
}
"""The forms that a profile may be of: what words call each, and what reads it."""


def look(path: Path | Unlinked, how: How) -> Layout:
    """Decide how a file is written; FileRefused where it cannot be told, or it is none that can be read."""
    file = opened(path, how)
    for mark, what in REFUSED.items():
        if file.head.startswith(mark):
            raise FileRefused(
                f"{file.name} is {what}, which is not read here. Save or export it as CSV (UTF-8)."
            )
    return _told(_fitting(_form(file), file)(file), file.name)


def _fitting(found: Callable[[File], Layout], file: File) -> Callable[[File], Layout]:
    """Return what reads a file, where it is of its profile's form; FileRefused where it is not."""
    if not file.how.form:
        return found
    wanted, reads = FORMS[file.how.form]
    if found is reads or (found is _titled and reads in (delimited.look, camt.look)):
        return reads
    there = next((words for words, look in FORMS.values() if look is found), "XML")
    raise FileRefused(f"It is {there}, and the profile is of {wanted}.")


def _form(file: File) -> Callable[[File], Layout]:
    if file.head.startswith(b"PK\x03\x04"):
        return workbook.look
    head = _text(file.head).lstrip("\ufeff \t\r\n")
    if ofx.is_ofx(head):
        return ofx.look
    if head.startswith("<"):
        return camt.look if camt.is_camt(head) else _titled
    if swift.is_swift(head):
        return swift.look
    if json_rows.is_json(head):
        return json_rows.look
    return delimited.look


def _titled(file: File) -> Layout:
    """Read lines whose title begins as XML does; FileRefused as XML where no header is among them."""
    try:
        return delimited.look(file)
    except FileRefused:
        return camt.look(file)


def _text(head: bytes) -> str:
    """Return what a file begins with, as far as that tells its form."""
    encoding = next((used for mark, used in MARKS if head.startswith(mark)), "")
    if not encoding and head[1:2] == b"\0":
        encoding = "utf-16-le"
    return head.decode(encoding or "latin-1", errors="replace")


def _told(layout: Layout, name: str) -> Layout:
    """Say where a file is something else than its name says."""
    said = NAMED.get(PurePath(name).suffix.lower(), layout.form)
    if not layout.form.startswith(said):
        layout.notes.insert(0, f"{name} is named like {said}, and is {layout.form}: it was read as that.")
    return layout
