"""What statements of banks have in common: entries, columns, and totals that prove them whole."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from reconcile.histories.files import FileRefused
from reconcile.statements import columns
from reconcile.statements.layouts import Cell, Layout, Row
from reconcile.statements.opening import File

HEADER = (
    "Reference",
    "Amount",
    "Currency",
    "Booked on",
    "Number",
    "End-to-end id",
    "Bank's reference",
    "Payment reference",
    "Owner's reference",
    "Value date",
    "Text",
)
DEFAULTS = dict(zip(("reference", "amount", "currency", "date", "id"), HEADER, strict=False))
"""Which column holds what, where nothing else is stated."""
NONE = frozenset(("", "NOTPROVIDED", "NOT PROVIDED", "NONREF", "NOREF"))
"""What stands in a reference where there is none."""


@dataclass(frozen=True)
class Entry:
    """One entry of an account: what came is positive, what went negative, in major units."""

    number: int
    amount: Cell
    currency: str
    booked: date | str
    value: date | str = ""
    end_to_end: str = ""
    bank: str = ""
    payment: str = ""
    owner: str = ""
    """What the account's owner has given, as SWIFT's field 61 has it before the bank's."""
    other: str = ""
    """A reference of another kind, taken where there is none of the four."""
    text: str = ""
    why: str = ""

    def row(self) -> Row:
        """Return it as a row; its reference is the first that there is."""
        candidates = (self.end_to_end, self.payment, self.owner, self.bank, self.other)
        known = ["" if one.strip().upper() in NONE else one.strip() for one in candidates]
        reference = next(filter(None, known), "")
        end_to_end, payment, owner, bank, _ = known
        cells = [reference, self.amount, self.currency, self.booked, bank, end_to_end, bank, payment, owner]
        return self.number, [*cells, self.value, self.text], self.why


@dataclass
class Control:
    """What an account's statement says of itself: its balances, and what its entries come to."""

    name: str
    opening: Decimal | None = None
    closing: Decimal | None = None
    came: Decimal = Decimal(0)
    went: Decimal = Decimal(0)
    reversed: Decimal = Decimal(0)
    """What its reversals come to, signed as they are written."""
    count: int = 0
    claims: dict[str, Decimal] = field(default_factory=dict)
    """What it says of itself besides: its `entries`, and what its `credits` and `debits` come to."""

    def add(self, amount: Decimal, *, reversal: bool = False) -> None:
        """Add an entry."""
        self.count += 1
        self.came += max(amount, Decimal(0))
        self.went += min(amount, Decimal(0))
        self.reversed += amount if reversal else 0

    @property
    def provable(self) -> bool:
        """Say whether it has both balances."""
        return self.opening is not None and self.closing is not None

    @property
    def off(self) -> Decimal:
        """Return by how much the entries miss the closing balance; 0 where there are no balances."""
        if self.opening is None or self.closing is None:
            return Decimal(0)
        return self.opening + self.came + self.went - self.closing

    def words(self, file: File) -> str:
        """Say what is wrong with it, empty where nothing is."""
        if not self.off:
            true = {"entries": Decimal(self.count), "credits": self.came, "debits": -self.went}
            off = [name for name, claimed in self.claims.items() if claimed != true[name]]
            return "".join(
                f"{self.name} of {file.name} says {self.claims[name]} for its {name}, and holds {true[name]}."
                for name in off[:1]
            )
        return (
            f"{self.name} of {file.name} opens with {self.opening}, its entries come to"
            f" {self.came + self.went}, and it closes with {self.closing}: {abs(self.off)} is not explained."
        )


def laid_out(
    file: File,
    form: str,
    entries: Callable[[], Iterator[Entry]],
    notes: list[str],
    *,
    also_settled: Iterable[str] = (),
) -> Layout:
    """Return a statement's layout; FileRefused where a column that is named is not there.

    `also_settled`: what the form says itself, besides how amounts and days are written.
    """
    taken = set(file.how.named.values())
    named = {part: name for part, name in DEFAULTS.items() if name not in taken} | dict(file.how.named)
    found = columns.find(HEADER, named, name=file.name, naming=file.how.naming)
    return Layout(
        file.path,
        file.checksum,
        form,
        found,
        lambda: (entry.row() for entry in entries()),
        notes=notes,
        settled=frozenset(("decimal", "days", "unit", *also_settled)),
    )


def proved(file: File, controls: list[Control]) -> list[str]:
    """Say which statements are proved by their balances; FileRefused where one is not whole."""
    wrong = [words for control in controls if (words := control.words(file))]
    if wrong:
        raise FileRefused(f"{wrong[0]} It is not read: export it again, whole.")
    if all(control.provable for control in controls):
        return [f"The balances of {file.name} prove its entries: opening and entries give the closing one."]
    if all(control.claims for control in controls):
        return [f"The totals that {file.name} states are those of its entries."]
    return [f"Neither balances nor totals prove that {file.name} holds every entry."]
