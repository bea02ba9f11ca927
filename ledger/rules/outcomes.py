"""What one answer, or the lack of one, proves of one attempt: the outcome table, row by row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Literal

from ledger.rules.calls import FAILS, RecordMap, SendCall
from ledger.rules.contracts import Contract
from ledger.rules.facts import DECLINED, EXISTS, IN_USE
from ledger.rules.records import (
    Unreadable,
    holds,
    mark,
    read_money,
    read_status,
    read_text,
    search,
    standing_of,
)
from ledger.rules.redaction import redact_text
from ledger.rules.states import Outcome, Standing

Stage = Literal["not_sent", "silent", "answered"]

_BY_REFERENCE: Mapping[str, str] = {}
MESSAGE_MAX = 300
RETRY_AFTER_MAX_S = 366 * 86400.0
_ACCEPTED = 202
_OWN_WORDS = ("error.message", "message", "detail", "error_description", "errors[0].message", "title")
"""Where destinations put a sentence about what is wrong; nothing else of a body is kept."""


@dataclass(frozen=True)
class Answer:
    """What came back of one send.

    `access_lapsed`: a 401 that only says that the access token was too old; the next one is another.
    `not_sent`: refused, DNS, TLS or connecting failed before a byte of the request was sent. `silent`: a
    time-out or reset after a byte, or an answer broken off. `answered`: a whole answer. `headers` have
    lower-case names; `body` is decoded by `strict_json.loads_decimal`; `readable` is true of JSON and of an
    empty body; `detail` is in our own words.
    """

    stage: Stage
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    readable: bool = False
    detail: str = ""
    received_at: datetime | None = None
    access_lapsed: bool = False


@dataclass(frozen=True)
class Report:
    """What one attempt proved, as it is put on record; `message` is redacted.

    `replayed`: the answer says itself that it was given before under the same key.
    """

    outcome: Outcome
    destination_reference: str = ""
    http_status: int | None = None
    error_code: str = ""
    message: str = ""
    retry_after_s: float | None = None
    replayed: bool = False


def classify(
    answer: Answer,
    *,
    contract: Contract,
    map: RecordMap | None,
    reference: str,
    amount: Decimal | None,
    currency: str | None,
    call: SendCall | None = None,
    match: Mapping[str, str] = _BY_REFERENCE,
) -> Report:
    """Say what an answer proves of its attempt; what the contract does not list proves nothing.

    The contract's `when` comes before the status. Where several rules fit, the one that claims least counts:
    exists, in use, rejected, not done. `call` says where in the answer the record is, and where failures are;
    `match` what stands at several places of our record, where its reference is not the operation's.
    """
    report = _unsuccessful(answer, contract, fails=_fails(call, map))
    if report is None:
        record = (
            answer
            if call is None or call.item is None
            else replace(answer, body=search(call.item, answer.body))
        )
        marks = match or ({} if map is None else {map.reference: reference})
        report = _success(record, map, marks=marks, amount=amount, currency=currency)
    return replace(report, replayed=_replayed(answer, contract))


def _fails(call: SendCall | None, map: RecordMap | None) -> str | None:
    """Return where an answer tells of failures; where all of it is the record, its members are its own."""
    if call is not None and call.fails is not None:
        return call.fails
    return FAILS if map is None or (call is not None and call.item is not None) else None


def _replayed(answer: Answer, contract: Contract) -> bool:
    """Say whether a whole answer carries the header that marks a repeated one."""
    if answer.stage != "answered" or contract.replay_header is None:
        return False
    return answer.headers.get(contract.replay_header.lower(), "false").strip().lower() not in ("false", "")


def _unsuccessful(answer: Answer, contract: Contract, *, fails: str | None) -> Report | None:
    """Say what an answer proves that is no success by stage, contract or status; None of any other."""
    if answer.stage == "not_sent":
        return _report(answer, Outcome.RETRYABLE, "not_sent", words=answer.detail or "Not a byte was sent.")
    status = answer.status
    if answer.stage == "silent" or status is None:
        return _report(answer, Outcome.UNCERTAIN, "silent", words=answer.detail or "No answer came.")
    rule = _rule(answer, contract, status)
    if rule == "rejected" and answer.access_lapsed:
        words = "Its access token was taken no more; the next try has a new one."
        return _report(answer, Outcome.RETRYABLE, "access_lapsed", words=words)
    if rule is not None:
        outcome, code = _RULES[rule]
        return _report(answer, outcome, code or f"http_{status}")
    if not 200 <= status < 300:
        return _report(answer, Outcome.UNCERTAIN, f"http_{status}")
    if not answer.readable:
        words = answer.detail or "The answer cannot be read."
        return _report(answer, Outcome.UNCERTAIN, "unreadable", words=words)
    if holds(search(fails, answer.body)):
        return _report(answer, Outcome.UNCERTAIN, "errors")
    return None


_RULES: Mapping[str, tuple[Outcome, str]] = {
    "exists": (Outcome.UNCERTAIN, EXISTS),
    "in_use": (Outcome.UNCERTAIN, IN_USE),
    "rejected": (Outcome.REJECTED, ""),
    "not_done": (Outcome.RETRYABLE, ""),
    "garbled": (Outcome.UNCERTAIN, "unreadable"),
}


def _rule(answer: Answer, contract: Contract, status: int) -> str | None:
    """Return the rule of the contract that fits, by the body first and then by the status."""
    if contract.when:
        if not answer.readable and "json" in answer.headers.get("content-type", ""):
            return "garbled"  # a body that meant to say something, and the rules might turn on it
        for name in ("exists", "in_use", "rejected", "not_done"):
            expression = contract.when.get(name)
            if expression is not None and holds(search(expression, answer.body)):
                return name
    lists = {
        "exists": contract.exists,
        "in_use": contract.in_use,
        "rejected": contract.rejected,
        "not_done": contract.not_done,
    }
    return next((name for name, statuses in lists.items() if status in statuses), None)


def _success(
    answer: Answer,
    map: RecordMap | None,
    *,
    marks: Mapping[str, str],
    amount: Decimal | None,
    currency: str | None,
) -> Report:
    taken = answer.status == _ACCEPTED
    if map is None:
        return _report(answer, Outcome.ACCEPTED if taken else Outcome.SUCCEEDED)
    try:
        identity = read_text(search(map.id, answer.body), "id")
        theirs = {place: mark(answer.body, place) for place in marks}
        status = read_status(map, answer.body)
        total, code = read_money(map, answer.body, assumed_currency=currency or "")
    except Unreadable as error:
        return _report(answer, Outcome.UNCERTAIN, "unreadable", words=f"The record cannot be read: {error}.")
    if any(there and there != marks[place] for place, there in theirs.items()):
        words = "The answer is about a record that carries another reference."
        return _report(answer, Outcome.UNCERTAIN, "other_record", words=words)
    if amount is not None and ((total is not None and total != amount) or (code and code != currency)):
        words = "The record has another amount or currency."
        return _report(answer, Outcome.UNCERTAIN, "differs", words=words, seen=identity)
    return _by_standing(answer, map, identity=identity, status=status)


def _by_standing(answer: Answer, map: RecordMap, *, identity: str, status: str) -> Report:
    """Say what our own record's status proves; where none is returned, the answer's own counts."""
    standing = standing_of(map, status) if status else None
    if status and standing is None:
        words = "The record has a status that the rules do not list."
        return _report(answer, Outcome.UNCERTAIN, "unknown_status", words=words, seen=identity)
    if standing is Standing.VOID:
        return _report(answer, Outcome.UNCERTAIN, "differs", words="The record is void.", seen=identity)
    if standing is Standing.FAILED:
        words = "The record came back declined."
        return _report(answer, Outcome.REJECTED, DECLINED, words=words, seen=identity)
    if standing is Standing.PENDING or (standing is None and answer.status == _ACCEPTED):
        return _report(answer, Outcome.ACCEPTED, words="Accepted, not final.", seen=identity)
    if not identity:
        return _report(answer, Outcome.UNCERTAIN, "no_record", words="The answer names no record.")
    return _report(answer, Outcome.SUCCEEDED, seen=identity)


def _report(answer: Answer, outcome: Outcome, code: str = "", *, words: str = "", seen: str = "") -> Report:
    if not words and answer.status is not None and outcome is not Outcome.SUCCEEDED:
        theirs = _their_words(answer.body)
        words = f"Answered with status {answer.status}{': ' + theirs if theirs else '.'}"
    return Report(
        outcome=outcome,
        destination_reference=seen,
        http_status=answer.status,
        error_code=code,
        message=redact_text(words, limit=MESSAGE_MAX),
        retry_after_s=retry_after_s(answer),
    )


def _their_words(body: object) -> str:
    found = (search(place, body) for place in _OWN_WORDS)
    return next((words for words in found if isinstance(words, str) and words.strip()), "")


def retry_after_s(answer: Answer) -> float | None:
    """Read Retry-After (RFC 9110, 10.2.3) as seconds after the answer; None where nothing usable is said."""
    value = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,12}(?:\.\d+)?", value):
        return min(float(value), RETRY_AFTER_MAX_S)
    until = _http_date(value)
    # Their own clock wrote the date, so their own clock says how far off it is.
    now = _http_date(answer.headers.get("date", "")) or answer.received_at
    if until is None or now is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), RETRY_AFTER_MAX_S)


def _http_date(value: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
