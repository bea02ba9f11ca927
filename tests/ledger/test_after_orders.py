"""Any order of events for a draft and its posting: what is promised of the two holds after every step.

The draft is claimed, answered or not, looked up, given up, allowed again, corrected; so is its posting.
"""

import itertools
import os
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ledger import actions
from ledger.actions import Correction, Reply
from ledger.models import Operation, OperationType
from ledger.rules.errors import TieoutError
from ledger.rules.following import Earlier
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.stage import NOON, StillClock
from tests.ledger.trails import sound

numbers = itertools.count(1)
reports = st.sampled_from(["done", "done", "silence", "refused", "unreached"])
finds = st.sampled_from(["absent", "absent", "one", "one", "several"])
PEOPLE = {"actor": "ann", "reason": "It was asked for."}


class TwoOperations(RuleBasedStateMachine):
    """A draft and its posting, both performed by their callers."""

    clock: StillClock
    drafts: OperationType
    posts: OperationType

    def __init__(self) -> None:
        super().__init__()
        self.clock.set(NOON)
        number = next(numbers)
        self.keys = {"draft": f"draft/{number}", "post": f"post/{number}"}
        self.tokens: dict[int, str] = {}
        self.after: dict[int, str] = {}
        """The reference that counted as each try of a posting was claimed."""
        self.claim("draft")

    def kind(self, which: str) -> OperationType:
        return self.drafts if which == "draft" else self.posts

    def named(self, which: str) -> Operation | None:
        """The operation, or the latest correction in its place."""
        found = Operation.objects.filter(operation_type=self.kind(which), key__startswith=self.keys[which])
        ours = [one for one in found.order_by("id") if one.key.partition("/c")[0] == self.keys[which]]
        return make.again(ours[-1]) if ours else None

    def posts_of_ours(self) -> list[Operation]:
        found = Operation.objects.filter(operation_type=self.posts, key__startswith=self.keys["post"])
        return [one for one in found.order_by("id") if one.key.partition("/c")[0] == self.keys["post"]]

    def act(self, what: Callable[[], object]) -> object:
        self.clock.set(self.clock.now + timedelta(milliseconds=1))
        try:
            return what()
        except TieoutError as error:
            refusal = error
        assert refusal.type not in ("internal", "lost-race") and refusal.detail
        return None

    def claim(self, which: str) -> None:
        there = self.named(which)
        again = there is not None and there.corrects_id is not None
        key = there.key if there is not None else self.keys[which]
        after = Earlier(self.drafts.name, self.keys["draft"]) if which == "post" else None
        asked = make.submission(self.kind(which), key, after=None if again else after)
        if again:
            asked = make.submission(self.kind(which), key, payload=None, amount=None, currency=None)
        draft = self.named("draft")
        reply = self.act(lambda: actions.claim(asked, actor="api:shop"))
        if isinstance(reply, Reply) and reply.attempt is not None and reply.token is not None:
            self.tokens[reply.attempt.pk] = reply.token
            if which == "post":
                assert draft is not None
                known = (draft.state, draft.held_at, draft.destination_reference)
                assert known == (State.COMPLETED, None, make.again(reply.operation).after_reference)
                self.after[reply.attempt.pk] = draft.destination_reference

    @rule(which=st.sampled_from(["draft", "post", "post"]))
    def claim_it(self, which: str) -> None:
        self.claim(which)

    @rule(which=st.sampled_from(["draft", "post"]), said=reports, late=st.booleans())
    def report(self, which: str, said: str, late: bool) -> None:
        operation = self.named(which)
        attempt = operation.attempts.order_by("-number").first() if operation is not None else None
        if attempt is None or attempt.pk not in self.tokens or (attempt.closed_at is not None and not late):
            return  # nothing to tell, or a try that a look has made for what it found: nobody holds its token
        told = {
            "done": make.done(f"{which.upper()}-{attempt.pk}"),
            "silence": make.SILENCE,
            "refused": make.REFUSED,
            "unreached": make.UNREACHED,
        }
        token = self.tokens[attempt.pk]
        self.act(lambda: actions.record(attempt.uid, token=token, report=told[said], actor="api:shop"))

    @rule(found=finds, who=st.sampled_from(["worker", "ann"]))
    def look(self, found: str, who: str) -> None:
        """Look the draft up; the posting has no look-up."""
        draft = self.named("draft")
        if draft is None:
            return
        known = draft.destination_reference or f"SEEN-{draft.pk}"
        ids = {"absent": (), "one": (known,), "several": (known, "OTHER")}[found]
        seen = make.there(draft, *ids) if ids else make.ABSENT
        self.act(lambda: make.looked(draft, seen, actor=who))

    @rule(
        which=st.sampled_from(["draft", "draft", "post"]), what=st.sampled_from(["permit", "end", "cancel"])
    )
    def decide(self, which: str, what: str) -> None:
        operation = self.named(which)
        if operation is not None:
            do: Any = getattr(actions, what)
            self.act(lambda: do(operation.pk, command_id=uuid.uuid4(), **PEOPLE))

    @rule(which=st.sampled_from(["draft", "draft", "post"]), total=st.sampled_from(["1140.00", "1040.00"]))
    def correct(self, which: str, total: str) -> None:
        operation = self.named(which)
        if operation is not None:
            original = operation.corrects_id or operation.pk
            meant = Correction({"order": "483", "total": total}, total, "ZAR")
            self.act(lambda: actions.correct(original, meant, who="ann", actor="api:shop", reason="Wrong."))

    @rule(seconds=st.sampled_from([11, 31, 301, 50_000]))
    def wait(self, seconds: int) -> None:
        self.clock.set(self.clock.now + timedelta(seconds=seconds))

    @rule()
    def sweep(self) -> None:
        """What the worker's sweep does for the two; then nobody is left to wait for nothing."""
        for which in ("draft", "post"):
            operation = self.named(which)
            if operation is not None and operation.state == State.RUNNING:
                actions.expire(operation.pk, actor="worker")
            if operation is not None and operation.state == State.UNCERTAIN:
                actions.settle(operation.pk, actor="worker")
        due = [one.pk for one in self.posts_of_ours()]
        for pk in Operation.objects.to_follow().filter(pk__in=due).values_list("pk", flat=True):
            actions.settle(pk, actor="worker")
        self.nobody_waits_for_nothing()

    def nobody_waits_for_nothing(self) -> None:
        draft, post = self.named("draft"), self.named("post")
        if draft is None or post is None or post.state != State.PENDING:
            return
        over = draft.state == State.FAILED and draft.held_at is None and not draft.permits.open().exists()
        assert (make.case_of(post) == CaseKind.FIRST) == over
        if post.held_at is None:
            done = draft.state == State.COMPLETED and draft.held_at is None
            assert (post.next_try_at is not None) == done

    @invariant()
    def what_is_known_is_true(self) -> None:
        for post in self.posts_of_ours():
            sound(post)
            tries = [one for one in post.attempts.order_by("number") if one.pk in self.after]
            doubtful = [one for one in tries if one.in_doubt]
            assert len({self.after[one.pk] for one in doubtful}) <= 1, "in doubt after two drafts"
            assert len({one.idempotency_key for one in doubtful}) <= 1
            by_key: dict[str, set[str]] = {}
            for one in tries:
                by_key.setdefault(one.idempotency_key, set()).add(self.after[one.pk])
            assert all(len(named) == 1 for named in by_key.values()), "one key, two bodies"


ORDERS = settings(
    stateful_step_count=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
)


def walk(clock: Clock, chosen: settings, *, seeded: int | None = None) -> None:
    """Walk through many orders, all in one database."""
    still = StillClock(clock)
    still.set(NOON)
    rows = {"clock": still, "drafts": make.kind("draft.create", contract={"settle": "0s"})}
    walked = type("Walked", (TwoOperations,), {**rows, "posts": make.kind("draft.post", looks=False)})
    try:
        run_state_machine_as_test(walked if seeded is None else seed(seeded)(walked), settings=chosen)
    finally:
        still.close()


def test_a_posting_never_goes_before_its_draft_in_any_order(clock: Clock) -> None:
    walk(clock, settings(ORDERS, max_examples=12, database=None), seeded=4)


@pytest.mark.long
def test_a_posting_never_goes_before_its_draft_at_length(clock: Clock) -> None:
    many = int(os.environ.get("STORIES", "3000")) // 5
    walk(clock, settings(ORDERS, max_examples=many, print_blob=True))
