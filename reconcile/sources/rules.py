"""What a plan says of its source: how it is reached, what it lists, and how one of its rows is read."""

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ledger.rules.calls import Expression, ListCall, Places, RecordMap, TimeForm, Zone
from ledger.rules.connections import Connection
from ledger.rules.contracts import Seconds, Section

Name = Annotated[str, StringConstraints(pattern=r"\S", max_length=60)]
LEAD_S = 7 * 86400


class RowMap(Section):
    """How to read one row: JMESPath for each part, and a column of that name where none is said.

    `key` is the operation's key, ready made; without it, it is made of `reference`, `system` and `version` by
    the type's template. A row in one of `cancelled_statuses` stands for nothing.
    """

    key: Expression | None = None
    reference: Expression = "reference"
    system: Expression = "system"
    version: Expression = "version"
    id: Expression = "id"
    amount: Expression = "amount"
    amounts: bool = True
    """Whether every row has an amount: one without is then unreadable."""
    currency: Expression = "currency"
    date: Expression = "date"
    status: Expression = "status"
    cancelled_statuses: tuple[str, ...] = ("cancelled", "canceled")
    amount_unit: Literal["major", "minor"] = "major"
    amount_sign: Literal["negated"] | None = None
    minor_decimals: dict[str, Places] = {}
    time_format: TimeForm | None = None
    timezone: Zone | None = None

    @cached_property
    def as_record(self) -> RecordMap:
        """The same in the words of a destination's record, for what reads both."""
        return RecordMap(
            id=self.id,
            reference=self.key or self.reference,
            amount=self.amount,
            currency=self.currency,
            status=self.status,
            void_statuses=self.cancelled_statuses,
            occurred_at=self.date,
            amount_unit=self.amount_unit,
            amount_sign=self.amount_sign,
            minor_decimals=self.minor_decimals,
            time_format=self.time_format,
            timezone=self.timezone,
        )


class Control(ListCall):
    """A question of its own for how many rows there are and what they come to, cancelled ones included.

    Of a database the first column is the count, the second the total, and a third the currency; over HTTP
    `count` and `total` say where they stand.
    """

    count: Expression = "count"
    total: Expression | None = None


class SourceRules(Section):
    """A plan's source as it is kept; `lead` is in seconds."""

    name: Name = "The source"
    connector: str
    connection: Connection
    list: ListCall
    control: Control | None = None
    record: RowMap = RowMap()
    alone: bool = True
    """Whether all of the type's operations come from it: one without a row is unexpected then."""
    lead_s: Seconds = Field(LEAD_S, alias="lead")
    """How long before its operation a row may be dated; from so long before the window on it is asked."""

    @property
    def covers(self) -> str:
        """Return the one system whose operations it tells of; "" where its rows name theirs themselves."""
        literal = re.fullmatch(r"'([^']*)'", self.record.system.strip())
        return literal[1] if literal else ""

    def words(self) -> dict[str, Any]:
        """Return it under the names that it has in the file."""
        told = self.stored()
        query, control = told["list"].pop("query"), told["control"] or {}
        if control.get("query"):
            control = {"query": control["query"]}
        return {
            **told.pop("connection"),
            **told,
            "query": query,
            "control": control,
        }
