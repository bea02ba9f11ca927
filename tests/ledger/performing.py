"""Whoever performs the operation: the automation that claims, the worker that takes, and what they report."""

import uuid
from dataclasses import replace
from datetime import timedelta

from ledger import actions
from ledger.actions import Report, Submission
from ledger.models import Attempt
from ledger.rules.decisions import looks_first
from ledger.rules.errors import AttemptIdElsewhere, PayloadChanged, StaleToken, StartedElsewhere, TieoutError
from ledger.rules.states import Outcome, State
from tests import factories as make
from tests.ledger.coming_first import ComingFirst
from tests.ledger.promises import Snapshot
from tests.ledger.stage import KEPT_LATE, LEASE_S, SHOP, TIMEOUT_S, WORKER
from tests.ledger.world import TICK, Sender


class Performing(ComingFirst):
    """Claims, starts, reports; each is held against the one rule that lets somebody send."""

    @property
    def holder(self) -> Sender | None:
        """Whoever holds the claim, as far as they know."""
        senders = [one for one in self.world.senders if one.ended_at is None and not one.void]
        return senders[-1] if senders else None

    def hand_over(
        self, *, amount: str = "1240.00", attempt_id: uuid.UUID | None = None, lease_s: float | None = None
    ) -> Sender | TieoutError | None:
        """Submit it, or claim it where its caller performs it: for the first time or once more."""
        submission = make.submission(self.kind, self.key, amount=amount, after=self.earlier)
        if self.kind.by_tieout:
            return self._submit(submission)
        return self.claim(replace(submission, attempt_id=attempt_id, lease_s=lease_s))

    def ask_for_it(self, *, own_id: bool = False, lease_s: float | None = None) -> Sender | None:
        """Get hold of it: the worker takes what was handed over, a caller claims it."""
        answer = self.hand_over(attempt_id=uuid.uuid4() if own_id else None, lease_s=lease_s)
        assert not isinstance(answer, TieoutError), answer
        return self.take() if self.kind.by_tieout else answer

    def claim_again(self, sender: Sender) -> Sender | None:
        """Claim once more what this sender has claimed, as if the answer had been lost."""
        if sender.submission is None:
            return sender
        answer = self.claim(sender.submission)
        if isinstance(answer, TieoutError):
            # Its try has ended, and the next one needs an id of its own.
            assert isinstance(answer, AttemptIdElsewhere), answer
            return None
        return answer

    def _submit(self, submission: Submission) -> TieoutError | None:
        reply = self.act(lambda: actions.submit(submission, actor=SHOP), PayloadChanged)
        if isinstance(reply, TieoutError):
            return reply
        self.follow(reply.operation.pk)
        assert (reply.decision == "skip") == (self.state == State.COMPLETED)
        return None

    def claim(self, submission: Submission) -> Sender | TieoutError | None:
        """Claim it as its caller; who gets it holds a whole lease by the ledger's own clock."""
        reply = self.act(lambda: actions.claim(submission, actor=SHOP), PayloadChanged, AttemptIdElsewhere)
        if isinstance(reply, TieoutError):
            return reply
        self.follow(reply.operation.pk)
        assert (reply.decision == "skip") == (self.state == State.COMPLETED)
        assert (reply.decision == "proceed") == (reply.attempt is not None)
        if reply.attempt is None or reply.token is None:
            return None
        assert self.state == State.RUNNING
        if reply.replayed:
            return self._again(reply.attempt, reply.token)
        lease_s = LEASE_S if submission.lease_s is None else submission.lease_s
        sender = self._sender(reply.attempt, reply.token, SHOP, lease_s=lease_s)
        sender.submission = submission
        if submission.attempt_id is None:
            self._given(sender)
        return sender

    def _again(self, attempt: Attempt, token: str) -> Sender:
        """The same claim again: the token before is void."""
        earlier = [one for one in self.world.senders if one.attempt == attempt.uid]
        assert earlier and not any(one.started for one in earlier), "only what has not started is given again"
        for one in earlier:
            one.void = True
        sender = replace(earlier[-1], token=token, void=False, ended_at=None, reports=[])
        self.world.senders.append(sender)
        return sender

    def _sender(self, attempt: Attempt, token: str, actor: str, *, lease_s: float) -> Sender:
        left_s = (attempt.lease_until - self.now).total_seconds()
        assert left_s in (lease_s, min(lease_s, LEASE_S)), f"a lease of {left_s} s"
        sender = Sender(
            attempt.uid, attempt.number, token, actor, attempt.idempotency_key, attempt.lease_until, TIMEOUT_S
        )
        sender.after = self.seen.operation.after_reference
        keyed = {one.after for one in self.world.senders if one.key == sender.key}
        assert keyed <= {sender.after}, "one key, and two drafts in the body"
        self.world.senders.append(sender)
        return sender

    def _given(self, sender: Sender) -> None:
        """The right to send is given: nothing else is there or may come, or the key makes it harmless."""
        sender.started = True
        assert self.first_is_as_claimed, "it goes before its draft is done"
        if not self.world.by_hand:
            harmless = self.world.second_is_harmless(sender, self.now)
            assert harmless, f"try {sender.number} may make a second one"

    # --- the worker

    def take(self) -> Sender | None:
        """Claim it as the worker does, where it is due."""
        claimed = self.act(lambda: actions.claim_to_send(self.pk, actor=WORKER))
        assert not isinstance(claimed, TieoutError)
        if claimed is None:
            return None
        sender = self._sender(claimed.attempt, claimed.token, WORKER, lease_s=LEASE_S)
        sender.looked = not looks_first(claimed.facts)
        self.claimed[sender.attempt] = claimed
        return sender

    def go_on(self, sender: Sender, items_max: int | None) -> None:
        """Do what comes before the send: look, where the worker looks first; then start."""
        if not sender.looked and sender.attempt in self.claimed:
            self._look_first(sender, items_max)
        else:
            self._start(sender, need_s=TIMEOUT_S if self.kind.by_tieout else 0)

    def _look_first(self, sender: Sender, items_max: int | None) -> None:
        found, asked_at, claimed = self.found(items_max), self.now, self.claimed[sender.attempt]
        may_go = self.act(
            lambda: actions.before_send(claimed, found=found, asked_at=asked_at, actor=WORKER), StaleToken
        )
        sender.looked = True
        if may_go is not True:
            sender.ended_at = self.now

    def _start(self, sender: Sender, *, need_s: float) -> None:
        """Ask for the right to send; it is refused with the lease's end, and not before."""
        sender.start_id = uuid.uuid4()
        started = self._begin(sender, sender.start_id, need_s=need_s)
        left_s = (sender.lease_until - self.now).total_seconds()
        if isinstance(started, TieoutError):
            assert isinstance(started, StaleToken)
            closed = self.seen.attempt(sender.attempt).closed_at
            late = left_s < max(need_s, TICK.total_seconds()) or closed is not None
            assert late or not self.first_is_as_claimed
            sender.ended_at = self.now
        else:
            assert left_s >= need_s, "too little of the lease is left"
            self._given(sender)

    def start_once_more(self, sender: Sender) -> None:
        """With a void token, a second time, after its end: nobody else is given the right to send."""
        attempt = self.seen.attempt(sender.attempt)
        if sender.void or attempt.closed_at is not None:
            assert isinstance(self._begin(sender, uuid.uuid4()), StaleToken)
        elif attempt.started_at is not None:
            assert isinstance(self._begin(sender, uuid.uuid4()), StartedElsewhere)
            if sender.start_id is not None:
                assert isinstance(self._begin(sender, sender.start_id), Attempt)

    def _begin(self, sender: Sender, start_id: uuid.UUID, *, need_s: float = 0) -> Attempt | TieoutError:
        return self.act(
            lambda: actions.start(
                sender.attempt, token=sender.token, start_id=start_id, actor=sender.actor, need_s=need_s
            ),
            StaleToken,
            StartedElsewhere,
        )

    def extend(self, sender: Sender, lease_s: float) -> None:
        """A heartbeat: a living lease lasts longer, never shorter; one that has ended is not revived."""
        attempt, now = self.seen.attempt(sender.attempt), self.now
        done = self.act(
            lambda: actions.extend(sender.attempt, token=sender.token, lease_s=lease_s, actor=sender.actor),
            StaleToken,
        )
        dead = sender.void or attempt.closed_at is not None or sender.lease_until <= self.now
        assert isinstance(done, StaleToken) == dead
        if isinstance(done, Attempt):
            assert (
                sender.lease_until
                <= done.lease_until
                <= max(sender.lease_until, now + TICK + timedelta(seconds=lease_s))
            )
            sender.lease_until = done.lease_until

    # --- what is said

    def report(self, sender: Sender) -> None:
        """Say what is known. Whoever speaks has ended: it sends no more."""
        report = sender.knows()
        self.world.end(sender, self.now)
        self._say(sender, report)

    def speak_late(self, sender: Sender, *, invented: str = "") -> None:
        """Speak after the end, once more, or under a void token; perhaps of a success with another record."""
        if not (sender.void or sender.ended_at or sender.lease_until <= self.now):
            return
        report = sender.reports[-1] if sender.reports else sender.knows()
        if invented:
            report = Report(Outcome.SUCCEEDED, destination_reference=invented, http_status=201)
        if not sender.void:
            self.world.end(sender, self.now)
        self._say(sender, report)

    def _say(self, sender: Sender, report: Report) -> None:
        """Report under this sender's token; what comes late or under a void one is fenced."""
        before = self.seen
        closed = before.attempt(sender.attempt).closed_at
        if report.destination_reference and not sender.void:
            self.promises.told.add(report.destination_reference)
        answer = self.act(
            lambda: actions.record(sender.attempt, token=sender.token, report=report, actor=sender.actor),
            *KEPT_LATE,
        )
        if sender.void:
            assert isinstance(answer, StaleToken), "a void token was listened to"
        if sender.void or closed is not None:
            self._fenced(sender, report, before)
            if not isinstance(answer, TieoutError) and report in sender.reports:
                assert report.outcome is Outcome.SUCCEEDED or self.seen == before
        sender.reports.append(report)

    def _fenced(self, sender: Sender, report: Report, before: Snapshot) -> None:
        """A late word is kept. It puts into doubt what was over, or gives a doubt its success: no more.

        A word under a void token is kept, too, and nothing follows from it.
        """
        was, is_now = before.operation.state, self.seen.operation.state
        if sender.void:
            assert replace(self.seen, operation=before.operation, events=before.events) == before
            assert (is_now, self.seen.operation.held_at) == (was, before.operation.held_at)
            return
        if is_now == State.COMPLETED and was != State.COMPLETED:
            assert was == State.UNCERTAIN and report.outcome is Outcome.SUCCEEDED
            assert sender.number == before.operation.attempt_count
            assert not self.seen.open_permits
        elif is_now != was:
            assert is_now == State.UNCERTAIN and was != State.RUNNING
