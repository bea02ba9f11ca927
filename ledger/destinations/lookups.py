"""Asking a destination what it holds for one operation, and keeping the answer as evidence."""

import math
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger import actions
from ledger.actions.submission import digest_keys
from ledger.destinations.connectors.base import (
    ConfigurationError,
    Looked,
    LookRequest,
    refuse_open_transaction,
)
from ledger.destinations.connectors.guarded import connector_for
from ledger.destinations.pacing import NoRoom, Pace, admitted
from ledger.models import Lookup, Operation, OperationType, database_now
from ledger.rules import moments
from ledger.rules.calls import LookupCall, RecordMap
from ledger.rules.contents import differing
from ledger.rules.contracts import REFUSES_US, Contract
from ledger.rules.errors import Conflict, Malformed, TieoutError
from ledger.rules.keys import from_template
from ledger.rules.placeholders import FIRST, Values, fill, named, of_money, texts
from ledger.rules.records import Found, judge
from ledger.rules.reversals import judged
from ledger.rules.states import Evidence, State, Verdict

_ONE_ALONE = "The record that an answer named is not there, and only that one can be asked for."
_STATUS_ALONE = "Only status {} says that it is not there, and a record that we know was not found just now."
LOOK_BACK = timedelta(days=1)
"""How much earlier than we took an operation on its record may seem to be made: clocks and zones differ."""


class NoLookup(Conflict):
    """The destination's rules name no look-up."""

    type = "no-lookup"
    title = "The destination cannot be checked"
    retry = "after-review"


def look(
    operation: Operation,
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID | None = None,
    within_s: float = math.inf,
    pace: Pace | None = None,
    patience_s: float = 0,
    shows_until: datetime | None = None,
) -> Lookup:
    """Ask the destination what it holds for an operation, and keep and apply what was found.

    `pace`: where the caller holds a place at the destination already. `patience_s`: how long to wait for room
    there, where that is longer than the time-out. `shows_until`: an answer that tells of an earlier instant
    could not look.

    `within_s` bounds all of the asking; each look-up has the destination's time-out besides.

    Where nothing was found by a look-up that has never found anything, or only a status says so, it is made
    to prove itself on a record that we know. Whatever goes wrong on the way is *could not look*. Raises
    NoLookup where there is none, RuntimeError inside a transaction.
    """
    asked_at = database_now()
    until = time.monotonic() + within_s
    found = ask(operation, until=until, pace=pace, patience_s=patience_s, shows_until=shows_until)
    found, control_reference = _controlled(operation, found, until=until, pace=pace, patience_s=patience_s)
    return actions.keep_lookup(
        operation.pk,
        found=found,
        asked_at=asked_at,
        actor=actor,
        reason=reason,
        command_id=command_id,
        control_reference=control_reference,
    )


def ask(
    operation: Operation,
    *,
    contract: Contract | None = None,
    until: float = math.inf,
    pace: Pace | None = None,
    patience_s: float = 0,
    shows_until: datetime | None = None,
) -> Found:
    """Ask and judge, and keep nothing; its deadline is the destination's time-out, or an earlier instant.

    Where there is no room for its call within that time, it could not look; nor where the answer tells of an
    instant before `shows_until`.
    """
    refuse_open_transaction()
    if operation.reverses is not None:
        # All that is there is asked for; whether this one record is reversed is read from that.
        chosen = actions.chosen_for(operation)
        return judged(
            ask(
                operation.reverses,
                contract=contract,
                until=until,
                pace=pace,
                patience_s=patience_s,
                shows_until=max(
                    shows_until or operation.accepted_at, operation.settles_at or operation.accepted_at
                ),
            ),
            chosen,
        )
    kind = operation.operation_type
    call, record = kind.how.lookup, kind.how.record
    if call is None or record is None:
        raise NoLookup(f"{kind.destination.title} cannot be checked: its rules name no look-up.")
    values, by_answer = _values(operation, call)
    request = LookRequest(
        call=call,
        contract=contract or actions.contract_of(operation),
        record=record,
        values=values,
        timeout_s=max(0.0, min(kind.destination.reach.timeout_s, until - time.monotonic())),
    )
    if why := untold(operation):
        return Found(Verdict.COULD_NOT_LOOK, complete=False, why=why)
    looked = _looked(operation, request, pace=pace, patience_s=patience_s)
    found = _judged(operation, looked, record)
    return _weighed(operation, found, looked, by_answer=by_answer, shows_until=shows_until)


def _judged(operation: Operation, looked: Looked, record: RecordMap) -> Found:
    """Judge what a look-up brought; items that are nothing that JSON has may break whatever reads them."""
    match = match_of(operation)
    try:
        return judge(
            looked.items,
            map=record,
            reference=operation.key,
            amount=operation.amount,
            currency=operation.currency or None,
            complete=looked.complete,
            match=match,
            contents=lambda item: differing(operation.leaf_digests, record, item, keyring=digest_keys()),
            why=looked.why,
            single_page=looked.single_page,
        )
    except Exception as error:  # noqa: BLE001 - an item of a connector's own may be any object
        why = f"What the connector brought cannot be read ({type(error).__name__})."
        return Found(Verdict.COULD_NOT_LOOK, complete=False, why=why)


def _weighed(
    operation: Operation, found: Found, looked: Looked, *, by_answer: bool, shows_until: datetime | None
) -> Found:
    """Take back what the way of asking cannot prove: by one id alone, or of an earlier instant."""
    found = replace(found, refused=not looked.complete and looked.status in REFUSES_US, status=looked.status)
    if by_answer and found.verdict is Verdict.ABSENT:
        return replace(found, verdict=Verdict.COULD_NOT_LOOK, complete=False, why=_ONE_ALONE)
    return found if looked.as_of is None else _as_of(operation, found, looked.as_of, shows_until=shows_until)


def _as_of(operation: Operation, found: Found, instant: datetime, *, shows_until: datetime | None) -> Found:
    """Judge an answer that tells of an earlier instant: what may have been made since, it does not show.

    It counts where all that was sent had settled by then; two records are two whenever that was.
    """
    from_then = max(operation.accepted_at, shows_until or operation.accepted_at)
    told = instant >= from_then and actions.is_settled(operation, instant)
    if told or found.verdict in (Verdict.SEVERAL, Verdict.COULD_NOT_LOOK):
        return found
    shown = f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    why = f"What was read is of {shown}: too early to show all that was sent."
    return replace(found, verdict=Verdict.COULD_NOT_LOOK, complete=False, why=why)


def ask_for_source(
    kind: OperationType,
    *,
    key: str,
    source: Mapping[str, str],
    made: tuple[datetime, datetime],
    within_s: float,
) -> Found:
    """Ask what is there for a source record that nobody handed over, and keep nothing.

    `source` has its system, reference and version; `made`: when it could first and last have been made.
    Absence is no proof here: nobody knows under which name it was written. Raises NoLookup, and RuntimeError
    inside a transaction.
    """
    operation = Operation(
        operation_type=kind,
        key=key,
        source_system=source["system"],
        source_reference=source["reference"],
        source_version=source["version"],
        accepted_at=made[0],
        settles_at=made[1],
    )
    return ask(operation, contract=kind.promises, until=time.monotonic() + within_s)


def _looked(operation: Operation, request: LookRequest, *, pace: Pace | None, patience_s: float) -> Looked:
    """Look up through the connector; without room, or as it is not set up rightly, it could not look."""
    destination = operation.operation_type.destination
    try:
        if pace is not None:
            return connector_for(destination, pace).look_up(request)
        until = time.monotonic() + max(request.timeout_s, patience_s)
        with admitted(destination, wait_s=until - time.monotonic()) as own:
            left_s = min(request.timeout_s, until - time.monotonic())
            return connector_for(destination, own).look_up(replace(request, timeout_s=left_s))
    except NoRoom as error:
        return Looked((), complete=False, why=error.detail)
    except ConfigurationError as error:
        return Looked((), complete=False, why=error.detail)


def _values(operation: Operation, call: LookupCall) -> tuple[Values, bool]:
    """Return what a question may name, and whether the id among it is only one that an answer has named.

    By that id what was accepted becomes final. Nothing is absent by it: another try may have made another
    record.
    """
    values = {**values_of(operation), "since": _since(operation, call)}
    if operation.destination_reference or "destination_reference" not in _names(call):
        return values, False
    told = operation.attempts.exclude(destination_reference="").order_by("-number").first()
    named_by_answer = "" if told is None else told.destination_reference
    return {**values, "destination_reference": named_by_answer}, bool(named_by_answer)


def _names(call: LookupCall) -> set[str]:
    """Return what a question names of an operation."""
    parts = (call.path, call.query, call.headers, call.body)
    return {name for part in parts for _, text in texts(part) for name in named(text)}


def _since(operation: Operation, call: LookupCall) -> str | int:
    """Return an instant that is before all that was made for an operation, in the call's own form."""
    return moments.write(operation.accepted_at - LOOK_BACK, form=call.since_format, zone=call.timezone)


def match_of(operation: Operation) -> Mapping[str, str]:
    """Return what must stand at several places of the operation's record; empty where its reference tells."""
    call, values = operation.operation_type.how.lookup, values_of(operation)
    wanted = call.match if call is not None else {}
    return {place: filled for place, text in wanted.items() if (filled := _filled(text, values))}


def _filled(template: str, values: Values) -> str:
    with suppress(Malformed):
        return fill(template, values)
    return ""


def untold(operation: Operation) -> str:
    """Say why its destination cannot be asked about this one, whatever it holds; nothing where it can."""
    call = operation.operation_type.how.lookup
    if call is None:
        return ""
    values, _ = _values(operation, call)
    missing = sorted(name for name in _names(call) - {"position"} if values.get(name, "") == "")
    if FIRST in missing:
        return "It would be asked about by the reference of what it comes after, which has none yet."
    if missing:
        return f"There is no {missing[0]} to ask by."
    return _unmatched(operation, call)


def _unmatched(operation: Operation, call: LookupCall) -> str:
    """Say why the fields that must match cannot tell this operation from another; nothing where they can.

    Without the key among them they stand for it only while it is made of the same source parts: two
    operations of one source record, as a correction and its original are, would match the same record.
    """
    if not call.match:
        return ""
    if len(match_of(operation)) < len(call.match):
        return "A part of its source is missing, by which its record would be known."
    told_by = {name for text in call.match.values() for name in named(text)}
    if "key" in told_by:
        return ""
    if FIRST in told_by:
        return "Another of its type comes after the same one." if actions.comes_beside(operation) else ""
    source = {"system": operation.source_system, "reference": operation.source_reference}
    try:
        made = from_template(
            operation.operation_type.key_template, {**source, "version": operation.source_version}
        )
    except (TieoutError, ValueError):
        made = ""
    if made == operation.key:
        return ""
    return "Its key is not made of the source parts by which its record would be known."


def values_of(operation: Operation) -> Values:
    """Return what paths, headers and bodies may name of an operation; amounts are text, minor ones whole."""
    return {
        "key": operation.key,
        "type": operation.operation_type.name,
        **of_money(operation.amount, operation.currency, operation.operation_type.how.record),
        "account": operation.operation_type.destination.account,
        "source.system": operation.source_system,
        "source.reference": operation.source_reference,
        "source.version": operation.source_version,
        "idempotency_key": operation.idempotency_key,
        "destination_reference": operation.destination_reference,
        FIRST: actions.first_reference(operation),
    }


def sent_values(operation: Operation) -> Values:
    """Return what a send may name: of a reversal, what it reverses, by the destination's id of the record."""
    if operation.reverses is None:
        return values_of(operation)
    own = {
        "idempotency_key": operation.idempotency_key,
        "destination_reference": operation.reversed_reference,
        "today": actions.first_tried_on(operation).isoformat(),
        **of_money(operation.amount, operation.currency, operation.operation_type.how.record),
    }
    return {**values_of(operation.reverses), **own}


def expected(operation: Operation) -> dict[str, Any]:
    """Return what the record in an answer must say; of a reversal, that it is the one that was reversed."""
    if operation.reverses is None:
        amount, currency = operation.amount, operation.currency or None
        return {
            "reference": operation.key,
            "amount": amount,
            "currency": currency,
            "match": match_of(operation),
        }
    record = operation.operation_type.how.record
    assert record is not None  # several were found, so that records are read
    marks = match_of(operation.reverses) or {record.reference: operation.reverses.key}
    return {
        "reference": operation.reverses.key,
        "amount": None,
        "currency": operation.currency or None,
        "match": {**marks, record.id: operation.reversed_reference},
    }


def tried(operation: Operation, *, patience_s: float = 0) -> tuple[Found, bool]:
    """Look up and keep nothing; say what was found, and whether it proves absence."""
    asked_at = database_now()
    found, control_reference = _controlled(
        operation, ask(operation, patience_s=patience_s), patience_s=patience_s
    )
    proof = actions.is_proof(operation, found, asked_at=asked_at, control_reference=control_reference)
    return found, proof


def _controlled(
    operation: Operation,
    found: Found,
    *,
    until: float = math.inf,
    pace: Pace | None = None,
    patience_s: float = 0,
) -> tuple[Found, str]:
    """Have what found nothing find the latest record that we know, the same way; return that reference, too.

    Not needed where this look-up has found a record that was sent under the same rules, and a list tells
    that this one is not there: a status may be that of anything on the way, which says so of every record.
    """
    if operation.reverses_id is not None:
        # That it stands is no silence: the record itself was seen.
        return found, operation.reversed_reference if found.verdict is Verdict.ABSENT else ""
    finds = operation.operation_type.lookup_proved_at is not None and not actions.predates_rules(operation)
    if found.verdict is not Verdict.ABSENT or (finds and not found.by_status):
        return found, ""
    reference = _control(operation, until=until, pace=pace, patience_s=patience_s)
    if found.by_status and not reference:
        return replace(found, why=_STATUS_ALONE.format(found.status)), ""
    return found, reference


def _control(operation: Operation, *, until: float, pace: Pace | None, patience_s: float) -> str:
    """Look up the latest record that we know, the same way; return its reference if it is found."""
    known = _known(operation)
    if known is None:
        return ""
    try:
        found = ask(known, until=until, pace=pace, patience_s=patience_s)
    except TieoutError:
        return ""
    seen = {record.id for record in found.records}
    return known.destination_reference if known.destination_reference in seen else ""


def _known(operation: Operation) -> Operation | None:
    """Return the latest completed operation, sent under the same rules, whose record was seen by software."""
    return (
        Operation.objects.filter(
            actions.same_rules(operation),
            operation_type=operation.operation_type,
            state=State.COMPLETED,
            evidence__in=[Evidence.ANSWER, Evidence.LOOKUP],
        )
        .exclude(destination_reference="")
        .exclude(pk=operation.pk)
        .select_related("operation_type__destination")
        .order_by("-accepted_at")
        .first()
    )
