"""Start the sandbox: `python -m ledger.sandbox --port 8010 --file PATH`."""

import argparse
import errno
import signal
import sqlite3
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ledger.sandbox.books import Books
from ledger.sandbox.server import SandboxServer

DAY_S = 24 * 60 * 60


def main(arguments: list[str] | None = None) -> int:
    """Listen until told to stop; the exit status is 1 where it could not start."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        server = SandboxServer(options.host, options.port)
    except (OSError, OverflowError) as error:
        return _complain(_why_not(error, options.host, port=options.port))
    try:
        server.books = Books(options.file, retention_s=options.retention)
    except sqlite3.Error as error:
        server.server_close()
        return _complain(f"The file {options.file} cannot be used: {error}.")
    server.token = options.token
    print(f"Durban Books (sandbox) listens on {server.url}", flush=True)
    try:
        server.serve_forever()
    finally:
        server.server_close()
        server.books.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ledger.sandbox",
        description="Durban Books: a destination that can be told to misbehave.",
    )
    parser.add_argument("--port", type=int, default=8010, help="0 takes any free one")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--file", type=Path, required=True, help="where it keeps what it did; made where absent"
    )
    parser.add_argument("--token", help="the bearer token that callers must send; default: none is asked for")
    parser.add_argument(
        "--retention", type=float, default=DAY_S, help="seconds for which a key's answer is kept"
    )
    return parser


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _why_not(error: Exception, host: str, *, port: int) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken on {host}. Stop what listens there, or choose another with --port."
    return f"Cannot listen on {host}, port {port}: {error}"


def _complain(message: str) -> int:
    print(message, file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
