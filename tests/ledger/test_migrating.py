"""A database that was filled before a migration stands and works after it.

What the actions of today have written is put into a database at the first version that had guards, without
the columns that came later; that one is migrated.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
from django.contrib.auth.models import User
from django.core.management import call_command

from config import postgres
from ledger import actions
from ledger.models import Approval, Operation
from tests import factories as make
from tests.databases import Clock, Database, Template
from tests.ledger import scenes
from tests.ledger.promises import Snapshot
from tests.ledger.scenes import Scene
from tests.ledger.test_approvals import override, silent

FIRST = "0003_guards"
TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^ledger_' ORDER BY 1"
COLUMNS = (
    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
    "AND attgenerated = '' ORDER BY attnum"
)
SEQUENCE = (
    "SELECT setval(pg_get_serial_sequence('{0}', 'id'), (SELECT max(id) + 1 FROM {0}), false) "
    "WHERE EXISTS (SELECT FROM {0})"
)


def done(clock: Clock, name: str) -> Scene:
    kind = make.kind(name=name)
    return Scene(clock, kind, make.tried(kind, make.done()))


def asked(clock: Clock, name: str) -> Scene:
    """Ann waits for a second person."""
    User.objects.get_or_create(username="ann")
    operation = silent(clock, name=name)
    override(operation)
    return Scene(clock, operation.operation_type, operation)


def test_a_filled_database_migrates_from_the_first_version_to_this_one(
    template: Template, database: Database, clock: Clock
) -> None:
    filled = [made(clock, f"scene.{number}") for number, made in enumerate(SCENES)]
    wanted = {one.pk: Snapshot.of(one.pk) for one in Operation.objects.all()}
    assert {one.operation.state for one in wanted.values()} == {
        *("pending", "running", "uncertain", "completed", "failed")
    }
    for attempt in (attempt for one in wanted.values() for attempt in one.attempts):
        attempt.rules_version = None  # which rules it went by, nobody had counted
    with empty(template) as old:
        with template.used(old):
            migrate("ledger", FIRST)
            migrate("auth")
            ann = User.objects.create(pk=70, username="ann").pk
        assert {"ledger_operation", "ledger_attempt", "ledger_event", "ledger_case"} <= copy(database, old)
        now = clock.now()
        with template.used(old):
            migrate()
            migrate(check_unapplied=True)
            Clock.put_into(old).set(now)
            assert {one.pk: Snapshot.of(one.pk) for one in Operation.objects.all()} == wanted
            assert {one.maker_account for one in Approval.objects.all()} == {ann}, (
                "known since by her account"
            )
            migrated = [answer(scene) for scene in filled]
        with template.used(database):
            clock.set(now)
            assert migrated == [answer(scene) for scene in filled]


def migrate(*to: str, **options: bool) -> None:
    call_command("migrate", *to, database="owner", verbosity=0, interactive=False, **options)


SCENES = (
    done,
    scenes.due,
    scenes.due_to_send,
    scenes.in_flight,
    scenes.unstarted,
    scenes.in_doubt,
    scenes.permitted,
    scenes.refused,
    scenes.refused_permitted,
    scenes.correction_in_flight,
    scenes.blind,
    scenes.out_of_lease,
    asked,
)


def answer(scene: Scene) -> tuple[str, str, str]:
    """Hand it over once more, and a new one; return what both are told, and where it stands then."""
    ask = actions.submit if scene.kind.by_tieout else actions.claim
    kept = {"payload": None, "amount": None, "currency": None} if scene.operation.corrects_id else {}
    told = ask(make.submission(scene.kind, scene.operation.key, **kept), actor="api:shop")
    new = ask(make.submission(scene.kind, "order/new"), actor="api:shop")
    return told.decision, new.decision, make.again(scene.operation).state


@contextmanager
def empty(template: Template) -> Iterator[Database]:
    """A database without a table, dropped afterwards."""
    made = template.database(f"test_old_{next(template.numbers)}")
    template.database("postgres").as_owner(
        f"CREATE DATABASE {made.name}", f"GRANT CONNECT ON DATABASE {made.name} TO {postgres.APP}"
    )
    rights = f"ALTER DEFAULT PRIVILEGES FOR ROLE {postgres.OWNER} IN SCHEMA public GRANT"
    made.as_superuser(
        f"GRANT USAGE ON SCHEMA public TO {postgres.APP}",
        f"{rights} SELECT, INSERT, UPDATE, DELETE ON TABLES TO {postgres.APP}",
        f"{rights} USAGE ON SEQUENCES TO {postgres.APP}",
    )
    try:
        yield made
    finally:
        template.database("postgres").as_superuser(f"DROP DATABASE {made.name} WITH (FORCE)")


def copy(new: Database, old: Database) -> set[str]:
    """Put the rows of one into the other, past its guards, and without the columns that it has not yet."""
    with (
        closing(psycopg.connect(new.superuser_url, autocommit=True)) as source,
        closing(psycopg.connect(old.superuser_url, autocommit=True)) as target,
    ):
        target.execute("SET session_replication_role = replica")
        tables = [name for (name,) in target.execute(TABLES).fetchall()]
        for table in tables:
            names = ", ".join(f'"{name}"' for (name,) in target.execute(COLUMNS, [table]).fetchall())
            reading = f"COPY {table} ({names}) TO STDOUT".encode()
            writing = f"COPY {table} ({names}) FROM STDIN".encode()
            with source.cursor().copy(reading) as read, target.cursor().copy(writing) as write:
                for part in read:
                    write.write(part)
            if "id" in names.replace('"', "").split(", "):
                target.execute(SEQUENCE.format(table).encode())
    return set(tables)
