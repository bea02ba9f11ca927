"""Sessions in the database, under names as Django makes them: a cookie of any other kind is nobody's."""

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    """Django's own, which would ask PostgreSQL for a name that no text there can be."""

    def _validate_session_key(self, key: str | None) -> bool:
        # What is no name of a session is refused before it is looked for: a NUL would be an error.
        known: bool = super()._validate_session_key(key)  # type: ignore[misc]  # the stubs leave it out
        return bool(known and key and key.isascii() and key.isalnum())
