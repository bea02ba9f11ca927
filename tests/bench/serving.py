"""The web server as `make serve` starts it, for callers over HTTP."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from config import processes
from config.environment import ROOT

START_S = 60
STOP_S = 10


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(port: int, environ: Mapping[str, str]) -> Iterator[None]:
    """Serve until the block ends; raises RuntimeError where it does not begin."""
    command = [sys.executable, *processes.gunicorn("127.0.0.1", port)]
    with subprocess.Popen(command, cwd=ROOT, env=dict(environ)) as server:
        try:
            _wait_for(f"http://127.0.0.1:{port}/healthz", server)
            yield
        finally:
            server.terminate()
            server.wait(STOP_S)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=START_S):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise RuntimeError("The web server did not start; what it said stands above.")
