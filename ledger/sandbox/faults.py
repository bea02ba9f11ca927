"""The rules that tell the books to misbehave: a queue in memory, used up in order.

A request meets at most one trouble (the first rule in the queue that fits it) and, on top, one rule of each
habit. Habits say what kind of destination this is; a trouble says what goes wrong this time. A rule waits for
a request to which its mode can happen: one about paging is not used up by a POST.
"""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ledger.sandbox.messages import RefusedError, Request, refuse

LONGEST_S = 3600


def _any_request(request: Request) -> bool:
    return True


def _post(request: Request) -> bool:
    return request.method == "POST"


def _new_invoice(request: Request) -> bool:
    return request.method == "POST" and request.segments == ["invoices"]


def _list_with(parameter: str) -> Callable[[Request], bool]:
    def asked(request: Request) -> bool:
        return request.method == "GET" and request.segments == ["invoices"] and parameter in request.query

    return asked


@dataclass(frozen=True)
class Mode:
    """A way to misbehave: what it can happen to, what its `arg` counts, and whether it is a habit."""

    happens_to: Callable[[Request], bool] = _any_request
    arg: str | None = None
    default: float | None = None
    habit: bool = False


MODES: Mapping[str, Mode] = {
    "drop_before": Mode(),
    "drop_after": Mode(),
    "delay_before": Mode(arg="seconds", default=5),
    "delay_after": Mode(arg="seconds", default=5),
    "error_before": Mode(arg="status", default=503),
    "error_after": Mode(arg="status", default=500),
    "throttle": Mode(arg="seconds", default=1),
    "truncate": Mode(),
    "garble": Mode(),
    "deliver_twice": Mode(),
    "accept_only": Mode(_new_invoice, arg="seconds"),
    "replay_error": Mode(_new_invoice, arg="status", default=500),
    "key_in_use": Mode(_post, arg="seconds", default=5),
    "ignore_keys": Mode(_new_invoice, habit=True),
    "ignore_filter": Mode(_list_with("reference"), habit=True),
    "substring_filter": Mode(_list_with("reference"), habit=True),
    "restart_paging": Mode(_list_with("cursor"), habit=True),
}


@dataclass
class Rule:
    """One order to misbehave; `count` requests are left to it, None: until it is cleared."""

    mode: str
    match: str = ""
    count: int | None = 1
    arg: float | None = None

    def fits(self, request: Request) -> bool:
        """Whether this request is one that the rule is waiting for."""
        return MODES[self.mode].happens_to(request) and request.contains(self.match)

    @property
    def quantity(self) -> float | None:
        """The arg in its mode's unit (seconds or an HTTP status), or the mode's default."""
        return MODES[self.mode].default if self.arg is None else self.arg

    def told(self) -> dict[str, object]:
        """The rule as `GET /_faults` shows it."""
        return {"mode": self.mode, "match": self.match, "count": self.count, "arg": self.arg}


@dataclass(frozen=True)
class Orders:
    """What one request meets: at most one trouble, and habits by their mode."""

    trouble: Rule | None = None
    habits: Mapping[str, Rule] = field(default_factory=dict)

    def get(self, mode: str) -> Rule | None:
        """The rule of that mode that this request meets, if any."""
        if self.trouble is not None and self.trouble.mode == mode:
            return self.trouble
        return self.habits.get(mode)


class Faults:
    """The queue of rules; it lives in memory only and is gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> None:
        """Put a rule at the end of the queue."""
        with self._lock:
            self._rules.append(rule)

    def clear(self) -> int:
        """Forget every rule; says how many there were."""
        with self._lock:
            cleared = len(self._rules)
            self._rules.clear()
            return cleared

    def told(self) -> list[dict[str, object]]:
        """The rules that are left, in their order."""
        with self._lock:
            return [rule.told() for rule in self._rules]

    def take(self, request: Request) -> Orders:
        """What this request meets; each rule that it meets is used once."""
        met: dict[str, Rule] = {}
        with self._lock:
            for rule in self._rules:
                kind = rule.mode if MODES[rule.mode].habit else "trouble"
                if kind not in met and rule.fits(request):
                    met[kind] = rule
                    rule.count = None if rule.count is None else rule.count - 1
            self._rules = [rule for rule in self._rules if rule.count != 0]
        return Orders(met.pop("trouble", None), met)


def rule_from(document: Mapping[str, object]) -> Rule:
    """The rule that a document orders; RefusedError (400) says what is wrong and what is known."""
    fields = ("mode", "match", "count", "arg")
    unknown = sorted(set(document) - set(fields))
    mode, match = document.get("mode"), document.get("match", "")
    count, arg = document.get("count", 1), document.get("arg")
    if unknown:
        raise _wrong(f"Unknown field {', '.join(unknown)}; known are {', '.join(fields)}.")
    if not isinstance(mode, str) or mode not in MODES:
        raise _wrong(f"Unknown mode {mode!r}; known are {', '.join(MODES)}.")
    if not isinstance(match, str):
        raise _wrong('match must be text: a part of "METHOD path?query body".')
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise _wrong("count must be a whole number from 1 up, or null: until cleared.")
    return Rule(mode, match, count, _arg_of(mode, arg))


def _arg_of(mode: str, arg: object) -> float | None:
    if arg is None:
        return None
    if isinstance(arg, bool) or not isinstance(arg, int | float) or not math.isfinite(arg):
        raise _wrong("arg must be a number (seconds or a status) or null.")
    if MODES[mode].arg == "status" and not (isinstance(arg, int) and 400 <= arg <= 599):
        raise _wrong(f"arg of {mode} is an HTTP status from 400 to 599.")
    if MODES[mode].arg == "seconds" and not 0 <= arg <= LONGEST_S:
        raise _wrong(f"arg of {mode} is seconds from 0 to {LONGEST_S}.")
    return arg


def _wrong(message: str) -> RefusedError:
    return RefusedError(refuse(400, "invalid_fault", message=message))
