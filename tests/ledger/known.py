"""Facts of one operation, as decisions are made from them, and a clock that stands at noon."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger.rules.calls import RetryPolicy
from ledger.rules.contracts import Contract
from ledger.rules.facts import AttemptFact, Facts, LookupFact, PermitFact
from ledger.rules.states import Outcome, Standing, State, Verdict

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)


def contract(**changes: Any) -> Contract:
    promised = {"idempotency": "header", "key_retention": "24h", "saves": "2xx", "settle": "30s"}
    return Contract.model_validate(promised | changes)


def attempt(number: int = 1, outcome: Outcome | None = Outcome.UNCERTAIN, **changes: Any) -> AttemptFact:
    """A try of an hour ago; in doubt as its outcome says."""
    doubt = outcome in (Outcome.UNCERTAIN, Outcome.ACCEPTED, Outcome.SUCCEEDED)
    made = AttemptFact(number, outcome, doubt, started_at=NOON - HOUR, sender_ended_at=NOON - HOUR)
    return replace(made, **changes)


def facts(**changes: Any) -> Facts:
    """One try an hour ago that was met by silence, at a destination with keys and a look-up."""
    known: dict[str, Any] = {
        "destination": "Durban Books",
        "state": State.UNCERTAIN,
        "contract": contract(),
        "policy": RetryPolicy.model_validate({"attempts": 5, "base": "10s", "cap": "10m", "elapsed": "12h"}),
        "by_tieout": True,
        "side_effect": True,
        "has_lookup": True,
        "lookup_proved": True,
        "accepted_at": NOON - HOUR,
        "lease_s": 60.0,
        "attempts": (attempt(),),
        "first_sent_at": NOON - HOUR,
        "settles_at": NOON - HOUR + 30 * SECOND,
    }
    return Facts(**(known | changes))


def lookup(verdict: Verdict, *, ago_s: float = 60, **changes: Any) -> LookupFact:
    return LookupFact(verdict, NOON - ago_s * SECOND, "worker", **changes)


MATCH = lookup(Verdict.ONE_MATCH, standing=Standing.DONE)
DECLINED_RECORD = lookup(Verdict.ONE_MATCH, standing=Standing.FAILED)
PENDING_RECORD = lookup(Verdict.ONE_MATCH, standing=Standing.PENDING)
DIFFERS = lookup(Verdict.DIFFERS)
SEVERAL = lookup(Verdict.SEVERAL)
PROOF = lookup(Verdict.ABSENT, proof=True)
ABSENT = lookup(Verdict.ABSENT)
EARLY = lookup(Verdict.ABSENT, ago_s=3600)
BLIND = lookup(Verdict.COULD_NOT_LOOK, complete=False)
PERMIT = PermitFact(True, "ann", NOON - 50 * SECOND, NOON + HOUR)
NO_KEYS = contract(idempotency="none")
ONE_TRY = RetryPolicy.model_validate({"attempts": 1, "base": "10s"})
