"""The product's own way: claim and record as an automation's process calls them, or over HTTP."""

import http.client
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from ledger import actions
from ledger.actions import Report, Submission
from ledger.rules.states import Outcome
from tests.bench import offer

IDLE_S = 1.0
DONE = Report(Outcome.SUCCEEDED, destination_reference=offer.REFERENCE, http_status=offer.STATUS)


def in_process(key: str) -> None:
    """Do one operation through the ledger's actions."""
    reply = actions.claim(
        Submission(
            offer.TYPE,
            offer.PAYLOAD,
            key=key,
            source=offer.SOURCE,
            description=offer.DESCRIPTION,
            subject=offer.SUBJECT,
            amount=offer.AMOUNT,
            currency=offer.CURRENCY,
            lease_s=offer.LEASE_S,
        ),
        actor=offer.ACTOR,
    )
    if reply.decision == "skip":
        return
    assert reply.decision == "proceed" and reply.attempt is not None and reply.token is not None
    done = actions.record(reply.attempt.uid, token=reply.token, report=DONE, actor=offer.ACTOR)
    assert done.decision == "skip"


# Callers share the machine with what is measured: what all their bodies have in common they write once.
_CLAIMED = {
    "type": offer.TYPE,
    "source": offer.SOURCE,
    "description": offer.DESCRIPTION,
    "subject": offer.SUBJECT,
    "amount": offer.AMOUNT,
    "currency": offer.CURRENCY,
    "payload": offer.PAYLOAD,
    "lease_s": offer.LEASE_S,
}
_CLAIM = b'{"key": "%b", ' + json.dumps(_CLAIMED).encode()[1:]
_REPORTED = {
    "outcome": "succeeded",
    "destination_reference": offer.REFERENCE,
    "http_status": offer.STATUS,
}
_OUTCOME = b'{"token": "%b", ' + json.dumps(_REPORTED).encode()[1:]


def claim_body(key: str) -> bytes:
    """The body of `POST operations/claim`."""
    return _CLAIM % key.encode()


def outcome_body(token: str) -> bytes:
    """The body of `POST attempts/{id}/outcome`."""
    return _OUTCOME % token.encode()


def report_body(attempt: Mapping[str, Any]) -> bytes:
    """An item of the body of `POST attempts/outcome-batch`."""
    return b'{"attempt": "%b", ' % attempt["id"].encode() + outcome_body(attempt["token"])[1:]


def batch_body(items: Iterable[bytes]) -> bytes:
    """The body of a batch of these items."""
    return b'{"items": [%b]}' % b", ".join(items)


class OverHttp:
    """One automation on a connection that is kept open, as a good client has it."""

    def __init__(self, *, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._used = time.monotonic()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __call__(self, key: str) -> None:
        """Do one operation: two requests, or one where it is done."""
        answer = self._post("operations/claim", claim_body(key))
        if answer["decision"] == "skip":
            return
        attempt = answer["attempt"]
        told = self._post(f"attempts/{attempt['id']}/outcome", outcome_body(attempt["token"]))
        assert told["decision"] == "skip", told

    def _post(self, path: str, body: bytes) -> dict[str, Any]:
        if time.monotonic() - self._used > IDLE_S:
            self._connection.close()  # the server has closed it, or is about to
        self._connection.request("POST", f"/api/v1/{path}", body, self._headers)
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        self._used = time.monotonic()
        assert response.status in (200, 201), answer
        return answer


class InBatches(OverHttp):
    """The same automation, which gathers its keys and does as many at once as a batch takes."""

    def __init__(self, *, port: int, token: str, at_once: int) -> None:
        super().__init__(port=port, token=token)
        self.at_once = at_once
        self._keys: list[str] = []

    def __call__(self, key: str) -> None:
        """Gather; the last one of a batch does all of them: two requests, or one where all are done."""
        self._keys.append(key)
        if len(self._keys) < self.at_once:
            return
        keys, self._keys = self._keys, []
        claimed = self._items("operations/claim-batch", [claim_body(key) for key in keys])
        reports = [report_body(one["attempt"]) for one in claimed if one["decision"] == "proceed"]
        told = self._items("attempts/outcome-batch", reports) if reports else []
        assert {one["decision"] for one in (*told, *claimed)} <= {"proceed", "skip"}, "something was refused"

    def _items(self, path: str, items: list[bytes]) -> list[dict[str, Any]]:
        answered: list[dict[str, Any]] = self._post(path, batch_body(items))["items"]
        assert len(answered) == len(items)
        return answered
