"""`python -m tests.bench.console`: queue, operation and search among a million, beside a bare page.

Everything is measured in this process, through the product's own middleware and templates, a request of each
kind in turn, and directly before each one a bare page, so that a busy machine hurts both. The million is made
once and kept on disk, as long as the schema is the same; an older one goes when another is made.
"""

import argparse
import os
import platform
import shutil
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from config import postgres
from config.environment import ROOT, Environment

ROUNDS = 20
BARE, ADMIN = "bench/bare/", "bench/admin/ledger/operation/"
FILTERS = {
    "all open": "",
    "all open, five pages on": "after=",
    "due first": "order=due",
    "oldest first": "order=age",
    "largest amount": "order=amount",
    "needs a person": "view=person",
    "late": "view=late",
    "doubled or differs": "view=wrong",
    "latest": "view=latest",
    "latest, several": "view=latest&found=several",
    "may have happened": "state=uncertain",
    "waiting": "state=pending",
    "absent": "found=absent",
    "not checked yet": "found=unchecked",
    "a type": "type=bench.3",
    "a destination": "destination=books",
    "EUR": "currency=EUR",
    "older than a week": "age=168",
    "amounts": "least=15000&most=15100",
    "a reason": "reason=lapsed",
    "by cause and destination": "group=cause",
    "an owner": "owner=treasury",
    "reason, owner, currency": "reason=several&owner=treasury&currency=EUR",
    "a text": "text=4711",
    "a text that many have": "text=order",
    "no one": "state=failed&reason=expired",
}


@contextmanager
def million(folder: Path) -> Iterator[int]:
    """Hold the million in this folder, made where it is missing; gives the id that was tried fifty times."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in Environment.model_fields:
        os.environ.pop(name.upper(), None)
    os.environ.update(DATA_DIR=str(folder), DJANGO_SETTINGS_MODULE="tests.bench.console_settings")
    urls = postgres.hold(folder)
    try:
        import django

        from config import processes

        django.setup()
        processes.prepare()
        yield _filled(folder, urls.owner)
    finally:
        postgres.release(folder)


def _filled(folder: Path, owner_url: str) -> int:
    import psycopg

    from config.cluster import SUPERUSER
    from ledger.models import Operation, OperationType
    from tests import factories

    for number in range(6):
        if not OperationType.objects.filter(name=(name := f"bench.{number}")).exists():
            factories.kind(name, destination=factories.destination("books" if number < 4 else "mailroom"))
    power = postgres.url(folder, role=SUPERUSER, database=postgres.DATABASE)
    if not Operation.objects.exists():
        statements = Path(__file__).with_name("million.sql").read_text()
        with psycopg.connect(power) as connection:  # all of it or nothing
            connection.execute(statements.replace("%(often)s", "70").encode())
    with psycopg.connect(power, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # also where one was killed before it
    return 70


def measured(often: int, *, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return of each kind of request its milliseconds, median and 95th of a hundred, and both by a bare page.

    The median's is that of each request by the bare page before it; the 95th's is by that of all bare pages.
    """
    from ledger.models import Operation
    from tests.people import browser_of

    ann, ada = browser_of("ann"), _superuser()
    uid = Operation.objects.get(pk=often).uid
    asked = {name: f"queue/?{query}" for name, query in FILTERS.items()}
    asked["all open, five pages on"] = _further(ann, 5)
    asked |= {
        "an operation with fifty tries": f"operations/{uid}/",
        "search: an order": "find/?q=Order%20471000",
        "search: a customer": "find/?q=Customer%204711",
        "search: a reference there": "find/?q=INV-471001",
        "search: a number that a check has seen": f"find/?q={_seen()}",
        "search: an amount": "find/?q=1240.00",
        "search: nothing": "find/?q=nowhere",
    }
    asked["the admin's list"] = ADMIN
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for number in range(rounds + 1):
        for name, address in asked.items():
            if address == ADMIN and number >= 4:
                continue
            pair = _took(ann, BARE), _took(ada if address == ADMIN else ann, address)
            spent[name] += [pair] if number else []
    bare = [floor for pairs in spent.values() for floor, _ in pairs]
    found = {"a bare page": [median(bare), _p95(bare), 1.0, 1.0]}
    for name, pairs in spent.items():
        own = [took for _, took in pairs]
        by = median(took / floor for floor, took in pairs)
        found[name] = [median(own), _p95(own), by, _p95(own) / _p95(bare)]
    return found


def _p95(took: list[float]) -> float:
    return quantiles(took, n=20, method="inclusive")[-1]


def _took(client: Any, address: str) -> float:
    began = time.perf_counter()
    answer = client.get(f"/{address}")
    took = (time.perf_counter() - began) * 1000
    assert answer.status_code in (200, 302), (address, answer.status_code)
    return took


def _further(client: Any, pages: int) -> str:
    import re

    address = "/queue/"
    for _ in range(pages):
        page = client.get(address).content.decode()
        (address,) = re.findall(r'rel="next" href="([^"]+)"', page)
        address = address.replace("&amp;", "&")
    return address.removeprefix("/")


def _seen() -> str:
    from ledger.models import Lookup

    found: str = Lookup.objects.filter(verdict="several").order_by("id")[500].records[0]["id"]
    return found


def _superuser() -> Any:
    from django.contrib.auth.models import User
    from django.test import Client

    user, _ = User.objects.get_or_create(username="root-of-bench", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    return client


def kept() -> Path:
    """Where the million is kept: anew for another schema, or another million."""
    sources = [
        *ROOT.glob("*/migrations/*.py"),
        *ROOT.glob("*/sql/*.sql"),
        Path(__file__).with_name("million.sql"),
    ]
    known = zlib.crc32(b"".join(path.read_bytes() for path in sorted(sources)))
    folder = ROOT / ".data" / "bench" / f"million-{known:08x}"
    for older in folder.parent.glob("million-*"):
        if older != folder and not any(older.rglob("postmaster.pid")):
            shutil.rmtree(older)
    return folder


def told(found: dict[str, list[float]], *, rounds: int) -> str:
    """Write the figures for a terminal."""
    rows = [f"{'':40}{'median ms':>10}{'p95 ms':>10}{'medians':>10}{'p95s':>8}  by a bare page"]
    rows += [
        f"{name:40}{mid:10.1f}{most:10.1f}{by:10.2f}{by_most:8.2f}"
        for name, (mid, most, by, by_most) in found.items()
    ]
    return "\n".join([about(rounds), *rows])


def readme(found: dict[str, list[float]], *, rounds: int) -> str:
    """Write the table for the README, as `python -m tests.bench.console --readme` prints it."""
    head = "| | median ms | 95th of a hundred, ms | median by a bare page | 95ths by a bare page |"
    rows = [
        f"| {name} | {mid:.1f} | {most:.1f} | {by:.2f} | {by_most:.2f} |"
        for name, (mid, most, by, by_most) in found.items()
    ]
    return "\n".join([about(rounds), "", head, "|---|---:|---:|---:|---:|", *rows])


def about(rounds: int) -> str:
    """Say what was measured, where and how."""
    from django.db import connection

    with connection.cursor() as cursor:
        version = cursor.connection.info.server_version // 10000
    where = f"{os.cpu_count()} cores, PostgreSQL {version}"
    return (
        f"A million operations, a hundred thousand of them open, in process. {where}, "
        f"Python {platform.python_version()}; {rounds} interleaved rounds, on {datetime.now(UTC).date()}."
    )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.console", description=__doc__)
    parser.add_argument(
        "rounds", type=int, nargs="?", default=ROUNDS, help="how often each page is asked for"
    )
    parser.add_argument("--readme", action="store_true", help="print the table for the README")
    return parser.parse_args()


def main() -> None:
    """Measure as the command line asks."""
    asked = _asked()
    with million(Path(os.environ["BENCH_FOLDER"]) if "BENCH_FOLDER" in os.environ else kept()) as often:
        found = measured(often, rounds=asked.rounds)
        print((readme if asked.readme else told)(found, rounds=asked.rounds))


if __name__ == "__main__":
    main()
