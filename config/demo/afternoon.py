"""Friday afternoon in Durban: the orders that were paid, and what went wrong with some. All made up."""

from dataclasses import dataclass
from typing import Literal

Trouble = Literal["delay_after", "drop_before", "accept_only"]


@dataclass(frozen=True)
class Order:
    """A paid order of the web shop, and the trouble that its invoice meets on the way."""

    number: int
    customer: str
    total: str
    currency: str = "ZAR"
    trouble: Trouble | None = None
    blocked: bool = False
    unseen: bool = False
    """Whether Durban Books cannot be asked about it."""
    case: str = ""
    """The kind of case that it becomes, as named in demo.json."""

    @property
    def key(self) -> str:
        """The operation's key."""
        return f"order/webshop/{self.number}/v1"

    def invoice(self) -> dict[str, object]:
        """What Durban Books is sent."""
        customer: dict[str, object] = {"name": self.customer, **({"blocked": True} if self.blocked else {})}
        return {
            "order": str(self.number),
            "customer": customer,
            "total": self.total,
            "currency": self.currency,
        }


ORDERS = (
    Order(461, "Umhlanga Dental", "2310.00"),
    Order(462, "Berea Coffee", "415.00"),
    Order(402, "Bluff Hardware", "1860.00"),
    Order(463, "Point Yacht Club", "6780.00"),
    Order(476, "Kloof Bakery", "655.20", trouble="delay_after", case="one_match"),
    Order(466, "North Coast Dairy", "4960.00", trouble="drop_before", case="differs"),
    Order(471, "Umgeni Cycles", "865.00", trouble="drop_before", case="several"),
    Order(483, "Acme", "1240.00", trouble="drop_before", case="absent"),
    Order(455, "Ballito Surf", "7315.00", blocked=True, case="refused"),
    Order(318, "Marine Parade Hotel", "18400.00", trouble="drop_before", unseen=True, case="could_not_look"),
    Order(377, "Hafenkontor GmbH", "960.00", currency="EUR", trouble="accept_only", case="accepted"),
    Order(465, "Tulip Import BV", "2150.00", currency="EUR"),
    Order(468, "Cargo & Kin", "980.00"),
    Order(470, "Musgrave Pharmacy", "1240.00"),
    Order(478, "Glenwood School", "3300.00"),
    Order(480, "Pinetown Tools", "12650.00"),
    Order(482, "Morningside Florist", "540.00"),
)


# Paid on the day before; the call that should have handed it over was lost, and nobody knows.
FORGOTTEN = Order(459, "Westville Books", "725.00")


@dataclass(frozen=True)
class Reminder:
    """A reminder that the mail service sends; `dies` where it never says how that ended."""

    order: int
    to: str
    dies: bool = False
    case: str = ""

    @property
    def source(self) -> dict[str, str]:
        """The record that it comes from."""
        return {"system": "mailroom", "reference": str(self.order), "version": "1"}


REMINDERS = (
    Reminder(431, "accounts@cargo.example"),
    Reminder(398, "office@glenwood.example", dies=True, case="expired"),
)

# What the older connector, which knows nothing of Tieout, writes into Durban Books: order, total, how often.
OUTSIDE = (
    (471, "865.00", 4),
    (466, "5580.00", 1),
    (402, "1860.00", 3),
    (399, "310.00", 1),
    (480, "12650.00", 2),
)
