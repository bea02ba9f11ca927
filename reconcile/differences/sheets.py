"""What is open as a spreadsheet: to keep, or to send out for a comment and an owner, and take back.

Each row carries its number and a version, by which a row that comes back is known: what was sent out with it,
and that nobody has written another number into it. They prove nothing about who sends it back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from hmac import compare_digest
from itertools import islice
from typing import Any, Self

from django.utils.crypto import salted_hmac

from ledger.models import Case
from reconcile import reports
from reconcile.classes import ItemClass
from reconcile.differences import ageing, remarking, waivers
from reconcile.differences.ageing import Ageing
from reconcile.displaying import Display
from reconcile.models import Finding, FindingQuerySet
from reconcile.sums import NOUGHT, SIDES, SOURCE, amount_text
from reconcile.tables import ROWS, About, Table
from reconcile.workbooks import Sheet

NUMBER, VERSION, OWNER, COMMENT = "Number", "Version", "Owner", "Comment"
COLUMNS = (
    *(NUMBER, OWNER, COMMENT, "Class", "Reference", "Currency", "Amount", "First seen", "Age in days", "Due"),
    *("Why", "Entity", "Reconciliation", "Operation", "State", "Items"),
    *("Source", "Tieout", "Destination", "Destination's numbers", "Waived by", "Waived until", VERSION),
)
RETURNED = f"{OWNER} and {COMMENT} may be filled in; the file is taken back under Open differences"
READ = ("run__plan__operation_type__destination", "operation", "case")
PART = 12
"""So many hexadecimal digits tell one value from another."""


def owner_of(case: Case | None, finding: Finding) -> str:
    """Return whose a difference is: a person's, or else a team's."""
    if case is None:
        return finding.run.plan.operation_type.owner
    return case.assignee or case.owner


@dataclass(frozen=True)
class Version:
    """What a row was sent out with: of its number, owner, comment and what was found, only digests."""

    number: int
    owner: str
    comment: str
    found: str

    @classmethod
    def of(cls, number: int, *, owner: str, comment: str, found: str) -> Self:
        """Return it for these values."""
        parts = {"owner": owner, "comment": comment, "found": found}
        return cls(number, **{name: _digest(number, name, value) for name, value in parts.items()})

    @classmethod
    def read(cls, number: int, text: str) -> Self | None:
        """Read what stands in a row; None where it was not sent out so."""
        parts = text.split("-")
        if len(parts) != 4:
            return None
        made = cls(number, *parts[:3])
        return made if compare_digest(made.text.encode(), text.encode()) else None

    @property
    def text(self) -> str:
        """Return it as a row carries it."""
        parts = f"{self.owner}-{self.comment}-{self.found}"
        return f"{parts}-{_digest(self.number, 'all', parts)}"

    def moved(self, name: str, value: str) -> bool:
        """Say whether its `owner`, `comment` or `found` was another one when it was sent out."""
        return bool(getattr(self, name) != _digest(self.number, name, value))


def _digest(number: int, name: str, value: str) -> str:
    return salted_hmac(f"tieout.differences.{name}", f"{number} {value}", algorithm="sha256").hexdigest()[
        :PART
    ]


@dataclass(frozen=True)
class Asked:
    """What is put into a spreadsheet: some of what is open, said in words, and the ageing of all of it."""

    found: FindingQuerySet
    words: str
    ageing: Ageing
    display: Display | None


def table(asked: Asked, *, author: str) -> Table:
    """Return what is open as a table, read some hundred at a time, the oldest first."""
    at = asked.ageing.at
    chosen = ageing.read(at, asked.found)
    about = About(
        what="Open differences",
        asked=asked.words or "all that are open",
        as_of=at,
        author=author,
        count=chosen.count,
        totals={
            f"open {currency}": amount_text(chosen.of(currency).whole.amount, currency)
            for currency in chosen.currencies
            if currency
        },
        more={"to fill in": RETURNED},
    )
    ages = Sheet("Ages", ageing.columns(asked.display), ageing.lines(asked.ageing, asked.display))
    return Table(about, COLUMNS, _rows(asked.found, at), before=[ages])


def _rows(found: FindingQuerySet, at: datetime) -> Iterator[tuple[object, ...]]:
    ordered = found.select_related(*READ).order_by("first_seen_at", "pk")
    left = ordered.iterator(ROWS)
    while part := list(islice(left, ROWS)):
        remarks, waived = remarking.latest(part), waivers.standing(part, at)
        for one in part:
            remark, waiver = remarks.get(one.pk), waived.get(one.pk)
            told = _row(one, remark.text if remark else "", at)
            yield (*told[:-1], waiver.maker if waiver else "", waiver.until if waiver else "", told[-1])


def _row(finding: Finding, comment: str, at: datetime) -> tuple[object, ...]:
    case, operation, kind = finding.case, finding.operation, finding.run.plan.operation_type
    owner, title = owner_of(case, finding), ItemClass(finding.item_class).title(kind.destination.title)
    version = Version.of(finding.pk, owner=owner, comment=comment, found=finding.fingerprint)
    return (
        *(finding.pk, owner, comment, title, finding.reference),
        *(finding.currency, _exact(finding.amount, finding.currency), finding.first_seen_at),
        *((at - finding.first_seen_at) // timedelta(days=1), case.due_at if case else ""),
        *(reports.why(finding), kind.destination.entity, finding.run.plan.name),
        *("" if operation is None else str(operation.uid), finding.state, finding.items),
        *(held(finding, side) for side in (SOURCE, *SIDES)),
        *(" ".join(record["id"] for record in finding.destination), version.text),
    )


def held(finding: Finding, side: str) -> Decimal | None:
    """Return what a side holds of a difference in its currency; None where that is nothing, or not kept."""
    lines: Iterable[Any] = finding.held or ()
    parts = [
        Decimal(line[side]["amount"])
        for line in lines
        if line["currency"] == finding.currency and line.get(side, {}).get("count")
    ]
    return _exact(sum(parts, NOUGHT), finding.currency) if parts and finding.currency else None


def _exact(amount: Decimal | None, currency: str) -> Decimal | None:
    return None if amount is None else Decimal(amount_text(amount, currency))
