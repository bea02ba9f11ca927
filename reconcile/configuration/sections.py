"""The sections of a configuration file, each read by its own rules; what is wrong is gathered, not raised."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError

from ledger.rules.calls import (
    DrillSample,
    ListCall,
    LookupCall,
    RecordMap,
    RetryPolicy,
    ReviewPolicy,
    SendCall,
    VoidCall,
)
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract, Seconds, Secrets, Section, check_expression
from ledger.rules.escalating import LEVELS, Step
from ledger.rules.hours import WorkingHours
from ledger.rules.layers import Layer
from ledger.rules.saying import check_key, check_told
from ledger.rules.webhooks import Kind
from reconcile.configuration.wording import in_words, refused
from reconcile.configuration.wrongs import Path, Wrongs
from reconcile.expected import times
from reconcile.periods import months
from reconcile.rules.declared import RULES_MAX, Rule
from reconcile.rules.payouts import Payout
from reconcile.sources.rules import LEAD_S, Control, RowMap
from reconcile.statements.profiles.rules import ProfileRules

S = TypeVar("S", bound=Section)

SECRETS = ("token", "value", "password", "client_secret", "refresh_token")

Text60 = Annotated[str, StringConstraints(pattern=r"\S", max_length=60)]
Text100 = Annotated[str, StringConstraints(pattern=r"\S", max_length=100)]
Text200 = Annotated[str, StringConstraints(pattern=r"\S", max_length=200)]
Text300 = Annotated[str, StringConstraints(max_length=300)]


def _layer(said: str) -> str:
    Layer.read(said)
    return said


SaidLayer = Annotated[str, StringConstraints(max_length=100), AfterValidator(_layer)]


class DestinationHead(Section):
    """What a destination is called and which software speaks to it."""

    name: Text200
    entity: Text200
    connector: Text200 = "http"
    account: Text200 = "main"
    preset: str | None = None
    drills: bool = False


class TypeHead(Section):
    """What an operation type is called, who performs it and who answers for it; durations are seconds."""

    destination: str
    preset: str | None = None
    performed_by: Literal["tieout", "caller"]
    label: Text200 | None = None
    noun: Text60 | None = None
    side_effect: bool = True
    key: Text300 = ""
    lease_s: Seconds = Field(300, alias="lease", gt=0)
    permit_for_s: Seconds = Field(86400, alias="permit_for", gt=0)
    payload_keep_s: Seconds = Field(90 * 86400, alias="payload_keep")
    owner: Text100 = "operations"


class PlanPeriod(Section):
    """How a plan's months are closed: until when after them records still count, in business days."""

    grace_business_days: int = Field(0, ge=0, le=months.GRACE_MAX)
    holidays: Annotated[str, AfterValidator(months.check_calendar)] = ""
    first: Annotated[str, AfterValidator(months.check_first)] = ""
    """The first month that is closed here, "2026-11"."""

    def stored(self) -> dict[str, Any]:
        """Return what the file says beyond the defaults, as the plan keeps it."""
        return self.model_dump(exclude_defaults=True)


class PlanHead(Section):
    """When and how an operation type is reconciled; durations are seconds."""

    operation_type: str
    schedule: Annotated[str, StringConstraints(max_length=100)] = ""
    timezone: str
    window_s: Seconds = Field(35 * 86400, alias="window", gt=0)
    grace_s: Seconds = Field(900, alias="grace")
    tolerance: dict[str, str] = {}
    tolerance_cap: dict[str, str] = {}
    recipients: tuple[str, ...] = ()
    attach: bool = False
    rules: tuple[Rule, ...] = Field((), max_length=RULES_MAX)
    payout: Payout | None = None
    report_by: Annotated[str, StringConstraints(max_length=10), AfterValidator(times.check_report_by)] = (
        times.REPORT_BY
    )
    period: PlanPeriod = PlanPeriod()


class SourceHead(Section):
    """Who tells a plan what should exist, and how long before its operation a row may be dated (seconds)."""

    name: Text60 = "The source"
    connector: Text200
    query: str | None = None
    """In place of a list that is no more than that."""
    alone: bool = True
    lead_s: Seconds = Field(LEAD_S, alias="lead")


class WebhookHead(Section):
    """Where others want to be told, of what, and by which secrets it is signed."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+\S*$", max_length=500)]
    secret: Secrets
    events: tuple[Kind, ...]
    types: tuple[str, ...] = ()
    allow_private: bool = False


class TeamHead(Section):
    """To whom what a team owns goes when its due time has passed, and where it is told itself."""

    escalate: tuple[Step, ...] | None = Field(None, max_length=LEVELS)
    chat: Annotated[str, StringConstraints(pattern=r"^(env|file):\S+$", max_length=300)] = ""
    chat_kind: Literal["slack", "teams"] = "slack"
    allow_private: bool = False


class DisplayHead(Section):
    """By which rates amounts of different currencies are put in one order, of which day, and whose."""

    currency: str
    rates: dict[str, str] = {}
    as_of: str
    source: Text100


class AutomationHead(Section):
    """What those who run an automation say of it, for the register."""

    name: Text200 | None = None
    types: tuple[str, ...] = ()
    retries: Text300 = ""
    layers: tuple[SaidLayer, ...] = Field((), max_length=10)
    stable_key: Annotated[Text300, AfterValidator(check_key)] = ""
    last_failure: Annotated[Text300, AfterValidator(check_told)] = ""
    owner: Annotated[str, StringConstraints(max_length=100)] = ""


CALLS: Mapping[str, type[Section]] = {
    "send": SendCall,
    "record": RecordMap,
    "lookup": LookupCall,
    "list": ListCall,
    "void": VoidCall,
}
OF_DESTINATION: Mapping[str, type[Section]] = {"contract": Contract, "hours": WorkingHours}
OF_TEAM: Mapping[str, type[Section]] = {"hours": WorkingHours}
NAMES_OF_REACH = tuple(
    name
    for name in (info.alias or name for name, info in Connection.model_fields.items())
    if name not in ("open_url", "events")
)
"""How a source is reached: as a destination is, but for what only one that is written to has."""
OF_SOURCE: Mapping[str, type[Section]] = {"list": ListCall, "control": Control, "record": RowMap}
OF_TYPE: Mapping[str, type[Section]] = {
    "contract": Contract,
    **CALLS,
    "retry": RetryPolicy,
    "review": ReviewPolicy,
    "drill": DrillSample,
}


@dataclass
class Part:
    """One named section of the file: as it was written, and those of its sections that could be read."""

    name: str
    path: Path
    raw: dict[str, Any]
    sections: dict[str, Section] = field(default_factory=dict)
    inner: "dict[str, Part]" = field(default_factory=dict)
    """Sections that have sections of their own."""

    def get(self, name: str, kind: type[S]) -> S | None:
        """Return one of its sections; None where it is wrong or not there."""
        section = self.sections.get(name)
        return section if isinstance(section, kind) else None

    def must(self, name: str, kind: type[S]) -> S:
        """Return one of its sections, in a file that was not refused; with its defaults if left out."""
        return self.get(name, kind) or kind()

    def under(self, name: str) -> dict[str, Any]:
        """Return a section as it was written; empty where it is not there or is no section."""
        raw = self.raw.get(name)
        return raw if isinstance(raw, dict) else {}


def read_destination(part: Part, wrongs: Wrongs) -> None:
    """Read a destination: its head, its connection and the contract that its types begin with."""
    _check_secrets(part, wrongs)
    names: dict[str, type[Section]] = {"head": DestinationHead, "connection": Connection}
    known = [*members(DestinationHead), *members(Connection), *OF_DESTINATION]
    connection = {name: part.raw[name] for name in members(Connection) if name in part.raw}
    head = {
        name: part.raw[name] for name in part.raw if name not in connection and name not in OF_DESTINATION
    }
    for name, raw in (("head", head), ("connection", connection)):
        _read(part, name, names[name], raw=raw, path=part.path, known=known, wrongs=wrongs)
    _read_sections(part, OF_DESTINATION, wrongs)


def read_type(part: Part, wrongs: Wrongs) -> None:
    """Read an operation type: its head and each of its sections."""
    known = [*members(TypeHead), *OF_TYPE]
    head = {name: value for name, value in part.raw.items() if name not in OF_TYPE}
    _read(part, "head", TypeHead, raw=head, path=part.path, known=known, wrongs=wrongs)
    _read_sections(part, OF_TYPE, wrongs)


def read_plan(part: Part, wrongs: Wrongs) -> None:
    """Read a plan."""
    head = {name: value for name, value in part.raw.items() if name != "source"}
    known = [*members(PlanHead), "source"]
    _read(part, "head", PlanHead, raw=head, path=part.path, known=known, wrongs=wrongs)
    raw, path = part.raw.get("source"), (*part.path, "source")
    if isinstance(raw, dict):
        part.inner["source"] = Part(part.name, path, raw)
        _read_source(part.inner["source"], wrongs)
    elif raw is not None:
        remedy = 'Write source = { connector = "sql", url = "env:NAME", query = "select …" }.'
        wrongs.add(path, "source is not a section.", remedy)


def _read_source(part: Part, wrongs: Wrongs) -> None:
    """Read a plan's source: its head, its connection, its list, what counts it, and how a row is read.

    What counts it may be no more than a query.
    """
    _check_secrets(part, wrongs)
    inner = {name: part.raw[name] for name in OF_SOURCE if name in part.raw}
    if isinstance(inner.get("control"), str):
        inner["control"] = {"query": inner["control"]}
    reach = {name: part.raw[name] for name in NAMES_OF_REACH if name in part.raw}
    left = part.raw.keys() - {*OF_SOURCE, *NAMES_OF_REACH}
    head = {name: part.raw[name] for name in sorted(left)}
    known = [*members(SourceHead), *NAMES_OF_REACH, *OF_SOURCE]
    _read(part, "head", SourceHead, raw=head, path=part.path, known=known, wrongs=wrongs)
    _read(part, "connection", Connection, raw=reach, path=part.path, known=known, wrongs=wrongs)
    for name, raw in inner.items():
        asked, path = OF_SOURCE[name], (*part.path, name)
        _read(part, name, asked, raw=raw, path=path, known=members(asked), wrongs=wrongs)


def read_webhook(part: Part, wrongs: Wrongs) -> None:
    """Read a webhook."""
    check_places(part.raw.get("secret"), (*part.path, "secret"), wrongs)
    known = members(WebhookHead)
    _read(part, "head", WebhookHead, raw=part.raw, path=part.path, known=known, wrongs=wrongs)


def read_team(part: Part, wrongs: Wrongs) -> None:
    """Read a team."""
    check_places(part.raw.get("chat"), (*part.path, "chat"), wrongs)
    known = [*members(TeamHead), *OF_TEAM]
    head = {name: value for name, value in part.raw.items() if name not in OF_TEAM}
    _read(part, "head", TeamHead, raw=head, path=part.path, known=known, wrongs=wrongs)
    _read_sections(part, OF_TEAM, wrongs)


def read_display(part: Part, wrongs: Wrongs) -> None:
    """Read the rates of the display."""
    known = members(DisplayHead)
    _read(part, "head", DisplayHead, raw=part.raw, path=part.path, known=known, wrongs=wrongs)


def read_profile(part: Part, wrongs: Wrongs) -> None:
    """Read how a source writes its files."""
    known = members(ProfileRules)
    _read(part, "head", ProfileRules, raw=part.raw, path=part.path, known=known, wrongs=wrongs)


def read_automation(part: Part, wrongs: Wrongs) -> None:
    """Read an automation."""
    known = members(AutomationHead)
    _read(part, "head", AutomationHead, raw=part.raw, path=part.path, known=known, wrongs=wrongs)


def members(kind: type[BaseModel]) -> list[str]:
    """Return the names that a section may have, as the file spells them."""
    return [info.alias or name for name, info in kind.model_fields.items()]


def _check_secrets(part: Part, wrongs: Wrongs) -> None:
    for name in SECRETS:
        secret = part.under("auth").get(name)
        if isinstance(secret, str) and not secret.startswith(("env:", "file:")):
            remedy = f'Write {name} = "env:NAME" or "file:PATH".'
            wrongs.add((*part.path, "auth", name), "A secret never stands in this file.", remedy)
    check_places(part.raw.get("url"), (*part.path, "url"), wrongs)
    check_places(part.under("events").get("secret"), (*part.path, "events", "secret"), wrongs)


def check_places(value: object, path: Path, wrongs: Wrongs) -> None:
    """Refuse a secret that stands in the file itself, alone or in a list."""
    for index, place in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(place, str) and not place.startswith(("env:", "file:")):
            where = (*path, index) if isinstance(value, list) else path
            wrongs.add(where, "A secret never stands in this file.", 'Write "env:NAME" or "file:PATH".')


def _check_expressions(part: Part, wrongs: Wrongs) -> None:
    when = part.under("contract").get("when")
    for name, expression in when.items() if isinstance(when, dict) else ():
        try:
            check_expression(str(expression), name)
        except ValueError as error:
            wrongs.add((*part.path, "contract", "when", name), *refused(str(error)))


def _read_sections(part: Part, kinds: Mapping[str, type[Section]], wrongs: Wrongs) -> None:
    _check_expressions(part, wrongs)
    for name, kind in kinds.items():
        if name in part.raw:
            path = (*part.path, name)
            _read(part, name, kind, raw=part.raw[name], path=path, known=members(kind), wrongs=wrongs)


def _read(
    part: Part, name: str, kind: type[Section], *, raw: Any, path: Path, known: list[str], wrongs: Wrongs
) -> None:
    try:
        # As JSON, so that nothing is converted on the quiet: true is no 1, "5" is no 5.
        section = kind.model_validate_json(json.dumps(raw), strict=True, by_alias=True, by_name=False)
    except ValidationError as refused:
        for error in refused.errors(include_url=False):
            if wrongs.misses(path) and error["type"] == "missing":
                continue
            place = tuple(step for step in error["loc"] if step != "[key]")
            if wrongs.has((*path, *place)):
                continue
            names = known if len(place) == 1 else _members_at(kind, place[:-1])
            wrongs.add((*path, *place), *in_words(error, (*path, *place), names))
    else:
        part.sections[name] = section


def _members_at(kind: type[BaseModel], place: Path) -> list[str]:
    """Return the names known inside a nested section, by following the path through the fields' types."""
    for step in place:
        if isinstance(step, int):  # the place in a list: its members are those of the list's own kind
            continue
        fields = {info.alias or name: info.annotation for name, info in kind.model_fields.items()}
        annotation = fields.get(str(step))
        parts = (annotation, *get_args(annotation))
        inner = [choice for choice in parts if isinstance(choice, type)]
        nested = [choice for choice in inner if issubclass(choice, BaseModel)]
        if not nested:
            return []
        kind = nested[0]
    return members(kind)
