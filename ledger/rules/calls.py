"""How a destination is called and how one of its records is read: the sections of an operation type."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ledger.rules import moments, paths
from ledger.rules.contracts import Seconds, Section, check_expression

Expression = Annotated[str, AfterValidator(lambda value: check_expression(value, value))]
Zone = Annotated[str, AfterValidator(moments.check_zone)]
TimeForm = Annotated[str, AfterValidator(moments.check_format)]
SinceForm = Annotated[
    str, AfterValidator(lambda value: value if value == "date" else moments.check_format(value))
]
Places = Annotated[int, Field(ge=0, le=4)]
FieldPath = Annotated[str, AfterValidator(lambda value: _field(value))]
COMPARED_MAX = 20
"""Fields of a payload that a record is compared by."""


FAILS = "errors || error"
"""Where an answer tells of a failure, although its status does not: GraphQL and JSON-RPC."""
HEADER = "header:"
"""Before the name of a header of the answer, where something is said there and not in the body."""

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "cursor": ("next", "parameter"),
    "link": ("next",),
    "last_id": ("parameter", "more"),
}
_ONLY = {"pages": ("page",), "overlap": ("offset",), "first": ("page", "offset", "cursor", "last_id")}
COUNTED = frozenset({"page", "offset"})
"""Styles whose places are numbers of our own."""


class Paging(Section):
    """How a list goes on.

    `next`, `more`, `pages` and `total` are expressions over the answer, or "header:NAME".
    """

    style: Literal["none", "cursor", "link", "page", "offset", "last_id"] = "none"
    next: str | None = None
    parameter: str | None = None
    where: Literal["query", "body"] | None = Field(None, alias="in")
    first: int | str | None = None
    size: int | None = None
    more: str | None = None
    pages: str | None = None
    total: str | None = None
    overlap: int | None = Field(None, ge=1, le=100)

    @model_validator(mode="after")
    def _complete(self) -> "Paging":
        missing = [name for name in _NEEDS.get(self.style, ()) if getattr(self, name) is None]
        if missing:
            raise ValueError(f'paging style "{self.style}" needs {" and ".join(missing)}')
        for name, styles in _ONLY.items():
            if getattr(self, name) is not None and self.style not in styles:
                raise ValueError(
                    f'{name} does not go with paging style "{self.style}"; it goes with {_or(styles)}'
                )
        if self.style in COUNTED and isinstance(self.first, str):
            raise ValueError(f'paging style "{self.style}" begins with a number; write first = 0 or 1')
        for name in ("next", "more", "pages", "total"):
            expression = getattr(self, name)
            if expression is None or (name == "next" and self.style == "link" and expression == "header"):
                continue
            if not expression.startswith(HEADER):
                check_expression(expression, name)
        return self


def _field(path: str) -> str:
    """Read a path into a payload, written the one way that its digests have it; raises ValueError."""
    segments = paths.split(path)
    if not segments:
        raise ValueError("the whole payload is no field: name one, such as due_date")
    if any(segment.isdigit() for segment in segments):
        raise ValueError("one place of a list is no field: name the list, and all of it is compared")
    return paths.dotted(segments)


def _or(styles: tuple[str, ...]) -> str:
    return " or ".join(f'"{style}"' for style in styles)


class SendCall(Section):
    """The request that makes the effect; `set` writes placeholders into the payload by dotted path.

    `wrap` is what goes out with the payload inside, `item` where the record is in the answer.
    """

    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST"
    path: str | None = Field(None, pattern=r"^/")
    body: Literal["json", "form"] = "json"
    form_arrays: Literal["index", "empty"] | None = None
    headers: dict[str, str] = {}
    set: dict[str, str] = {}
    wrap: dict[str, Any] | None = None
    item: Expression | None = None
    fails: Expression | None = None


class RecordMap(Section):
    """How to read one record of the destination: JMESPath for each part."""

    id: Expression
    reference: Expression
    amount: Expression | None = None
    amount_unit: Literal["major", "minor"] = "major"
    amount_sign: Literal["negated"] | None = None
    """Whether the destination counts below nought what is above it here, as it may with refunds."""
    minor_decimals: dict[str, Places] = {}
    """Decimals of the destination's smallest unit by currency, where they are not those of ISO 4217."""
    currency: Expression | None = None
    status: Expression | None = None
    pending_statuses: tuple[str, ...] = ()
    done_statuses: tuple[str, ...] | None = None
    failed_statuses: tuple[str, ...] = ()
    void_statuses: tuple[str, ...] = ()
    deleted: Expression | None = None
    """Where a list says of a record that it is there no more: what is left of it stands for nothing."""
    occurred_at: Expression | None = None
    time_format: TimeForm | None = None
    timezone: Zone | None = None
    """The zone of times that come without an offset."""
    paid: Expression | None = None
    """What is paid or allocated of it, or whether; for who chooses one of several."""
    sent: Expression | None = None
    """When, or whether, the customer was told of it."""
    period: Expression | None = None
    """The accounting period it is in: in words, or whether that is closed."""
    compare: dict[FieldPath, Expression] = Field({}, max_length=COMPARED_MAX)
    """Fields of the payload, each with the place where a record has it: contents that have to be as meant."""


class Question(Section):
    """A request that only asks; its body is a table whose texts may hold placeholders.

    Which lines it needs depends on the connector: `path` over HTTP, `query` of a database.
    """

    method: Literal["GET", "POST"] = "GET"
    path: str | None = Field(None, pattern=r"^/")
    query: str | None = None
    headers: dict[str, str] = {}
    body: dict[str, Any] | None = None
    body_as: Literal["json", "form"] | None = None
    form_arrays: Literal["index", "empty"] | None = None
    items: Expression | None = None
    fails: Expression | None = None
    paging: Paging = Paging()
    since_format: SinceForm | None = None
    timezone: Zone | None = None
    """How it writes an instant, and in which zone."""


class LookupCall(Question):
    """The request that asks what the destination holds for one operation.

    `match`: what must stand at several places of a record, where no single field of it has our key.
    """

    match: dict[Expression, str] = {}


class ListCall(Question):
    """The request that lists what the destination holds since an instant.

    `overlap` is how long before the window it is asked from: clocks differ, and records show late.
    """

    overlap_s: Seconds = Field(86400, alias="overlap")


class ReversalCall(Section):
    """A request that reverses a record; its body is a table, as a question's is."""

    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST"
    path: str = Field(pattern=r"^/")
    headers: dict[str, str] = {}
    body: dict[str, Any] | None = None
    body_as: Literal["json", "form"] | None = None
    """As sends go, where nothing is said."""

    def as_send(self, send: SendCall | None) -> SendCall:
        """Return it as a send whose body is its own; `send`: that of its type."""
        return SendCall(
            method=self.method,
            path=self.path,
            headers=self.headers,
            wrap=self.body,
            body=self.body_as or (send.body if send is not None else "json"),
        )


class VoidCall(ReversalCall):
    """The request that voids a surplus record; `credit`: the one that credits what is not voided."""

    credit: ReversalCall | None = None
    when_closed: Literal["void", "credit"] = "void"
    """What is done with a record whose period reads closed: `credit` where voiding it is barred."""


class RetryPolicy(Section):
    """How often and how long software tries; seconds. The first try counts."""

    attempts: int = Field(5, ge=1, le=100)
    elapsed_s: Seconds = Field(43200, alias="elapsed")
    base_s: Seconds = Field(5, alias="base")
    cap_s: Seconds = Field(600, alias="cap")


class ReviewPolicy(Section):
    """How cases of a type are worked: when they are due (seconds), who else must agree, what is redacted."""

    due_s: Seconds = Field(14400, alias="due")
    four_eyes_above: dict[str, Decimal] | None = None
    """Amounts by currency above which two people decide; a currency without a line always takes two."""
    timezone: str = "UTC"
    """Where the day begins and ends in which one person's decisions are added together."""
    redact: tuple[str, ...] = ()
    refunds: str = ""
    """The operation type whose effect an operation of this one gives back, of the same source record."""
    priority: Decimal = Field(Decimal(0), ge=0, max_digits=15, decimal_places=4)
    """What an operation without an amount counts as in the queue's order, in the display's currency."""


class DrillSample(Section):
    """What a drill may send: a payload that the destination takes, and one that it refuses."""

    payload: dict[str, Any]
    amount: str | None = None
    currency: str | None = None
    refused: dict[str, Any] | None = None


class Calls(Section):
    """The calls of one operation type; a look-up exists if its section does."""

    send: SendCall | None = None
    record: RecordMap | None = None
    lookup: LookupCall | None = None
    list: ListCall | None = None
    void: VoidCall | None = None

    @model_validator(mode="after")
    def _readable(self) -> "Calls":
        if self.record is None and (self.lookup is not None or self.list is not None):
            raise ValueError("lookup and list need a record section that says how to read what comes back")
        return self
