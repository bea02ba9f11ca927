"""Give turns at a destination to all workers, one statement each, and let all wait where it asks to."""

from django.db import connection

TAKE = """
INSERT INTO ledger_pace AS pace (destination_id, next_at)
VALUES (%(destination)s, tieout_now() + make_interval(secs => %(length)s))
ON CONFLICT (destination_id) DO UPDATE
SET next_at = greatest(pace.next_at, pace.rests_until, tieout_now()) + make_interval(secs => %(length)s)
WHERE greatest(pace.next_at, pace.rests_until) <= tieout_now() + make_interval(secs => %(within)s)
RETURNING greatest(extract(epoch FROM next_at - tieout_now())::float8 - %(length)s, 0)
"""
REST = """
INSERT INTO ledger_pace AS pace (destination_id, rests_until)
VALUES (%(destination)s, tieout_now() + make_interval(secs => %(seconds)s))
ON CONFLICT (destination_id) DO UPDATE
SET rests_until = greatest(pace.rests_until, excluded.rests_until)
"""
LEFT = """
SELECT coalesce(greatest(extract(epoch FROM rests_until - tieout_now()), 0), 0)::float8,
    greatest(extract(epoch FROM greatest(next_at, rests_until) - tieout_now()), 0)::float8
FROM ledger_pace WHERE destination_id = %(destination)s
"""


def take_turns(destination_id: int, *, turns: int, gap_s: float, within_s: float) -> float | None:
    """Take so many turns in a row, `gap_s` seconds apart; None where the first is not within `within_s`.

    Returns the seconds until the first one. They are nobody else's, whether or not they are used.
    """
    given = {"destination": destination_id, "length": turns * gap_s, "within": within_s}
    with connection.cursor() as cursor:
        cursor.execute(TAKE, given)
        row = cursor.fetchone()
    return None if row is None else float(row[0])


def rest(destination_id: int, *, for_s: float) -> None:
    """Let everybody leave a destination alone for so many seconds; a longer rest stays."""
    with connection.cursor() as cursor:
        cursor.execute(REST, {"destination": destination_id, "seconds": for_s})


def rests_s(destination_id: int) -> float:
    """Return for how many seconds a destination is still left alone."""
    return _left(destination_id)[0]


def turn_s(destination_id: int) -> float:
    """Return the seconds until the next turn that nobody has."""
    return _left(destination_id)[1]


def _left(destination_id: int) -> tuple[float, float]:
    with connection.cursor() as cursor:
        cursor.execute(LEFT, {"destination": destination_id})
        row = cursor.fetchone()
    return (0.0, 0.0) if row is None else (row[0], row[1])
