"""Every address that writes, and how a caller says the same twice: what both answers share, and what changes.

A row is a request that is ready to be sent, on an operation of its own. `test_answers_lost.py` sends it while
its answer is lost, `test_requests_cut.py` breaks it off.
"""

import hashlib
import hmac
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ledger.models import Approval, Attempt, Destination, Event, Heard, Operation, OperationType, Permit
from reconcile.models import Plan, Run
from tests.doors import PAYLOAD, Api, new_key

SIGNED_WITH = "the books' own secret"
WHY = {"who": "ann", "why": "The price was wrong."}
MEANT = {**PAYLOAD, "total": "1140.00"}


@dataclass(frozen=True)
class Request:
    """A request as it is sent; None for a header takes it away."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body as it is sent, each time in the same bytes."""
        return json.dumps(self.body).encode()


@dataclass(frozen=True)
class Saying:
    """How one address is used, and what its contract says of the same words again.

    `first` and `again`: the statuses. `changes`: members of the answer that are others then, by their paths.
    `rows`: what the first one leaves behind, by kind of row; `more`: what each further one does.
    """

    name: str
    address: str
    ready: Callable[[Api], Request]
    first: int
    again: int
    rows: dict[str, int]
    changes: frozenset[str] = frozenset()
    more: dict[str, int] = field(default_factory=dict)


KINDS = (Operation, Attempt, Event, Permit, Approval, Heard, Run)


def counted() -> dict[str, int]:
    """How many rows there are of all that a request may leave behind."""
    return {kind.__name__: kind.objects.count() for kind in KINDS}


def left(before: dict[str, int]) -> dict[str, int]:
    """What there is more than before; a kind of which there is not is left out."""
    return {name: count - before[name] for name, count in counted().items() if count != before[name]}


def bearer(api: Api) -> dict[str, str]:
    """The headers of an automation's request."""
    return {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}


def submitted(api: Api) -> Request:
    body = {"type": "invoice.create", "key": new_key(), "payload": PAYLOAD}
    return Request("operations", body, bearer(api))


def submitted_after(api: Api) -> Request:
    """It waits for one that is handed over before it."""
    first = new_key()
    api.submit(first)
    body = {"type": "invoice.create", "key": new_key(), "payload": PAYLOAD}
    return Request("operations", {**body, "after": {"type": "invoice.create", "key": first}}, bearer(api))


def claim(kind: str = "reminder.send") -> dict[str, Any]:
    return {"type": kind, "key": new_key(), "payload": PAYLOAD, "attempt_id": str(uuid.uuid4())}


def claimed(api: Api) -> Request:
    return Request("operations/claim", claim(), bearer(api))


def claimed_together(api: Api) -> Request:
    return Request("operations/claim-batch", {"items": [claim(), claim("refund.pay")]}, bearer(api))


def held(api: Api) -> dict[str, Any]:
    return api.claimed(new_key(), attempt_id=str(uuid.uuid4()))


def started(api: Api) -> Request:
    attempt = held(api)
    body = {"token": attempt["token"], "start_id": str(uuid.uuid4())}
    return Request(f"attempts/{attempt['id']}/start", body, bearer(api))


def still_at_work(api: Api) -> Request:
    attempt = held(api)
    return Request(
        f"attempts/{attempt['id']}/heartbeat", {"token": attempt["token"], "lease_s": 900}, bearer(api)
    )


def told(api: Api) -> Request:
    attempt = api.claimed(new_key())
    body = {"token": attempt["token"], "outcome": "succeeded", "destination_reference": "MAIL-1"}
    return Request(f"attempts/{attempt['id']}/outcome", body, bearer(api))


def told_together(api: Api) -> Request:
    words = ({"outcome": "succeeded", "destination_reference": "MAIL-1"}, {"outcome": "uncertain"})
    items = []
    for said in words:
        attempt = api.claimed(new_key())
        items.append({"attempt": attempt["id"], "token": attempt["token"], **said})
    return Request("attempts/outcome-batch", {"items": items}, bearer(api))


def corrected(api: Api) -> Request:
    """What was refused is corrected; the caller claims it then."""
    answer = api.outcome(api.claimed(new_key()), "rejected", http_status=422)
    uid = answer.json()["operation"]["id"]
    return Request(f"operations/{uid}/correction", {"payload": MEANT, **WHY}, bearer(api))


def corrected_for_tieout(api: Api) -> Request:
    """What waits is corrected; Tieout sends it."""
    uid = api.submit(new_key()).json()["operation"]["id"]
    return Request(f"operations/{uid}/correction", {"payload": MEANT, **WHY}, bearer(api))


def corrected_in_doubt(api: Api) -> Request:
    """A second person is asked."""
    answer = api.outcome(api.claimed(new_key()), "uncertain")
    uid = answer.json()["operation"]["id"]
    api.clock.advance(60)
    risk = {"where": "The outbox", "when": api.clock.now().isoformat(), "why": "It cannot wait."}
    return Request(f"operations/{uid}/correction", {"payload": MEANT, **WHY, "override": risk}, bearer(api))


def heard(api: Api) -> Request:
    """Durban Books says that something happened to a ticket."""
    key = new_key()
    answer = api.claim(key, type="ticket.open", payload={"metadata": {"operation": key}})
    api.outcome(answer.json()["attempt"], "uncertain")
    body = {"id": f"evt/{key}", "type": "ticket.updated", "data": {"metadata": {"operation": key}}}
    mark = hmac.new(SIGNED_WITH.encode(), json.dumps(body).encode(), hashlib.sha256).hexdigest()
    return Request("destinations/books/events", body, {"X-Signature": mark})


def run(api: Api) -> Request:
    """A plan of its own, so that no other run is joined."""
    kind = OperationType.objects.get(name="invoice.create")
    plan = Plan.objects.create(
        name=f"plan-{uuid.uuid4().hex[:8]}",
        operation_type=kind,
        timezone="Africa/Johannesburg",
        window_s=35 * 86400,
        grace_s=900,
    )
    return Request(f"plans/{plan.name}/runs", {}, bearer(api))


def hear_from_books(secret: str) -> None:
    """Let the destination sign what it tells."""
    books = Destination.objects.get(name="books")
    rules = {
        "scheme": "hmac",
        "signature_header": "X-Signature",
        "id": "id",
        "reference": "data.metadata.operation",
        "secret": [secret],
    }
    books.connection = {**books.connection, "events": rules}
    books.save(update_fields=["connection"])


NEW_TOKEN = frozenset({"attempt.token"})
SAYINGS = [
    Saying("submit", "/operations", submitted, 202, 202, {"Operation": 1, "Event": 1}),
    Saying("submit after", "/operations", submitted_after, 202, 202, {"Operation": 1, "Event": 1}),
    Saying(
        "claim",
        "/operations/claim",
        claimed,
        201,
        200,
        {"Operation": 1, "Attempt": 1, "Event": 2},
        changes=NEW_TOKEN,
        more={"Event": 1},  # that the token before is void
    ),
    Saying(
        "claims",
        "/operations/claim-batch",
        claimed_together,
        200,
        200,
        {"Operation": 2, "Attempt": 2, "Event": 4},
        changes=frozenset({"items.*.status", "items.*.attempt.token"}),
        more={"Event": 2},
    ),
    Saying("start", "/attempts/{uid}/start", started, 200, 200, {"Event": 1}),
    Saying("heartbeat", "/attempts/{uid}/heartbeat", still_at_work, 200, 200, {"Event": 1}),
    Saying("outcome", "/attempts/{uid}/outcome", told, 200, 200, {"Event": 1}),
    Saying("outcomes", "/attempts/outcome-batch", told_together, 200, 200, {"Event": 3}),
    Saying(
        "correction",
        "/operations/{uid}/correction",
        corrected,
        201,
        200,
        {"Operation": 1, "Event": 2},
    ),
    Saying(
        "correction for Tieout",
        "/operations/{uid}/correction",
        corrected_for_tieout,
        201,
        200,
        {"Operation": 1, "Event": 3},
    ),
    Saying(
        "correction in doubt",
        "/operations/{uid}/correction",
        corrected_in_doubt,
        202,
        202,
        {"Approval": 1, "Event": 1},
    ),
    Saying(
        "event",
        "/destinations/{name}/events",
        heard,
        202,
        200,
        {"Heard": 1, "Event": 1},
        changes=frozenset({"heard"}),
    ),
    Saying("run", "/plans/{name}/runs", run, 202, 202, {"Run": 1}),
]
