"""Where stories of one operation are told: its clock, its destination, its sweep, and people who decide."""

import itertools
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import psycopg
from hypothesis.stateful import RuleBasedStateMachine

from ledger import actions
from ledger.actions import Claimed
from ledger.models import Approval, OperationType, Permit
from ledger.rules.approvals import Ask
from ledger.rules.contracts import Contract
from ledger.rules.decisions import Next
from ledger.rules.errors import (
    CorrectionOpen,
    InFlight,
    NeedsOverride,
    NothingToCorrect,
    NotNow,
    OutcomeDiffers,
    StaleToken,
    TieoutError,
)
from ledger.rules.records import Found, judge
from ledger.rules.states import State, Verdict
from tests import factories as make
from tests import people
from tests.databases import Clock
from tests.ledger.promises import Promises, Snapshot
from tests.ledger.world import TICK, World

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHOP, WORKER = "api:shop", "worker"
LEASE_S, TIMEOUT_S = 60.0, 3.0
UNDO, SITTING = timedelta(seconds=10), timedelta(minutes=5)
RECORD = {
    "id": "id",
    "reference": "metadata.operation",
    "amount": "total",
    "currency": "currency",
    "status": "status",
    "pending_statuses": ["processing"],
    "failed_statuses": ["declined"],
    "void_statuses": ["void"],
}
CORRECTING = (CorrectionOpen, InFlight, NeedsOverride, NothingToCorrect)
KEPT_LATE = (StaleToken, OutcomeDiffers)
"""Refusals of what is kept all the same."""

numbers = itertools.count(1)
T = TypeVar("T")


class StillClock:
    """The database's clock, standing; its hand is moved over a session that stays open."""

    def __init__(self, clock: Clock) -> None:
        self.now = NOON
        self._session = psycopg.connect(clock.database.owner_url, autocommit=True)

    def set(self, instant: datetime) -> None:
        """Move the hand to this instant."""
        self.now = instant
        self._session.execute("UPDATE test_clock SET \"offset\" = '0', fixed = %s", [instant])

    def close(self) -> None:
        """End the session."""
        self._session.close()


class Stage(RuleBasedStateMachine):
    """One operation and everybody who may do something to it; after each act the promises are held to."""

    clock: StillClock
    kind: OperationType
    world: World
    promises: Promises
    sight: str
    key: str
    pk: int

    def build(
        self, *, contract: dict[str, str], retry: dict[str, Any], by: str, sight: str, limits: dict[str, str]
    ) -> None:
        """Make a type of its own; `sight` is what its look-up is worth: proved, unproved, wrong or none."""
        self.clock.set(NOON)
        calls: dict[str, Any] = {"send": {"path": "/invoices"}, "record": RECORD}
        self.sight, looks = sight, sight != "none"
        self.kind = make.kind(
            f"invoice.{next(numbers)}",
            by=by,
            looks=looks,
            contract=contract,
            retry=retry,
            calls=calls | ({"lookup": make.LOOKUP} if looks else {}),
            lookup_proved_at=NOON if sight == "proved" else None,
            lease_s=LEASE_S,
            review={"due": "4h", "four_eyes_above": limits},
            permit_for_s=7200,
        )
        self.turn_to_another()

    def turn_to_another(self) -> None:
        """Begin with another operation of the same type; it is not handed over yet."""
        self.key = f"order/{next(numbers)}"
        self.world = World(self.key, Contract.read(self.kind.contract), sees=self.sight != "wrong")
        self.promises = Promises(self.world)
        self.claimed: dict[uuid.UUID, Claimed] = {}
        self.asked: list[tuple[Found, datetime]] = []
        self.clicks: list[tuple[Callable[..., object], dict[str, Any]]] = []
        self.pk = 0

    # --- time, and acts

    @property
    def now(self) -> datetime:
        return self.clock.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._move_to(self.now + timedelta(seconds=seconds))

    def wait_until_due(self) -> None:
        """Wait for what the ledger waits for next, where that is within the hour."""
        operation = self.seen.operation
        permits = [permit.effective_at for permit in self.seen.open_permits]
        instants = (operation.lease_until, operation.next_try_at, operation.look_at, *permits)
        later = [one for one in instants if one is not None and one > self.now]
        if later and min(later) < self.now + timedelta(hours=1):
            self._move_to(min(later))

    def _move_to(self, instant: datetime) -> None:
        self.clock.set(instant)
        self.world.reach(instant)

    @property
    def seen(self) -> Snapshot:
        """What the ledger knew after the last act."""
        assert self.promises.before is not None
        return self.promises.before

    @property
    def state(self) -> str:
        return str(self.seen.operation.state)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it, unless somebody finds it otherwise."""
        return self.state == State.COMPLETED or self.seen.operation.cancelled_at is not None

    def act(self, what: Callable[[], T], *refusals: type[TieoutError]) -> T | TieoutError:
        """Do it a moment later and hold the promises; a refusal has words, is foreseen, changes nothing."""
        self._move_to(self.now + TICK)
        refusal: TieoutError | None = None
        try:
            done = what()
        except TieoutError as error:
            refusal = error
        if self.pk:
            before = self.seen
            self.promises.hold(Snapshot.of(self.pk), self.now)
            if refusal is not None and not isinstance(refusal, KEPT_LATE):
                assert self.seen == before, "refused, and changed all the same"
        if refusal is None:
            return done
        assert refusal.type not in ("internal", "lost-race") and refusal.detail
        assert isinstance(refusal, refusals), f"{refusal.type}: {refusal}"
        return refusal

    def follow(self, operation_id: int) -> None:
        """Hold the promises of this operation from now on."""
        if not self.pk:
            self.pk = operation_id
            self.promises.hold(Snapshot.of(operation_id), self.now)

    # --- the sweep, and what is seen

    def sweep(self, items_max: int | None) -> None:
        """Do what the worker's sweep does: expire, settle, and look where a look is due."""
        lease_until = self.seen.operation.lease_until
        if lease_until is not None:
            assert self.act(lambda: actions.expire(self.pk, actor=WORKER)) is (lease_until <= self.now)
        step = self.act(lambda: actions.settle(self.pk, actor=WORKER))
        assert not isinstance(step, TieoutError)
        if step.next is Next.LOOK and (step.at is None or step.at <= self.now):
            self.keep(self.found(items_max), self.now, WORKER)

    def resolve(self, items_max: int | None) -> None:
        """Let software go on by itself, until another try is due or a person is asked."""
        for _ in range(3):
            self.wait_until_due()
            operation = self.seen.operation
            if operation.state not in (State.UNCERTAIN, State.RUNNING) or operation.held_at:
                return
            if not self.seen.open_permits:
                self.sweep(items_max)

    def found(self, items_max: int | None) -> Found:
        """What a look-up sees now; with `items_max` it breaks off after so many."""
        assert self.kind.how.record is not None
        return judge(
            self.world.holds(self.now, items_max=items_max),
            map=self.kind.how.record,
            reference=self.key,
            amount=self.seen.operation.amount,
            currency="ZAR",
            complete=items_max is None,
            why="" if items_max is None else "It broke off.",
        )

    def keep(self, found: Found, asked_at: datetime, who: str) -> None:
        """Keep what a look-up saw; its silence is proof only where it looked well and nothing can come."""
        control = "INV-0" if self.sight == "unproved" and found.verdict is Verdict.ABSENT else ""
        lookup = self.act(
            lambda: actions.keep_lookup(
                self.pk,
                found=found,
                asked_at=asked_at,
                actor=who,
                reason="A look.",
                control_reference=control,
            )
        )
        assert not isinstance(lookup, TieoutError)
        if lookup.proof:
            assert found.complete and not found.records, "absence from what was not read to its end"
            assert self.world.sees, "absence from a look-up that has never found anything"

    # --- people

    def click(
        self,
        action: Callable[..., object],
        who: str,
        *,
        refusals: tuple[type[TieoutError], ...] = (NotNow,),
        **more: Any,
    ) -> object:
        """Press a button; it does what it says, or says why not."""
        given = {"actor": who, "reason": "It was asked for.", "command_id": uuid.uuid4(), **more}
        self.clicks.append((action, given))
        return self.act(lambda: action(self.pk, **given), *refusals)

    def allow(self, who: str, items_max: int | None, *, looks: bool = True) -> None:
        """Allow another try as a person does: look, then press; the permit names that look."""
        if looks and self.kind.has_lookup:
            self.keep(self.found(items_max), self.now, who)
        before = self.seen
        permit = self.click(actions.permit, who)
        if not isinstance(permit, Permit):
            return
        assert not before.open_permits and permit.effective_at == self.now + UNDO
        seen = permit.lookup
        if self.kind.has_lookup:
            ended = [one.closed_at for one in self.seen.attempts if one.closed_at is not None]
            assert seen is not None and seen.actor == who
            assert seen.asked_at >= max([self.now - SITTING, *ended])
        if self.seen.in_doubt and not (seen is not None and seen.proof):
            assert self.world.contract.takes_key, "in doubt, and nothing protects a second one"

    def override(self, who: str, ask: Ask) -> None:
        """Attest absence by hand, truly or not, and ask for a second person."""
        asked = self.click(actions.override, who, ask=ask, where="In the outbox.", looked_at=self.now)
        assert isinstance(asked, NotNow) or not self.kind.has_lookup

    def answer(self, who: str, *, agrees: bool) -> None:
        """Answer what is asked: never one's own request; what is agreed to is done in the maker's name."""
        asked = Approval.objects.open().filter(operation=self.pk).first()
        if asked is None:
            return
        if asked.action in (Ask.OVERRIDE_END, Ask.OVERRIDE_PERMIT) and self.world.may_exist(self.now):
            self.world.by_hand = True  # two people's word stands against what is there
        if agrees:
            people.agrees(who)
        action = actions.approve if agrees else actions.refuse
        done = self.click(lambda pk, **given: action(asked.uid, **given), who)
        assert isinstance(done, NotNow) or who != asked.maker, "nobody agrees with themselves"

    def press_once_more(self) -> None:
        """A double click, or the same page sent again: what was done is not done twice."""
        before, (action, given) = self.seen, self.clicks[-1]
        pressed = any(event.command_id == given["command_id"] for event in before.events)
        self.act(lambda: action(self.pk, **given), NotNow, *CORRECTING)
        assert not pressed or self.seen == before
