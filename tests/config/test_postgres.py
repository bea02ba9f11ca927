"""The embedded PostgreSQL: private, shared, stopped by the last one out, and back after every kind of end."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from config import cluster, kept, postgres
from config.cluster import Cluster, PostgresError, Runner
from config.environment import ROOT
from tests.databases import FAST

pytestmark = pytest.mark.database

HOLD = """
import os, sys
from pathlib import Path
from config import environment, postgres
folder = Path(sys.argv[1])
postgres.hold(folder, pg_bin=environment.read().pg_bin, extra=dict(fsync="off"))
if sys.argv[2] == "fork" and os.fork():
    sys.exit()
print("held", flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that holds the server until it leaves, or is killed."""

    def __init__(self, folder: Path, how: str = "hold") -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder), how],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> "Holder":
        assert self.process.stdout
        assert self.process.stdout.readline() == "held\n"
        return self

    def leave(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        # Its end comes when the last child that shares it has ended too.
        assert self.process.stdout.read() == ""
        self.process.stdout.close()
        assert self.process.wait(60) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> Iterator[Path]:
    """A data folder whose cluster is made, and which nobody holds."""
    folder = tmp_path / "data"
    shutil.copytree(made, folder)
    yield folder
    postgres.release(folder)
    Cluster(folder / "postgres").stop()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster that was made, started and stopped once; copied, because making one takes a second."""
    folder = tmp_path_factory.mktemp("made") / "data"
    Holder(folder).ready().leave()
    return folder


def server(folder: Path) -> psutil.Process | None:
    return Cluster(folder / "postgres").process()


def pid(folder: Path) -> int:
    found = server(folder)
    assert found is not None
    return found.pid


def one(address: str, query: str) -> object:
    with psycopg.connect(address) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def url(folder: Path, role: str = postgres.APP) -> str:
    return postgres.url(folder, role=role)


# --- who may


def test_a_wrong_password_is_refused_even_to_root(folder: Path) -> None:
    postgres.hold(folder, extra=FAST)
    for role in (postgres.APP, postgres.OWNER, cluster.SUPERUSER):
        wrong = url(folder, role).replace(kept.password(folder, role), "guess")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_nothing_listens_on_the_network(folder: Path) -> None:
    postgres.hold(folder, extra=FAST)
    assert one(url(folder), "SHOW listen_addresses") == ""
    found = server(folder)
    assert found is not None
    assert found.net_connections("inet") == []


def test_the_application_neither_owns_nor_truncates(folder: Path) -> None:
    postgres.hold(folder, extra=FAST)
    with psycopg.connect(url(folder, postgres.OWNER)) as owner:
        owner.execute("CREATE TABLE facts (id bigint GENERATED ALWAYS AS IDENTITY, word text)")
    with psycopg.connect(url(folder), autocommit=True) as app:
        app.execute("INSERT INTO facts (word) VALUES ('one')")
        app.execute("UPDATE facts SET word = 'two'")
        for refused in (
            "TRUNCATE facts",
            "DROP TABLE facts",
            "CREATE TABLE more (id int)",
            "CREATE TEMP TABLE t ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused.encode())
    rights = "SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles WHERE rolcanlogin AND {}"
    assert one(url(folder), rights.format("rolsuper")) == "postgres"
    assert one(url(folder), rights.format("rolcreatedb")) == "postgres tieout_owner"
    assert one(url(folder), rights.format("rolcreaterole")) == "postgres"


def test_everything_is_private_and_nothing_above_is_opened(tmp_path: Path) -> None:
    """A home that is closed to others stays closed, and the server runs in it all the same."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    folder = home / "deep" / "data"
    Holder(folder).ready().leave()
    socket_folder = Cluster(folder / "postgres").socket_folder
    for place in (home, home / "deep", folder, folder / "postgres", socket_folder):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    for file in (folder / "secrets").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not (folder / "postgres" / "password").exists()


def test_a_path_too_long_for_a_socket_gets_a_private_one_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 60) / ("e" * 60)
    postgres.hold(folder, extra=FAST)
    try:
        place = Cluster(folder / "postgres").socket_folder
        assert len(os.fsencode(place / cluster.SOCKET_NAME)) <= cluster.SOCKET_BYTES
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert one(url(folder), "SELECT 1") == 1
    finally:
        postgres.release(folder)
        shutil.rmtree(place)


@pytest.mark.parametrize("trap", ["open", "link"])
def test_a_socket_folder_that_somebody_prepared_is_refused(tmp_path: Path, made: Path, trap: str) -> None:
    folder = tmp_path / ("d" * 60) / ("e" * 60)
    folder.parent.mkdir()
    shutil.copytree(made, folder)
    place = Cluster(folder / "postgres").socket_folder
    if trap == "open":
        place.mkdir(mode=0o755)
    else:
        place.symlink_to(tmp_path)
    try:
        with pytest.raises(PostgresError, match="mode 0700"):
            postgres.hold(folder, extra=FAST)
        assert server(folder) is None
    finally:
        place.unlink() if place.is_symlink() else place.rmdir()


# --- sharing it


def test_the_last_one_out_stops_it(folder: Path) -> None:
    first = Holder(folder).ready()
    started = pid(folder)
    second = Holder(folder).ready()
    first.leave()
    assert pid(folder) == started
    second.leave()
    assert server(folder) is None


def test_of_many_that_come_at_once_one_starts_it(folder: Path) -> None:
    holders = [Holder(folder) for _ in range(4)]
    started = {pid(holder.ready().folder) for holder in holders}
    assert len(started) == 1
    for holder in holders:
        holder.leave()
    assert server(folder) is None


def test_a_killed_holder_holds_no_more(folder: Path) -> None:
    killed, other = Holder(folder).ready(), Holder(folder).ready()
    killed.kill()
    other.leave()
    assert server(folder) is None


def test_after_the_last_was_killed_the_next_uses_it_and_stops_it(folder: Path) -> None:
    killed = Holder(folder).ready()
    started = pid(folder)
    killed.kill()
    assert pid(folder) == started
    following = Holder(folder).ready()
    assert pid(folder) == started
    following.leave()
    assert server(folder) is None


def test_a_forked_child_holds_after_its_parent_has_left(folder: Path) -> None:
    child = Holder(folder, "fork").ready()
    assert child.process.wait(60) == 0
    assert server(folder) is not None
    child.leave()
    assert server(folder) is None


def test_a_server_that_lost_its_holders_is_stopped_on_request(folder: Path) -> None:
    holder = Holder(folder).ready()
    assert not postgres.stop_unheld(folder)
    holder.kill()
    assert postgres.stop_unheld(folder)
    assert server(folder) is None


# --- coming back


def test_it_comes_back_after_a_kill_and_has_what_was_committed(folder: Path) -> None:
    postgres.hold(folder)
    with psycopg.connect(url(folder, postgres.OWNER)) as owner:
        owner.execute("CREATE TABLE facts (word text)")
        owner.execute("INSERT INTO facts VALUES ('kept')")
    killed = psutil.Process(pid(folder))
    killed.kill()
    cluster.wait_until(lambda: server(folder) is None, 10)
    postgres.hold(folder)
    assert server(folder) not in (None, killed)
    assert one(url(folder), "SELECT word FROM facts") == "kept"


def test_a_pid_file_whose_number_is_another_process_by_now_does_not_keep_it(folder: Path) -> None:
    inside, beside = (
        folder / "postgres" / "data" / "postmaster.pid",
        Cluster(folder / "postgres").socket_folder,
    )
    beside.mkdir(mode=0o700, exist_ok=True)  # not within the data where its path is too long for a socket
    for file in (inside, beside / f"{cluster.SOCKET_NAME}.lock"):
        file.write_text(f"{os.getpid()}\n{folder}\n1700000000\n5432\n\n\n\nready   \n")
    assert server(folder) is None
    postgres.hold(folder, extra=FAST)
    assert one(url(folder), "SELECT 1") == 1


def test_another_server_is_not_taken_for_this_one(folder: Path, tmp_path: Path, made: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(made, other)
    holder = Holder(other).ready()
    pids = [place / "postgres" / "data" / "postmaster.pid" for place in (other, folder)]
    shutil.copy(*pids)
    assert server(folder) is None
    postgres.hold(folder, extra=FAST)
    assert pid(folder) != pid(other)
    holder.leave()


def test_a_start_that_was_killed_half_way_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    draft = folder / "postgres" / "draft"
    kept.private_folder(draft)
    (draft / "PG_VERSION").write_text("18\n")
    (folder / "postgres" / "password").write_text("old")
    Holder(folder).ready().leave()
    assert not draft.exists()


def test_roles_that_a_killed_start_did_not_make_are_made(folder: Path) -> None:
    postgres.hold(folder, extra=FAST)
    with psycopg.connect(
        postgres.url(folder, role=cluster.SUPERUSER, database="postgres"), autocommit=True
    ) as root:
        root.execute("DROP DATABASE tieout")
        root.execute("DROP ROLE tieout")
    postgres.release(folder)
    postgres.hold(folder, extra=FAST)
    assert one(url(folder), "SELECT current_user") == "tieout"


# --- refusals


def test_binaries_of_another_version_than_the_data_are_refused(folder: Path) -> None:
    (folder / "postgres" / "data" / "PG_VERSION").write_text("9\n")
    with pytest.raises(PostgresError, match=r"PostgreSQL 9, which made .* set PG_BIN"):
        postgres.hold(folder, extra=FAST)


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    with pytest.raises(PostgresError, match="unrecognized configuration parameter"):
        postgres.hold(folder, extra={"no_such_setting": "1"})


def test_what_root_cannot_run_is_refused_and_no_permission_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No user namespace, and a folder that no system user can reach."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(Runner, "run", lambda *_: subprocess.CompletedProcess([], 1))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(PostgresError, match="No permission was changed"):
        cluster.runner_for_root(closed / "postgres", cluster.binary_folders(None))
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert list(closed.iterdir()) == []


if os.geteuid() == 0:  # Nobody else can become a system user.

    def test_root_without_user_namespaces_runs_it_as_a_system_user_who_reaches_it(
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: None)
        folder = Path(tempfile.mkdtemp(prefix="tieout-test-"))
        folder.chmod(0o711)
        try:
            postgres.hold(folder, extra=FAST)
            found = server(folder)
            assert found is not None
            assert found.username() in {"postgres", "nobody", "daemon"}
            assert one(url(folder), "SELECT current_user") == "tieout"
            assert stat.S_IMODE((folder / "postgres").stat().st_mode) == 0o700
            assert (folder / "secrets").stat().st_uid == 0
            postgres.release(folder)
            monkeypatch.undo()
            # What it was made as, it stays: the files are that user's.
            postgres.hold(folder, extra=FAST)
            assert one(url(folder), "SELECT current_user") == "tieout"
        finally:
            postgres.release(folder)
            shutil.rmtree(folder)
