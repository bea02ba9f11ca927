"""The slow, obvious model of the other side: who may still send, what flies, and what the destination holds.

Its destination keeps its contract, and no more than that: what was sent is there, and can be seen, just
before the settle time is over; a key is remembered for as long as was promised, and not a moment longer.
"""

import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger.actions import Report, Submission
from ledger.rules.contracts import Contract
from ledger.rules.states import Outcome

NEVER = datetime.max.replace(tzinfo=UTC)
TICK = timedelta(milliseconds=1)
LIVE = ("open", "processing")
FATES = ("made", "taken", "refused", "busy", "broken", "vanished", "unsent")
"""What becomes of a request: an effect, one not final yet, or none, whatever the answer says of it."""
MADE = ("made", "taken")
SAVED = {"all": ("refused", "busy", "broken"), "4xx": ("refused", "busy"), "2xx": ()}

NOT_SENT = Report(Outcome.RETRYABLE, error_code="not_sent", message="Not a byte was sent.")
SILENT = Report(Outcome.UNCERTAIN, error_code="silent", message="No answer came.")


@dataclass
class Record:
    """One record of the destination; `number` is that of the try that made it, nought where a person did."""

    id: str
    number: int
    status: str
    visible_at: datetime
    total: str

    @property
    def live(self) -> bool:
        return self.status in LIVE


@dataclass
class Request:
    """One request on its way, and what it will come to."""

    fate: str
    lands_after_s: float
    shown_after_s: float
    answered: bool
    lands_at: datetime = field(default=NEVER)
    answer: Report | None = None
    landed: bool = False


@dataclass
class Sender:
    """Who holds, or held, a claim. It sends once, before its lease ends, and says what it knows."""

    attempt: uuid.UUID
    number: int
    token: str
    actor: str
    key: str
    lease_until: datetime
    timeout_s: float
    after: str = ""
    """The reference of what it comes after, where there is such a thing."""
    submission: Submission | None = None
    start_id: uuid.UUID | None = None
    started: bool = False
    looked: bool = False
    void: bool = False
    ended_at: datetime | None = None
    request: Request | None = None
    reports: list[Report] = field(default_factory=list)

    @property
    def flying(self) -> bool:
        return self.request is not None and not self.request.landed

    def may_send(self, now: datetime) -> bool:
        """Whether it could still send its first byte."""
        alive = self.started and not self.void and self.ended_at is None and self.request is None
        return alive and now < self.lease_until

    def knows(self) -> Report:
        """What it can truthfully report now."""
        if self.request is None:
            return NOT_SENT
        answer = self.request.answer if self.request.landed and self.request.answered else None
        return answer or SILENT


@dataclass
class World:
    """One destination, and everybody who sends to it for one operation."""

    reference: str
    contract: Contract
    sees: bool
    """Whether its look-up looks in the right place."""
    senders: list[Sender] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    memory: dict[str, tuple[datetime, Report, Record | None]] = field(default_factory=dict)
    by_hand: bool = False
    """A person has made or voided a record: what there is no longer comes of what was sent."""

    def transmit(self, sender: Sender, request: Request, now: datetime) -> None:
        """Let the first byte go, unless not even the connection comes about."""
        if request.fate == "unsent":
            sender.ended_at = now
            return
        lands_at = now + timedelta(seconds=request.lands_after_s)
        sender.request = replace(request, lands_at=min(lands_at, self._latest(sender)))
        self.reach(now)

    def end(self, sender: Sender, now: datetime) -> None:
        """The sender has given up or is done: what it sent is there within the settle time from now."""
        sender.ended_at = sender.ended_at or now
        latest = self._latest(sender)
        if sender.request is not None and sender.flying:
            sender.request.lands_at = min(sender.request.lands_at, latest)
        for record in self.records:
            if record.number == sender.number:
                record.visible_at = min(record.visible_at, latest)

    def _latest(self, sender: Sender) -> datetime:
        """By when all of it is there to be seen: just before the settle time after its last possible send."""
        last = sender.lease_until + timedelta(seconds=sender.timeout_s)
        return min(sender.ended_at or last, last) + timedelta(seconds=self.contract.settle_s) - TICK

    def reach(self, now: datetime) -> None:
        """Let everything land that has landed by now, in its order."""
        flying = [one for one in self.senders if one.request is not None and one.flying]
        for sender in sorted(flying, key=lambda one: (_request(one).lands_at, one.number)):
            request = _request(sender)
            if request.lands_at <= now:
                request.landed = True
                request.answer = self._land(sender, request)

    def _land(self, sender: Sender, request: Request) -> Report | None:
        at = request.lands_at
        if request.fate == "vanished":
            return None
        if self.remembers(sender.key, at):
            return self.memory[sender.key][1]
        record = None
        if request.fate in MADE:
            status = "open" if request.fate == "made" else "processing"
            visible_at = min(at + timedelta(seconds=request.shown_after_s), self._latest(sender))
            record = self._book(sender.number, status, visible_at)
        answer = _answer(request.fate, record)
        saved = SAVED.get(self.contract.saves, SAVED["all"])
        if self.contract.takes_key and (record is not None or request.fate in saved):
            self.memory[sender.key] = (at, answer, record)
        return answer

    def _book(self, number: int, status: str, visible_at: datetime, total: str = "1240.00") -> Record:
        record = Record(f"INV-{len(self.records) + 1}", number, status, visible_at, total)
        self.records.append(record)
        return record

    def make_by_hand(self, now: datetime, *, total: str) -> None:
        """Somebody makes one there that carries our reference."""
        self.by_hand = True
        self._book(0, "open", now, total)

    def remembers(self, key: str, at: datetime) -> bool:
        """Whether the destination would answer this key as it did before."""
        if key not in self.memory:
            return False
        retention_s = self.contract.key_retention_s or 0
        return at < self.memory[key][0] + timedelta(seconds=retention_s)

    def holds(self, now: datetime, *, items_max: int | None = None) -> list[dict[str, Any]]:
        """What a look-up shows now, as JSON; only the first so many where it breaks off."""
        if not self.sees:
            return []
        shown = [record for record in self.records if record.visible_at <= now]
        items = [
            {
                "id": record.id,
                "total": record.total,
                "currency": "ZAR",
                "status": record.status,
                "metadata": {"operation": self.reference},
            }
            for record in shown
        ]
        return items[:items_max]

    # --- what the ledger must never be wrong about

    def made(self) -> list[Record]:
        """Live records that came of what was sent."""
        return [record for record in self.records if record.live and record.number]

    def may_come(self, now: datetime) -> list[Sender]:
        """Senders whose effect may still come: what flies, and who could still send."""
        flying = [one for one in self.senders if one.flying and not self.remembers(one.key, now)]
        return flying + [one for one in self.senders if one.may_send(now)]

    def may_exist(self, now: datetime) -> bool:
        """Whether there is an effect, or may yet be one."""
        return bool(self.made() or self.may_come(now))

    def second_is_harmless(self, sender: Sender, now: datetime) -> bool:
        """Whether this one may send beside all that is there or may come: under the same remembered key."""
        others = [one for one in self.may_come(now) if one is not sender]
        if not others and not self.made():
            return True
        if not self.contract.takes_key or self.contract.key_retention_s is None:
            return False
        until = sender.lease_until + timedelta(seconds=sender.timeout_s + self.contract.settle_s)
        keys = {one.key for one in others} | {self._key_of(record) for record in self.made()}
        first = min(self.memory[sender.key][0] if sender.key in self.memory else now, now)
        return keys == {sender.key} and until < first + timedelta(seconds=self.contract.key_retention_s)

    def _key_of(self, record: Record) -> str:
        return next(one.key for one in self.senders if one.number == record.number)


def _request(sender: Sender) -> Request:
    assert sender.request is not None
    return sender.request


def _answer(fate: str, record: Record | None) -> Report:
    match fate:
        case "made":
            assert record is not None
            return Report(Outcome.SUCCEEDED, destination_reference=record.id, http_status=201)
        case "taken":
            assert record is not None
            return Report(Outcome.ACCEPTED, destination_reference=record.id, http_status=202)
        case "refused":
            return Report(Outcome.REJECTED, http_status=422, error_code="http_422", message="Blocked.")
        case "busy":
            return Report(Outcome.RETRYABLE, http_status=429, error_code="http_429", message="Too many.")
        case _:
            return Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500", message="Broken.")
