"""How often an automation may ask in a minute of the database's clock, over all processes and machines.

Each process draws a second's worth at a time from a counter that all of them share, so that few requests
touch it. The limit is never passed. A process may keep a part of what it drew that another one then lacks: so
of a minute's limit, up to a second's worth for each other process may be left over.
"""

import math
import threading
from dataclasses import dataclass

from django.http import HttpRequest

from ledger.actions import statements
from ledger.models import ApiToken
from ledger.rules.errors import TooLarge, TooManyRequests

MINUTE_S = 60
WORK, REPORTS = "work", "reports"
REPORTS_EACH = 4
"""Reports for each request of other kinds: a start, an outcome, and two heartbeats of each claim."""
OF_ATTEMPTS = "/attempts/"


@dataclass
class _Share:
    """What one process has drawn for a minute and not used; `dry` says that no more can be drawn."""

    minute: int
    left: int = 0
    dry: bool = False


@dataclass(frozen=True)
class Allowance:
    """What a request is counted as: its automation, the lane, and when it came by the database's clock."""

    name: str
    lane: str
    limit: int
    at_s: float

    @property
    def minute(self) -> int:
        """The minute in which it came."""
        return int(self.at_s // MINUTE_S)

    @property
    def wait_s(self) -> int:
        """In how many seconds the next minute begins."""
        return max(math.ceil(MINUTE_S - self.at_s % MINUTE_S), 1)

    def take(self, count: int = 1) -> None:
        """Count so many requests; raises TooManyRequests, and then counts none of them."""
        if not _taken(self, count):
            what = "reports on attempts" if self.lane == REPORTS else "requests"
            raise TooManyRequests(
                f"{self.name} may make {self.limit} {what} a minute, and has made them. Nothing was done; "
                f"ask again in {self.wait_s} seconds.",
                wait_s=self.wait_s,
            )


def allowance(request: HttpRequest, token: ApiToken, *, at_s: float) -> Allowance | None:
    """Return what a request is counted as; None where its token has no limit.

    Reports have a lane of their own: a report that is refused because of other requests makes doubt.
    """
    if token.per_minute is None:
        return None
    if OF_ATTEMPTS in request.path_info:
        return Allowance(token.name, REPORTS, token.per_minute * REPORTS_EACH, at_s)
    return Allowance(token.name, WORK, token.per_minute, at_s)


def count_items(request: HttpRequest, count: int) -> None:
    """Count the items of a batch, of which the request itself was the first.

    Raises TooManyRequests, and TooLarge where there are more than a whole minute allows.
    """
    known: Allowance | None = getattr(request, "allowance", None)
    if known is None or count <= 1:
        return
    if count > known.limit:
        raise TooLarge(
            f"The batch has {count} items, and {known.name} may make {known.limit} requests a minute. "
            "Send fewer at once."
        )
    known.take(count - 1)


_shares: dict[tuple[str, str], _Share] = {}
_lock = threading.Lock()


def _taken(asked: Allowance, count: int) -> bool:
    """Take from what this process has, then from what all share."""
    with _lock:
        share = _share(asked, asked.minute)
        own = min(share.left, count)
        share.left -= own
        if own == count:
            return True
        dry = share.dry
    missing = count - own
    wanted = max(missing, asked.limit // MINUTE_S)
    minute, granted = (asked.minute, 0) if dry else _drawn(asked, wanted)
    with _lock:
        share = _share(asked, minute)
        share.dry = share.dry or granted < wanted
        enough = granted >= missing
        share.left += granted - missing if enough else granted + own
    return enough


def _share(asked: Allowance, minute: int) -> _Share:
    """Return this process's share of a minute; of minutes that are over nothing is left."""
    share = _shares.get((asked.name, asked.lane))
    if share is None or share.minute != minute:
        share = _shares[asked.name, asked.lane] = _Share(minute)
    return share


def _drawn(asked: Allowance, wanted: int) -> tuple[int, int]:
    """Return the minute that was drawn from, and how much of what was wanted was still there."""
    values = {"name": asked.name, "lane": asked.lane, "minute": asked.minute, "wanted": wanted}
    row = statements.run("draw", values)
    assert row is not None
    before = row["drawn"] - wanted
    return row["minute"], min(max(asked.limit - before, 0), wanted)
