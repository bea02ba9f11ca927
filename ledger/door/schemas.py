"""What the API takes and gives, as its OpenAPI document tells it. Amounts are text, times RFC 3339."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from ledger.actions.changing import REASON_MAX
from ledger.actions.correcting import Correction
from ledger.actions.overriding import Risk
from ledger.door.members import (
    Code,
    Cursor,
    Instant,
    OfSource,
    Plain,
    Reference,
    Uuid,
    Whole,
    Words,
)
from ledger.door.sizes import BATCH_MAX
from ledger.rules import keys
from ledger.rules.leases import LEASE_MAX_S
from ledger.rules.outcomes import RETRY_AFTER_MAX_S, Report
from ledger.rules.states import Outcome, State, Verdict

MESSAGE_MAX = 10_000
LIST_MAX = 500
AMOUNT = r"^-?[0-9]+(\.[0-9]+)?$"
CURRENCY = "^[A-Z]{3}$"


class Taken(BaseModel):
    """A request's body: types are taken strictly, and what is not known is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Source(Taken):
    """The durable record that the operation comes from; `run` belongs to the attempt."""

    system: Words | None = Field(None, max_length=100)
    reference: Words | None = Field(None, max_length=200)
    version: Words | None = Field(None, max_length=100)
    run: Words | None = Field(None, max_length=200)


class AfterIn(Taken):
    """An operation that has to be done first."""

    type: str = Field(max_length=100)
    key: str = Field(json_schema_extra={"minLength": 1, "maxLength": keys.MAX_LENGTH})


class SubmissionIn(Taken):
    """An operation for Tieout to perform."""

    type: str = Field(max_length=100)
    payload: dict[str, Any]
    key: str | None = Field(
        None,
        description="The operation's name within its type, for ever; of the source's record, never of a run.",
        json_schema_extra={"minLength": 1, "maxLength": keys.MAX_LENGTH},
    )
    source: Source = Source()
    description: Words | None = Field(None, max_length=300)
    subject: Words | None = Field(None, max_length=300)
    amount: str | None = Field(
        None,
        description='Text, such as "1240.00"; with a currency, or not at all.',
        json_schema_extra={"pattern": AMOUNT},
    )
    currency: str | None = Field(
        None, description="An ISO 4217 code, such as ZAR.", json_schema_extra={"pattern": CURRENCY}
    )
    after: AfterIn | None = Field(
        None, description="Until that one is done this one waits. It is part of what was meant."
    )


def _left_out(schema: dict[str, Any]) -> None:
    """Tell that a member may be left out, and not that it may be null."""
    schema.pop("default", None)  # it is asked for each schema that has the member


class ClaimIn(SubmissionIn):
    """An operation that the caller performs."""

    payload: dict[str, Any] = Field(
        None,  # type: ignore[arg-type]  # left out it is None; null is refused
        description="What the destination is to get. A correction may leave it out: the answer carries it.",
        json_schema_extra=_left_out,
    )
    attempt_id: Uuid | None = Field(
        None, description="A UUID of the caller's. With it the claim may be repeated until it is started."
    )
    lease_s: float | None = Field(None, ge=1, le=LEASE_MAX_S)


class OverrideIn(Taken):
    """The words of who takes the risk that what is corrected happened all the same."""

    where: Reference = Field(min_length=1, max_length=200, description="Where it was looked for, by hand.")
    when: Annotated[Instant, Field(strict=False)] = Field(
        description="When it was looked for and not seen; after that it can no longer have come."
    )
    why: str = Field(
        min_length=1, max_length=REASON_MAX, description="Why it does not wait for proof; redacted."
    )

    def risk(self) -> Risk:
        """Return it as actions take it."""
        return Risk(self.where, self.when, self.why)


class CorrectionIn(Taken):
    """What is meant instead of an operation, whole."""

    payload: dict[str, Any]
    amount: str | None = Field(
        None, description="Needed where the operation has one.", json_schema_extra={"pattern": AMOUNT}
    )
    currency: str | None = Field(None, json_schema_extra={"pattern": CURRENCY})
    description: Words | None = Field(None, max_length=300, description="Left out, it stays as it was.")
    subject: Words | None = Field(None, max_length=300, description="Left out, it stays as it was.")
    who: Reference = Field(min_length=1, max_length=150, description="The person who wants it.")
    why: str = Field(
        min_length=1, max_length=REASON_MAX, description="For the trail; redacted before it is kept."
    )
    command_id: Uuid | None = Field(
        None, description="A UUID of this decision; the same again is the same correction."
    )
    override: OverrideIn | None = Field(
        None,
        description="Only for what is in doubt and held: a second person is asked, and nothing is made yet.",
    )

    def meant(self) -> Correction:
        """Return it as actions take it."""
        return Correction(self.payload, self.amount, self.currency, self.description, self.subject)


class StartIn(Taken):
    """The first byte is about to go."""

    token: str
    start_id: Uuid = Field(description="A fresh UUID of the calling process.")


class HeartbeatIn(Taken):
    """The caller is still at work."""

    token: str
    lease_s: float | None = Field(
        None,
        ge=1,
        le=LEASE_MAX_S,
        description="Seconds from now; without it, the type's own lease. A lease is never made shorter.",
    )


class OutcomeIn(Taken):
    """What one attempt proved."""

    token: str
    outcome: Literal["succeeded", "accepted", "retryable", "rejected", "uncertain"]
    destination_reference: Reference | None = None
    http_status: int | None = Field(None, ge=100, le=599)
    error_code: Code | None = None
    message: str | None = Field(
        None, max_length=MESSAGE_MAX, description="For people; redacted and shortened before it is kept."
    )
    retry_after_s: float | None = Field(None, ge=0, le=RETRY_AFTER_MAX_S)
    response: Any = Field(None, description="Taken, and not kept.")

    def report(self) -> Report:
        """Return it as actions take it."""
        return Report(
            outcome=Outcome(self.outcome),
            destination_reference=self.destination_reference or "",
            http_status=self.http_status,
            error_code=self.error_code or "",
            message=self.message or "",
            retry_after_s=self.retry_after_s,
        )


class AttemptOutcomeIn(OutcomeIn):
    """What one attempt of a batch proved."""

    attempt: Uuid = Field(description="The attempt's id.")


# Each item is checked by itself, so that a wrong one spoils no other: here only the list is.
class ClaimBatchIn(Taken):
    """Operations that the caller performs."""

    items: list[SkipValidation[ClaimIn]] = Field(min_length=1, max_length=BATCH_MAX)


class OutcomeBatchIn(Taken):
    """What several attempts proved."""

    items: list[SkipValidation[AttemptOutcomeIn]] = Field(min_length=1, max_length=BATCH_MAX)


class Asked(BaseModel):
    """What stands in an address, behind its question mark: text, and what is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class ListIn(Asked):
    """Which operations are asked for; all that is said must hold."""

    type: Plain | None = Field(None, max_length=100)
    key: Plain | None = Field(None, max_length=200)
    state: State | None = None
    source: OfSource | None = Field(
        None,
        max_length=301,
        description="The source's system and reference, as webshop/483.",
        json_schema_extra={"pattern": "/"},
    )
    claimable: Literal["true"] | None = Field(
        None, description="Only what a caller may claim now; the claim itself decides."
    )
    updated_since: Instant | None = Field(
        None, description="Changed then or later. The last item's updated_at is the next one to ask with."
    )
    cursor: Cursor | None = Field(
        None,
        description="The next_cursor of the page before, as it came.",
        json_schema_extra={"pattern": "^[A-Za-z0-9_-]{36}$"},
    )
    limit: Whole = Field(100, ge=1, le=LIST_MAX, description="How many at most.")


class Given(BaseModel):
    """Part of an answer."""

    model_config = ConfigDict(extra="forbid")


class SourceOut(Given):
    """The record that the operation comes from."""

    system: str
    reference: str
    version: str


class LinkOut(Given):
    """An operation that stands in another one's place, or the other one."""

    id: UUID
    key: str
    state: State
    page: str


class AfterOut(LinkOut):
    """What has to be done first, or the correction in its place; its reference once it is done."""

    destination_reference: str | None


class OperationOut(Given):
    """An operation, as it stands."""

    id: UUID
    type: str
    key: str
    state: State
    description: str
    subject: str
    source: SourceOut
    amount: str | None
    currency: str | None
    destination_reference: str | None
    evidence: Literal["answer", "lookup", "attested"] | None
    first_cause: str | None
    corrects: LinkOut | None = Field(description="What it was made to put right.")
    correction: LinkOut | None = Field(description="What stands in its place, the latest correction.")
    after: AfterOut | None = Field(
        description="What has to be done first; null where the token does not cover its type."
    )
    accepted_at: datetime
    updated_at: datetime
    page: str


class AttemptOut(Given):
    """The attempt that the caller holds; `token` comes once, with its claim."""

    id: UUID
    number: int
    token: str | None = None
    idempotency_key: str
    payload_digest: str
    lease_expires_at: datetime
    started_at: datetime | None


class TriedOut(Given):
    """One attempt in an operation's history."""

    id: UUID
    number: int
    outcome: Outcome | None
    claimed_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    http_status: int | None
    error_code: str | None
    message: str | None
    destination_reference: str | None
    idempotency_key: str


class ListedOut(OperationOut):
    """An operation, and what goes on with it: a case for a person, or the next time that it is taken up."""

    case: str | None
    retry_at: datetime | None


class ListOut(Given):
    """One page, in the order of the last change; the earliest comes first."""

    items: list[ListedOut]
    next_cursor: str | None


class WholeOperationOut(ListedOut):
    """An operation with what was tried and what the last check found."""

    attempts: list[TriedOut]
    verdict: Verdict | None
    checked_at: datetime | None


class Told(Given):
    """What an answer and a problem document have in common."""

    decision: Literal["proceed", "wait", "hold", "skip", "refuse"] | None
    operation: OperationOut | None
    attempt: AttemptOut | None
    case: str | None = Field(description="The page where a person decides.")
    retry_at: datetime | None


class AnswerOut(Told):
    """One decision, and what it rests on."""

    warnings: list[str]
    payload: dict[str, Any] | None = Field(None, description="With the claim of a correction: what to send.")


class HeardOut(Given):
    """What became of a destination's event."""

    heard: Literal["new", "known", "nothing"] = Field(
        description="`known`: taken in before. `nothing`: it is not about an operation of ours."
    )


class WrongOut(Given):
    """One member that cannot be used."""

    path: str
    problem: str


class ProblemOut(Told):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    retry: Literal["wait", "never", "after-review"]
    errors: list[WrongOut] = []
    changed: list[str] = Field([], description="Sorted dotted paths that differ; never values.")
    correct_at: str | None = Field(None, description="Where a correction is posted, after `payload-changed`.")


class AnsweredOut(AnswerOut):
    """An item of a batch that was answered as it would have been alone."""

    index: int
    status: int


class RefusedOut(ProblemOut):
    """An item of a batch that was refused as it would have been alone."""

    index: int


class BatchOut(Given):
    """An answer for each item, in their order."""

    items: list[AnsweredOut | RefusedOut]
