"""The configuration file (TOML) becomes rows of both floors: all of it, or nothing.

`source` reads the text, `defaults` puts presets under it, `layout` and `sections` read its shape; the
`…_checks` look at what no section can know alone; `rows` says what changes and writes it.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from ledger.actions.registered import registered
from ledger.rules.register import lines
from reconcile.configuration import overlaps, rows, source
from reconcile.configuration.defaults import fill
from reconcile.configuration.destination_checks import check_destination
from reconcile.configuration.display_checks import check_display
from reconcile.configuration.layout import Layout, lay_out
from reconcile.configuration.plan_checks import check_automation, check_plan
from reconcile.configuration.profile_checks import check_profile
from reconcile.configuration.source import Source
from reconcile.configuration.team_checks import check_team
from reconcile.configuration.type_checks import check_type
from reconcile.configuration.webhook_checks import check_webhook
from reconcile.configuration.wrongs import Refused, Wrongs

__all__ = ["Configured", "Prepared", "Refused", "alone", "configure", "one_at_a_time", "prepared", "take"]

LOCK = 0x71E0C0F6
"""Two files are taken in one after the other: the number is ours among PostgreSQL's advisory locks."""


@dataclass(frozen=True)
class Configured:
    """What a file changed, or would change; what people should know of it; what its presets brought.

    `register`: how what it describes would stand then; only where it was checked. `variables`: those of the
    environment that nothing named before, so that a process that runs already may be without them.
    """

    changes: list[str]
    notes: list[str]
    brought: list[str]
    register: list[str]
    variables: list[str]
    proposed: uuid.UUID | None = None
    """What was proposed instead of written."""


@dataclass(frozen=True)
class Prepared:
    """A file that was read and found right: its shape, what its presets brought, and what would change."""

    layout: Layout
    brought: list[str]
    changes: list[rows.Change]


Instead = Callable[[Source, list[rows.Change]], uuid.UUID | None]


def configure(
    file: Path, *, check: bool = False, instead: Instead = lambda read, changes: None
) -> Configured:
    """Make the rows that the file describes, as `take` does."""
    return take(source.read(file), check=check, instead=instead)


def take(read: Source, *, check: bool = False, instead: Instead = lambda read, changes: None) -> Configured:
    """Make the rows that a text describes; with `check`, only say what would be.

    `instead`: proposes what would change, where that takes two people; then nothing is written. Raises
    Refused, with every wrong line, and has then changed nothing.
    """
    with transaction.atomic():
        one_at_a_time()
        taken = prepared(read)
        layout, before = taken.layout, rows.variables()
        proposed = instead(read, taken.changes)
        for change in taken.changes if proposed is None else ():
            rows.write(change, reason=f"Configuration file {read.name}"[:1000])
        notes = [*layout.notes, *overlaps.notes(layout), *_stays(layout)]
        variables = sorted(rows.variables() - before)
        register = lines(registered().only(layout.operation_types, layout.automations)) if check else []
        if check:
            # What would be is read where it is so; then nothing has been.
            transaction.set_rollback(True)
    changes = [str(change) for change in taken.changes]
    return Configured(changes, notes, taken.brought, register, variables, proposed)


def one_at_a_time() -> None:
    """Wait until nobody else takes a file in; to be called in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def alone() -> bool:
    """Say whether nobody takes a file in just now, and keep it so; to be called in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def prepared(read: Source) -> Prepared:
    """Check what was read, and say what would change; raises Refused with every wrong line."""
    wrongs = Wrongs(partial=bool(read.not_toml))
    filled = fill(read, wrongs)
    layout = _checked(filled.source, wrongs)
    return Prepared(layout, filled.brought, rows.changes(layout))


def _checked(read: Source, wrongs: Wrongs) -> Layout:
    layout = lay_out(read.data, wrongs)
    if read.not_toml:
        # What depends on other lines is not judged while some of them cannot be read.
        raise Refused([*read.not_toml, *read.located(wrongs.found)])
    for part in layout.destinations.values():
        check_destination(part, layout, wrongs)
    for part in layout.operation_types.values():
        check_type(part, layout, wrongs)
    for part in layout.automations.values():
        check_automation(part, layout, wrongs)
    for part in layout.plans.values():
        check_plan(part, layout, wrongs)
    for part in layout.webhooks.values():
        check_webhook(part, layout, wrongs)
    by_itself = (
        (layout.teams, check_team),
        (layout.display, check_display),
        (layout.profiles, check_profile),
    )
    for parts, check in by_itself:
        for part in parts.values():
            check(part, wrongs)
    if wrongs.found:
        raise Refused(read.located(wrongs.found))
    return layout


def _stays(layout: Layout) -> list[str]:
    stays = rows.left_alone(layout)
    return [f"not in this file, and left as it is: {', '.join(stays)}"] if stays else []
