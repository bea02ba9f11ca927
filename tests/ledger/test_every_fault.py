"""What the ledger makes of every way in which the sandbox can misbehave; effects are counted over there.

Each line is an invoice of its own that the worker sends and takes up until it is finished or held.
One try is all it has, so what is proved absent has failed. In the end a person checks.

| mode             | the try says | the operation is          | the check      | effects |
|------------------|--------------|---------------------------|----------------|---------|
| drop_before      | uncertain    | failed: absent            | absent         | 0       |
| drop_after       | uncertain    | completed                 | one match      | 1       |
| delay_before     | uncertain    | completed                 | one match      | 1       |
| delay_after      | uncertain    | completed                 | one match      | 1       |
| error_before     | uncertain    | failed: absent            | absent         | 0       |
|  with 408, 418   | uncertain    | failed: absent            | absent         | 0       |
|  with 422        | rejected     | failed: refused           | absent         | 0       |
| error_after      | uncertain    | completed                 | one match      | 1       |
| throttle         | retryable    | failed: limit             | absent         | 0       |
| truncate         | uncertain    | completed                 | one match      | 1       |
| garble           | uncertain    | completed                 | one match      | 1       |
| deliver_twice    | succeeded    | completed                 | one match      | 1       |
| accept_only      | accepted     | uncertain: accepted       | one match      | 1       |
| replay_error     | uncertain    | failed: absent            | absent         | 0       |
| key_in_use       | uncertain    | failed: absent            | absent         | 0       |
| ignore_keys      | succeeded    | completed: several        | several        | 2       |
| ignore_filter    | uncertain    | uncertain: could not look | could not look | 1       |
| substring_filter | uncertain    | uncertain: could not look | could not look | 0       |
| restart_paging   | uncertain    | uncertain: could not look | could not look | 0       |

The last three look at lists that cannot be trusted: what was lost on its way is not sent again for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ledger.destinations import lookups
from ledger.sandbox.faults import MODES
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.sandboxes import Sandbox
from tests.stories import CALLS, Durban
from tests.workers import one_round, until

SHORT_S, LATE_S, LONG_S = 1.0, 1.5, 10
SEND, LOOK = "POST /invoices", "GET /invoices"
PAGED = {
    "path": "/invoices?reference={key}&limit=1",
    "items": "data",
    "paging": {"style": "cursor", "next": "next_cursor", "parameter": "cursor"},
}
DONE, ABSENT = ("completed", "one_match", 1), ("failed: absent", "absent", 0)
BLIND = ("uncertain: could_not_look", "could_not_look")


@dataclass(frozen=True)
class Line:
    """What goes wrong while it is sent and while it is looked up, and what the ledger makes of it."""

    sent: str
    outcome: str
    code: str
    stands: str
    verdict: str
    effects: int
    arg: float | None = None
    looked: str = ""
    timeout_s: float = LONG_S
    lookup: Mapping[str, object] = field(default_factory=lambda: CALLS["lookup"])


LINES = {
    "drop_before": Line("drop_before", "uncertain", "silent", *ABSENT),
    "drop_after": Line("drop_after", "uncertain", "silent", *DONE),
    "delay_before": Line("delay_before", "uncertain", "silent", *DONE, arg=LATE_S, timeout_s=SHORT_S),
    "delay_after": Line("delay_after", "uncertain", "silent", *DONE, arg=LATE_S, timeout_s=SHORT_S),
    "error_before": Line("error_before", "uncertain", "http_503", *ABSENT),
    "error_before 408": Line("error_before", "uncertain", "http_408", *ABSENT, arg=408),
    "error_before 418": Line("error_before", "uncertain", "http_418", *ABSENT, arg=418),
    "error_before 422": Line("error_before", "rejected", "http_422", "failed: refused", "absent", 0, arg=422),
    "error_after": Line("error_after", "uncertain", "http_500", *DONE),
    "throttle": Line("throttle", "retryable", "http_429", "failed: limit", "absent", 0, arg=7),
    "truncate": Line("truncate", "uncertain", "silent", *DONE),
    "garble": Line("garble", "uncertain", "unreadable", *DONE),
    "deliver_twice": Line("deliver_twice", "succeeded", "", *DONE),
    "accept_only": Line("accept_only", "accepted", "", "uncertain: accepted", "one_match", 1),
    "replay_error": Line("replay_error", "uncertain", "http_520", *ABSENT, arg=520),
    "key_in_use": Line("key_in_use", "uncertain", "in_use", *ABSENT),
    "ignore_keys": Line("ignore_keys deliver_twice", "succeeded", "", "completed: several", "several", 2),
    "ignore_filter": Line("drop_after", "uncertain", "silent", *BLIND, 1, looked="ignore_filter"),
    "substring_filter": Line("drop_before", "uncertain", "silent", *BLIND, 0, looked="substring_filter"),
    "restart_paging": Line(
        "drop_before", "uncertain", "silent", *BLIND, 0, looked="ignore_filter restart_paging", lookup=PAGED
    ),
}


def arranged(durban: Durban, sandbox: Sandbox, line: Line, key: str) -> None:
    """Have a destination that misbehaves in this way, and another record there whose reference is longer."""
    books, invoice = durban.invoice.destination, durban.invoice
    books.connection = {**books.connection, "timeout": line.timeout_s}
    books.save(update_fields=["connection"])
    invoice.calls = {**CALLS, "lookup": line.lookup}
    invoice.save(update_fields=["calls"])
    other = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": f"{key}0"}}
    assert sandbox.call("POST", "/invoices", body=other).status == 201
    sandbox.clear_faults()
    for mode in line.sent.split():
        sandbox.faults(mode, SEND, arg=line.arg)
    for mode in line.looked.split():
        sandbox.faults(mode, LOOK, count=None)


def came_to(durban: Durban, sandbox: Sandbox, order: int, line: Line) -> tuple[object, ...]:
    """Let the worker send one invoice and go on with it, then have a person check; tell what came of it."""
    key = f"order/webshop/{order}/v1"
    arranged(durban, sandbox, line, key)
    operation = durban.invoiced(order)
    one_round()
    attempt = operation.attempts.get()
    until(lambda: sandbox.effects(key) == line.effects, what=f"The effect of {line.sent}")
    for _ in range(8):
        if standing(operation) in ("uncertain", "pending"):
            durban.clock.advance(600)
            one_round()
    found = lookups.look(durban.again(operation), actor="ann", reason="A look.")
    assert sandbox.deliveries(key) == 1, "nothing was sent a second time"
    return attempt.outcome, attempt.error_code, standing(operation), found.verdict, sandbox.effects(key)


def test_each_fault_is_recorded_as_what_it_proves(clock: Clock, sandbox: Sandbox) -> None:
    durban = Durban(clock, sandbox.url)
    durban.invoiced(1)
    one_round()  # a record that the look-up can find: from now on its silence is proof
    lines = enumerate(LINES.items(), 2)
    came = {name: came_to(durban, sandbox, order, line) for order, (name, line) in lines}
    meant = {n: (x.outcome, x.code, x.stands, x.verdict, x.effects) for n, x in LINES.items()}
    assert came == meant


def test_the_table_names_every_mode() -> None:
    assert {name.split()[0] for name in LINES} == set(MODES)
    assert all(f"\n| {mode} " in (__doc__ or "") for mode in MODES)
