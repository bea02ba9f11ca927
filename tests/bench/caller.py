"""One calling process, for the floor and for the product; it takes its orders from standard input."""

import os
from functools import cache

import django
import psycopg

from tests.bench import loop


def make(name: str) -> loop.Unit:
    """Return what does one unit of this kind of work."""
    # What it imports needs settings that are ready.
    from ledger.models import OperationType
    from tests.bench import offer, plain, product

    if name == "product":
        return product.in_process
    if name in ("http", "batches"):
        port, token = int(os.environ["PORT"]), os.environ["BENCH_TOKEN"]
        if name == "http":
            return product.OverHttp(port=port, token=token)
        return product.InBatches(port=port, token=token, at_once=int(os.environ["AT_ONCE"]))
    prefix = {"beside": "bench", "within": "ledger"}[name]
    type_id = OperationType.objects.get(name=offer.TYPE).pk
    return plain.Plain(_connection(), prefix=prefix, type_id=type_id)


@cache
def _connection() -> psycopg.Connection:
    from tests.bench import plain

    return plain.connected(os.environ["BENCH_URL"])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    loop.serve(make)
