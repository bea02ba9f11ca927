"""What the register rests on, read with a fixed number of questions, however much there is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings

from ledger import sight
from ledger.actions.drilling import drilled_each
from ledger.actions.statements import run_for_all
from ledger.models import ApiToken, Automation, OperationType, database_now
from ledger.rules.actors import AUTOMATION
from ledger.rules.drills import Drilled, weakened
from ledger.rules.layers import Layer
from ledger.rules.overlaps import same_records
from ledger.rules.register import (
    AutomationFacts,
    Facts,
    Register,
    Traffic,
    TypeFacts,
    UnreadableType,
    register,
)

LATEST = 200
"""How many of each type's latest operations tell what was seen."""


def registered() -> Register:
    """Return the register as everything stands now."""
    kinds = list(OperationType.objects.configured().select_related("destination").order_by("name"))
    readable = [kind for kind in kinds if not kind.trouble]
    tried, seen = drilled_each(readable), run_for_all("seen", {"latest": LATEST})
    if (here := sight.present()) is not None:
        seen = [row for row in seen if row["type_name"] in here.names]
    doubled = {row["type_name"]: row["sources"] for row in seen if row["actor"] is None}
    traffic = tuple(_traffic(row) for row in seen if row["actor"] is not None)
    lots = same_records(kind.finds for kind in readable)
    types = [
        _type(kind, tried[kind.pk], doubled=doubled.get(kind.name, 0), alike=_others(kind.name, lots))
        for kind in readable
    ]
    return register(
        Facts(
            types=tuple(types),
            automations=tuple(_automations(traffic)),
            traffic=traffic,
            unreadable=tuple(
                UnreadableType(kind.name, kind.label, kind.destination.title, kind.trouble)
                for kind in kinds
                if kind.trouble
            ),
            looked_at=LATEST,
        )
    )


def _others(name: str, lots: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    together = {other for lot in lots if name in lot for other in lot}
    return tuple(sorted(together - {name}))


def _type(kind: OperationType, tried: Drilled, *, doubled: int, alike: tuple[str, ...]) -> TypeFacts:
    proved_at, there = kind.lookup_proved_at, kind.destination
    return TypeFacts(
        name=kind.name,
        label=kind.label,
        noun=kind.noun,
        destination=there.title,
        account=there.account,
        by_tieout=kind.by_tieout,
        side_effect=kind.side_effect,
        key_template=kind.key_template,
        owner=kind.owner,
        contract=weakened(kind.promises, tried),
        policy=kind.policy,
        due_s=kind.reviewing.due_s,
        working=kind.destination.hours is not None,
        has_lookup=kind.has_lookup,
        lookup_proved_on=proved_at.astimezone(settings.DISPLAY_ZONE).date() if proved_at else None,
        drilled=tried,
        doubled=doubled,
        alike=alike,
    )


def _traffic(row: dict[str, Any]) -> Traffic:
    counts = ("operations", "claims", "claimed", "with_id", "again", "silent", "doubted")
    return Traffic(
        automation=row["actor"].removeprefix(AUTOMATION),
        type_name=row["type_name"],
        **{name: row[name] for name in counts},
    )


def _automations(traffic: Sequence[Traffic]) -> list[AutomationFacts]:
    """Return each automation that has a section, a living token, or was seen; by name.

    One without either of the two can send nothing any more, and is no automation to be asked about.
    """
    tokens = {token.name: token for token in ApiToken.objects.living(database_now()).order_by("pk")}
    known = {one.name: _described(one) for one in Automation.objects.all()}
    for name in tokens:
        known.setdefault(name, AutomationFacts(name, name, registered=False))
    for name in {one.automation for one in traffic} - known.keys():
        known[name] = AutomationFacts(name, name, registered=False, gone=True)
    return [
        replace(known[name], has_token=True, token_types=tuple(tokens[name].types))
        if name in tokens
        else known[name]
        for name in sorted(known)
    ]


def _described(one: Automation) -> AutomationFacts:
    return AutomationFacts(
        name=one.name,
        title=one.title,
        registered=True,
        types=tuple(one.types),
        retries=one.retries,
        layers=tuple(Layer.read(said) for said in one.layers),
        stable_key=one.stable_key,
        last_failure=one.last_failure,
        owner=one.owner,
    )
