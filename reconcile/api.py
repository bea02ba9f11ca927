"""Runs over the HTTP API: start one, read it, walk what it found. It is a worker that carries a run out."""

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BeforeValidator, Field

from ledger.door import answers, auth
from ledger.door.api import REPLAYED
from ledger.door.members import Whole
from ledger.door.openapi import answering
from ledger.door.refusals import ASKED, BODY, BY_RULES
from ledger.door.schemas import LIST_MAX, Asked, Given, Taken
from ledger.rules.errors import Conflict, NotFound
from ledger.rules.states import State
from reconcile import findings, joining, reports
from reconcile.actions import AlreadyRunning
from reconcile.classes import ItemClass
from reconcile.models import Plan, Run

router = Router()


class RunNotDone(Conflict):
    """The run is still at work, so that what it found so far says nothing."""

    type = "run-not-done"
    title = "The run is still at work"
    retry = "wait"


def _day(value: object) -> date | None:
    try:
        if value is None:
            return None
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise ValueError("must be a day that exists, such as 2026-11-30")


Day = Annotated[date, BeforeValidator(_day)]


class RunIn(Taken):
    """Which days are compared, in the plan's zone; without either, the plan's own window up to now."""

    first: Day | None = Field(None, alias="from", description="The first day.")
    last: Day | None = Field(None, alias="to", description="The last day, which is included.")


class SumOut(Given):
    """How many items, and in each currency how much."""

    count: int
    amounts: dict[str, str]


class TotalsOut(Given):
    """What was counted another way than by class."""

    source: SumOut | None = Field(None, description="What should exist, where the plan has a source.")
    ledger: SumOut
    destination: SumOut
    items: int
    unexplained_items: int


class RunOut(Given):
    """One reconciliation; what it comes to is null until it is done, in the words of `reconcile --json`."""

    id: UUID
    plan: str
    type: str
    state: Literal["running", "done", "failed"]
    window_from: datetime
    window_to: datetime = Field(description="Half-open: this very instant belongs to the next window.")
    started_by: str
    started_at: datetime
    finished_at: datetime | None
    why_failed: str | None
    explained: bool | None = Field(description="Whether the classes add up to totals taken another way.")
    classes: dict[ItemClass, SumOut] | None
    totals: TotalsOut | None
    residual: dict[str, str] | None
    digest: str | None
    page: str


class FindingsIn(Asked):
    """Which page of what was found."""

    cursor: str | None = Field(
        None, pattern="^[0-9]{1,18}$", description="The next_cursor of the page before, as it came."
    )
    limit: Whole = Field(100, ge=1, le=LIST_MAX, description="How many at most.")


class OperationThenOut(Given):
    """An operation, with its state when it was compared."""

    id: UUID
    key: str
    state: State


class CarrierOut(OperationThenOut):
    """An operation of another type."""

    type: str


class FindingOut(Given):
    """A difference that somebody has to explain."""

    item_class: ItemClass = Field(alias="class")
    reference: str | None
    ledger: OperationThenOut | None
    source: dict[str, Any] | None
    destination: list[dict[str, Any]]
    amount: str | None
    currency: str | None
    why: str
    contents: list[str] = Field(
        [], description="Of payload_differs the fields of the payload that the record has otherwise."
    )
    came_late: str | None = Field(
        None, description="That its record came late, in words: a run before should have had it."
    )
    elsewhere: list[CarrierOut] = Field(
        description="Operations of other types that carry its reference, where none of the plan's type does; "
        "only of types that the token covers."
    )


class FindingsOut(Given):
    """One page of differences, in the order of `reconcile --json`."""

    items: list[FindingOut]
    next_cursor: str | None


NOVEMBER = {"summary": "November, both days included", "value": {"from": "2026-11-01", "to": "2026-11-30"}}
OWN = {"summary": "The plan's own window, up to now", "value": {}}
EXAMPLES = {
    "requestBody": {"content": {"application/json": {"examples": {"own": OWN, "november": NOVEMBER}}}}
}


@router.post(
    "plans/{slug:name}/runs",
    summary="Start a reconciliation",
    **answering(202, schema=RunOut, refusing=(*BODY, *BY_RULES, AlreadyRunning), extra=EXAMPLES),
)
def start_run(request: HttpRequest, name: str, handed: RunIn) -> HttpResponse:
    """A worker carries it out; read it until it is done. One over the same days that is at work is joined."""
    plan = Plan.objects.select_related("operation_type__destination").filter(name=name).first()
    if plan is None:
        raise NotFound("There is no plan with this name. An administrator configures them.")
    auth.require(request, plan.operation_type.name)
    run, new = joining.run_later(plan, (handed.first, handed.last), actor=auth.actor(request))
    return answers.respond(_shown(request, run), status=202, headers={} if new else REPLAYED)


@router.get("runs/{uuid:uid}", summary="Read a reconciliation", **answering(200, schema=RunOut))
def read_run(request: HttpRequest, uid: UUID) -> HttpResponse:
    """A run as it stands; its figures are null until it is done."""
    return answers.respond(_shown(request, _run(request, uid)))


@router.get(
    "runs/{uuid:uid}/findings",
    summary="List what a reconciliation found",
    by_alias=True,
    **answering(200, schema=FindingsOut, refusing=(*ASKED, Conflict, RunNotDone)),
)
def find_differences(request: HttpRequest, uid: UUID, asked: Query[FindingsIn]) -> HttpResponse:
    """Page by page. Only of a run that is done: an empty list says that there is no difference."""
    run = _run(request, uid)
    if run.state == Run.State.FAILED:
        raise Conflict(
            f"This run was not whole, so that it says nothing. {run.why_failed} Start another one."
        )
    if run.state != Run.State.DONE:
        raise RunNotDone("This run is still at work. Read it until its state is done, then ask again.")
    rows = findings.stored(run)
    if asked.cursor is not None:
        rows = rows.filter(pk__gt=int(asked.cursor))
    found = list(rows[: asked.limit + 1])
    shown = found[: asked.limit]
    more = str(shown[-1].pk) if len(found) > len(shown) else None
    covered = auth.caller(request).types
    items = [reports.finding_shown(finding, types=covered) for finding in shown]
    return answers.respond({"items": items, "next_cursor": more})


def _run(request: HttpRequest, uid: UUID) -> Run:
    """Return a run of a plan whose type the caller's token covers; of a dry one nothing is ever shown."""
    run = Run.objects.select_related("plan__operation_type").filter(uid=uid, dry_run=False).first()
    if run is None:
        raise NotFound("There is no run with this id.")
    auth.require(request, run.plan.operation_type.name)
    return run


def _shown(request: HttpRequest, run: Run) -> dict[str, Any]:
    done = run.state == Run.State.DONE
    unknown = dict.fromkeys(("classes", "totals", "residual", "digest"))
    return {
        "id": str(run.uid),
        "plan": run.plan.name,
        "type": run.plan.operation_type.name,
        "state": run.state,
        "window_from": answers.instant(run.window_from),
        "window_to": answers.instant(run.window_to),
        "started_by": run.actor,
        "started_at": answers.instant(run.started_at),
        "finished_at": answers.instant(run.finished_at),
        "why_failed": run.why_failed or None,
        "explained": run.explained if done else None,
        **(reports.figures(run) if done else unknown),
        "page": request.build_absolute_uri(f"/runs/{run.uid}/"),
    }
