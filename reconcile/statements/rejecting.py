"""The unreadable lines of two files as a table: where each stands, why, and what is there."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from reconcile import tying
from reconcile.histories.files import FileRefused
from reconcile.statements.reading import REJECTS_MAX, ROW_MAX
from reconcile.statements.telling import Compared
from reconcile.tables import About, Form, Table

COLUMNS = ("file", "line", "why", "row")


def table(
    files: Mapping[str, Mapping[str, object]],
    rows: Iterable[Sequence[object]],
    *,
    count: int,
    residual: Mapping[str, str],
    author: str,
    as_of: datetime,
) -> Table:
    """Return it; `files` are both as they were read, with `name` and `sha256`, by side."""
    about = About(
        what=f"Unreadable lines of {files['source']['name']} and {files['destination']['name']}",
        asked=f"the first {REJECTS_MAX} of each file, with the first {ROW_MAX} characters",
        as_of=as_of,
        author=author,
        count=count,
        totals={f"unexplained {currency}": amount for currency, amount in residual.items()},
        more={f"sha256 {side}": told["sha256"] for side, told in files.items()},
    )
    return Table(about, COLUMNS, rows)


def target(path: Path) -> Form:
    """Return the form in which a file is to be written; FileRefused where it has none, or exists."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in {*Form}:
        raise FileRefused(f"{path.name} says no form: name it .csv, .xlsx or .json.")
    if path.exists():
        raise FileRefused(f"{path.name} is there already, and nothing is written over it. Name another one.")
    return Form(suffix)


def write(path: Path, form: Form, done: Compared, *, author: str, as_of: datetime) -> None:
    """Write the unreadable lines of a comparison to a file that is not there yet; FileRefused."""
    sides = {"source": done.source, "destination": done.destination}
    files = {side: {"name": of.name, "sha256": of.layout.checksum} for side, of in sides.items()}
    rows = ((of.name, *one) for of in sides.values() for one in of.rejects)
    made = table(
        files,
        rows,
        count=sum(of.unreadable for of in sides.values()),
        residual=tying.residuals(done.tie),
        author=author,
        as_of=as_of,
    )
    try:
        with path.open("xb") as file:
            for part in made.written(form):
                file.write(part.encode() if isinstance(part, str) else part)
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be written: {error.strerror}.") from None
