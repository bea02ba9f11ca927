"""Whether what comes first is done is said by three alike: the sweep's question, the decision, the guard.

Each scene brings a draft to where it can be; two postings wait for it, and the second one names its
reference. Then the account changes, and changes back.
"""

from contextlib import suppress

from ledger import actions
from ledger.actions.reading import first_fact, standing_first
from ledger.models import Attempt, Operation, OperationType, database_now
from ledger.rules.decisions import Next, decide
from ledger.rules.following import Earlier
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.asking import Asked, refused
from tests.ledger.asking import sql as sql
from tests.ledger.test_after import asked_for, corrected, end, record
from tests.ledger.test_after import drafts as drafts
from tests.ledger.test_after import posts as posts
from tests.ledger.test_after_guards import RUNS, changed


def draft_in(
    scene: str, first: Operation, claim: tuple[Operation, Attempt, str], drafts: OperationType
) -> None:
    """Bring a draft that its caller has claimed to where a scene wants it."""
    reports = {"silence": make.SILENCE, "unreached": make.UNREACHED, "nameless": make.done("")}
    reports |= dict.fromkeys(("refused", "given up", "permitted"), make.REFUSED)
    before, _, then = scene.partition(", ")
    if before != "running":
        report = reports.get(before, make.done("DR-1"))
        actions.record(claim[1].uid, token=claim[2], report=report, actor="api:shop")
    if before == "given up":
        end(first)
    if before == "permitted":
        make.looked(first, actor="ann")
        make.permitted(first)
    if before == "doubled":
        actions.hold(first.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Two of them.")
    if then:
        made = corrected(first)
        match then:
            case "corrected":
                record(asked_for(made, drafts), make.done("DR-2"))
            case "corrected in vain":
                end(record(asked_for(made, drafts), make.REFUSED))
            case "corrected twice":
                end(record(asked_for(made, drafts), make.REFUSED))
                corrected(first)


SCENES = (
    *("running", "silence", "unreached", "refused", "given up", "permitted", "done", "nameless", "doubled"),
    *(
        "refused, being corrected",
        "refused, corrected",
        "given up, corrected in vain",
        "done, corrected twice",
    ),
    "done, corrected",
)


def moves(operation: Operation) -> bool:
    """Whether the decision changes anything about an operation that waits for what comes first."""
    now = database_now()
    step, due = decide(actions.facts(operation), now).next, operation.next_try_at is not None
    held = operation.held_at is not None
    return {Next.HOLD: not held, Next.WAIT: due, Next.SEND: not due}.get(step, step is Next.RESUME)


def agreed(waits: list[Operation], sql: Asked) -> None:
    """What is taken up is what the decision moves; the database names the same first one, and lets it go."""
    taken = set(Operation.objects.to_follow().values_list("pk", flat=True))
    for one in map(make.again, waits):
        first, stands = first_fact(one), standing_first(one)
        assert first is not None and stands is not None
        assert sql.execute("SELECT ledger_first(%s)", [one.after_id]).fetchone() == (stands.pk,)
        assert (one.pk in taken) == moves(one), (first, one.state, one.held_at, one.next_try_at)
        # Of a record that is of no use the decision knows more than the guard.
        done = first.done or (first.state is State.COMPLETED and not first.held and bool(first.useless))
        if done:
            claimed(sql, one, first.reference)
        else:
            with refused("is not done"):
                claimed(sql, one, first.reference)


class RollBack(Exception):
    """What was tried is not kept."""


def claimed(sql: Asked, operation: Operation, reference: str) -> None:
    """Try to claim it past everything but the database, and take that back."""
    with suppress(RollBack), sql.transaction():
        changed(sql, operation, **RUNS, held_at="NULL", after_reference=f"'{reference}'")
        raise RollBack


def test_what_is_taken_up_is_what_the_decision_moves_and_is_then_left_alone(
    drafts: OperationType, posts: OperationType, clock: Clock, sql: Asked
) -> None:
    names = {"send": {"path": "/drafts/{after.destination_reference}/post"}}
    sends = make.invoice_type(name="draft.send", calls=names, looks=False)
    waits: list[Operation] = []
    for number, scene in enumerate(SCENES):
        first = make.claimed(drafts, f"draft/{number}")
        for of in (posts, sends):
            asking = make.submission(of, f"post/{number}", after=Earlier("draft.create", first[0].key))
            made = (actions.submit if of is sends else actions.claim)(asking, actor="api:shop").operation
            waits.append(made)
        draft_in(scene, first[0], first, drafts)
    for account in ("main", "other", "main"):
        sends.destination.account = account
        sends.destination.save(update_fields=["account"])
        agreed(waits, sql)
        for one in waits:
            actions.settle(one.pk, actor="worker")
        agreed(waits, sql)
        left = Operation.objects.to_follow()
        assert not left.exists(), "nothing of it is taken up for ever"
