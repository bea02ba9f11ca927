"""The one clock that stored instants come from: the database's, never a worker's."""

from datetime import datetime, timedelta
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


def settled_until() -> datetime:
    """Return an instant before which no change of an operation is still on its way to its commit.

    A change takes its time while its transaction runs, and is seen only once that has committed. So this is
    now, less the age of the oldest transaction that may have written. Sessions of the application's own role
    are seen, and no other role writes operations.
    """
    now = database_now()  # before the sessions are looked at: one that begins later writes a later time
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST_WRITER)
        age: timedelta = cursor.fetchone()[0]
    return now - age


# One without a transaction's id has written nothing, but its running statement may have read the clock.
_OLDEST_WRITER = """
    SELECT coalesce(max(clock_timestamp() - CASE
        WHEN backend_xid IS NULL THEN query_start ELSE xact_start
    END), interval '0')
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        AND (backend_xid IS NOT NULL OR state = 'active')
"""
