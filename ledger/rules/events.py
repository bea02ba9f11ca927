"""How a destination signs the events that it sends by itself, and how they are read."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from ledger.rules.calls import Expression
from ledger.rules.contracts import Seconds, Secrets, Section

TOLERANCE_MAX_S = 3600


class EventRules(Section):
    """How a destination signs its events and where it says what they are about; `tolerance` is seconds."""

    scheme: Literal["standard", "stripe", "hmac"]
    secret: Secrets
    tolerance_s: Seconds = Field(300, alias="tolerance", gt=0)
    signature_header: str | None = None
    timestamp_header: str | None = None
    encoding: Literal["hex", "base64"] | None = None
    prefix: str | None = None
    id: Expression | None = None
    type: Expression = "type"
    reference: Expression
    record: Expression | None = None
    account: Expression | None = None

    @field_validator("tolerance_s")
    @classmethod
    def _short(cls, value: float) -> float:
        if value > TOLERANCE_MAX_S:
            raise ValueError('an event older than an hour proves little; write at most "1h"')
        return value

    @model_validator(mode="after")
    def _complete(self) -> "EventRules":
        if self.scheme == "hmac":
            missing = [name for name in ("signature_header", "id") if not getattr(self, name)]
            if missing:
                raise ValueError(f'scheme "hmac" needs {" and ".join(missing)}; add the line')
            return self
        for name in ("signature_header", "timestamp_header", "encoding", "prefix"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f'{name} is for scheme "hmac"; leave it out, for "{self.scheme}" says where it signs'
                )
        return self
