"""Situations that two people or programs may race for, and what each of them does then."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from ledger import actions
from ledger.models import Attempt, Operation, OperationType
from ledger.rules.records import Found
from ledger.rules.states import CaseKind
from tests import factories as make
from tests.databases import Clock

CLICK = uuid.UUID(int=483)


@dataclass
class Scene:
    """One operation of one type, its latest attempt and that attempt's token."""

    clock: Clock
    kind: OperationType
    operation: Operation
    attempt: Attempt | None = None
    token: str = ""


Act = Callable[[Scene], str]


# --- situations


def due(clock: Clock, name: str) -> Scene:
    kind = make.kind(name=name, retry={"base": "0s"})
    return Scene(clock, kind, make.tried(kind, make.UNREACHED))


def due_to_send(clock: Clock, name: str) -> Scene:
    kind = make.invoice_type(name=name)
    return Scene(clock, kind, make.handed(kind))


def in_flight(clock: Clock, name: str) -> Scene:
    kind = make.kind(name=name)
    return Scene(clock, kind, *make.claimed(kind))


def unstarted(clock: Clock, name: str) -> Scene:
    kind = make.kind(name=name)
    return Scene(clock, kind, *make.claimed(kind, attempt_id=uuid.uuid4()))


def out_of_lease(clock: Clock, name: str) -> Scene:
    kind = make.reminder_type(name=name)
    scene = Scene(clock, kind, *make.claimed(kind, lease_s=1))
    clock.advance(5)
    return scene


def in_doubt(clock: Clock, name: str) -> Scene:
    """Its lease has ended without a word."""
    kind = make.kind(name=name)
    scene = Scene(clock, kind, *make.claimed(kind, lease_s=1))
    clock.advance(5)
    actions.expire(scene.operation.pk, actor="policy")
    return scene


def checked(clock: Clock, name: str) -> Scene:
    """Held, and ann and bob have both seen that it is absent."""
    kind = make.kind(name=name)
    operation = make.uncertain_operation(kind)
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(40)
    for person in ("ann", "bob"):
        make.looked(operation, actor=person)
    return Scene(clock, kind, operation)


def permitted(clock: Clock, name: str) -> Scene:
    scene = checked(clock, name)
    make.permitted(scene.operation)
    clock.advance(11)
    return scene


def permitted_to_send(clock: Clock, name: str) -> Scene:
    kind = make.invoice_type(name=name, retry={"attempts": 1})
    operation = make.handed(kind)
    claimed = make.to_send(operation)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=make.REFUSED, actor="worker")
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    return Scene(clock, kind, operation)


def refused(clock: Clock, name: str) -> Scene:
    """It did not happen, and ann has seen that nothing is there."""
    kind = make.kind(name=name)
    operation = make.tried(kind, make.REFUSED)
    make.looked(operation, actor="ann")
    return Scene(clock, kind, operation)


def refused_permitted(clock: Clock, name: str) -> Scene:
    scene = refused(clock, name)
    make.permitted(scene.operation)
    clock.advance(11)
    return scene


def correction_in_flight(clock: Clock, name: str) -> Scene:
    """The scene's operation is the correction."""
    scene = refused(clock, name)
    correcting("1140.00")(scene)
    made = scene.operation.corrections.get()
    bare = make.submission(scene.kind, made.key, payload=None, amount=None, currency=None)
    return Scene(clock, scene.kind, *make.held(actions.claim(bare, actor="api:shop")))


def blind(clock: Clock, name: str) -> Scene:
    """After one more look that comes to nothing policy sends the same key again; ann has looked, too."""
    kind = make.kind(name=name)
    operation = make.uncertain_operation(kind)
    make.looked(operation, make.BLIND)
    make.looked(operation, make.BLIND, actor="ann")
    return Scene(clock, kind, operation)


# --- acts


def claim(scene: Scene) -> str:
    return actions.claim(make.submission(scene.kind), actor="api:shop").decision


def claim_again(scene: Scene) -> str:
    """Claim under the attempt_id of the scene's attempt, as if the answer had been lost."""
    assert scene.attempt is not None
    again = make.submission(scene.kind, attempt_id=scene.attempt.caller_id)
    return actions.claim(again, actor="api:shop").decision


def take(scene: Scene) -> str:
    return "taken" if actions.claim_to_send(scene.operation.pk, actor="worker") else "nothing"


def start(scene: Scene) -> str:
    assert scene.attempt is not None
    actions.start(scene.attempt.uid, token=scene.token, start_id=uuid.uuid4(), actor="api:shop")
    return "started"


def heartbeat(scene: Scene) -> str:
    assert scene.attempt is not None
    actions.extend(scene.attempt.uid, token=scene.token, lease_s=600, actor="api:shop")
    return "extended"


def reporting(report: actions.Report) -> Act:
    def act(scene: Scene) -> str:
        assert scene.attempt is not None
        return actions.record(scene.attempt.uid, token=scene.token, report=report, actor="api:shop").decision

    return act


success, refusal, silence = (reporting(report) for report in (make.done(), make.REFUSED, make.SILENCE))


def allowing(person: str, click: uuid.UUID | None = None) -> Act:
    def act(scene: Scene) -> str:
        its_own = uuid.uuid5(click, scene.kind.name) if click else uuid.uuid4()
        make.permitted(scene.operation, actor=person, command_id=its_own)
        return "permitted"

    return act


def correcting(total: str) -> Act:
    """Correct the scene's operation, or what it corrects itself."""

    def act(scene: Scene) -> str:
        meant = actions.Correction({"order": "483", "total": total}, total, "ZAR")
        original = scene.operation.corrects_id or scene.operation.pk
        _, new = actions.correct(original, meant, actor="api:shop", reason="The price was wrong.", who="ann")
        return "corrected" if new else "known"

    return act


def end(scene: Scene) -> str:
    actions.end(scene.operation.pk, actor="bob", reason="It is not there.", command_id=uuid.uuid4())
    return "ended"


def withdraw(scene: Scene) -> str:
    actions.withdraw(scene.operation.pk, actor="ann", reason="Not yet.", command_id=uuid.uuid4())
    return "withdrawn"


def cancel(scene: Scene) -> str:
    actions.cancel(scene.operation.pk, actor="ann", reason="No longer wanted.", command_id=uuid.uuid4())
    return "cancelled"


def attest(scene: Scene) -> str:
    click = uuid.uuid4()
    actions.attest(scene.operation.pk, actor="ann", reason="Seen.", command_id=click, reference="INV-1")
    return "attested"


def expire(scene: Scene) -> str:
    return "expired" if actions.expire(scene.operation.pk, actor="worker") else "nothing"


def looking(found: Callable[[Operation], Found]) -> Act:
    def act(scene: Scene) -> str:
        make.looked(scene.operation, found(scene.operation))
        return make.again(scene.operation).state

    return act


look_blind = looking(lambda operation: make.BLIND)
look_found = looking(lambda operation: make.there(operation, "INV-1"))
