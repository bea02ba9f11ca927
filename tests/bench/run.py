"""One whole run: everything is started, measured side by side, and stopped."""

import os
import platform
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import psycopg

from tests.bench import cells, peer, serving, stages, table
from tests.bench.callers import Callers
from tests.bench.place import Place, folder

AT_ONCE = 500
"""How many operations a caller gathers for a batch: as many as one takes."""


def bench(
    place: Place,
    *,
    callers: tuple[int, ...],
    rounds: int,
    seconds: float,
    http: bool = True,
    beside_peer: bool = True,
    at_once: int = AT_ONCE,
) -> dict[str, Any]:
    """Measure everything in this place; what could not be measured is told in `notes`."""
    notes: list[str] = []
    port = serving.free_port()
    with ExitStack() as stack:
        able: dict[str, Callers] = {}
        if beside_peer:
            try:
                able["peer"] = stack.enter_context(peer.started(max(callers), place, folder=folder()))
            except (subprocess.SubprocessError, OSError) as error:
                notes.append(f"DBOS could not be installed here, so nothing is said of it ({error}).")
        token = place.environ["BENCH_TOKEN"]
        spent = stages.profile(token, seconds=rounds * seconds) if http else {}
        of_batches = stages.profile(token, seconds=rounds * seconds, at_once=at_once) if http else {}
        if http:
            stack.enter_context(serving.running(port, place.environ))
        command = (sys.executable, "-m", "tests.bench.caller")
        environ = {**place.environ, "PORT": str(port), "AT_ONCE": str(at_once)}
        able["own"] = stack.enter_context(Callers.started(max(callers), *command, environ=environ))
        wanted = cells.chosen(callers, http=http, peer="peer" in able)
        rates = cells.measured(wanted, place, able, rounds=rounds, seconds=seconds)
    return {
        "on": datetime.now(UTC).date().isoformat(),
        "machine": _machine(place),
        "rounds": rounds,
        "seconds": seconds,
        "figures": table.figures(rates),
        "stages": spent,
        "stages of batches": of_batches,
        "notes": notes,
    }


def _machine(place: Place) -> dict[str, Any]:
    with psycopg.connect(place.app_url) as connection:
        version = connection.info.server_version // 10000
        row = connection.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
        ).fetchone()
    assert row is not None
    durable = "durable" if row == ("on", "on") else "not durable"
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "postgres": f"PostgreSQL {version} ({durable})",
    }
