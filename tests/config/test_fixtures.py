"""The tests' own ground: a database for each test, in the application's role, and a clock that obeys."""

import re
import subprocess
import sys
import urllib.request
from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections, transaction
from psycopg.conninfo import conninfo_to_dict

from config.environment import ROOT
from tests.databases import ROLES, Clock, Database, Template
from tests.processes import Manage, Server


def test_the_application_cannot_change_the_schema(database: Database) -> None:
    with connection.cursor() as cursor, pytest.raises(DatabaseError, match="permission denied"):
        cursor.execute("CREATE TABLE extra (id int)")


def test_the_application_cannot_truncate(database: Database) -> None:
    with connection.cursor() as cursor, pytest.raises(DatabaseError, match="permission denied"):
        cursor.execute("TRUNCATE auth_user CASCADE")


def test_the_application_is_no_superuser_and_owns_nothing(database: Database) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
        )
        assert cursor.fetchone() == (False,)
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole")
        assert cursor.fetchone() == (0,)


def test_without_the_fixture_no_database_is_reached() -> None:
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        User.objects.exists()


def test_each_role_signs_in_after_one_round_and_with_its_own_password_alone(database: Database) -> None:
    for url in (database.app_url, database.owner_url, database.superuser_url):
        psycopg.connect(url).close()
        password = conninfo_to_dict(url)["password"]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url, password=f"{password}x")
    with psycopg.connect(database.superuser_url) as power:
        kept = power.execute(
            "SELECT rolname, split_part(rolpassword, ':', 1) FROM pg_authid WHERE rolcanlogin"
        )
        assert dict(kept) == dict.fromkeys(ROLES, "SCRAM-SHA-256$1")


def test_a_copy_is_dropped_even_while_others_work_in_it(template: Template) -> None:
    with template.clone("worked_in") as copy:
        other = psycopg.connect(copy.app_url)
    with closing(other), pytest.raises(psycopg.OperationalError):
        other.execute("SELECT 1")
    assert template.power.execute("SELECT FROM pg_database WHERE datname = 'worked_in'").rowcount == 0


@pytest.mark.parametrize("turn", [1, 2])
def test_what_one_test_commits_the_next_does_not_see(database: Database, turn: int) -> None:
    assert not User.objects.exists()
    with transaction.atomic(durable=True):
        User.objects.create(username=f"ann{turn}")
    connections.close_all()
    assert User.objects.count() == 1


def test_time_is_moved_and_stopped(clock: Clock) -> None:
    before = clock.now()
    clock.advance(3600)
    assert 3600 <= (clock.now() - before).total_seconds() < 3700
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    clock.set(noon)
    assert clock.now() == noon
    clock.advance(-1.5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT tieout_now()")
        assert cursor.fetchone() == (datetime(2026, 11, 29, 11, 59, 58, 500000, tzinfo=UTC),)


def test_other_processes_work_on_the_same_database(database_url: str, run_manage: Manage) -> None:
    run_manage("createsuperuser", "--noinput", "--username", "ann", "--email", "ann@example.com")
    assert User.objects.get().username == "ann"
    said = subprocess.run(
        ["env"], env={"DATABASE_URL": database_url}, capture_output=True, text=True, check=True
    )
    assert "tieout:" in said.stdout


def test_a_real_server_answers(server: Server) -> None:
    with urllib.request.urlopen(f"{server.url}/accounts/login/", timeout=10) as answer:
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_a_file_runs_whole_on_one_core_and_so_do_those_that_share_what_is_dear(tmp_path: Path) -> None:
    tests = "".join(f"def test_{n}() -> None: ...\n" for n in range(6))
    for name in ("test_a", "test_b", "of/recipes/test_c", "of/recipes/test_d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(tests)
    # As `make test` runs them, by the same hooks.
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-v",
        "-n",
        "2",
    ]
    ended = subprocess.run([*run, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    cores: dict[str, set[str]] = defaultdict(set)
    for core, place, name in re.findall(r"\[(gw\d)\].* PASSED \S*?(recipes/|)(\w+)\.py::", ended.stdout):
        cores[place or name].add(core)
    assert {place: len(of) for place, of in cores.items()} == {"test_a": 1, "test_b": 1, "recipes/": 1}, ended
    assert len(set().union(*cores.values())) == 2, ended
