"""A run's workbook for a recipient who may see it: where its plan attaches it, and to nobody else."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial

from django.contrib.auth.models import User

from ledger.models import database_now
from ledger.sight import Sight, limited
from reconcile import exports
from reconcile.models import Run
from reconcile.tables import Form
from review import access
from review.views.files import TYPES

MOST = 10 * 1024 * 1024
"""Bytes of a file that goes with a mail; what is larger is fetched from the run's page."""
MOST_ROWS = 100_000
"""Differences of a run whose file is not even made for a mail: it would be some twice as large."""
TOO_LARGE = "The file is too large for a mail; the run's page has it."
Attached = tuple[str, bytes, str]
"""A file's name, what it holds, and its type."""


def of(run: Run, address: str) -> Attached | None:
    """Return what goes with the mail; None where the plan attaches nothing, or the address is not entitled.

    OverflowError where the file is too large. It holds what that person may see, as of now.
    """
    readers = list(User.objects.filter(email__iexact=address, is_active=True))
    if not run.plan.attach or run.state != Run.State.DONE or not readers:
        return None
    if not all(_sees(reader, run) for reader in readers):
        return None
    with _as(readers[0]):
        if run.findings.count() > MOST_ROWS:
            raise OverflowError
        table = exports.table(run, author=readers[0].get_username(), now=database_now())
        content = b"".join(_bounded(table.written(Form.XLSX)))
    return f"run-{run.pk}-{run.plan.name}.xlsx", content, TYPES[Form.XLSX]


def _sees(reader: User, run: Run) -> bool:
    with _as(reader):
        return access.may(reader, "look") and Run.objects.filter(pk=run.pk).exists()


def _as(reader: User) -> AbstractContextManager[None]:
    return limited(Sight(partial(access.entities, reader)))


def _bounded(pieces: Iterator[str] | Iterator[bytes]) -> Iterator[bytes]:
    length = 0
    for piece in pieces:
        assert isinstance(piece, bytes)
        length += len(piece)
        if length > MOST:
            raise OverflowError
        yield piece
