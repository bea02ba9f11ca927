"""What goes wrong around the work: before it, after it, or on the way back."""

import math
from collections.abc import Callable
from dataclasses import replace

from ledger.sandbox.faults import Rule
from ledger.sandbox.messages import Answer, refuse

Work = Callable[[], Answer]
Wait = Callable[[float], object]

UNREADABLE = b"<html><body><h1>Something\xff\xfe went \x00 wrong</h1>"


def go_wrong(rule: Rule | None, work: Work, *, wait: Wait) -> Answer | None:
    """Do the work with the rule's trouble around it; None means: hang up without an answer."""
    mode = rule.mode if rule else ""
    quantity = (rule.quantity if rule else None) or 0
    match mode:
        case "drop_before":
            return None
        case "error_before":
            return _error(quantity, "Not now; nothing was done.")
        case "throttle":
            return _later(429, "throttled", message="Too many requests.", seconds=quantity)
        case "key_in_use":
            message = "A request with this key is being worked on."
            return _later(409, "key_in_use", message=message, seconds=quantity)
        case "delay_before":
            wait(quantity)
            return work()
        case "deliver_twice":
            work()
            return work()
        case "delay_after" | "drop_after" | "error_after" | "truncate" | "garble":
            return _spoil(work(), mode, quantity=quantity, wait=wait)
        case _:
            return work()


def _spoil(done: Answer, mode: str, *, quantity: float, wait: Wait) -> Answer | None:
    match mode:
        case "drop_after":
            return None
        case "error_after":
            return _error(quantity, "Something went wrong.")
        case "truncate":
            return replace(done, cut=True)
        case "garble":
            return Answer(200, UNREADABLE, content_type="text/html")
    wait(quantity)
    return done


def _error(status: float, message: str) -> Answer:
    return refuse(int(status), "unavailable", message=message)


def _later(status: int, code: str, *, message: str, seconds: float) -> Answer:
    return refuse(status, code, message=message, headers={"Retry-After": str(math.ceil(seconds))})
