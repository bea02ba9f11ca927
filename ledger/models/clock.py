"""The one clock that stored instants come from: the database's, never a worker's."""

from datetime import datetime
from typing import Any

from django.db import connection, models
from django.db.models.expressions import Func


class TieoutNow(Func):
    """The SQL function `tieout_now()`, which tests replace in their own database."""

    template = "tieout_now()"
    output_field: models.Field[Any, Any] = models.DateTimeField()


def database_now() -> datetime:
    """Return the database's clock, aware and in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tieout_now()")
        now: datetime = cursor.fetchone()[0]
    return now
