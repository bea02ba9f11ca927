"""Is it set up: what `manage.py doctor` looks at, each with what to do about it; no secret is ever shown."""

from collections.abc import Callable, Iterator

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from ledger.worker.words import in_words
from review.doctor import configured, installation
from review.doctor.lines import Line, Standing

WITHOUT_DATABASE: dict[str, Callable[[], Iterator[Line]]] = {
    "static files": installation.static,
    "mail": installation.mail,
    "address": installation.address,
}
ON_DATABASE: dict[str, Callable[[], Iterator[Line]]] = {
    "role": installation.role,
    "migrations": installation.migrations,
    "guards": installation.guards,
    "worker": installation.worker,
    "queue": installation.queue,
    "clock": installation.clock,
    "seals": installation.seals,
    "cache": installation.cache_table,
    "people": installation.people,
    "schedules": configured.schedules,
    "periods": configured.closed_periods,
    "destinations": configured.destinations,
    "webhooks": configured.webhooks,
    "notices": configured.notices,
}


def examine() -> list[Line]:
    """Look at everything; what cannot be looked at is wrong, and keeps nothing else from being looked at."""
    found = _alone("database", installation.database)
    there = all(line.standing is not Standing.WRONG for line in found)
    checks = {**(ON_DATABASE if there else {}), **WITHOUT_DATABASE}
    for name, check in checks.items():
        found += _alone(name, check)
    return found


def _alone(name: str, check: Callable[[], Iterator[Line]]) -> list[Line]:
    try:
        return list(check())
    except (OperationalError, InterfaceError):
        connection.close()
        remedy = "See that PostgreSQL runs, and that DATABASE_URL leads to it."
        return [Line(name, Standing.WRONG, "The database does not answer.", remedy)]
    except DatabaseError as error:
        remedy = "Bring the database to this code: make serve migrates first."
        return [Line(name, Standing.WRONG, f"It could not be looked at: {in_words(error)}.", remedy)]
