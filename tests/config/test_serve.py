"""`make serve`: pages and worker on a given database, refusing what must not be served."""

import socket
import urllib.error
import urllib.request

from config.cluster import wait_until
from tests.processes import Spawn


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def test_pages_that_show_the_inside_are_not_served(spawn: Spawn) -> None:
    process = spawn("serve", "-m", "config.serve", DEBUG="true")
    assert process.wait(30) == 1
    assert "DEBUG is on" in spawn.logs[-1].read_text()


def test_a_database_that_is_down_is_said_in_words(spawn: Spawn) -> None:
    nobody = "postgresql://tieout:a-secret@127.0.0.1:1/tieout"
    process = spawn("serve", "-m", "config.serve", DATABASE_URL=nobody, DATABASE_OWNER_URL=nobody)
    assert process.wait(30) == 1
    said = spawn.logs[-1].read_text()
    assert "The database cannot be prepared: connection failed" in said
    assert "Traceback" not in said
    assert "a-secret" not in said


def test_it_serves_with_a_worker_and_stops_in_order(spawn: Spawn) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = spawn("serve", "-m", "config.serve", PORT=str(port))
    wait_until(lambda: _ready(f"http://127.0.0.1:{port}") or process.poll() is not None, 60)
    assert process.poll() is None
    assert _ready(f"http://127.0.0.1:{port}")
    process.terminate()
    assert process.wait(15) == 0
