"""`/metrics` for Prometheus: counts and ages, under the names that `configure` gave and no others."""

import secrets
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import InterfaceError, OperationalError
from django.db.models import Count, Exists, Max, Min, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_q.conf import Conf
from django_q.models import OrmQ
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from ledger.door.health import QUEUE
from ledger.models import (
    Attempt,
    Destination,
    Event,
    Heartbeat,
    Operation,
    OperationType,
    Pause,
    database_now,
)
from ledger.rules.states import UNFINISHED, Outcome, State

OPEN = "open"
"""What an attempt without an outcome counts as."""
COUNTED_EACH_S = 10_000
"""How many finished rows are counted for each second that their counts are kept."""

Groups = QuerySet[Any, tuple[Any, ...]]
Counts = dict[tuple[str | None, ...], int]


@never_cache
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Answer with every figure as it is now; 404 unless METRICS_TOKEN is set, 401 unless it is sent."""
    token: str | None = settings.METRICS_TOKEN
    if token is None:
        raise Http404
    sent = request.META.get("HTTP_AUTHORIZATION", "")
    if not secrets.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        refused = _text('Send "Authorization: Bearer TOKEN" with the value of METRICS_TOKEN.\n', status=401)
        refused["WWW-Authenticate"] = 'Bearer realm="tieout metrics"'
        return refused
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Ledger())
    try:
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
    except (OperationalError, InterfaceError):
        return _text("The database does not answer.\n", status=503)


def _text(words: str, *, status: int) -> HttpResponse:
    return HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")


class Ledger(Collector):
    """Reads each figure when it is asked for; a type or a destination without any stands at nought."""

    def collect(self) -> Iterator[Metric]:
        """Yield the figures at one time of the database's clock; counts of what is finished may be older."""
        now = database_now()
        types = list(OperationType.objects.order_by("name").values_list("name", flat=True))
        yield _operations(types)
        yield _held(types)
        yield from _oldest(types, now)
        yield _attempts()
        yield _paused()
        yield from _queue()
        yield from _heart(now)


def _gauge(name: str, words: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tieout_{name}", words, labels=labels)


def _kept(name: str, rows: Groups) -> Counts:
    """Count what only grows, and keep that for a second for each 10,000: so counting stays cheap.

    What is few is counted each time.
    """
    counts: Counts | None = cache.get(f"metrics:{name}")
    if counts is None:
        counts = _counted(rows)
        kept_s = sum(counts.values()) // COUNTED_EACH_S
        if kept_s:
            cache.set(f"metrics:{name}", counts, kept_s)
    return counts


def _counted(rows: Groups) -> Counts:
    return {tuple(of): count for *of, count in rows.annotate(count=Count("pk")).order_by()}


def _operations(types: Iterable[str]) -> Metric:
    by = Operation.objects.values_list("operation_type__name", "state")
    found = _counted(by.filter(state__in=UNFINISHED))
    found |= _kept("operations", by.exclude(state__in=UNFINISHED))
    gauge = _gauge("operations", "Operations by type and state.", "type", "state")
    for kind in types:
        for state in State:
            gauge.add_metric([kind, state], found.get((kind, state), 0))
    return gauge


def _held(types: Iterable[str]) -> Metric:
    held = Operation.objects.filter(held_at__isnull=False).values_list("operation_type__name")
    found = dict(held.annotate(count=Count("pk")).order_by())
    gauge = _gauge("operations_held", "Operations that wait for a person.", "type")
    for kind in types:
        gauge.add_metric([kind], found.get(kind, 0))
    return gauge


def _oldest(types: list[str], now: datetime) -> Iterator[Metric]:
    """How long the oldest operation has been due, and how long the oldest one has been in doubt."""
    due = Operation.objects.due(now).values_list("operation_type__name").annotate(at=Min("next_try_at"))
    found = dict(due.order_by())
    yield _ages(
        "oldest_due_seconds", "How long the oldest due try has waited.", types=types, found=found, now=now
    )
    entered = Event.objects.filter(operation=OuterRef("pk"), state_to=State.UNCERTAIN)
    doubted = entered.exclude(state_from=State.UNCERTAIN).order_by()
    since = Subquery(doubted.values("operation").annotate(at=Max("at")).values("at"))
    in_doubt = Operation.objects.filter(state=State.UNCERTAIN).values_list("operation_type__name")
    found = dict(in_doubt.annotate(at=Min(since)).order_by())
    yield _ages(
        "oldest_uncertain_seconds", "How long the oldest doubt has lasted.", types=types, found=found, now=now
    )


def _ages(name: str, words: str, *, types: list[str], found: dict[str, datetime], now: datetime) -> Metric:
    gauge = _gauge(name, words, "type")
    for kind in types:
        gauge.add_metric([kind], (now - found[kind]).total_seconds() if kind in found else 0)
    return gauge


def _attempts() -> Metric:
    by = Attempt.objects.values_list("outcome")
    found = _counted(by.filter(closed_at=None)) | _kept("attempts", by.filter(closed_at__isnull=False))
    gauge = _gauge("attempts", "Attempts by outcome.", "outcome")
    for outcome in (*Outcome, OPEN):
        gauge.add_metric([outcome], found.get((None if outcome == OPEN else outcome,), 0))
    return gauge


def _paused() -> Metric:
    pauses = Pause.objects.open().filter(destination=OuterRef("pk"))
    gauge = _gauge(
        "destination_paused", "1 where nothing goes to a destination.", "destination", "callers_only"
    )
    stand = Destination.objects.annotate(
        ours=Exists(pauses.of_all()), callers=Exists(pauses.filter(callers_only=True))
    )
    for name, ours, callers in stand.order_by("name").values_list("name", "ours", "callers"):
        gauge.add_metric([name, "false"], int(ours))
        gauge.add_metric([name, "true"], int(callers))
    return gauge


def _queue() -> Iterator[Metric]:
    """What waits in the queue, whose clock is this machine's."""
    now = timezone.now()
    waiting = OrmQ.objects.filter(key=Conf.CLUSTER_NAME, lock__lte=now)
    found = waiting.aggregate(count=Count("pk"), at=Min("lock"))
    depth = _gauge("queue_tasks", "Tasks that wait in the queue.")
    depth.add_metric([], found["count"])
    yield depth
    lag = _gauge("queue_lag_seconds", "How long the oldest of them has waited.")
    lag.add_metric([], (now - found["at"]).total_seconds() if found["at"] else 0)
    yield lag


def _heart(now: datetime) -> Iterator[Metric]:
    """When work last went through the queue; nothing where none ever has."""
    beat = Heartbeat.objects.filter(name=QUEUE).first()
    if beat is None:
        return
    age = _gauge("heartbeat_age_seconds", "How long ago work last went through the queue.")
    age.add_metric([], (now - beat.beat_at).total_seconds())
    yield age
    busy = _gauge("worker_busy_seconds", "For how long a worker may still be silent at one long task.")
    busy.add_metric([], max((beat.busy_until - now).total_seconds(), 0))
    yield busy
