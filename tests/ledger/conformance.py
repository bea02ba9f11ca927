"""The documents' own example of a connector and its double, and subjects to check."""

import re
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from config.environment import ROOT
from ledger.destinations.conformance import Subject
from ledger.destinations.connectors.base import Connector, Target
from ledger.rules.calls import Calls
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract

LOGIN = "login-that-stands-nowhere"
RECORD = {"id": "id", "reference": "reference", "status": "status"}
CALLS = {"send": {"set": {"reference": "{key}"}}, "record": RECORD, "lookup": {}, "list": {}}
BY_CURSOR = {"style": "cursor", "next": "after", "parameter": "after"}


@cache
def blocks() -> list[str]:
    """The Python of docs/connectors.md: the connector, then its double."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "connectors.md").read_text(), re.M | re.S)


def module(text: str, name: str = "kasse") -> types.ModuleType:
    """A module of this text."""
    made = types.ModuleType(name)
    exec(compile(text, name, "exec"), made.__dict__)  # noqa: S102 - it is the documents' own
    return made


def subject(make: Callable[[Target], Connector], calls: dict[str, Any] = CALLS, **reach: Any) -> Subject:
    """A connector at an account for tests with a login, by these rules."""
    known = {"base_url": "http://127.0.0.1:1", "options": {"login": "env:KASSE_LOGIN"}, **reach}
    target = Target("kasse", "Kasse", "main", Connection.read(known))
    rules = Calls.read(calls)
    return Subject(make, target, rules, Contract(), {"total": "1.00"}, secrets=(LOGIN,), may_send=True)
