"""Where a person opens a record at its destination: one address for every page."""

from urllib.parse import quote

from ledger.models import Destination
from ledger.rules.errors import RulesUnreadable


def url(there: Destination, number: str) -> str:
    """Return the address of a record by its number there; empty where no address is known.

    Settings that cannot be read make no page fail: what they are for says so itself.
    """
    try:
        template = there.reach.open_url
    except RulesUnreadable:
        return ""
    if not template or not number:
        return ""
    address = template.replace("{destination_reference}", quote(number, safe=""))
    return address if address.startswith(("http://", "https://")) else ""
