"""What a destination promises, each promise in words; for paper, beside the values as they are stored."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ledger.rules.contracts import Contract
from reconcile.configuration.showing import duration

_CHANGED = {
    "rejects": "A key that was used for other data is refused.",
    "replays": "A key that was used answers as it did before, whatever the data.",
    "unknown": "What it does with a used key and other data is not known.",
}
_SAVES = {
    "2xx": "Under a key it keeps what succeeded.",
    "4xx": "Under a key it keeps what succeeded, and what it refused.",
    "all": "Under a key it keeps every answer, errors too.",
    "unknown": "Which answers it keeps under a key is not known.",
}
_STATUSES = {
    "not_done": "Not done",
    "rejected": "Refused",
    "in_use": "The key is being worked on",
    "exists": "There already",
    "absent": "Not there, asked about it",
}


def said(stored: Mapping[str, Any]) -> list[str]:
    """Say stored rules in sentences; empty where they cannot be read, as those of another version may be."""
    try:
        return list(_sentences(Contract.read(stored)))
    except ValidationError:
        return []


def _sentences(contract: Contract) -> Iterator[str]:
    if contract.takes_key:
        yield from _keyed(contract)
    else:
        yield "It takes no key."
    for name, words in _STATUSES.items():
        if statuses := getattr(contract, name):
            yield f"{words}: status {', '.join(map(str, statuses))}."
    for rule, expression in contract.when.items():
        yield f"{_STATUSES[rule]}, where {expression}."
    yield f"A record shows there within {duration(contract.settle_s)}."
    yield f"What it accepts is final within {duration(contract.final_within_s)}."
    whose = "Tieout" if contract.retry_owner == "tieout" else "the client of its automation"
    yield f"Tries are repeated by {whose} alone."


def _keyed(contract: Contract) -> Iterator[str]:
    where = "a header" if contract.idempotency == "header" else "a field"
    yield f"It takes a key in {where}, {contract.key_name}, of {contract.key_max} characters at most."
    if contract.key_retention_s is None:
        yield "For how long it remembers a key is not known, which counts as not at all."
    else:
        remembers, margin = duration(contract.key_retention_s), duration(contract.key_margin_s)
        yield f"It remembers a key for {remembers}, which counts as over {margin} before."
    yield _CHANGED[contract.changed_data]
    yield _SAVES[contract.saves]
    if contract.replay_header:
        yield f"It says in {contract.replay_header} that an answer was given before."
