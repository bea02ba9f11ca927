"""Database sessions as a sign of life: who is killed has none any more, and at once."""

SINCE = "(SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"
"""When this session began: a number of a process alone comes again."""
LIVES = """EXISTS (
    SELECT FROM pg_stat_activity AS session
    WHERE session.pid = {pid} AND (session.backend_start IS NULL OR session.backend_start = {since})
)"""
"""Whether the session of these two columns lives; one whose beginning we may not see is taken to."""
