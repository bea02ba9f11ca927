"""What a decision is made from: one operation with its attempts, evidence and contract."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.rules.approvals import Ask
from ledger.rules.calls import RetryPolicy
from ledger.rules.contracts import REFUSES_US, Contract
from ledger.rules.drills import UNDRILLED, Drilled
from ledger.rules.following import First
from ledger.rules.second_person import Asker
from ledger.rules.states import FOUND, Outcome, Standing, State, Verdict

ATTEMPTS_MAX = 1000
"""Attempts of one operation, those that never started included; beyond it software makes none."""

LEASE_EXPIRED = "lease_expired"
"""The error code of an attempt whose sender fell silent."""
IN_USE = "in_use"
"""The error code of an answer that says the key is being worked on."""
EXISTS = "exists"
"""The error code of an answer that says it is there already."""
LOOK_REFUSED = "look_refused"
"""The error code of a try whose look before the send was answered by a refusal of our credentials."""
LOOK_BLIND = "could_not_look"
"""The error code of a try whose look before the send could not look."""
UNCONFIGURED = "configuration"
"""The error code of a try that could not be prepared as its destination is set up."""
DECLINED = "declined"
"""The error code of an answer whose record is there and was declined."""


@dataclass(frozen=True)
class Sentence:
    """Words for a person, with the instants that they mention as {at} and {until}."""

    text: str
    at: datetime | None = None
    until: datetime | None = None

    def __str__(self) -> str:
        at, until = (value.isoformat(timespec="seconds") if value else "" for value in (self.at, self.until))
        return self.text.replace("{at}", at).replace("{until}", until)


@dataclass(frozen=True)
class AttemptFact:
    """One attempt: what it proved, and when its sender could last have sent."""

    number: int
    outcome: Outcome | None = None
    in_doubt: bool = False
    http_status: int | None = None
    error_code: str = ""
    started_at: datetime | None = None
    sender_ended_at: datetime | None = None
    retry_after_s: float | None = None
    replayed: bool = False
    """Whether its answer said that it was given before under the same key."""
    present_key: bool = True
    """Whether it went under the key that the next one goes under."""

    @property
    def refused_itself(self) -> bool:
        """Whether the destination refused what it sent, not who sent it."""
        return self.outcome is Outcome.REJECTED and self.http_status not in REFUSES_US


@dataclass(frozen=True)
class LookupFact:
    """One look-up: what it found, when, who asked; `standing` is that of the one match."""

    verdict: Verdict
    asked_at: datetime
    actor: str
    complete: bool = True
    proof: bool = False
    standing: Standing | None = None


@dataclass(frozen=True)
class PermitFact:
    """An open permit."""

    by_person: bool
    actor: str
    effective_at: datetime
    lapses_at: datetime


@dataclass(frozen=True)
class AskedFact:
    """An open request for a second person."""

    ask: Ask
    by: Asker
    expires_at: datetime


@dataclass(frozen=True)
class Facts:
    """All that a decision may know. The contract is the stricter of the first attempt's and today's."""

    destination: str
    state: State
    contract: Contract
    policy: RetryPolicy
    by_tieout: bool
    side_effect: bool
    has_lookup: bool
    lookup_proved: bool
    accepted_at: datetime
    lease_s: float
    same_account: bool = True
    attempts: tuple[AttemptFact, ...] = ()
    lookup: LookupFact | None = None
    """The latest look-up since the last attempt ended."""
    permit: PermitFact | None = None
    asked: AskedFact | None = None
    absent_by: str = ""
    """Who attested by hand that it did not happen, where that and no look-up is why it has failed.

    Its tries stay in doubt all the while: a word is no proof.
    """
    first_sent_at: datetime | None = None
    taken_at: datetime | None = None
    settles_at: datetime | None = None
    lease_until: datetime | None = None
    next_try_at: datetime | None = None
    look_count: int = 0
    held_at: datetime | None = None
    paused_at: datetime | None = None
    """Since when nothing goes to its destination, which cannot be used; None while it can."""
    paused_s: float = 0
    """For how long it was paused before, since this one was accepted: that time does not count."""
    resumed_at: datetime | None = None
    """When it was last resumed, since this one was accepted."""
    cancelled: bool = False
    payload_gone: bool = False
    """Whether Tieout would have to send it and has removed its payload."""
    corrected: bool = False
    """Whether a correction has taken its place: then it never runs again."""
    correction: State | None = None
    """What is known of that correction, the latest one."""
    is_correction: bool = False
    original_moved: bool = False
    """Whether anything that it corrects has moved since: found there after all, say."""
    reverses: bool = False
    """Whether it reverses a record that another operation has too many of."""
    reversing: int = 0
    """How many of its own surplus records are being reversed, or may be."""
    undo_until: datetime | None = None
    """Until when the choice of the one that is kept can be undone: nothing has gone out yet."""
    first: First | None = None
    """What it comes after; None where it stands by itself."""
    held_for_first: bool = False
    """Whether its open case is about what it comes after."""
    over: str = ""
    """Why it would refund too much, if it were claimed now; empty where it would not, or refunds nothing."""
    destination_reference: str = ""
    evidence: str = ""
    evidence_by: str = ""
    drilled: Drilled = UNDRILLED
    """What drills have proved and refuted; the contract above is without what they refuted."""

    @property
    def latest(self) -> AttemptFact | None:
        """The last attempt, open or not."""
        return self.attempts[-1] if self.attempts else None

    @property
    def held(self) -> bool:
        """Whether a case is open: a person decides."""
        return self.held_at is not None

    def waits_for_undo(self, now: datetime) -> bool:
        """Say whether it is a correction or reversal that nobody has tried, and nobody may try yet."""
        fresh = (
            (self.is_correction or self.reverses)
            and self.state is State.PENDING
            and not self.attempts
            and not self.held
        )
        return fresh and self.next_try_at is not None and now < self.next_try_at

    @property
    def tried_in_doubt(self) -> bool:
        """Whether any attempt may have had an effect."""
        return any(attempt.in_doubt for attempt in self.attempts)

    @property
    def in_doubt(self) -> bool:
        """Whether the effect may exist: by an attempt, or by what was found against all of them."""
        return self.state is State.UNCERTAIN or self.tried_in_doubt

    @property
    def found_something(self) -> bool:
        """Whether the latest look-up found anything of ours that was not declined."""
        found = self.lookup
        return found is not None and found.verdict in FOUND and found.standing is not Standing.FAILED

    @property
    def trusts_key(self) -> bool:
        """Whether the destination takes a key, and no drill has refuted that it makes one effect."""
        return self.contract.takes_key and self.drilled.key_broken_on is None

    def proves(self, lookup: LookupFact) -> bool:
        """Say whether a look-up proves absence; none does while a drill has refuted what it rests on."""
        return lookup.verdict is Verdict.ABSENT and lookup.proof and self.drilled.lookup_broken_on is None

    @property
    def tries(self) -> int:
        """How many attempts were started; one that never began is not a try."""
        return sum(1 for attempt in self.attempts if attempt.started_at is not None)

    @property
    def tries_left(self) -> int:
        """How many tries software still has."""
        if self.corrected or len(self.attempts) >= ATTEMPTS_MAX:
            return 0
        return max(self.tries_allowed - self.tries, 0)

    @property
    def tries_allowed(self) -> int:
        """How many tries software may start in all."""
        return 1 if self.contract.retry_owner == "client" else self.policy.attempts

    @property
    def deadline_at(self) -> datetime:
        """Until when software may try by itself, were its destination not paused again.

        The time in which it waited for what it comes after does not count.
        """
        since = self.accepted_at
        if self.first is not None and self.first.finished_at is not None:
            since = max(since, self.first.finished_at)
        return since + timedelta(seconds=self.policy.elapsed_s + self.paused_s)

    def within_limits(self, now: datetime) -> bool:
        """Say whether software may start one more try; the time stands still while nothing can be reached."""
        until = now if self.paused_at is None else min(now, self.paused_at)
        return self.tries_left > 0 and until < self.deadline_at

    @property
    def window_closes_at(self) -> datetime | None:
        """When the same key stops protecting us at this account; None where it does not."""
        if self.first_sent_at is None or not self.same_account:
            return None
        return self.contract.window_closes_at(self.first_sent_at)

    def window_open(self, now: datetime) -> bool:
        """Say whether a send under the same key is safe until the end of the lease that it would need."""
        closes_at = self.window_closes_at
        return closes_at is not None and now + timedelta(seconds=self.lease_s) < closes_at

    def same_key_until(self, now: datetime) -> datetime | None:
        """Return until when a send under the same key could still be begun; None where none could."""
        closes_at = self.window_closes_at
        if closes_at is None or not self.window_open(now):
            return None
        return closes_at - timedelta(seconds=self.lease_s)

    @property
    def not_before(self) -> datetime | None:
        """The instant that the latest answer asked to wait for, with its Retry-After."""
        latest = self.latest
        if latest is None or latest.retry_after_s is None or latest.sender_ended_at is None:
            return None
        return latest.sender_ended_at + timedelta(seconds=latest.retry_after_s)

    @property
    def saved_error(self) -> int | None:
        """The status of an error that the destination would answer again under the present key."""
        return next((one.http_status for one in reversed(self.attempts) if self._saved(one)), None)

    def _saved(self, attempt: AttemptFact) -> bool:
        """Say whether a try was answered with an error that its key remembers.

        One that says so itself is. Else what by contract is not done, or being worked on, has left nothing.
        """
        status = attempt.http_status or 0
        if not attempt.present_key or status < 400:
            return False
        passing = attempt.outcome is Outcome.RETRYABLE or self.key_in_use(attempt)
        return attempt.replayed or (not passing and self.contract.saves_error(status))

    def key_in_use(self, attempt: AttemptFact) -> bool:
        """Say whether a try was answered that its key is being worked on; a caller tells the status alone."""
        told = attempt.outcome is Outcome.UNCERTAIN and attempt.http_status in self.contract.in_use
        return attempt.error_code == IN_USE or told

    @property
    def declined(self) -> bool:
        """Whether what the destination remembers under the present key is a record that it declined."""
        answered = any(one.present_key and one.error_code == DECLINED for one in self.attempts)
        return answered or (self.lookup is not None and self.lookup.standing is Standing.FAILED)

    @property
    def first_moved(self) -> bool:
        """Whether it was sent after a record that no longer counts as what it comes after."""
        first = self.first
        return first is not None and first.done and self.tries > 0 and first.used != first.reference

    @property
    def barred(self) -> str:
        """Why nothing may be sent of it as what it comes after stands; empty where it may."""
        if self.first is None:
            return ""
        if self.first_moved and self.in_doubt:
            sent_after = self.first.used or "a record"
            return f"It was sent after {sent_after}, and {self.first.key} is another one now."
        return self.first.why

    @property
    def key_spent(self) -> bool:
        """Whether the present key brings back an error or a decline, or was made for something else.

        That is another account, or another record that it comes after: what is sent would differ.
        """
        spent = self.saved_error is not None or self.declined
        return spent or not self.same_account or self.first_moved

    @property
    def key_covers_doubt(self) -> bool:
        """Whether all that may have had an effect went under the present key.

        Where what was found speaks against every try, it may have been any of them.
        """
        doubtful = [one for one in self.attempts if one.in_doubt] or self.attempts
        return all(one.present_key for one in doubtful)

    def same_key_protects(self, now: datetime) -> bool:
        """Say whether sending again under the same key makes no second effect and asks a fresh question."""
        return self.window_open(now) and self.key_covers_doubt and not self.key_spent
