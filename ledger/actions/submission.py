"""What an automation hands over, checked and digested before anything is written."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.conf import settings

from ledger.actions.following import find_first
from ledger.models import Operation, OperationType
from ledger.rules import digests, keys, money, placeholders, sealing
from ledger.rules.decisions import GONE
from ledger.rules.digests import Keyring
from ledger.rules.errors import KeyMissing, Malformed, PayloadChanged
from ledger.rules.following import Earlier
from ledger.rules.states import State


@dataclass(frozen=True)
class Submission:
    """An operation as its automation describes it; amounts are text."""

    type_name: str
    payload: Mapping[str, Any] | None
    """None asks for what Tieout keeps of a correction under this key."""
    key: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    subject: str = ""
    amount: str | None = None
    currency: str | None = None
    attempt_id: uuid.UUID | None = None
    lease_s: float | None = None
    after: Earlier | None = None
    """What has to be done first."""


@dataclass(frozen=True)
class Prepared:
    """A submission that may be written: its key, its digests and, where it is kept, its sealed payload."""

    uid: uuid.UUID
    operation_type: OperationType
    key: str
    amount: Decimal | None
    currency: str
    payload: Mapping[str, Any]
    payload_digest: str
    kept: bool
    """Whether Tieout keeps the payload: to send it, or for the claim of a correction."""
    after: Operation | None = None

    @property
    def depends(self) -> bool:
        """Whether other operations decide if it may go."""
        return self.after is not None or bool(self.operation_type.reviewing.refunds)

    @property
    def after_id(self) -> int | None:
        """The number of what it is to come after."""
        return self.after.pk if self.after is not None else None

    def leaf_digests(self) -> dict[str, str]:
        """Return the keyed digest of each leaf."""
        return digests.leaf_digests(
            digest_keys(), self.payload, amount=self.amount, currency=self.currency or None
        )

    def same_as(self, digest: str) -> bool:
        """Say whether it is what a digest was made of, under whichever key that was."""
        key_id = digests.key_id_of(digest)
        if key_id == digests.key_id_of(self.payload_digest):
            return digests.same(self.payload_digest, digest)
        asked = digests.payload_digest(
            digest_keys(),
            self.payload,
            type=self.operation_type.name,
            amount=self.amount,
            currency=self.currency or None,
            key_id=key_id,
        )
        return digests.same(asked, digest)

    def sealed(self) -> bytes | None:
        """Return the encrypted payload, where it is kept."""
        if not self.kept:
            return None
        return sealing.seal(payload_keys(), digests.canonical(self.payload), bound_to=str(self.uid))


def digest_keys() -> Keyring:
    """Return the keys that digests are made with."""
    return _keyring(settings.DIGEST_KEYS, "DIGEST_KEYS")


def payload_keys() -> Keyring:
    """Return the keys that payloads are sealed with."""
    return _keyring(settings.PAYLOAD_KEYS, "PAYLOAD_KEYS")


@lru_cache(maxsize=4)
def _keyring(text: str, name: str) -> Keyring:
    return Keyring.parse(text, name)


def linked(prepared: Prepared, original: Operation) -> dict[str, Any]:
    """Return the columns of one that stands for another: as prepared, of the original's source."""
    kind = prepared.operation_type
    return {
        "uid": prepared.uid,
        "operation_type": kind,
        "key": prepared.key,
        "state": State.PENDING,
        "amount": prepared.amount,
        "currency": prepared.currency,
        "source_system": original.source_system,
        "source_reference": original.source_reference,
        "source_version": original.source_version,
        "payload_digest": prepared.payload_digest,
        "leaf_digests": prepared.leaf_digests(),
        "payload_sealed": prepared.sealed(),
        "idempotency_key": key_for(kind, prepared.key, generation=1, key_max=kind.promises.key_max),
    }


def key_for(kind: OperationType, key: str, *, generation: int, key_max: int) -> str:
    """Return the idempotency key that the destination sees for an operation's key."""
    return digests.idempotency_key(
        installation=settings.INSTALLATION,
        destination=kind.destination.name,
        account=kind.destination.account,
        type=kind.name,
        key=key,
        generation=generation,
        key_max=key_max,
    )


def prepare(submission: Submission, kind: OperationType, *, kept: bool | None = None) -> Prepared:
    """Check a submission and make its digest; raises the error that names what is wrong.

    What Tieout keeps, `set` is written into; where only the caller has the payload, it is checked for it.
    """
    kept = kind.by_tieout if kept is None else kept
    key = key_of(submission, kind)
    amount, currency = _money(submission)
    after = find_first(submission.after, kind, key=key)
    payload = _with_set(submission, kind, key, writes=kept)
    digest = digests.payload_digest(
        digest_keys(), payload, type=kind.name, amount=amount, currency=currency or None
    )
    return Prepared(uuid.uuid4(), kind, key, amount, currency, payload, digest, kept, after)


def key_of(submission: Submission, kind: OperationType) -> str:
    """Return the key under which it is handed over; raises what is wrong with it, or KeyMissing."""
    if submission.key is not None:
        return keys.check(submission.key)
    if kind.key_template:
        return keys.from_template(kind.key_template, submission.source)
    raise KeyMissing(f'"key" is missing, and {kind.name} has no template to make one.')


def rehearsed(
    kind: OperationType,
    *,
    key: str,
    payload: Mapping[str, Any],
    amount: str | None,
    currency: str | None,
    at: datetime,
) -> tuple[Operation, Mapping[str, Any]]:
    """Return what a drill sends as an operation that is in no ledger, with its payload as it goes out.

    `at`: when the drill began, before anything was sent. Raises Malformed where the sample cannot be sent as
    an operation could.
    """
    if kind.names_first:
        raise Malformed(f"{kind.name} names what it comes after, and a drill sends it alone.")
    system, reference, version = key.split("/")
    source = {"system": system, "reference": reference, "version": version}
    submission = Submission(kind.name, payload, key=key, source=source, amount=amount, currency=currency)
    total, code = _money(submission)
    operation = Operation(
        operation_type=kind,
        key=key,
        amount=total,
        currency=code,
        accepted_at=at,
        source_system=system,
        source_reference=reference,
        source_version=version,
        idempotency_key=key_for(kind, key, generation=1, key_max=kind.promises.key_max),
    )
    return operation, _with_set(submission, kind, key, writes=True)


def with_kept_payload(submission: Submission, kind: OperationType) -> Submission:
    """Return the claim of a correction with the payload, amount and source that Tieout keeps for it.

    Raises Malformed where nothing is kept under the key: then the payload is missing.
    """
    kept = None
    if submission.key is not None:
        key = keys.check(submission.key)
        kept = Operation.objects.filter(operation_type=kind, key=key, corrects__isnull=False).first()
    if kept is None:
        raise Malformed("payload is missing.", errors=[{"path": "payload", "problem": "is missing"}])
    said = submission.amount is not None or submission.currency is not None
    amount = None if kept.amount is None else money.written(kept.amount, kept.currency)
    return replace(
        submission,
        payload=open_payload(kept),
        amount=submission.amount if said else amount,
        currency=submission.currency if said else kept.currency or None,
        source={**source_of(kept), **submission.source},
        after=submission.after or earlier_of(kept),
    )


def earlier_of(operation: Operation) -> Earlier | None:
    """Return how what an operation comes after is named."""
    first = operation.after
    return Earlier(first.operation_type.name, first.key) if first is not None else None


def source_of(operation: Operation) -> dict[str, str]:
    """Return the record that an operation comes from, as it was handed over."""
    parts = {
        "system": operation.source_system,
        "reference": operation.source_reference,
        "version": operation.source_version,
    }
    return {name: value for name, value in parts.items() if value}


def _money(submission: Submission) -> tuple[Decimal | None, str]:
    if submission.amount is None and submission.currency is None:
        return None, ""
    if submission.amount is None or submission.currency is None:
        raise Malformed("Amount and currency come together, or neither does.")
    parsed = money.parse(submission.amount, submission.currency)
    return parsed.amount, parsed.currency


def _with_set(submission: Submission, kind: OperationType, key: str, *, writes: bool) -> Mapping[str, Any]:
    """Write what `set` asks for into the payload, or check that the caller wrote it."""
    payload = submission.payload
    if payload is None:
        raise Malformed("payload is missing.")
    lines = placeholders.early(kind.how.send.set) if kind.how.send is not None else {}
    if not lines:
        return payload
    source = {f"source.{name}": value for name, value in submission.source.items()}
    values = {
        "key": key,
        "type": kind.name,
        **placeholders.of_money(*_money(submission), kind.how.record),
        **source,
    }
    if writes:
        return placeholders.apply_set(payload, lines, values)
    missing = placeholders.missing_set(payload, lines, values)
    if missing:
        raise Malformed(
            f"The payload must carry what the rules of {kind.name} ask for: {', '.join(missing)}.",
            missing=missing,
        )
    return payload


def refuse_changed(operation: Operation, prepared: Prepared) -> None:
    """Raise PayloadChanged with sorted paths, never values, where the key was used for something else."""
    moved = operation.after_id != prepared.after_id
    if not moved and prepared.same_as(operation.payload_digest):
        return
    if not moved and _taken_in_alike(operation, prepared):
        return
    changed = _changed(operation, prepared)
    what = "another payload" if changed or not moved else "another operation before it"
    raise PayloadChanged(
        f"The key {operation.key} was used with {what}. Nothing was changed. "
        "What is meant differently now is a correction: a new operation, linked to this one.",
        changed=sorted({*changed, "after"}) if moved else changed,
        about=operation,
    )


def _taken_in_alike(operation: Operation, prepared: Prepared) -> bool:
    """Say whether it was taken in with this amount: nobody ever handed over what it held."""
    alike = (operation.amount, operation.currency) == (prepared.amount, prepared.currency)
    # Its own payload tells it first, without a question: a batch asks this for each of its items.
    alone = operation.leaf_digests.keys() - {digests.KEY_ID, digests.AMOUNT, digests.CURRENCY} == {"taken_in"}
    return alike and alone and operation.events.filter(kind="taken_in").exists()


def changed_since(operation: Operation, prepared: Prepared) -> list[str]:
    """Return the sorted paths that a correction changes; what `set` writes is its name, and no change."""
    send = prepared.operation_type.how.send
    return sorted(set(_changed(operation, prepared)) - set(send.set if send else ()))


def _changed(operation: Operation, prepared: Prepared) -> list[str]:
    changed = digests.changed_paths(
        operation.leaf_digests,
        digest_keys(),
        prepared.payload,
        amount=prepared.amount,
        currency=prepared.currency or None,
    )
    return sorted({path.removeprefix("$") for path in changed})


def open_payload(operation: Operation) -> dict[str, Any]:
    """Return a payload that is kept; Malformed where it is no longer, SealError where it cannot be opened."""
    if operation.payload_sealed is None:
        gone = "payload is missing: what was kept of it was removed when its time was over."
        raise Malformed(GONE if operation.operation_type.by_tieout else gone)
    plain = sealing.unseal(payload_keys(), bytes(operation.payload_sealed), bound_to=str(operation.uid))
    payload: dict[str, Any] = json.loads(plain)
    return payload
