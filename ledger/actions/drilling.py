"""What drills did and found, kept for ever, and what it says of a type as it is set up now."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import date

from django.conf import settings
from django.db import transaction

from ledger.models import Drill, DrillStep, Event, OperationType, database_now
from ledger.rules import places
from ledger.rules.drills import LOOKUP, Drilled, Promise, Result, Tried, digest

WHY_MAX = 500


def begin_drill(kind: OperationType, *, actor: str) -> Drill:
    """Put on record that a drill begins, with the rules that it tries; nothing has been sent yet."""
    rules, place = _rules(kind), _place(kind)
    with transaction.atomic():
        drill = Drill.objects.create(
            operation_type=kind,
            actor=actor,
            stem=f"drill/{secrets.token_hex(6)}",
            rules={**rules, "place": place, "where": _whereabouts(kind)},
            rules_digest=digest(rules, _where(kind)),
            place_digest=digest(place),
        )
        _tell(drill, "drill_begun", actor=actor, reason="Its promises are tried at its destination.")
    return drill


def is_still_there(drill: Drill) -> bool:
    """Say whether the type of a drill still goes to where the drill was begun, by whichever connector."""
    return bool(drill.rules.get("where") == _whereabouts(drill.operation_type))


def note_sending(drill: Drill, references: Sequence[str]) -> None:
    """Put on record what may exist from now on: written before the first byte goes out."""
    DrillStep.objects.bulk_create(
        DrillStep(drill=drill, kind=DrillStep.Kind.SENDING, reference=one) for one in references
    )


def note_made(drill: Drill, reference: str, *, record: str) -> None:
    """Put on record that a record of the drill was seen."""
    DrillStep.objects.create(drill=drill, kind=DrillStep.Kind.MADE, reference=reference, record=record)


def note_voided(drill: Drill, reference: str, *, record: str) -> None:
    """Put on record that a record of the drill no longer stands."""
    DrillStep.objects.create(drill=drill, kind=DrillStep.Kind.VOIDED, reference=reference, record=record)


def end_drill(drill: Drill, results: Sequence[Result], *, actor: str, why: str, finds: bool) -> None:
    """Keep what came of each promise and end the drill, all at once.

    `finds`: the look-up found records that were sent under the drill's rules, so its silence may count.
    """
    with transaction.atomic():
        for result in results:
            DrillStep.objects.create(
                drill=drill,
                kind=DrillStep.Kind.RESULT,
                promise=result.promise,
                tried=result.tried,
                hindered=result.hindered,
                why=result.why[:WHY_MAX],
            )
        DrillStep.objects.create(drill=drill, kind=DrillStep.Kind.ENDED, why=why[:WHY_MAX])
        if finds:
            unproved = OperationType.objects.filter(pk=drill.operation_type_id, lookup_proved_at=None)
            unproved.filter(lookup_changed_at__lte=drill.begun_at).update(lookup_proved_at=database_now())
        told = {result.promise.value: result.tried.value for result in results}
        _tell(drill, "drilled", actor=actor, reason=why or "Its promises were tried.", results=told)


def drilled(kind: OperationType) -> Drilled:
    """Return what the latest drills say of a type by the rules in force, and at the place where it is now."""
    return drilled_each([kind])[kind.pk]


def drilled_each(kinds: Sequence[OperationType]) -> dict[int, Drilled]:
    """Return that for each of several types, by its number, with one question for all."""
    types, places = {kind.pk: kind for kind in kinds}, {kind.pk: digest(_place(kind)) for kind in kinds}
    decided = DrillStep.objects.filter(
        drill__operation_type__in=types,
        drill__place_digest__in=set(places.values()),
        tried__in=[Tried.HELD, Tried.BROKEN],
    )
    by = ("drill__operation_type", "drill__place_digest", "drill__rules_digest", "promise", "tried")
    latest: dict[int, list[DrillStep]] = {pk: [] for pk in types}
    for step in decided.order_by(*by, "-id").distinct(*by).select_related("drill"):
        if step.drill.place_digest == places[step.drill.operation_type_id]:
            latest[step.drill.operation_type_id].append(step)
    return {pk: _counted(kind, latest[pk]) for pk, kind in types.items()}


def _counted(kind: OperationType, latest: Iterable[DrillStep]) -> Drilled:
    """Return what of the latest results still says something of a type: the later one counts.

    What held under other rules says nothing, so it takes no refutation away either.
    """
    held: dict[Promise, date] = {}
    broken: dict[Promise, date] = {}
    in_force = digest(_rules(kind), _where(kind))
    for step in sorted(latest, key=lambda step: step.pk):
        promise, on = Promise(step.promise), step.at.astimezone(settings.DISPLAY_ZONE).date()
        if step.tried == Tried.HELD and step.drill.rules_digest == in_force:
            held[promise] = on
            broken.pop(promise, None)
        elif step.tried == Tried.BROKEN and _still_counts(promise, step.drill, kind):
            broken[promise] = on
            held.pop(promise, None)
    return Drilled(held, broken)


def _still_counts(promise: Promise, drill: Drill, kind: OperationType) -> bool:
    """Say whether a refutation still stands: what is looked up otherwise since then has to be tried anew."""
    return promise not in LOOKUP or drill.begun_at >= kind.lookup_changed_at


def _rules(kind: OperationType) -> dict[str, object]:
    """Return all that the promises are, and how they are called in."""
    return {"contract": kind.contract, "calls": kind.calls}


def _place(kind: OperationType) -> dict[str, object]:
    """Return at whose address and account a type makes its effects: there a refutation stands."""
    there = kind.destination
    return {
        "connector": there.connector,
        "account": there.account,
        "base_url": there.connection.get("base_url"),
    }


def _where(kind: OperationType) -> dict[str, object]:
    """Return all that decides where a type goes: a proof counts only as long as none of it changes."""
    there = kind.destination
    return places.where({**there.connection, "connector": there.connector, "account": there.account})


def _whereabouts(kind: OperationType) -> str:
    """Return the digest of where a type goes, by whichever connector."""
    return digest({**_where(kind), "connector": None})


def _tell(drill: Drill, kind: str, *, actor: str, reason: str, **data: object) -> None:
    there = drill.operation_type
    Event.objects.create(
        kind=kind,
        actor=actor,
        reason=reason,
        data={"drill": str(drill.uid), "type": there.name, "destination": there.destination.name, **data},
    )
