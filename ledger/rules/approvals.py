"""When a second person must agree, to what, and what makes a request for it void."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ledger.rules import money

RECORDS_TOLD = 5


class Ask(StrEnum):
    """A decision of one person that waits for a second one."""

    ATTEST = "attest"
    """Done, on the maker's word."""
    END = "end"
    """It did not happen, as a check has proved."""
    OVERRIDE_END = "override_end"
    """It did not happen: absence attested by hand where nothing can be looked up."""
    OVERRIDE_PERMIT = "override_permit"
    """One more try, although nothing can be looked up and no key protects."""
    OVERRIDE_CORRECT = "override_correct"
    """A correction, although what it corrects may have happened."""
    CHOOSE = "choose"
    """One record of several is kept, the others are reversed."""


OVERRIDES = frozenset({Ask.OVERRIDE_END, Ask.OVERRIDE_PERMIT})
"""What absence attested by hand leads to."""


class Answer(StrEnum):
    """How a request ended."""

    APPROVED = "approved"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    """Taken back by who asked."""
    VOIDED = "voided"
    """What it was bound to has changed."""
    LAPSED = "lapsed"
    """Nobody answered in time."""


@dataclass(frozen=True)
class Bound:
    """What a request is bound to; `found` is the digest of what the latest check saw, empty for nothing."""

    payload_digest: str
    attempts: int
    found: str
    absent: bool
    records: tuple[Mapping[str, Any], ...] = ()
    """What it saw: id, amount, currency, status, standing of each."""


@dataclass(frozen=True)
class Together:
    """What a person would have closed alone with this one, in its currency, and the limit for that."""

    today: int = 0
    """Others of its type that they closed alone today, in the type's zone."""
    tied: int = 0
    """Others that anybody closed alone, tied to it by a correction or by their source record."""
    total: Decimal | None = None
    above: Decimal | None = None
    """None where the currency has no line."""
    takes_two: bool = False

    @property
    def counted(self) -> dict[str, str | int]:
        """What a request keeps of it; nothing where this one is alone."""
        if not self.today + self.tied:
            return {}
        return {"today": self.today, "tied": self.tied, "together": str(self.total)}


def due_at(made_at: datetime, expires_at: datetime, *, key_until: datetime | None = None) -> datetime:
    """Return when a request should be answered: when half of its time is over, or a key's window would close.

    `key_until`: until when a send under the same key could still follow a refusal.
    """
    half = made_at + (expires_at - made_at) / 2
    return half if key_until is None else min(half, key_until)


def needs_two(amount: Decimal | None, currency: str, limits: Mapping[str, Decimal] | None) -> bool:
    """Say whether closing this amount takes two people; a currency without a line always does.

    `limits` are the amounts by currency above which it does; None where the rules name none.
    """
    if amount is None or limits is None:
        return False
    limit = limits.get(currency)
    return limit is None or abs(amount) > limit


def what_changed(ask: Ask, then: Bound, now: Bound) -> str:
    """Say what a request was bound to and is no longer so; empty where all still holds.

    A check that could not look tells nothing new, and absence speaks only against who says that it is there.
    """
    if then.payload_digest != now.payload_digest:
        return "Its payload is another one now."
    if then.attempts != now.attempts:
        return "It was tried again since."
    if now.found in ("", then.found) or (now.absent and ask is not Ask.ATTEST):
        return ""
    if now.absent and not now.records:
        return "A check has found nothing there since."
    changed = _differences(then.records, now.records)
    if len(then.records) == len(now.records) == 1 and len(changed) == 1:
        name = now.records[0]["id"]
        return f"The record changed: {changed[0].removeprefix(f'{name}: ')}."
    more = f" and {len(changed) - RECORDS_TOLD} more" if len(changed) > RECORDS_TOLD else ""
    return f"What is there changed: {'; '.join(changed[:RECORDS_TOLD])}{more}."


def _differences(then: tuple[Mapping[str, Any], ...], now: tuple[Mapping[str, Any], ...]) -> list[str]:
    """Say record by record what is otherwise; never a status in the destination's own words."""
    before, after = ({one["id"]: one for one in records} for records in (then, now))
    new = [f"{one['id']} is there, {_amount(one)}" for name, one in after.items() if name not in before]
    both = [(before[name], one) for name, one in after.items() if name in before]
    differing = [f"{one['id']}: {said}" for was, one in both if (said := _differs(was, one))]
    gone = [f"{name} is gone" for name in before if name not in after]
    return [*differing, *new, *gone] or ["its number of records"]


def _differs(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    parts = []
    if (was["amount"], was["currency"]) != (now["amount"], now["currency"]):
        same = was["currency"] == now["currency"]
        old, new = (_figure(one) if same else _amount(one) for one in (was, now))
        parts.append(f"amount {old} → {new}")
    if was["standing"] != now["standing"]:
        parts.append(f"status {was['standing']} → {now['standing']}")
    elif was["status"] != now["status"]:
        parts.append("its status")
    return ", ".join(parts)


def _figure(record: Mapping[str, Any]) -> str:
    try:
        return money.show(money.read(record["amount"], currency=record["currency"]))
    except money.MoneyError:
        return "no amount"


def _amount(record: Mapping[str, Any]) -> str:
    figure = _figure(record)
    return figure if figure == "no amount" else f"{figure} {record['currency']}"
