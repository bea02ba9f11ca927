"""`/metrics`: figures for Prometheus, read by one token, without a customer's name or a key."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from ledger import actions
from ledger.door.metrics import COUNTED_EACH_S
from ledger.models import Attempt, Heartbeat, Operation, database_now
from ledger.rules.states import CaseKind
from tests import factories as make
from tests import stories
from tests.databases import Clock, Database
from tests.processes import Server, Spawn

TOKEN = "for-prometheus-0123456789-abcdefghijklm"
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def prometheus(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A client with the right token at a server that knows it."""
    monkeypatch.setenv("METRICS_TOKEN", TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=Server.started(spawn).url, headers=headers, timeout=30) as client:
        yield client


def labels(sample: Sample) -> tuple[str, ...]:
    return tuple(value for _, value in sorted(sample.labels.items()))


def figures(prometheus: httpx.Client) -> dict[str, dict[tuple[str, ...], float]]:
    """Every figure by its name and its labels' values, in the order of the labels' names."""
    answer = prometheus.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "no-store" in answer.headers["Cache-Control"]
    families = text_string_to_metric_families(answer.text)
    return {family.name: {labels(one): one.value for one in family.samples} for family in families}


def began(operation: Operation) -> datetime:
    """When the present doubt about it began."""
    moves = operation.events.exclude(state_to="").exclude(state_from=F("state_to"))
    return moves.latest("pk").at


def test_counts_and_ages_are_the_ledger_s_own(clock: Clock, prometheus: httpx.Client) -> None:
    durban = stories.Durban(clock)
    twice = durban.silent(990)
    durban.looked(twice, stories.one(twice, "INV-990"))
    made = durban.every_state()
    clock.advance(60)
    actions.reopen(twice.pk, kind=CaseKind.MISSING, actor="policy", reason="It is gone.")
    actions.pause(durban.reminder.destination_id, why="Its rules cannot be read.")
    clock.set(database_now() + timedelta(hours=1))
    now = database_now()
    Heartbeat.objects.create(name="queue", beat_at=now - timedelta(seconds=7), busy_until=now)
    OrmQ.objects.create(key="tieout", payload="", lock=timezone.now() - timedelta(seconds=90))
    said = figures(prometheus)

    stand = Counter(Operation.objects.values_list("state", "operation_type__name"))
    told = said["tieout_operations"]
    assert {of: count for of, count in told.items() if count} == stand
    assert len(told) == 2 * 5, "what there is none of stands at nought"
    held = Counter(one.operation_type.name for one in Operation.objects.all() if one.held_at)
    assert {kind: count for (kind,), count in said["tieout_operations_held"].items()} == {
        kind: held[kind] for kind in ("invoice.create", "reminder.send")
    }
    tried = Counter(one or "open" for one in Attempt.objects.values_list("outcome", flat=True))
    assert {one: count for (one,), count in said["tieout_attempts"].items() if count} == tried
    for kind in ("invoice.create", "reminder.send"):
        doubts = Operation.objects.filter(state="uncertain", operation_type__name=kind)
        since = [began(one) for one in doubts]
        age = (now - min(since)).total_seconds() if since else 0
        assert said["tieout_oldest_uncertain_seconds"][kind,] == pytest.approx(age)
    waits = made["pending"].next_try_at
    assert waits is not None
    assert said["tieout_oldest_due_seconds"]["invoice.create",] == pytest.approx(
        (now - waits).total_seconds()
    )
    assert said["tieout_destination_paused"] == {
        ("false", "books"): 0,
        ("true", "books"): 0,
        ("false", "mailroom"): 1,
        ("true", "mailroom"): 0,
    }
    assert said["tieout_queue_tasks"] == {(): 1}
    assert said["tieout_queue_lag_seconds"][()] >= 90
    assert said["tieout_heartbeat_age_seconds"] == {(): 7}

    text = prometheus.get("/metrics").text
    for one in Operation.objects.all():
        for word in (one.key, one.subject, one.description, str(one.uid)):
            assert word not in text


def test_what_is_finished_and_many_is_not_counted_each_time_and_what_is_open_is(
    database: Database, prometheus: httpx.Client
) -> None:
    kind = make.kind()
    done = make.tried(kind, make.done())
    copied = [field.column for field in Operation._meta.concrete_fields if field.column not in COPY]
    database.as_superuser(
        "SET session_replication_role = replica",
        f"INSERT INTO ledger_operation (uid, key, {', '.join(copied)}) "
        f"SELECT gen_random_uuid(), 'copy/' || n, {', '.join(copied)} "
        f"FROM ledger_operation, generate_series(1, {COUNTED_EACH_S}) AS n WHERE id = {done.pk}",
    )
    make.claimed(kind, "order/open")
    told = figures(prometheus)["tieout_operations"]
    assert (told["completed", kind.name], told["running", kind.name]) == (COUNTED_EACH_S + 1, 1)
    assert kept() == [":1:metrics:operations"], "few attempts are counted each time"
    cache.set("metrics:operations", {(kind.name, "completed"): 7}, timeout=None)
    make.claimed(kind, "order/another")
    told = figures(prometheus)["tieout_operations"]
    assert (told["completed", kind.name], told["running", kind.name]) == (7, 2)
    cache.delete("metrics:operations")
    assert figures(prometheus)["tieout_operations"]["completed", kind.name] == COUNTED_EACH_S + 1


def kept() -> list[str]:
    """The counts that were kept, whether their time is over or not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key FROM tieout_cache WHERE cache_key LIKE '%metrics:%'")
        return [key for (key,) in cursor.fetchall()]


COPY = ("id", "uid", "key")


def test_without_the_token_nothing_is_told(prometheus: httpx.Client) -> None:
    for sent in ("", "Bearer", f"Bearer {TOKEN}x", TOKEN, f"Basic {TOKEN}", "Bearer ä"):
        answer = prometheus.get("/metrics", headers=[(b"Authorization", sent.encode())])
        assert answer.status_code == 401
        assert "tieout_" not in answer.text
        assert TOKEN not in answer.text
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert prometheus.post("/metrics").status_code in (403, 405)
    assert "tieout_heartbeat" not in prometheus.get("/metrics").text, "there is none before the first beat"


def test_unless_it_is_set_there_is_no_such_page(database: Database) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "host": "127.0.0.1"}
    assert Client(headers=headers).get("/metrics").status_code == 404
