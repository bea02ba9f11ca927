"""What a profile says of one source's files, in the words of the configuration file."""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from ledger.rules.calls import Zone
from ledger.rules.contracts import Section

Words = Annotated[str, StringConstraints(pattern=r"\S", max_length=60)]
Heading = Annotated[str, StringConstraints(pattern=r"\S", max_length=200)]
Title = Annotated[str, StringConstraints(pattern=r"\S", max_length=200)]
HEADER_MOST = 40
"""A header stands among so many first lines."""
FIELDS_MOST = 1000


class ProfileColumns(Section):
    """Which heading is over what; `currency` may also be the one that every line is in."""

    reference: Heading | None = None
    amount: Heading | None = None
    currency: Heading | None = None
    date: Heading | None = None
    id: Heading | None = None
    debit: Heading | None = None
    credit: Heading | None = None
    sign: Heading | None = None


class Trailer(Section):
    """The last row of a file, which counts the lines above it; its fields are counted from 1."""

    begins: Words
    count: int | None = Field(None, ge=2, le=FIELDS_MOST)
    total: int | None = Field(None, ge=2, le=FIELDS_MOST)

    @model_validator(mode="after")
    def _says_something(self) -> "Trailer":
        if self.count is None and self.total is None:
            raise ValueError("A trailer has a count, a total, or both. Say in which field.")
        return self


class ProfileRules(Section):
    """How the files of one source are written: all that a file of it would otherwise be asked for."""

    name: Title
    entity: Annotated[str, StringConstraints(max_length=200)] = ""
    """The legal entity whose files they are; without one, whoever compares may choose it."""
    form: Literal["csv", "xlsx", "json", "camt", "mt940", "ofx"]
    encoding: Literal["", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252"] = ""
    separator: Literal["", ",", ";", "\t", "|"] = ""
    header: int | None = Field(None, ge=1, le=HEADER_MOST)
    """The line on which the header stands."""
    sheet: Annotated[str, StringConstraints(max_length=100)] = ""
    columns: ProfileColumns = ProfileColumns()
    decimal: Literal["", "point", "comma"] = ""
    days: Literal["", "dmy", "mdy"] = ""
    timezone: Zone | None = None
    """The zone whose day a time with an offset is of."""
    unit: Literal["major", "minor"] = "major"
    sign: Literal["as_written", "negated"] = "as_written"
    sums: tuple[Words, ...] = Field((), max_length=20)
    """More words that a row of sums or balances begins with."""
    trailer: Trailer | None = None

    def kept(self) -> dict[str, Any]:
        """Return what its row keeps as its rules: whose it is stands beside them."""
        return self.model_dump(mode="json", by_alias=True, exclude={"entity"})

    @property
    def named(self) -> dict[str, str]:
        """The headings by what they hold, as far as they are said."""
        return {part: name for part, name in self.columns.stored().items() if name is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of all that it says: two with the same one read every file alike."""
        plain = json.dumps(self.kept(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(plain.encode()).hexdigest()

    def words(self) -> dict[str, Any]:
        """Return what it says under its names in the file, without what is left at its default."""
        told = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return (
            {"name": self.name}
            | ({"entity": self.entity} if self.entity else {})
            | {"form": self.form, **told}
        )
