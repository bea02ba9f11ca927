"""Any order of events: what is promised holds after every step, against a slow model of the other side.

Who acts: an automation, the worker and its sweep, policy, ann and bob, a reconciliation, the destination's
own people. Contracts: keys, look-ups, both, neither; sent by Tieout or by the caller; one try or several;
some come after a draft, which is done, refused, lost, found, corrected or given up meanwhile.
The clock stands, and moves where a step moves it. What fails is printed as the shortest story that fails.
"""

import os
import uuid
from typing import Any

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from ledger import actions
from ledger.models import OperationType
from ledger.rules.approvals import Ask
from ledger.rules.errors import NotNow, PayloadChanged
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.acts import acts, destinations, one_of, sometimes
from tests.ledger.coming_first import BEFORE
from tests.ledger.performing import Performing
from tests.ledger.stage import CORRECTING, NOON, UNDO, WORKER, StillClock
from tests.ledger.world import Request

RUN = "reconciliation 7"
STORIES = settings(
    stateful_step_count=30,
    database=None,
    phases=[Phase.generate, Phase.shrink],
)


class OneOperation(Performing):
    """Everybody does to one operation what they may, and what they may not, in any order."""

    @initialize(
        destination=destinations,
        by=one_of(["caller", "tieout"]),
        saves=one_of(["2xx", "2xx", "4xx", "all", "unknown"]),
        settle=one_of(["30s", "5s", "5m"]),
        final_within=one_of(["1h", "2m"]),
        retry_owner=one_of(["tieout", "tieout", "tieout", "client"]),
        attempts=one_of([5, 3, 2, 1]),
        elapsed=one_of(["12h", "12h", "2m"]),
        limit=one_of(["2000.00", "100.00"]),
        own_id=sometimes,
        draft=one_of(["", "", "", *BEFORE]),
    )
    def begin(
        self,
        *,
        destination: tuple[str | None, str],
        by: str,
        attempts: int,
        elapsed: str,
        limit: str,
        own_id: bool,
        draft: str = "",
        **contract: str,
    ) -> None:
        key, sight = destination
        contract |= {"idempotency": "header" if key else "none", "key_retention": key or "unknown"}
        retry = {"attempts": attempts, "base": "5s", "elapsed": elapsed}
        self.build(contract=contract, retry=retry, by=by, sight=sight, limits={"ZAR": limit})
        self.draft_key = ""
        if draft:
            self.make_first(draft)
        self.hand_over(attempt_id=uuid.uuid4() if own_id else None)

    @invariant()
    def what_is_known_is_true(self) -> None:
        self.promises.hold_still(self.now)

    @rule(act=acts)
    def then(self, act: tuple[str, dict[str, Any]]) -> None:
        """Let one of them act."""
        name, how = act
        getattr(self, name)(**how)

    # --- tries

    def try_it(self, *, afresh: bool, **how: Any) -> None:
        """A whole try, once one is due; where all is done, the first try of another operation."""
        if afresh and self.is_over:
            self.turn_to_another()
            if self.draft_key:
                self.make_first("done")
            self.hand_over(attempt_id=uuid.uuid4())
        self._try(**how, intruder=0)

    def try_it_among_others(self, **how: Any) -> None:
        """A try that takes long: meanwhile its lease ends, its sender falls silent, an earlier one speaks."""
        self._try(**how)

    def allow_and_try_it(self, request: Request, items_max: int | None, saw: int | None) -> None:
        """A person looks and allows another try; where that is allowed, it is made."""
        if self.state == State.UNCERTAIN:
            self.resolve(items_max)
        self.allow("ann", saw)
        self.wait(UNDO.total_seconds())
        self._try(request, items_max)

    def _try(
        self,
        request: Request,
        items_max: int | None,
        *,
        takes_s: float = 0.5,
        reports: bool = True,
        answer_lost: bool = False,
        intruder: int | None = None,
    ) -> None:
        sender = self.holder
        if sender is None or sender.request is not None or sender.lease_until <= self.now:
            self.resolve(items_max)
            sender = self.ask_for_it(own_id=answer_lost)
        if answer_lost and sender is not None and not sender.started:
            sender = self.claim_again(sender)
        while sender is not None and sender.ended_at is None and not sender.started:
            self.go_on(sender, items_max)
        if sender is not None and sender.may_send(self.now):
            self.world.transmit(sender, request, self.now)
            if intruder is not None:
                others = self.world.senders[:-1] or self.world.senders
                self.speak_late(others[-1 - intruder % len(others)])
            self.wait(takes_s)
            if reports:
                self.report(sender)

    def one_step_of_a_try(
        self,
        *,
        own_id: bool,
        answer_lost: bool,
        lease_s: float | None,
        items_max: int | None,
        request: Request,
        beats: bool,
    ) -> None:
        """Claim; or whoever holds the claim does what comes next: look, start, send, report."""
        sender = self.holder
        if sender is None:
            sender = self.ask_for_it(own_id=own_id, lease_s=lease_s)
            if answer_lost and sender is not None:
                self.claim_again(sender)
        elif not sender.started:
            self.go_on(sender, items_max)
        elif sender.may_send(self.now):
            self.world.transmit(sender, request, self.now)
        elif beats:
            self.extend(sender, lease_s or 60)
        else:
            self.report(sender)

    # --- the sweep, look-ups, and time

    def look_into_it(self, who: str, items_max: int | None, slowly: bool) -> None:
        """Ask and keep what is seen; slowly: it is kept later, when the world has moved on."""
        if who == "sweep":
            if self.state != State.RUNNING or slowly:
                self.wait_until_due()
            self.sweep(items_max)
        elif self.kind.has_lookup and slowly:
            self.asked.append((self.found(items_max), self.now))
        elif self.kind.has_lookup:
            self.keep(self.found(items_max), self.now, who)

    def meanwhile(self, seconds: float, what: str, indeed: bool) -> None:
        """Time passes, what was accepted becomes final, people change it there, a reconciliation finds it."""
        processing = [record for record in self.world.records if record.status == "processing"]
        if what == "time":
            self.wait(seconds)
        elif what in ("open", "declined") and processing:
            processing[0].status = what
        elif what == "void" and indeed and self.world.made():
            self.world.made()[0].status = what
        elif what == "by hand" and indeed:
            self.world.make_by_hand(self.now, total="1240.00" if seconds < 60 else "9.00")
        elif what == "a run" and indeed:
            kind = CaseKind.MISSING if seconds < 60 else CaseKind.THERE_AFTER_ALL
            self.act(lambda: actions.reopen(self.pk, kind=kind, actor=RUN, reason="The run says so."))
            assert self.seen.operation.held_at is not None and not self.seen.open_permits

    def its_draft_moves(self, what: str, sweeps: bool) -> None:
        """Something happens to what it comes after; the worker sees it, sooner or later."""
        if self.draft_key:
            before = self.seen
            self.draft_moves(what)
            assert self.seen == before, "what happens to its draft moved it"
            if sweeps:
                self.sweep(None)

    # --- words and acts that come late, twice, or from where nobody should listen

    def out_of_turn(self, number: int, what: str) -> None:
        sender = self.world.senders[number % len(self.world.senders)] if self.world.senders else None
        if what == "changed":
            assert isinstance(self.hand_over(amount="9.00"), PayloadChanged)
        elif what == "keep" and self.asked:
            self.keep(*self.asked.pop(), WORKER)
        elif what == "press" and self.clicks:
            self.press_once_more()
        elif what == "claim" and sender is not None:
            self.claim_again(sender)
        elif what == "start" and sender is not None:
            self.start_once_more(sender)
        elif what == "beat" and sender is not None:
            self.extend(sender, 60)
        elif sender is not None and what in ("late", "invented"):
            self.speak_late(sender, invented="INV-99" if what == "invented" else "")

    # --- people

    def a_person_decides(
        self, *, who: str, what: str, items_max: int | None, looks: bool, agrees: bool
    ) -> None:
        """Look, and decide; some forget to look."""
        state, open_permits = self.state, self.seen.open_permits
        if what == "allow":
            self.allow(who, items_max, looks=looks)
        elif what == "end":
            if looks and self.kind.has_lookup:
                self.keep(self.found(items_max), self.now, who)
            self.click(actions.end, who)
        elif what == "withdraw":
            assert isinstance(self.click(actions.withdraw, who), NotNow) or open_permits
        elif what == "cancel" and not agrees:
            assert isinstance(self.click(actions.cancel, who), NotNow) or state == State.PENDING
        elif what == "attest":
            self.promises.attested.add("INV-7")
            done = self.click(actions.attest, who, reference="INV-7")
            assert isinstance(done, NotNow) or state in (State.UNCERTAIN, State.COMPLETED)
        elif what == "correct" and not agrees:
            meant = actions.Correction({"order": "483", "total": "9.00"}, amount="9.00", currency="ZAR")
            self.click(actions.correct, who, meant=meant, refusals=(NotNow, *CORRECTING))
        elif what == "override":
            self.override(who, Ask.OVERRIDE_PERMIT if looks else Ask.OVERRIDE_END)
        elif what == "answer":
            self.answer(who, agrees=agrees)


USUAL: dict[str, Any] = {
    "by": "caller",
    "saves": "2xx",
    "settle": "5s",
    "final_within": "1h",
    "retry_owner": "tieout",
    "attempts": 5,
    "elapsed": "12h",
    "limit": "2000.00",
    "own_id": False,
}


def test_stories_that_are_always_told(clock: Clock) -> None:
    """A silence and then a try that sends nothing; a long send, and a look that comes before it lands.

    And a draft that is done, claimed after, and found missing before what comes after it is started.
    """
    still = StillClock(clock)
    drafts = drafts_by(still)
    lost, late = Request("made", 0, 0, answered=False), Request("made", 1000, 0, answered=False)
    unsent = Request("unsent", 0, 0, answered=True)
    alone: dict[str, Any] = {"items_max": None, "answer_lost": False}
    among = {**alone, "takes_s": 50, "intruder": 0, "reports": True}
    step = {**alone, "request": lost, "own_id": True, "lease_s": None, "beats": False}
    stories: list[tuple[tuple[str | None, str], str, list[tuple[str, dict[str, Any]]], State]] = [
        (
            ("24h", "none"),
            "",
            [("try_it", {**alone, "request": one, "afresh": False}) for one in (lost, unsent)],
            State.UNCERTAIN,
        ),
        (
            (None, "proved"),
            "",
            [
                ("try_it_among_others", {**among, "request": late}),
                ("look_into_it", {"who": WORKER, "items_max": None, "slowly": False}),
            ],
            State.UNCERTAIN,
        ),
        (
            (None, "proved"),
            "running",
            [
                ("try_it", {**alone, "request": lost, "afresh": False}),
                ("its_draft_moves", {"what": "done", "sweeps": True}),
                ("one_step_of_a_try", step),
                ("its_draft_moves", {"what": "absent", "sweeps": False}),
                ("one_step_of_a_try", step),
            ],
            State.RUNNING,
        ),
    ]
    for destination, draft, told, ends in stories:
        story = type("Told", (OneOperation,), {"clock": still, "drafts": drafts})()
        story.begin(destination=destination, draft=draft, **USUAL)
        for act in told:
            story.then(act)
            story.what_is_known_is_true()
        assert story.state == ends
    assert [one.started_at for one in story.seen.attempts] == [None], "claimed, and never started"
    still.close()


def drafts_by(still: StillClock) -> OperationType:
    """Drafts, whose rules are as old as the stories: else no check would prove that one is missing."""
    still.set(NOON)
    return make.kind("draft.create", contract={"settle": "0s"}, retry={"attempts": 20})


def walk(clock: Clock, chosen: settings, *, seeded: int | None = None) -> None:
    """Tell many stories, all in one database, each of an operation type of its own."""
    still = StillClock(clock)
    walked = type("Walked", (OneOperation,), {"clock": still, "drafts": drafts_by(still)})
    try:
        run_state_machine_as_test(walked if seeded is None else seed(seeded)(walked), settings=chosen)
    finally:
        still.close()


def test_promises_hold_in_any_order(clock: Clock) -> None:
    """The same stories in every run, so that a red one is a change of ours."""
    walk(
        clock,
        settings(STORIES, max_examples=47),  # as many as stay within three quarters of a minute of CPU
        seeded=2,
    )


@pytest.mark.long
def test_promises_hold_at_length(clock: Clock) -> None:
    """Other stories in every run, as many as STORIES says; one that fails tells how it is told again."""
    walk(clock, settings(STORIES, max_examples=int(os.environ.get("STORIES", "3000")), print_blob=True))
