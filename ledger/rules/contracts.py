"""What a destination promises for one operation type, and its key window's clock."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

LONGEST_S = 3650 * 86400.0
EXAMPLES = 'write a duration such as "30s", "5m", "24h" or "35d"'
REFUSES_US = frozenset({401, 403})
"""Statuses of a rejection that is about our credentials, not about this operation."""
UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(value: object) -> float:
    """Read a duration such as "30s", "5m", "24h", "35d", or a number of seconds; returns seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_S:
        return float(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(EXAMPLES)
    length_s = float(match[1]) * UNITS_S[match[2]]
    if length_s > LONGEST_S:
        raise ValueError(f"the duration is longer than ten years; {EXAMPLES}")
    return length_s


def _retention(value: object) -> float | None:
    return None if value in (None, "unknown") else seconds(value)


def _secrets(value: object) -> object:
    """Read one secret's place, or several, the current one first."""
    named = (value,) if isinstance(value, str) else value
    if not isinstance(named, list | tuple) or not named or not all(isinstance(one, str) for one in named):
        raise ValueError("a secret's place is missing; write env:NAME or file:PATH, or a list of them")
    if any(not one.startswith(("env:", "file:")) for one in named):
        raise ValueError("a secret never stands in this file; write env:NAME or file:PATH")
    return tuple(named)


Seconds = Annotated[float, BeforeValidator(seconds)]
Secrets = Annotated[tuple[str, ...], BeforeValidator(_secrets)]
Retention = Annotated[float | None, BeforeValidator(_retention)]
Status = Annotated[int, Field(ge=100, le=599)]
Rule = Literal["not_done", "rejected", "in_use", "exists"]


class Section(BaseModel):
    """A section of the configuration file, and the row that is stored of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `stored()` wrote, or a section of the file."""
        return cls.model_validate(dict(stored))

    def stored(self) -> dict[str, Any]:
        """Return the JSON that the database keeps; durations are seconds."""
        return self.model_dump(mode="json", by_alias=True)


class Contract(Section):
    """What a destination promises; everything unsaid is read as the weaker promise. Durations are seconds."""

    idempotency: Literal["header", "field", "none"] = "none"
    key_name: str = "Idempotency-Key"
    key_max: int = Field(255, ge=32)
    key_retention_s: Retention = Field(None, alias="key_retention")
    key_margin_s: Seconds = Field(600, alias="key_margin")
    changed_data: Literal["rejects", "replays", "unknown"] = "unknown"
    saves: Literal["2xx", "4xx", "all", "unknown"] = "unknown"
    replay_header: str | None = None
    not_done: tuple[Status, ...] = (429,)
    rejected: tuple[Status, ...] = (400, 401, 403, 404, 405, 410, 413, 415, 422)
    in_use: tuple[Status, ...] = (409,)
    exists: tuple[Status, ...] = ()
    absent: tuple[Status, ...] = ()
    when: dict[Rule, str] = {}
    settle_s: Seconds = Field(30, alias="settle")
    final_within_s: Seconds = Field(3600, alias="final_within")
    retry_owner: Literal["tieout", "client"] = "tieout"

    @field_validator("when")
    @classmethod
    def _readable(cls, value: dict[Rule, str]) -> dict[Rule, str]:
        for name, expression in value.items():
            check_expression(expression, name)
        return value

    @property
    def takes_key(self) -> bool:
        """Say whether the destination takes an idempotency key at all."""
        return self.idempotency != "none"

    def saves_error(self, status: int) -> bool:
        """Say whether an error with this status would come back under the same key; unknown counts as yes."""
        return self.saves in ("all", "unknown") or (self.saves == "4xx" and status < 500)

    def window_closes_at(self, first_sent_at: datetime) -> datetime | None:
        """Return when "same key" stops protecting us, less the margin; None where nothing is promised."""
        if not self.takes_key or self.key_retention_s is None:
            return None
        return first_sent_at + timedelta(seconds=max(self.key_retention_s - self.key_margin_s, 0))


def first_contract(stored: Mapping[str, Any]) -> Contract:
    """Read the contract of an operation's first attempt; one that cannot be read promises nothing."""
    try:
        return Contract.read(stored)
    except ValidationError:
        return Contract(not_done=(), rejected=())


def stricter(first: Contract, now: Contract) -> Contract:
    """Return the contract that promises only what both promise; the one at the first attempt counts, too."""
    keys_agree = (first.idempotency, first.key_name) == (now.idempotency, now.key_name)
    known = first.key_retention_s is not None and now.key_retention_s is not None
    return now.model_copy(
        update={
            "idempotency": now.idempotency if keys_agree else "none",
            "key_retention_s": min(first.key_retention_s or 0, now.key_retention_s or 0) if known else None,
            "key_margin_s": max(first.key_margin_s, now.key_margin_s),
            "changed_data": now.changed_data if first.changed_data == now.changed_data else "unknown",
            "saves": now.saves if first.saves == now.saves else "unknown",
            "not_done": _both(first.not_done, now.not_done),
            "rejected": _both(first.rejected, now.rejected),
            "in_use": _either(first.in_use, now.in_use),
            "exists": _either(first.exists, now.exists),
            "when": _when(first.when, now.when),
            "absent": _both(first.absent, now.absent),
            "settle_s": max(first.settle_s, now.settle_s),
            "retry_owner": "client" if "client" in (first.retry_owner, now.retry_owner) else "tieout",
        }
    )


def _both(first: tuple[int, ...], now: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(status for status in now if status in first)


def _either(first: tuple[int, ...], now: tuple[int, ...]) -> tuple[int, ...]:
    return (*now, *(status for status in first if status not in now))


def _when(first: Mapping[Rule, str], now: Mapping[Rule, str]) -> dict[Rule, str]:
    """Join the rules over the body: both must say that nothing was done, either may say that it is there."""
    joined: dict[Rule, str] = {}
    for name in dict.fromkeys((*now, *first)):
        said = list(dict.fromkeys(rules[name] for rules in (now, first) if name in rules))
        if name in ("exists", "in_use"):
            joined[name] = said[0] if len(said) == 1 else f"({said[0]}) || ({said[1]})"
        elif name in now and name in first:
            joined[name] = said[0] if len(said) == 1 else f"({said[0]}) && ({said[1]})"
    return joined


def check_expression(expression: str, name: str) -> str:
    """Return a JMESPath expression unchanged; ValueError names what is wrong with it."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        raise ValueError(f"{name}: not a JMESPath expression: {error}") from None
    return expression
