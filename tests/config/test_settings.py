"""Nonsense in the environment is refused in words, all of it at once, before anything starts."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands, load_command_class

from config import environment
from config.environment import ROOT

SECRET = "correct-horse-battery-staple-0123456789"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
DATABASE = "postgresql://tieout:hunter2@db.example/tieout"
GIVEN = {
    "DATABASE_URL": DATABASE,
    "SECRET_KEY": SECRET,
    "PAYLOAD_KEYS": f"k1:{KEY}",
    "DIGEST_KEYS": f"k1:{KEY}",
}
SHOW = "from django.conf import settings as s; print(repr(({})))"


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What is said about an environment of exactly these variables."""

    def said(**environ: str) -> str:
        for name in os.environ:
            monkeypatch.delenv(name)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ImproperlyConfigured) as refused:
            environment.read()
        return str(refused.value)

    return said


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings", **environ}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def show(expression: str, **environ: str) -> str:
    done = run("-c", SHOW.format(expression), **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_everything_that_is_wrong_is_said_at_once_and_without_a_traceback(tmp_path: Path) -> None:
    """Twenty-seven wrong variables, twenty-seven lines, each with what to give instead."""
    (tmp_path / "file").touch()
    wrong = {
        "BIND": "everywhere",
        "PORT": "http",
        "SANDBOX_PORT": "70000",
        "DATA_DIR": str(tmp_path / "file"),
        "DATABASE_URL": "mysql://tieout:hunter2@db.example/tieout",
        "DATABASE_OWNER_URL": "postgresql:///nobody",
        "SECRET_KEY": "changeme",
        "PAYLOAD_KEYS": "k1:c2hvcnQ=",
        "DIGEST_KEYS": f"k1:{KEY},k1:{KEY}",
        "ALLOWED_HOSTS": "*",
        "CSRF_TRUSTED_ORIGINS": "tieout.example",
        "INSTALLATION": "Head Office",
        "TIME_ZONE": "Africa/Durban",
        "DEBUG": "perhaps",
        "BEHIND_TLS": "2",
        "METRICS_TOKEN": "changeme",
        "PG_BIN": str(tmp_path),
        "DELIVERIES_DAYS": "6",
        "SECOND_FACTOR_ROLES": "approver,boss",
        "SIGN_IN_AGAIN_MINUTES": "0",
        "SESSION_IDLE_MINUTES": "half",
        "SESSION_HOURS": "1000",
        "OIDC_ISSUER": "login.example.com",
        "OIDC_CLIENT_ID": "",
        "OIDC_CLIENT_SECRET": "",
        "TRUSTED_PROXIES": "-1",
        "LOG_LEVEL": "loud",
    }
    done = run("manage.py", "check", **wrong)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(wrong)
    assert all("Give " in line or "Write " in line for line in lines[1:])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://tieout:hunter2@db.example/tieout"),
        ("DATABASE_OWNER_URL", "postgresql://owner:hunter2@/"),
        ("SECRET_KEY", "hunter2"),
        ("PAYLOAD_KEYS", "hunter2"),
        ("DIGEST_KEYS", "k1:hunter2"),
        ("METRICS_TOKEN", "hunter2"),
        ("OIDC_CLIENT_SECRET", "hunter2"),
    ],
)
def test_a_secret_is_never_repeated(refusal: Callable[..., str], name: str, value: str) -> None:
    said = refusal(**{**GIVEN, name: value})
    assert name in said
    assert "hunter2" not in said


@pytest.mark.parametrize("database", [DATABASE, "nonsense"])
def test_with_a_database_url_the_keys_are_required(refusal: Callable[..., str], database: str) -> None:
    said = refusal(DATABASE_URL=database)
    for name in ("SECRET_KEY", "PAYLOAD_KEYS", "DIGEST_KEYS"):
        assert f"{name} is required when DATABASE_URL is set" in said
    assert "openssl rand" in said


def test_an_owner_without_a_database_is_refused(refusal: Callable[..., str]) -> None:
    assert "DATABASE_OWNER_URL is set without DATABASE_URL" in refusal(DATABASE_OWNER_URL=DATABASE)


def test_one_port_for_two_is_refused(refusal: Callable[..., str]) -> None:
    assert "SANDBOX_PORT 8010 is PORT as well" in refusal(PORT="8010")


@pytest.mark.parametrize("keys", ["k1", f":{KEY}", f"K 1:{KEY}", "k1:****", f"k1:{KEY[:20]}", " , "])
def test_keys_that_are_none_are_refused(refusal: Callable[..., str], keys: str) -> None:
    assert "PAYLOAD_KEYS" in refusal(**{**GIVEN, "PAYLOAD_KEYS": keys})


def test_an_empty_variable_counts_as_absent() -> None:
    assert show("s.INSTALLATION, s.DEBUG", **GIVEN, INSTALLATION="", DEBUG="") == "('t1', False)"


def test_a_second_factor_is_for_those_who_approve_and_administer_unless_nobody_needs_one() -> None:
    shown = "sorted(s.SECOND_FACTOR_ROLES)"
    assert show(shown, **GIVEN) == "['administrator', 'approver']"
    assert show(shown, **GIVEN, SECOND_FACTOR_ROLES="none") == "[]"
    assert show(shown, **GIVEN, SECOND_FACTOR_ROLES="auditor") == "['auditor']"


def test_two_roles_reach_one_database() -> None:
    owner = "postgresql://owner:o%40wner@db.example:6432/tieout?sslmode=require"
    names = "[[s.DATABASES[a][k] for k in ('NAME', 'USER', 'HOST', 'PORT')] for a in ('default', 'owner')]"
    more = "s.DATABASES['owner']['OPTIONS']['sslmode'], s.DATABASES['owner']['PASSWORD']"
    said = show(f"{names}, {more}", **GIVEN, DATABASE_OWNER_URL=owner)
    default, other = "['tieout', 'tieout', 'db.example', '']", "['tieout', 'owner', 'db.example', '6432']"
    assert said == f"([{default}, {other}], 'require', 'o@wner')"


def test_behind_tls_cookies_and_pages_stay_on_tls() -> None:
    shown = "s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 0"
    assert show(shown, **GIVEN, BEHIND_TLS="true") == "(True, True, True, True)"
    assert show(shown, **GIVEN) == "(False, False, False, False)"


def test_known_failure_tasks_that_wait_are_not_started_twice() -> None:
    queue: dict[str, Any] = settings.Q_CLUSTER
    assert queue["retry"] >= (2 + queue["queue_limit"] / queue["workers"]) * queue["timeout"] + 60
    assert queue["max_attempts"] == 1
    assert queue["ack_failures"]


def test_known_failure_no_pool_hangs_the_queue() -> None:
    databases: dict[str, Any] = settings.DATABASES
    assert not any("pool" in database["OPTIONS"] for database in databases.values())


def test_the_keys_are_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shown = "s.SECRET_KEY, s.PAYLOAD_KEYS, s.DIGEST_KEYS"
    first = show(shown, DATA_DIR=str(folder))
    assert show(shown, DATA_DIR=str(folder)) == first
    assert len(set(first.split(", "))) == 3
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list((folder / "secrets").iterdir())
    assert len(files) >= 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_keys_that_others_can_read_are_refused(tmp_path: Path) -> None:
    show("s.SECRET_KEY", DATA_DIR=str(tmp_path))
    (tmp_path / "secrets" / "digest_keys").chmod(0o644)
    done = run("manage.py", "check", DATA_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "digest_keys can be read by others" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_address_for_links_is_scheme_and_host_and_else_this_machine(refusal: Callable[..., str]) -> None:
    assert (
        show("s.PUBLIC_URL", PUBLIC_URL="https://tieout.example.com/", **GIVEN)
        == "'https://tieout.example.com'"
    )
    assert show("s.PUBLIC_URL", PORT="8001", **GIVEN) == "'http://localhost:8001'"
    assert "PUBLIC_URL 'tieout.example.com' is no origin." in refusal(PUBLIC_URL="tieout.example.com")


def test_no_command_of_ours_loads_every_page_to_check_it_first() -> None:
    """A cron job begins at half the processor time; `manage.py check` checks."""
    ours = [(app, name) for name, app in get_commands().items() if app in ("ledger", "reconcile", "review")]
    assert len(ours) > 10
    checked = [name for app, name in ours if load_command_class(app, name).requires_system_checks]
    assert checked == []
