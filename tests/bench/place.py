"""Where a bench works: a data folder and an embedded PostgreSQL of its own, as the product starts it."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from config import postgres
from config.environment import ROOT, Environment
from tests.bench import offer, plain


@dataclass(frozen=True)
class Place:
    """A database that is ready for work, and the environment of the processes that work in it."""

    app_url: str
    owner_url: str
    environ: Mapping[str, str]

    @classmethod
    @contextmanager
    def made(cls, folder: Path) -> Iterator["Place"]:
        """Make everything in a new folder, away from what a Tieout on this machine keeps; it is removed."""
        folder.mkdir(parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
        for name in Environment.model_fields:
            os.environ.pop(name.upper(), None)
        os.environ.update(DATA_DIR=str(own), DJANGO_SETTINGS_MODULE="config.settings")
        try:
            urls = postgres.hold(own)
            import django

            from config import processes

            django.setup()
            processes.prepare()
            yield cls.furnished(urls.app, urls.owner, environ=os.environ)
        finally:
            postgres.release(own)
            shutil.rmtree(own, ignore_errors=True)

    @classmethod
    def furnished(cls, app_url: str, owner_url: str, *, environ: Mapping[str, str]) -> "Place":
        """Put into a migrated database what callers need: a type, a token, and the floor's tables."""
        from ledger.models import ApiToken
        from ledger.rules.tokens import new_token, token_hash
        from tests import factories

        factories.reminder_type(name=offer.TYPE, contract=offer.CONTRACT)
        token = new_token()
        ApiToken.objects.create(name=offer.ACTOR.partition(":")[2], token_hash=token_hash(token), types=[])
        plain.make_tables(owner_url)
        return cls(app_url, owner_url, {**environ, "BENCH_URL": app_url, "BENCH_TOKEN": token})

    @contextmanager
    def snapshot_held(self) -> Iterator[None]:
        """Hold a snapshot open while ten thousand rows of each operations table die."""
        with psycopg.connect(self.app_url) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM ledger_operationtype")
            with psycopg.connect(self.app_url) as writer:
                for table in ("bench_operation", "ledger_operation"):
                    writer.execute(
                        f"UPDATE {table} SET nudged_at = clock_timestamp() WHERE id IN "
                        f"(SELECT id FROM {table} ORDER BY id DESC LIMIT 10000)".encode()
                    )
            yield


def folder() -> Path:
    """Where benches keep what they need: on the disk that the product's data is on."""
    return ROOT / ".data" / "bench"
