"""One pack: an operation's whole record as of now, with what is left out and how it is verified."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from ledger import actions, audit
from ledger.models import Choice, Event, Operation, Seal
from ledger.rules import paths
from ledger.rules.errors import TieoutError
from ledger.rules.states import State
from review import access, payloads, reading, sentences, window, wording
from review.evidence import parts, rows
from review.evidence.parts import Part, Row

FORMAT = "tieout-evidence"
LOOKUPS = 300
EVENTS = 1000
FIELDS = 500
_COVERED = """
    SELECT told.id, seal.number FROM unnest(%s::bigint[]) AS told (id) CROSS JOIN LATERAL (
        SELECT number, after FROM ledger_seal WHERE through >= told.id ORDER BY through LIMIT 1
    ) AS seal WHERE seal.after < told.id
"""
_WHAT = {
    "name": "Operation",
    "key": "Key",
    "type": "What it makes",
    "destination": "Destination",
    "account": "Account there",
    "entity": "Legal entity",
    "subject": "Subject",
    "amount": "Amount",
    "currency": "Currency",
    "source": "Source record",
    "performed_by": "Performed by",
    "accepted_at": "Handed over",
    "state": "State",
    "verdict": "What is known",
    "reference": "Number there",
    "evidence": "On what evidence",
    "finished_at": "Ended",
    "first_cause": "First cause",
    "key_sent": "Key sent",
    "generation": "Generation of that key",
    "payload_digest": "Payload digest",
    "revision": "Revision",
    "id": "Id",
}
_EVIDENCE = {
    "answer": "the destination’s answer",
    "lookup": "a check at the destination",
    "attested": "a person’s word",
}


@dataclass(frozen=True)
class Pack:
    """The evidence of one operation for one reader."""

    operation: Operation
    made_at: datetime
    made_by: str
    role: str
    badge: wording.Badge
    parts: list[Part]
    seal: Seal | None
    """The last one; every event of the pack is under it where it is `whole`."""
    whole: bool

    @property
    def title(self) -> str:
        """Name what it is about."""
        return wording.title(self.operation)

    @property
    def times(self) -> str:
        """When it was made, on paper."""
        return parts.moment(self.made_at)

    @property
    def filled(self) -> list[Part]:
        """Return the parts that tell something, if only why they do not."""
        return [part for part in self.parts if part.rows or part.note]

    @cached_property
    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        about = {
            "format": FORMAT,
            "version": 1,
            "made_at": parts.plain(self.made_at),
            "made_by": self.made_by,
        }
        about |= {
            "role": self.role,
            "left_out": [f"{part.title}: {part.note}" for part in self.parts if part.note],
        }
        seal = None
        if self.seal is not None:
            seal = {
                "seal": self.seal.number,
                "head": self.seal.head,
                "through": self.seal.through,
                "covers_all": self.whole,
            }
        return {"pack": about, "seal": seal, **{part.name: part.document for part in self.parts}}

    def written(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False, default=str)


def read(operation: Operation, person: User) -> Pack:
    """Read the pack of an operation as this person may see it; a fixed number of queries."""
    known = reading.read(operation, person)
    told = _events(operation)
    last = audit.latest()
    trail_note = "The tries’ heartbeats are left out." if known.attempts else ""
    if len(told) > EVENTS:
        trail_note = f"The first {EVENTS} events; there are more. {trail_note}"
    return Pack(
        operation=operation,
        made_at=known.now,
        made_by=person.get_username(),
        role=", ".join(sorted(access.roles(person))),
        badge=known.badge,
        parts=[
            Part("operation", "Operation", "facts", _WHAT, [_what(known)]),
            rows.tries(known.attempts),
            _lookups(operation),
            rows.permits(operation.permits.select_related("lookup").order_by("id")),
            rows.approvals(operation.approvals.select_related("lookup").defer("meant_sealed").order_by("id")),
            rows.choices(_choices(operation)),
            rows.cases(operation.cases.order_by("id")),
            rows.links(_links(known)),
            rows.rules(operation, guarantee=window.protection(known)),
            _payload(operation, person),
            rows.events(told[:EVENTS], _seals(told), there=known.there, note=trail_note.strip()),
        ],
        seal=last,
        whole=bool(last and told and told[-1].pk <= last.through),
    )


def _what(known: reading.Reading) -> Row:
    one, kind = known.operation, known.operation.operation_type
    source = " ".join(part for part in (one.source_system, one.source_reference) if part)
    evidence = _EVIDENCE.get(one.evidence, one.evidence)
    by = f", {wording.who(one.evidence_by)}" if one.evidence_by else ""
    return {
        "name": wording.name(one),
        "key": one.key,
        "type": f"{kind.label} ({kind.name})",
        "destination": known.there,
        "account": kind.destination.account,
        "entity": kind.destination.entity,
        "subject": one.subject,
        "amount": rows.amount_of(one),
        "currency": one.currency,
        "source": f"{source}, version {one.source_version}" if one.source_version else source,
        "performed_by": "Tieout" if kind.by_tieout else "its automation",
        "accepted_at": one.accepted_at,
        "state": one.state,
        "verdict": f"{known.badge.words}: {sentences.heading(known)[1]}",
        "reference": one.destination_reference,
        "evidence": f"{evidence}{by}" if one.evidence else "",
        "finished_at": one.finished_at,
        "first_cause": one.first_cause,
        "key_sent": one.idempotency_key if known.facts.contract.takes_key else "none",
        "generation": one.generation,
        "payload_digest": one.payload_digest,
        "revision": one.revision,
        "id": str(one.uid),
    }


def _events(operation: Operation) -> list[Event]:
    told = operation.events.exclude(kind=actions.EXTENDED).order_by("id")
    return list(told[: EVENTS + 1])


def _seals(told: Sequence[Event]) -> dict[int, int]:
    """Return the number of the seal over each of these events that has one; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_COVERED, [[event.pk for event in told]])
        return dict(cursor.fetchall())


def _choices(operation: Operation) -> QuerySet[Choice]:
    found = operation.choices.select_related("lookup", "approval").defer("approval__meant_sealed")
    return found.order_by("id")


def _lookups(operation: Operation) -> Part:
    found = list(operation.lookups.order_by("-id")[: LOOKUPS + 1])
    note = f"The latest {LOOKUPS} checks; there are more." if len(found) > LOOKUPS else ""
    return rows.lookups(found[:LOOKUPS], note=note)


def _links(known: reading.Reading) -> Iterator[tuple[str, Operation]]:
    tied = [*_tied(known)]
    yield from tied
    shown = {other for _, other in tied}
    yield from (("Same source record", other) for other in known.related if other not in shown)


def _tied(known: reading.Reading) -> Iterator[tuple[str, Operation]]:
    how = "It corrects" if known.facts.is_correction else "Its correction"
    how = "It reverses a record of" if known.operation.reverses_id else how
    yield from ((how, other) for other in known.linked)
    made = known.operation.reversals.order_by("id")
    yield from ((_reversing(other), other) for other in made.select_related("operation_type__destination"))
    if known.first is not None:
        yield "It comes after", known.first
    yield from (("Comes after it", other) for other in known.followers)


def _reversing(reversal: Operation) -> str:
    """Say how a reversal stands to what has a record too many; "reversed" is said of what was done."""
    said = {State.COMPLETED: "Reversed by", State.FAILED: "Not reversed by"}
    how = said.get(State(reversal.state), "To be reversed by")
    how = "Stands back from reversing it" if reversal.corrected_at is not None else how
    return f"{how} (record {reversal.reversed_reference})"


def _payload(operation: Operation, person: User) -> Part:
    """Tell the payload to who may correct it, without what is redacted; to others, by its digest alone."""
    if not access.may(person, "correct"):
        return rows.payload(None, why="Shown to who may correct it; to others by its digest alone.")
    if operation.payload_sealed is None:
        return rows.payload(None, why="Not kept here: its digests tell a changed one all the same.")
    try:
        private = payloads.Private.of(operation.operation_type)
        fields = private.fields(actions.open_payload(operation))
    except TieoutError as error:
        return rows.payload(None, why=error.detail)
    shown = [(paths.dotted(path), payloads.told(fields, path, private)) for path in fields]
    more = f"The first {FIELDS} of {len(shown)} values. " if len(shown) > FIELDS else ""
    return rows.payload(shown[:FIELDS], why=f"{more}What is redacted, or looks like a secret, stays hidden.")
