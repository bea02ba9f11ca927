"""`make demo` as a visitor meets it: what it tells, what it shows, and that it stops and keeps its data."""

import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import psycopg
import pytest

from config.environment import ROOT
from ledger.rules.states import MOVES, State
from tests.demos import CASES, Demo

pytestmark = pytest.mark.database

PEOPLE = ["ann", "bob", "vic", "ada", "ira"]


def documented() -> dict[str, tuple[str, str, str]]:
    """Key, state and verdict of each case, as docs/demo.md has them in its table."""
    rows = re.findall(
        r"^\| `(\w+)` \| `([\w/]+)` \| `(\w+)` \| (?:`(\w+)`|none) \|",
        (ROOT / "docs" / "demo.md").read_text(),
        re.MULTILINE,
    )
    return {case: (key, state, verdict) for case, key, state, verdict in rows}


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    demo = Demo(tmp_path / "data")
    with socket.create_server(("127.0.0.1", demo.ports[1])):
        said = demo.refuses()
    assert f"Port {demo.ports[1]} is taken. Free it, or set SANDBOX_PORT to another." in said
    assert not (demo.data / "postgres").exists()


def test_a_fresh_checkout_installs_what_it_runs_with_and_nothing_for_tests(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "requirements-test.lock"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(
        ["make", "--dry-run", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "--require-hashes --requirement requirements.lock" in done.stdout
    assert "requirements-test" not in done.stdout


def test_a_second_one_on_the_same_data_is_refused(demo: Demo) -> None:
    assert "A demo already runs on" in demo.refuses()
    assert demo.runs
    assert (demo.data / "demo.json").exists()


def test_its_file_has_the_documented_members_and_is_its_owner_s_alone(demo: Demo) -> None:
    told = demo.told()
    assert set(told) == {"url", "sandbox", "token", "people", "database", "cases"}
    assert list(told["people"]) == PEOPLE
    assert set(told["cases"]) == CASES
    assert stat.S_IMODE((demo.data / "demo.json").stat().st_mode) == 0o600
    assert httpx.get(f"{told['url']}/readyz", timeout=10).status_code == 200
    assert httpx.get(f"{told['sandbox']}/invoices", timeout=10).status_code == 200


def test_every_case_has_its_documented_key_state_and_verdict(demo: Demo) -> None:
    assert documented().keys() == CASES
    found = {name: (o["key"], o["state"], o["verdict"] or "") for name, o in demo.first.items()}
    assert found == documented()


def test_its_token_covers_both_types_and_no_case_was_tried_twice(demo: Demo) -> None:
    assert {operation["type"] for operation in demo.first.values()} == {"invoice.create", "reminder.send"}
    assert demo.first["one_match"]["evidence"] == "lookup"
    assert {len(operation["attempts"]) for operation in demo.first.values()} == {1}


@pytest.mark.parametrize("name", PEOPLE)
def test_everybody_signs_in_with_what_it_tells(demo: Demo, name: str) -> None:
    told = demo.told()
    with httpx.Client(base_url=told["url"], follow_redirects=True, timeout=30) as browser:
        page = browser.get("/accounts/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None
        answer = browser.post(
            "/accounts/login/",
            data={"csrfmiddlewaretoken": token[1], "login": name, "password": told["people"][name]},
        )
        assert answer.status_code == 200
        assert answer.url.path == "/"
        operation = browser.get(f"/operations/{told['cases']['several']}/").text
        assert ("Your role looks only." in operation) == (name in ("vic", "ira"))
        assert ("Administrators decide no items." in operation) == (name == "ada")


def test_its_database_role_owns_nothing_and_is_no_superuser(demo: Demo) -> None:
    with demo.database() as connection:
        row = connection.execute(
            "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls, "
            "(SELECT count(*) FROM pg_class WHERE relowner = roles.oid) "
            "FROM pg_roles AS roles WHERE rolname = current_user"
        ).fetchone()
    assert row == (False, 0)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_event SET reason = 'nothing happened'",
        "DELETE FROM ledger_event",
        "TRUNCATE ledger_event CASCADE",
        "ALTER TABLE ledger_event DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "DROP TRIGGER event_append_only ON ledger_event",
        "DELETE FROM ledger_operation",
        "UPDATE ledger_lookup SET verdict = 'one_match'",
    ],
)
def test_its_database_role_cannot_change_what_was_told(demo: Demo, statement: str) -> None:
    with demo.database() as connection, pytest.raises(psycopg.errors.Error) as refusal:
        connection.execute(statement.encode())
    assert isinstance(refusal.value, (psycopg.errors.RestrictViolation, psycopg.errors.InsufficientPrivilege))


def test_its_database_role_makes_no_move_that_is_not_in_the_table(demo: Demo) -> None:
    with demo.database() as connection:
        states = {State(row[0]) for row in connection.execute("SELECT DISTINCT state FROM ledger_operation")}
        assert states >= {State.COMPLETED, State.FAILED, State.UNCERTAIN}
        for source in states:
            for target in set(State) - set(MOVES[source]) - {source}:
                with pytest.raises(psycopg.errors.CheckViolation, match=f"no move leads from {source}"):
                    connection.execute(
                        "UPDATE ledger_operation SET state = %s, revision = revision + 1 WHERE state = %s",
                        [target, source],
                    )


def test_its_database_role_makes_no_move_without_its_event(demo: Demo) -> None:
    with (
        demo.database() as connection,
        pytest.raises(psycopg.errors.RestrictViolation, match="without an event"),
    ):
        connection.execute(
            "UPDATE ledger_operation SET state = 'uncertain', finished_at = NULL, revision = revision + 1 "
            "WHERE state = 'completed'"
        )


def test_it_leaves_no_process_and_a_second_start_keeps_its_data_and_repeats_nothing(demo: Demo) -> None:
    """First SIGTERM to make alone, as a service manager does; then Ctrl-C, which reaches the whole group."""
    first, effects, kept = demo.told(), demo.effects(), ledger(demo)
    changed = demo.data / "changed.toml"
    changed.write_text((demo.data / "durban.toml").read_text().replace('due = "4h"', 'due = "5h"'))
    command = [sys.executable, "manage.py", "configure", str(changed)]
    subprocess.run(command, cwd=ROOT, env={**demo.environ, "RULES_BY_TWO": "false"}, check=True)
    assert 5 * 3600 in dues(demo)
    assert "/readyz" not in demo.log.read_text(), "who asks too early is told, and nothing is an error"
    assert demo.stops(signal.SIGTERM), demo.log.read_text()
    told = demo.start()
    assert {**told, "cases": {}} == {**first, "cases": {}}
    assert demo.appeared() == first["cases"]
    assert ledger(demo) == kept
    assert 5 * 3600 in dues(demo), "what people have changed stays"
    assert demo.effects() == effects
    assert demo.stops(signal.SIGINT, group=True), demo.log.read_text()


def dues(demo: Demo) -> list[float]:
    """After how many seconds cases of each type are due."""
    with demo.database() as connection:
        rows = connection.execute("SELECT (review ->> 'due')::float FROM ledger_operationtype").fetchall()
    return [due for (due,) in rows]


def ledger(demo: Demo) -> list[tuple[object, ...]]:
    """Every operation with how often it was tried, and how many runs there were."""
    with demo.database() as connection:
        return connection.execute(
            "SELECT key, state, attempt_count, (SELECT count(*) FROM reconcile_run) "
            "FROM ledger_operation ORDER BY key"
        ).fetchall()
