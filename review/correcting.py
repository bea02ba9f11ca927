"""What a person writes to correct an operation: the form, what it changes, and how it is carried unseen."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from django.contrib.auth.models import User

from ledger import actions
from ledger.actions.submission import payload_keys
from ledger.models import Operation
from ledger.rules import digests, money, paths, sealing
from ledger.rules.errors import Malformed, SealError, TieoutError
from review import payloads
from review.payloads import FIELDS_MAX, JSON_MAX, Path, Private

MONEY = ("amount", "currency")
LONG = 40
"""Characters from which a text has a field of several lines."""
NOT_KEPT = (
    "Tieout does not keep what was handed over for this one, so its fields cannot be shown. "
    "Write the whole payload as JSON; what differs from before is named, never its value."
)
TOO_LARGE = (
    f"Its payload is larger than the {JSON_MAX // 1024} KiB that a page takes. Its automation corrects it: "
    "POST /api/v1/operations/{uid}/correction."
)
AS_JSON = f"It has more than {FIELDS_MAX} values, too many for a form of fields: write it as JSON."


@dataclass(frozen=True)
class Written:
    """What is meant instead, as a person wrote it, and the revision of the operation that they saw."""

    payload: dict[str, Any]
    amount: str
    currency: str
    revision: int

    def meant(self) -> actions.Correction:
        """Return it as actions take it."""
        return actions.Correction(self.payload, self.amount or None, self.currency or None)

    def sealed(self, bound_to: str) -> str:
        """Return it as text that only this form of this person opens, so that a page shows none of it."""
        said = [self.amount, self.currency, self.revision, self.payload]
        token = sealing.seal(payload_keys(), digests.canonical(said), bound_to=bound_to)
        return base64.urlsafe_b64encode(token).decode()

    @classmethod
    def opened(cls, text: str, bound_to: str) -> "Written":
        """Open it again; raises SealError."""
        try:
            token = base64.urlsafe_b64decode(text.encode("ascii"))
        except ValueError:
            raise SealError("It is not what this page wrote.") from None
        amount, currency, revision, payload = json.loads(
            sealing.unseal(payload_keys(), token, bound_to=bound_to)
        )
        return cls(payload, amount, currency, revision)


def bound(operation: Operation, person: User) -> str:
    """Name whose correction of what it is that was written."""
    return f"correction/{operation.uid}/{person.pk}"


@dataclass(frozen=True)
class Row:
    """One field of the form: `before` is what the operation says, `now` what it is to say."""

    name: str
    place: str
    kind: str
    before: str
    now: str
    repeats: str = ""
    """What of the operation its value says once more: its amount or its currency."""
    was: str = ""
    """What its field would hold if nothing changed."""
    hidden: bool = False
    fixed: bool = False
    changed: bool = False
    wrong: str = ""

    @property
    def long(self) -> bool:
        """Say whether it needs several lines."""
        return self.kind in ("text", "nothing") and (len(self.now) > LONG or "\n" in self.now)


@dataclass(frozen=True)
class Sheet:
    """The form of one correction: what the operation says, and what was written so far in its place."""

    operation: Operation
    private: Private
    stored: dict[str, Any] | None
    """What the operation was handed over with; None where it is not kept."""
    start: Written
    by_json: bool = False
    typed: Mapping[str, str] = field(default_factory=dict)
    """What was typed into the fields and cannot be read as it is, by their names."""
    wrong: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """Say why it has no fields; empty where it could have them."""
        if self.stored is None:
            return NOT_KEPT
        return "" if self.fits else AS_JSON

    @property
    def refusal(self) -> str:
        """Say why no page takes it; empty where one does."""
        large = len(digests.canonical(self.start.payload)) > JSON_MAX
        return TOO_LARGE.replace("{uid}", str(self.operation.uid)) if large else ""

    @cached_property
    def fields(self) -> dict[Path, object]:
        """The values that it starts with."""
        return self.private.fields(self.start.payload)

    @property
    def fits(self) -> bool:
        """Say whether there are values, few enough for a form of fields."""
        return self.stored is not None and 0 < len(self.fields) <= FIELDS_MAX

    @property
    def as_json(self) -> bool:
        """Say whether the payload is written as JSON."""
        return self.by_json or not self.fits

    @property
    def money(self) -> list[Row]:
        """The amount and its currency."""
        before = _money(self.operation)
        return [self._money_row(*row) for row in zip(MONEY, before, self._amounts, strict=True)]

    @property
    def _amounts(self) -> tuple[str, str]:
        return self.start.amount, self.start.currency

    def _money_row(self, name: str, before: str, start: str) -> Row:
        now, wrong = self.typed.get(name, start), self.wrong.get(name, "")
        return Row(name, name.capitalize(), "", before, now, before, changed=now != before, wrong=wrong)

    @property
    def rows(self) -> Iterator[Row]:
        """The payload's values, each beside what the operation says there."""
        stored = self.private.fields(self.stored or {})
        for number, (path, value) in enumerate(self.fields.items()):
            yield self._row(f"f{number}", path, value, stored)

    def _row(self, name: str, path: Path, value: object, stored: Mapping[Path, object]) -> Row:
        hidden = self.private.hides(path, value)
        start = "" if hidden or value is None else payloads.words(value)
        now = self.typed.get(name, start)
        kept = path not in stored or self.private.hides(path, stored[path]) or stored[path] is None
        return Row(
            name=name,
            place=paths.dotted(path),
            kind=payloads.kind_of(value),
            before=payloads.told(stored, path, self.private),
            now=now,
            repeats="" if hidden else self._repeats(value),
            was="" if kept else payloads.words(stored[path]),
            hidden=hidden,
            fixed=not hidden and not payloads.can_be_typed(value),
            changed=now != start or not payloads.same(stored, self.fields, path),
            wrong=self.wrong.get(name, ""),
        )

    def _repeats(self, value: object) -> str:
        said = payloads.words(value)
        return next(
            (name for name, own in zip(MONEY, _money(self.operation), strict=True) if own == said), ""
        )

    @property
    def text(self) -> str:
        """The payload as JSON."""
        return self.typed.get("json") or payloads.as_json(self.start.payload, self.private)

    @property
    def text_before(self) -> str:
        """What the operation says, as JSON; empty where it is not kept."""
        return payloads.as_json(self.stored, self.private) if self.stored is not None else ""


def opened(operation: Operation, start: Written | None = None) -> Sheet:
    """Return the form of an operation's correction; it starts with what its latest correction says."""
    stored = _kept(operation)
    if start is None:
        latest = operation.corrections.order_by("-correction_number").first()
        of = latest if latest is not None and latest.payload_sealed is not None else operation
        start = Written(_kept(of) or {}, *_money(of), operation.revision)
    return Sheet(operation, Private.of(operation.operation_type), stored, start)


def _kept(operation: Operation) -> dict[str, Any] | None:
    """Return a payload that is kept and can be opened, else None."""
    try:
        return actions.open_payload(operation)
    except (Malformed, SealError):
        return None


def _money(operation: Operation) -> tuple[str, str]:
    if operation.amount is None:
        return "", ""
    return money.written(operation.amount, operation.currency), operation.currency


def filled(sheet: Sheet, data: Mapping[str, str]) -> Sheet:
    """Return the form with what a person has typed: as its new start, or beside what is wrong with it."""
    by_json = "json" in data
    wrong: dict[str, str] = {}
    amount, currency = (data.get(name, "").strip() for name in MONEY)
    _try(wrong, "amount", lambda: money.parse(amount, currency) if amount or currency else None)
    start = replace(sheet.start, amount=amount, currency=currency)
    if by_json:
        base = sheet.start.payload
        read = _try(wrong, "json", lambda: payloads.from_json(data["json"], base, sheet.private))
    else:
        read = payloads.with_values(sheet.start.payload, _values(sheet, data, wrong))
    if wrong:
        return replace(sheet, by_json=by_json, typed=data, wrong=wrong)
    return replace(sheet, by_json=by_json, start=replace(start, payload=read))


def turned(sheet: Sheet, step: str | None) -> Sheet:
    """Return the form as JSON or as fields, where that was asked for and can be."""
    if sheet.wrong or step not in ("json", "fields"):
        return sheet
    return replace(sheet, by_json=step == "json")


def as_it_stands(sheet: Sheet) -> Sheet:
    """Return what was written as seen beside the operation as it is now."""
    return replace(sheet, start=replace(sheet.start, revision=sheet.operation.revision))


def _values(sheet: Sheet, data: Mapping[str, str], wrong: dict[str, str]) -> dict[Path, object]:
    """Read the fields of a form; one that hides its value counts only where something is written."""
    values: dict[Path, object] = {}
    for number, (path, value) in enumerate(sheet.fields.items()):
        name = f"f{number}"
        raw, hidden = data.get(name), sheet.private.hides(path, value)
        if raw is None or (hidden and not raw) or not (hidden or payloads.can_be_typed(value)):
            continue
        values[path] = _try(wrong, name, partial(payloads.reads, value, raw))
    return values


def _try(wrong: dict[str, str], name: str, read: Callable[[], Any]) -> Any:
    """Read something; None where it is wrong, and why is kept under its name."""
    try:
        return read()
    except TieoutError as error:
        wrong[name] = error.detail
        return None


def changes(sheet: Sheet, draft: actions.Draft) -> list[payloads.Change]:
    """Return what the correction changes, in words; only the paths where what was is not kept."""
    if sheet.stored is not None:
        return payloads.changes(sheet.stored, sheet.start.payload, sheet.private)
    found = payloads.changes({}, sheet.start.payload, sheet.private)
    changed = set(draft.changed)
    return [replace(one, before="not kept") for one in found if one.place in changed]


def left_behind(sheet: Sheet) -> list[str]:
    """Return the places that still say the amount as it was, although the amount changes."""
    before, now = _money(sheet.operation)[0], sheet.start.amount
    if not before or before == now:
        return []
    return [paths.dotted(path) for path, value in sheet.fields.items() if payloads.words(value) == before]
