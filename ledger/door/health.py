"""Whether Tieout is alive, and whether it is ready: its database answers, and work goes through its queue."""

from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ledger.door.answers import respond
from ledger.models import Heartbeat, database_now

QUEUE = "queue"
FRESH = timedelta(seconds=30)


@never_cache
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Answer that the web server runs, whatever else does."""
    return respond({"alive": True})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Answer 200 when operations can be taken and will be worked on, else 503 with what is wrong."""
    wrong = _wrong()
    return respond({"ready": not wrong, "wrong": wrong}, status=503 if wrong else 200)


def _wrong() -> list[str]:
    try:
        silence = of_worker(database_now())
    except (OperationalError, InterfaceError):
        return ["The database does not answer."]
    return [silence] if silence else []


def of_worker(now: datetime) -> str:
    """Say what is wrong with the worker, empty where work goes through its queue; one query."""
    beat = Heartbeat.objects.filter(name=QUEUE).first()
    if beat is None:
        return "No work has gone through the queue yet: the worker does not run, or has just started."
    # A worker that is long at one task has told until when it may be.
    if now - max(beat.beat_at, beat.busy_until) > FRESH:
        silent_s = (now - beat.beat_at).total_seconds()
        return f"No work has gone through the queue for {silent_s:.0f} s: the worker is down or stuck."
    return ""
