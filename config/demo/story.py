"""Tells the afternoon: trouble for Durban Books, the older connector, the web shop, and a reconciliation.

It runs beside the demo, uses what anyone could use (HTTP, a command), and writes each case into demo.json as
it appears. Told again on kept data it changes nothing.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from config.demo import told
from config.demo.afternoon import ORDERS, REMINDERS, Order
from config.demo.webshop import hand_over, remind

APPEAR_S = 180
BEAT_S = 1.0
DELAY_S = 5


def main() -> None:
    """Tell it once, and end."""
    file = Path(os.environ["DEMO_FILE"])
    headers = {"Authorization": f"Bearer {os.environ['TIEOUT_TOKEN']}"}
    with (
        httpx.Client(base_url=os.environ["SANDBOX_URL"], timeout=10) as books,
        httpx.Client(base_url=os.environ["TIEOUT_URL"], headers=headers, timeout=30) as tieout,
    ):
        first_time = trouble(books)
        run("-m", "config.demo.old_connector")
        run("-m", "config.demo.webshop")
        cases = {order.case: hand_over(tieout, order) for order in ORDERS if order.case}
        cases |= {item.case: remind(tieout, books, item) for item in REMINDERS if item.case}
        # The reconciliation checks what was refused, too; it has appeared when that is done.
        refused = {"refused": cases.pop("refused")}
        follow(tieout, cases, write=lambda found: _tell(file, found))
        if first_time:
            # Exit 1 says that there are findings, and there are.
            run("manage.py", "reconcile", "invoices", quiet=True)
        follow(tieout, refused, write=lambda found: _tell(file, found))


def trouble(books: httpx.Client) -> bool:
    """Tell Durban Books how to misbehave with orders that are new to it; False where none is."""
    fresh = False
    for order in ORDERS:
        if order.unseen:
            _fault(books, "error_before", f"GET /invoices?reference={order.key}", count=None, arg=503)
        if order.trouble is None:
            continue
        if books.get("/_effects", params={"key": order.key}).json()["deliveries"] == 0:
            fresh = True
            arg = DELAY_S if order.trouble == "delay_after" else None
            _fault(books, order.trouble, _body_of(order), count=1, arg=arg)
    return fresh


def _body_of(order: Order) -> str:
    """Part of the body of the one request that Tieout sends for it; the older connector names no customer."""
    return f'"name":"{order.customer}"'


def _fault(books: httpx.Client, mode: str, match: str, *, count: int | None, arg: int | None) -> None:
    rule = {"mode": mode, "match": match, "count": count, **({} if arg is None else {"arg": arg})}
    books.post("/_faults", json=rule).raise_for_status()


def run(*command: str, quiet: bool = False) -> None:
    """Run one program of the story to its end."""
    output = subprocess.DEVNULL if quiet else None
    subprocess.run([sys.executable, *command], check=False, stdout=output)


def follow(
    tieout: httpx.Client, cases: Mapping[str, str], *, write: Callable[[dict[str, str]], None]
) -> None:
    """Wait for each case to become what it is named for, and write it down then."""
    appeared: dict[str, str] = {}
    until = time.monotonic() + APPEAR_S
    while len(appeared) < len(cases) and time.monotonic() < until:
        before = len(appeared)
        for name, operation in cases.items():
            if name not in appeared and _has_become(_read(tieout, operation), name):
                appeared[name] = operation
        if len(appeared) > before:
            write({name: appeared[name] for name in cases if name in appeared})
        time.sleep(BEAT_S)


def _read(tieout: httpx.Client, operation: str) -> dict[str, Any] | None:
    """Return an operation; None where Tieout cannot say now."""
    try:
        answer = tieout.get(f"/api/v1/operations/{operation}")
    except httpx.TransportError:
        return None
    told: dict[str, Any] = answer.json()
    return told if answer.status_code == httpx.codes.OK else None


def _has_become(operation: dict[str, Any] | None, name: str) -> bool:
    """Say whether an operation has come to rest as this kind of case, or a person has moved it on since."""
    if operation is None:
        return False
    state, verdict = operation["state"], operation["verdict"]
    rest = {
        "one_match": state == "completed",
        "absent": state == "failed",
        "refused": state == "failed",
        "expired": state == "uncertain",
        "accepted": state == "uncertain" and verdict == "one_match",
    }
    held = state == "uncertain" and verdict == name and operation["case"] is not None
    return bool(rest.get(name, held) or state == "completed")


def _tell(file: Path, cases: dict[str, str]) -> None:
    known = json.loads(file.read_text())
    told.write(file, {**known, "cases": {**known["cases"], **cases}})


if __name__ == "__main__":
    main()
