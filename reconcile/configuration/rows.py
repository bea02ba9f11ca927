"""Rows of both floors: what the file wants of them, how that differs from what they are, and the writing."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import F, Model

from ledger import actions
from ledger.models import Automation, Destination, Event, OperationType, Team, TieoutNow, Webhook
from ledger.rules.calls import Calls, DrillSample, ReviewPolicy
from ledger.rules.connections import Connection
from ledger.rules.hours import WorkingHours
from ledger.rules.paths import dotted
from ledger.rules.places import LOOKED_AT
from reconcile.configuration import plans
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import (
    CALLS,
    AutomationHead,
    DestinationHead,
    DisplayHead,
    Part,
    TeamHead,
    TypeHead,
    WebhookHead,
)
from reconcile.configuration.showing import Flat, change, duration, flat, told
from reconcile.configuration.type_checks import contract_of, policy_of
from reconcile.expected import actions as expected
from reconcile.models import Display, Plan, Profile
from reconcile.statements.profiles.rules import ProfileRules

ACTOR = "configure"
_VARIABLE = re.compile(r'"env:([^"]+)"')
OWN_LEASE_MARGIN_S = 10

LOOKED_WITH = frozenset({"send", "lookup", "record", "destination"})
"""What of a type decides what is written to be found again, and how a look-up asks and reads."""
UNPROVED: dict[str, Any] = {"lookup_proved_at": None, "lookup_changed_at": TieoutNow()}
"""A look-up that has still to find a record under its present rules."""

Columns = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of row: its word, its section of the file, and its columns in the file's words."""

    word: str
    section: str
    model: type[Model]
    words: Callable[[Columns], Mapping[str, object]]


DESTINATION = Kind(
    "destination",
    "destinations",
    Destination,
    lambda c: (
        {"name": c["title"], "entity": c["entity"], "connector": c["connector"], "account": c["account"]}
        | ({"drills": True} if c["drills"] else {})
        | ({"hours": c["hours"]} if c["hours"] else {})
        | c["connection"]
    ),
)
TYPE = Kind(
    "operation type",
    "operation_types",
    OperationType,
    lambda c: (
        {name: c[name] for name in ("destination", "label", "noun", "performed_by", "side_effect", "owner")}
        | {"key": c["key_template"], "lease": c["lease_s"], "permit_for": c["permit_for_s"]}
        | {
            "payload_keep": c["payload_keep_s"],
            "contract": c["contract"],
            "retry": c["retry"],
            "review": c["review"],
            "drill": c["drill"],
        }
        | c["calls"]
    ),
)
AUTOMATION = Kind(
    "automation",
    "automations",
    Automation,
    lambda c: (
        {"name": c["title"]}
        | {
            name: c[name]
            for name in ("types", "retries", "layers", "stable_key", "last_failure", "owner")
            if c[name]
        }
    ),
)
PLAN = Kind("plan", "plans", Plan, plans.words)
WEBHOOK = Kind(
    "webhook",
    "webhooks",
    Webhook,
    lambda c: (
        {name: c[name] for name in ("url", "events", "types", "allow_private")} | {"secret": c["secrets"]}
    ),
)


TEAM = Kind(
    "team",
    "teams",
    Team,
    lambda c: {
        "escalate": c["escalate"]
        and [{"to": step["to"], "after": duration(step["after"])} for step in c["escalate"]],
        "hours": c["hours"],
        **({name: c[name] for name in ("chat", "chat_kind", "allow_private")} if c["chat"] else {}),
    },
)
DISPLAY = Kind(
    "rates of the",
    "display",
    Display,
    lambda c: {name: c[name] for name in ("currency", "rates", "source")} | {"as_of": str(c["as_of"])},
)

PROFILE = Kind(
    "profile", "profiles", Profile, lambda c: ProfileRules.read(c["rules"] | {"entity": c["entity"]}).words()
)


@dataclass(frozen=True)
class Change:
    """A row as the file wants it, beside what it is; true if the two differ. Without pk, it is to be made."""

    kind: Kind
    name: str
    columns: Columns
    before: Flat
    after: Flat
    pk: int | None

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The paths whose values differ."""
        names = [*self.after, *(path for path in self.before if path not in self.after)]
        return [path for path in names if self.before.get(path) != self.after.get(path)]

    def touches(self, names: frozenset[str]) -> bool:
        """Say whether a value under one of these names differs."""
        return any(path[0] in names for path in self.paths)

    def __bool__(self) -> bool:
        return self.pk is None or bool(self.paths)

    def __str__(self) -> str:
        if self.pk is None:
            return f"+ {self.kind.word} {self.name}"
        lines = [change(path, self.before.get(path), self.after.get(path)) for path in self.paths]
        return "\n".join(f"~ {self.kind.word} {self.name}: {line}" for line in lines)


def changes(layout: Layout) -> list[Change]:
    """Return what the file would make or change, in an order in which it can be written."""
    found = [_change(DESTINATION, part.name, _destination(part)) for part in layout.destinations.values()]
    found += [_change(TYPE, part.name, _type(part, layout)) for part in layout.operation_types.values()]
    found += _followers(found, layout)
    found += [_change(AUTOMATION, part.name, _automation(part)) for part in layout.automations.values()]
    found += [_change(PROFILE, part.name, _profile(part)) for part in layout.profiles.values()]
    found += [_change(PLAN, part.name, plans.columns(part)) for part in layout.plans.values()]
    found += [_change(WEBHOOK, part.name, _webhook(part)) for part in layout.webhooks.values()]
    found += [_change(TEAM, part.name, _team(part)) for part in layout.teams.values()]
    found += [_change(DISPLAY, part.name, _display(part)) for part in layout.display.values()]
    return [one for one in found if one]


def variables() -> set[str]:
    """Return the names of the environment's variables that destinations, types and webhooks name."""
    held = (
        Destination.objects.values_list("connection", flat=True),
        OperationType.objects.values_list("calls", flat=True),
        Webhook.objects.values_list("secrets", flat=True),
        Team.objects.values_list("chat", flat=True),
        Plan.objects.values_list("source", flat=True),
    )
    return {name for values in held for value in values for name in _VARIABLE.findall(json.dumps(value))}


def left_alone(layout: Layout) -> list[str]:
    """Return what is configured and not in this file: it stays as it is."""
    stays = []
    for kind in (DESTINATION, TYPE, AUTOMATION, PROFILE, PLAN, WEBHOOK, TEAM, DISPLAY):
        rows = OperationType.objects.configured() if kind is TYPE else kind.model._default_manager
        names = rows.order_by("name").values_list("name", flat=True)
        stays += [f"{kind.word} {name}" for name in names if name not in getattr(layout, kind.section)]
    return stays


def write(one: Change, *, reason: str, actor: str = ACTOR, data: Mapping[str, str] = {}) -> None:
    """Make or change one row, with its event; to be called in a transaction."""
    columns = _with_rows(one.columns)
    if one.kind is TYPE and (one.touches(LOOKED_WITH) or ("contract", "absent") in one.paths):
        columns |= UNPROVED
    if one.kind is PLAN and one.touches(plans.TIMED):
        columns |= plans.UNTIMED
    if one.kind is WEBHOOK:
        columns["rests_until"] = None
    _put(one, columns)
    if one.kind is DESTINATION and one.pk is not None and one.touches(LOOKED_AT):
        OperationType.objects.filter(destination=one.pk).update(**UNPROVED)
    if one.kind is TYPE and one.pk is not None:
        actions.follow_rules(OperationType.objects.select_related("destination").get(pk=one.pk))
    if one.kind is TEAM and one.touches(frozenset({"escalate"})):
        actions.levels_changed(one.name)
    section = dotted((one.kind.section, one.name))
    told_of = {"section": section, "made": one.pk is None, "changed": dict(_on_record(one)), **data}
    if one.kind in (TYPE, PLAN):
        told_of["version"] = one.kind.model._default_manager.values_list("rules_version", flat=True).get(
            name=one.name
        )
    Event.objects.create(kind="configured", actor=actor, reason=reason, data=told_of)


def _put(one: Change, columns: Columns) -> None:
    """Write the row itself; with a plan's schedule the runs go that are expected by it, and others come."""
    manager, pk = one.kind.model._default_manager, one.pk
    moved = one.kind is PLAN and one.touches(plans.EXPECTED)
    if pk is None:
        pk = manager.create(name=one.name, **columns).pk
    else:
        if moved:
            expected.before_change(pk)
        manager.filter(pk=pk).update(**columns, changed_at=TieoutNow())
    if moved:
        expected.after_change(pk)


def _on_record(one: Change) -> Iterator[tuple[str, list[str] | None]]:
    for path in one.paths:
        yield dotted(path), told(path, one.before.get(path), one.after.get(path))


def _with_rows(columns: Columns) -> Columns:
    """Return the columns with rows in place of the names that the file refers to them by."""
    found = dict(columns)
    if "destination" in found:
        found["destination"] = Destination.objects.get(name=found["destination"])
    if "operation_type" in found:
        found["operation_type"] = OperationType.objects.get(name=found["operation_type"])
    return found


def _change(kind: Kind, name: str, columns: Columns) -> Change:
    named = {
        f"{column}__name" if column in ("destination", "operation_type") else column for column in columns
    }
    row = kind.model._default_manager.filter(name=name).values("pk", *named).first()
    after = flat(kind.words(columns))
    if row is None:
        return Change(kind, name, columns, before={}, after=after, pk=None)
    before = {column.removesuffix("__name"): value for column, value in row.items()}
    return Change(kind, name, columns, before=flat(kind.words(before)), after=after, pk=row["pk"])


def _destination(part: Part) -> Columns:
    head = part.must("head", DestinationHead)
    return {
        "title": head.name,
        "entity": head.entity,
        "connector": head.connector,
        "account": head.account,
        "drills": head.drills,
        "hours": hours.stored() if (hours := part.get("hours", WorkingHours)) else None,
        "connection": part.must("connection", Connection).stored(),
    }


def _type(part: Part, layout: Layout) -> Columns:
    head, contract = part.must("head", TypeHead), contract_of(part, layout)
    assert contract is not None
    policy = policy_of(part, contract)
    assert policy is not None
    calls = Calls.model_validate({name: part.sections[name] for name in CALLS if name in part.sections})
    by_tieout = head.performed_by == "tieout"
    timeout_s = layout.destinations[head.destination].must("connection", Connection).timeout_s
    return {
        "destination": head.destination,
        "label": head.label or part.name,
        "noun": head.noun or part.name.partition(".")[0],
        "performed_by": head.performed_by,
        "side_effect": head.side_effect,
        "key_template": head.key,
        "lease_s": own_lease_s(timeout_s) if by_tieout else head.lease_s,
        "permit_for_s": head.permit_for_s,
        "payload_keep_s": head.payload_keep_s,
        "owner": head.owner,
        "contract": contract.stored(),
        "calls": calls.stored(),
        "retry": policy.stored(),
        "review": part.must("review", ReviewPolicy).stored(),
        "drill": sample.stored() if (sample := part.get("drill", DrillSample)) else None,
    }


def _automation(part: Part) -> Columns:
    head = part.must("head", AutomationHead)
    return {
        "title": head.name or part.name,
        "types": list(head.types),
        "retries": head.retries,
        "layers": list(head.layers),
        "stable_key": head.stable_key,
        "last_failure": head.last_failure,
        "owner": head.owner,
    }


def _webhook(part: Part) -> Columns:
    head = part.must("head", WebhookHead)
    return {
        "url": head.url,
        "secrets": list(head.secret),
        "events": list(head.events),
        "types": list(head.types),
        "allow_private": head.allow_private,
    }


def _team(part: Part) -> Columns:
    head = part.must("head", TeamHead)
    return {
        "escalate": None if head.escalate is None else [step.stored() for step in head.escalate],
        "chat": head.chat,
        "chat_kind": head.chat_kind,
        "allow_private": head.allow_private,
        "hours": hours.stored() if (hours := part.get("hours", WorkingHours)) else None,
    }


def _display(part: Part) -> Columns:
    head = part.must("head", DisplayHead)
    rates = {currency: str(rate) for currency, rate in sorted(head.rates.items())}
    as_of = date.fromisoformat(head.as_of)
    return {"currency": head.currency, "rates": rates, "as_of": as_of, "source": head.source}


def _profile(part: Part) -> Columns:
    rules = part.get("head", ProfileRules)
    assert rules is not None  # in a file that was not refused
    return {"entity": rules.entity, "rules": rules.kept()}


def own_lease_s(timeout_s: float) -> float:
    """Return the lease of Tieout's own attempts in seconds: room for a look-up and a send."""
    return 2 * timeout_s + OWN_LEASE_MARGIN_S


def _followers(found: list[Change], layout: Layout) -> list[Change]:
    """Return types of other files whose lease follows a time-out that this file changes."""
    moved = {one.name: one.columns["connection"]["timeout"] for one in found if ("timeout",) in one.paths}
    types = OperationType.objects.configured().filter(
        destination__name__in=moved, performed_by=OperationType.Performer.TIEOUT
    )
    columns = ("label", "noun", "performed_by", "side_effect", "owner", "key_template", "permit_for_s")
    rows = types.exclude(name__in=layout.operation_types).values(
        "name",
        *columns,
        "payload_keep_s",
        "contract",
        "retry",
        "review",
        "drill",
        "calls",
        to=F("destination__name"),
    )
    return [
        _change(TYPE, row.pop("name"), {**row, "destination": to, "lease_s": own_lease_s(moved[to])})
        for row in rows
        if (to := row.pop("to"))
    ]
