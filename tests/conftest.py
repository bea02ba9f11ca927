"""Fixtures for every floor: a database of its own for each test, a clock that obeys, real processes."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# A copied database is some thousand small files: in memory, where there is room, the run takes half as long.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), str(MEMORY)

# The settings are read on import, so what they read comes first. No test ever sees the developer's own data.
SCRATCH = Path(tempfile.mkdtemp(prefix="tieout-tests-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
os.environ.update(
    DJANGO_SETTINGS_MODULE="config.settings",
    DATA_DIR=str(SCRATCH / "data"),
    DATABASE_URL="postgresql://nobody@/none?host=/nonexistent",
    SECRET_KEY="only-for-tests-0123456789-abcdefghijklmnop",
    PAYLOAD_KEYS="k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    DIGEST_KEYS="k1:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=",
    SECOND_FACTOR_ROLES="none",
)
for name in ("DATABASE_OWNER_URL", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "BEHIND_TLS"):
    os.environ.pop(name, None)
# Some hundred processes are started: what the first one has compiled, the others read.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from collections.abc import Iterator  # noqa: E402

import django  # noqa: E402
import hypothesis  # noqa: E402
import pytest  # noqa: E402
from django.contrib.auth.hashers import PBKDF2PasswordHasher  # noqa: E402
from xdist.remote import Producer  # noqa: E402

django.setup()

# One round instead of a million: each wrong word, and each that is stored, cost a third of a second.
PBKDF2PasswordHasher.iterations = 1

# A busy machine is no failure; what an example proves does not depend on how long it took.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

from tests.databases import Clock, Database, Template, sweep  # noqa: E402
from tests.demos import demo as demo  # noqa: E402
from tests.demos import one_demo as one_demo  # noqa: E402
from tests.ledger.asking import sql as sql  # noqa: E402
from tests.mails import post as post  # noqa: E402
from tests.processes import LOGS, Manage, Server, Spawn, Standing  # noqa: E402
from tests.sandboxes import sandbox as sandbox  # noqa: E402
from tests.scheduling import Together  # noqa: E402
from tests.stories import durban as durban  # noqa: E402
from tests.stripes import localstripe as localstripe  # noqa: E402
from tests.stripes import stripe_mock as stripe_mock  # noqa: E402
from tests.versions import stands_on_its_version  # noqa: E402
from tests.workers import died as died  # noqa: E402
from tests.workers import worker as worker  # noqa: E402


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let each process of the run read the settings for itself, in a folder of its own."""
    # A process that inherits the name reads them before this file has said where its data is.
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    """Keep on one core what shares a server, a demo or a shop, whatever `--dist` says."""
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands on PostgreSQL's version, to run it again on the oldest one."""
    for item in items:
        if stands_on_its_version(item):
            item.add_marker("database")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show what the processes of a failed test have said."""
    report: pytest.TestReport = yield  # type: ignore[assignment]  # the hook's result is sent in
    if report.failed:
        for log in item.stash.get(LOGS, []):
            report.sections.append((log.name, log.read_text(errors="replace")[-20_000:]))
    return report  # type: ignore[return-value]


@pytest.fixture(scope="session", autouse=True)
def scratch() -> Path:
    """A folder for the whole run; what runs that were killed have left is swept away."""
    sweep(SCRATCH)
    return SCRATCH


@pytest.fixture(scope="session")
def template(scratch: Path, django_db_blocker: pytest.FixtureRequest) -> Iterator[Template]:
    """The migrated database that every test's own is copied from."""
    with Template.made(scratch, django_db_blocker) as made:
        yield made


@pytest.fixture(scope="session")
def standing(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """The one server of all who only ask it something; not started yet."""
    made = Standing(template, tmp_path_factory.mktemp("standing"))
    yield made
    made.end()


@pytest.fixture
def database(template: Template) -> Iterator[Database]:
    """A database of this test alone, as Django's connections; commits are real and nothing is flushed."""
    with template.clone() as clone:
        yield clone


@pytest.fixture
def database_url(database: Database) -> str:
    """The address of this test's database for other processes, in the application's role."""
    return database.app_url


@pytest.fixture
def clock(database: Database) -> Clock:
    """The time that the database tells: it can be moved and stopped."""
    return Clock.put_into(database)


@pytest.fixture
def spawn(database: Database, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spawn]:
    """Starts processes on this test's database; they end with it, and if it fails their words are shown."""
    with Spawn(database, tmp_path, request.node.stash.setdefault(LOGS, [])) as started:
        yield started


@pytest.fixture
def run_manage(database: Database) -> Manage:
    """Runs `manage.py` to its end on this test's database."""
    return Manage(database)


@pytest.fixture
def server(spawn: Spawn) -> Server:
    """A real gunicorn on this test's database that answers."""
    return Server.started(spawn)
