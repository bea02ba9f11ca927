"""What of the trail somebody looks at, all of it in the address."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Self
from urllib.parse import urlencode

from review import trail
from review.instants import day, zone

BY = {"": "People", "software": "Software", "all": "Everybody"}
LABELS = {"who": "Who", "kind": "What", "of": "Operation", "since": "From", "until": "To", "text": "Reason"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PLACE = re.compile(r"[1-9]\d{0,17}", re.ASCII)


@dataclass(frozen=True)
class Chosen:
    """One address of the trail; empty fields filter nothing. Days are the reader's, the last included."""

    by: str = ""
    who: str = ""
    kind: str = ""
    of: str = ""
    since: str = ""
    until: str = ""
    text: str = ""
    before: str = ""
    """The event behind which the page begins."""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what cannot be meant counts as not given."""
        given = {name: query.get(name, "").strip()[:200] for name in asdict(cls())}
        given = {name: "" if _CONTROL.search(value) else value for name, value in given.items()}
        given["by"] = given["by"] if given["by"] in BY else ""
        given["kind"] = given["kind"] if given["kind"] in trail.KINDS else ""
        given["before"] = given["before"] if _PLACE.fullmatch(given["before"]) else ""
        for name in ("since", "until"):
            given[name] = given[name] if day(given[name]) else ""
        return cls(**given)

    @property
    def address(self) -> str:
        """Return it as a query, without what is empty."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    @property
    def narrowed(self) -> bool:
        """Say whether anything but whose events is chosen."""
        return replace(self, by="", before="") != Chosen()

    @property
    def begins(self) -> datetime | None:
        """Return the instant from which on events count."""
        return _midnight(day(self.since))

    @property
    def ends(self) -> datetime | None:
        """Return the instant before which they count: the end of the last day."""
        last = day(self.until)
        return _midnight(last + timedelta(days=1)) if last else None

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        """Return whose events can be looked at: words, query, and whether it is these."""
        return [(words, replace(self, by=by, before="").address, by == self.by) for by, words in BY.items()]

    @property
    def chips(self) -> list[tuple[str, str]]:
        """Return each filter in force in words, with the query without it."""
        shown = asdict(self) | {"kind": trail.KINDS.get(self.kind, "")}
        first = replace(self, before="")
        return [
            (f"{label}: {shown[name]}", replace(first, **{name: ""}).address)
            for name, label in LABELS.items()
            if shown[name]
        ]

    @property
    def words(self) -> str:
        """Say in one line what was asked for."""
        shown = asdict(self) | {"kind": trail.KINDS.get(self.kind, "")}
        parts = [f"{label.lower()} {shown[name]}" for name, label in LABELS.items() if shown[name]]
        return ", ".join([f"events of {BY[self.by].lower()}", *parts])

    def at(self, before: int) -> str:
        """Return the query of the page that begins behind an event."""
        return replace(self, before=str(before)).address


def _midnight(on: date | None) -> datetime | None:
    return datetime.combine(on, time.min, zone()) if on else None
