"""`python -m tests.bench.console`: queue, operation and search among a million, beside a bare page.

Everything is measured in this process, through the product's own middleware and templates, a request of each
kind in turn, and directly before each one a bare page, so that a busy machine hurts both. The million is made
once and kept on disk, as long as the schema is the same; an older one goes when another is made.
"""

import argparse
import json
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
from urllib.parse import quote_plus

from config import postgres
from config.environment import ROOT, Environment
from tests.bench import targets
from tests.bench.targets import Figure

ROUNDS = 40
ENTITY, TEAM = "Cape Mail (Pty) Ltd", "treasury"
"""To which one reader is limited, and in which the other one is."""
BARE, ADMIN = "bench/bare/", "bench/admin/ledger/operation/"
FILTERS = {
    "all open": "",
    "all open, five pages on": "after=",
    "due first": "order=due",
    "oldest first": "order=age",
    "largest amount": "order=amount",
    "needs a person": "view=person",
    "late": "view=late",
    "escalated": "view=escalated",
    "snoozed": "view=snoozed",
    "doubled or differs": "view=wrong",
    "latest": "view=latest",
    "latest, several": "view=latest&found=several",
    "may have happened": "state=uncertain",
    "waiting": "state=pending",
    "absent": "found=absent",
    "differs": "found=differs",
    "could not look": "found=could_not_look",
    "not checked yet": "found=unchecked",
    "a type": "type=bench.3",
    "a destination": "destination=books",
    "an entity": f"entity={quote_plus(ENTITY)}",
    "EUR": "currency=EUR",
    "older than a week": "age=168",
    "younger than a week": "younger=168",
    "amounts": "least=15000&most=15100",
    "a reason": "reason=lapsed",
    "by cause and destination": "group=cause",
    "an owner": f"owner={TEAM}",
    "reason, owner, currency": f"reason=several&owner={TEAM}&currency=EUR",
    "mine": "who=me",
    "my team's": "who=team",
    "nobody's": "who=nobody",
    "a text": "text=4711",
    "a text that many have": "text=order",
    "no one": "state=failed&reason=expired",
}
LIMITED = {
    "one entity seen: all open": "",
    "one entity seen: needs a person": "view=person",
    "one entity seen: absent": "found=absent",
    "one entity seen: a text": "text=4711",
}
"""The same as somebody asks for it who is limited to a legal entity."""


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
        from config import wsgi  # noqa: F401  # what the web server's own process does: it collects garbage seldom

        yield _filled(folder, urls.owner)
    finally:
        postgres.release(folder)


def _filled(folder: Path, owner_url: str) -> int:
    import psycopg
    from django.contrib.auth.models import Group

    from config.cluster import SUPERUSER
    from ledger.models import Operation, OperationType
    from tests import factories
    from tests.people import limited, person

    for number in range(6):
        if not OperationType.objects.filter(name=(name := f"bench.{number}")).exists():
            there = ("books", {}) if number < 4 else ("mailroom", {"entity": ENTITY})
            factories.kind(name, destination=factories.destination(there[0], **there[1]))
    power = postgres.url(folder, role=SUPERUSER, database=postgres.DATABASE)
    if not Operation.objects.exists():
        statements = Path(__file__).with_name("million.sql").read_text()
        with psycopg.connect(power) as connection:  # all of it or nothing
            connection.execute(statements.replace("%(often)s", "70").encode())
    with psycopg.connect(power, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # also where one was killed before it
    limited("vic", ENTITY)
    person("ann").groups.add(Group.objects.get_or_create(name=TEAM)[0])
    return 70


def measured(often: int, *, rounds: int = ROUNDS) -> list[Figure]:
    """Return the figures of each kind of request, a bare page's first and those of the admin's list last.

    The median by a bare page is that of each request by the bare page before it; the 95th's is by that of all
    bare pages.
    """
    asked = _asked_for(often)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for number in range(rounds + 1):
        for name, (client, address) in asked.items():
            if address == ADMIN and number >= 4:
                continue
            pair = _took(asked["all open"][0], BARE), _took(client, address)
            spent[name] += [pair] if number else []
    bare = [floor for pairs in spent.values() for floor, _ in pairs]
    (*_, admin) = spent.values()
    known = {"bare_ms": _p95(bare), "admin_ms": _p95([took for _, took in admin])}
    found = [Figure("a bare page", median(bare), _p95(bare), 1.0, 1.0)]
    for name, pairs in spent.items():
        own = [took for _, took in pairs]
        by, p95 = median(took / floor for floor, took in pairs), _p95(own)
        held_to = _held_to(asked[name][1], p95, known)
        found.append(Figure(name, median(own), p95, by, p95 / known["bare_ms"], held_to))
    return found


def _asked_for(often: int) -> dict[str, tuple[Any, str]]:
    """Return of each kind of request who asks, and for which address."""
    from ledger.models import Operation
    from tests.people import browser_of

    ann, vic, ada = browser_of("ann"), browser_of("vic"), _superuser()
    page = f"operations/{Operation.objects.get(pk=often).uid}/"
    found = {name: (ann, f"queue/?{query}") for name, query in FILTERS.items()}
    found["all open, five pages on"] = ann, _further(ann, 5)
    found |= {name: (vic, f"queue/?{query}") for name, query in LIMITED.items()}
    found |= {"an operation with fifty tries": (ann, page), "one entity seen: the same": (vic, page)}
    sought = {
        "an order": "Order%20471000",
        "a customer": "Customer%204711",
        "a reference there": "INV-471001",
        "a number that a check has seen": _seen(),
        "an amount": "1240.00",
        "nothing": "nowhere",
    }
    found |= {f"search: {name}": (ann, f"find/?q={text}") for name, text in sought.items()}
    return found | {"the admin's list": (ada, ADMIN)}


def _held_to(address: str, p95_ms: float, known: dict[str, float]) -> list[targets.Target]:
    if address.startswith("queue/"):
        return targets.of_queue(p95_ms, **known)
    return [] if address == ADMIN else targets.in_process(p95_ms)


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
        said = about(asked.rounds)
    print((targets.readme if asked.readme else targets.told)(found, about=said))
    kept_in = ROOT / "bench.json"
    rest = json.loads(kept_in.read_text()) if kept_in.exists() else {}
    kept_in.write_text(json.dumps(rest | {"console": targets.document(found, about=said)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
