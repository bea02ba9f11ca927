"""What a decision is made from: one operation with its attempts, evidence and contract."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.rules.approvals import Ask
from ledger.rules.calls import RetryPolicy
from ledger.rules.contracts import Contract
from ledger.rules.states import FOUND, Outcome, Standing, State, Verdict

ATTEMPTS_MAX = 1000
"""Attempts of one operation, those that never started included; beyond it software makes none."""

LEASE_EXPIRED = "lease_expired"
"""The error code of an attempt whose sender fell silent."""
IN_USE = "in_use"
"""The error code of an answer that says the key is being worked on."""
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
    present_key: bool = True
    """Whether it went under the key that the next one goes under."""


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
    maker: str
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
    """Who attested by hand that it did not happen, where that and no look-up is why it counts as not done."""
    first_sent_at: datetime | None = None
    taken_at: datetime | None = None
    settles_at: datetime | None = None
    lease_until: datetime | None = None
    next_try_at: datetime | None = None
    look_count: int = 0
    held_at: datetime | None = None
    cancelled: bool = False
    destination_reference: str = ""
    evidence: str = ""
    evidence_by: str = ""

    @property
    def latest(self) -> AttemptFact | None:
        """The last attempt, open or not."""
        return self.attempts[-1] if self.attempts else None

    @property
    def held(self) -> bool:
        """Whether a case is open: a person decides."""
        return self.held_at is not None

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
    def tries(self) -> int:
        """How many attempts were started; one that never began is not a try."""
        return sum(1 for attempt in self.attempts if attempt.started_at is not None)

    @property
    def tries_left(self) -> int:
        """How many tries software still has."""
        if len(self.attempts) >= ATTEMPTS_MAX:
            return 0
        allowed = 1 if self.contract.retry_owner == "client" else self.policy.attempts
        return max(allowed - self.tries, 0)

    @property
    def deadline_at(self) -> datetime:
        """Until when software may try by itself."""
        return self.accepted_at + timedelta(seconds=self.policy.elapsed_s)

    def within_limits(self, now: datetime) -> bool:
        """Say whether software may start one more try."""
        return self.tries_left > 0 and now < self.deadline_at

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

    @property
    def saved_error(self) -> int | None:
        """The status of an error that the destination would answer again under the present key."""
        for attempt in reversed(self.attempts):
            status = attempt.http_status if attempt.present_key else None
            if status is not None and status >= 400 and self.contract.saves_error(status):
                return status
        return None

    @property
    def declined(self) -> bool:
        """Whether what the destination remembers under the present key is a record that it declined."""
        answered = any(one.present_key and one.error_code == DECLINED for one in self.attempts)
        return answered or (self.lookup is not None and self.lookup.standing is Standing.FAILED)

    def same_key_protects(self, now: datetime) -> bool:
        """Say whether sending again under the same key makes no second effect and asks a fresh question."""
        return self.window_open(now) and self.saved_error is None
