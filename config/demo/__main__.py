"""The Durban demo: a whole Tieout with a destination that can be told to misbehave, for `make demo`."""

import fcntl
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured

from config import environment, kept, postgres
from config.demo import durban, told
from config.environment import Environment
from config.processes import Processes, Stopped, gunicorn, manage, prepare

READY_S = 60
HOST = "127.0.0.1"


def main() -> None:
    """Run the demo until somebody asks to stop; what is wrong is said in words, exit 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A walk of two minutes: a second factor can be set up, and is asked for then, but nobody has to.
    os.environ.setdefault("SECOND_FACTOR_ROLES", environment.NOBODY)
    # Its own file is in force at once where it is new, and so is what people change there.
    os.environ.setdefault("RULES_BY_TWO", "false")
    try:
        known = environment.read()
        with _alone(known.data_dir):
            _refuse_taken(known)
            (known.data_dir / "demo.json").unlink(missing_ok=True)
            with Processes() as processes:
                _run(known, processes)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except Stopped:
        print("Stopped.", flush=True)


def _run(known: Environment, processes: Processes) -> None:
    url, sandbox = f"http://{HOST}:{known.port}", f"http://{HOST}:{known.sandbox_port}"
    print("Preparing the database …", flush=True)
    postgres.ensure()
    django.setup()
    prepare()
    file = known.data_dir / "sandbox.sqlite3"
    processes.start(
        "sandbox", *("-m", "ledger.sandbox", "--port", str(known.sandbox_port), "--file", str(file))
    )
    prepared = durban.prepare(known, sandbox=sandbox)
    processes.start("web server", *gunicorn(HOST, known.port))
    processes.start("worker", *manage("worker"))
    processes.wait_for(lambda: _answers(f"{url}/readyz"), seconds=READY_S, what=f"An answer of {url}/readyz")
    tells = {"url": url, "sandbox": sandbox, **prepared, "database": postgres.ensure().app, "cases": {}}
    demo_file = known.data_dir / "demo.json"
    told.write(demo_file, tells)
    print(durban.welcome(tells), flush=True)
    os.environ |= {
        "DEMO_FILE": str(demo_file),
        "TIEOUT_URL": url,
        "TIEOUT_TOKEN": tells["token"],
        "SANDBOX_URL": sandbox,
    }
    processes.start("story", "-m", "config.demo.story", may_end=True)
    processes.watch()


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    """Refuse a second demo on the same data."""
    kept.private_folder(data_dir)
    with open(data_dir / "demo.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImproperlyConfigured(
                f"A demo already runs on {data_dir}. Stop it, or set another DATA_DIR, PORT and SANDBOX_PORT."
            ) from None
        yield


def _refuse_taken(known: Environment) -> None:
    taken = []
    for name, port in (("PORT", known.port), ("SANDBOX_PORT", known.sandbox_port)):
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            taken.append(f"Port {port} is taken. Free it, or set {name} to another.")
    if taken:
        raise ImproperlyConfigured("\n".join(taken))


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310  # an address of our own
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


if __name__ == "__main__":
    main()
