"""Pages that grow with an installation ask the database as often with many rows as with few.

| page             | what there is more of                                  |
|------------------|--------------------------------------------------------|
| duties           | people, what they decided, whose requests they approved |
| people           | people with second factors, limits and sessions        |
| hidden values    | fields that are hidden, values that were shown         |
| a proposal       | entities that are named, people, other proposals       |
"""

import uuid
from pathlib import Path
from typing import Any

from allauth.mfa.models import Authenticator
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import OperationType
from reconcile.proposals import limits
from tests.databases import Clock
from tests.people import browser_of, limited, person
from tests.review.test_entities import CAPE, DURBAN, billed
from tests.review.test_every_door import Place, asked, proposed, silent

WHO = {"duties": "ira", "people": "ada", "hidden": "bob", "proposal": "bob"}


def asked_for(addresses: dict[str, str]) -> dict[str, int]:
    """How often each page asks; each is opened once before, for what is kept in a process."""
    counts = {}
    for name, address in addresses.items():
        client = browser_of(WHO[name])
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        counts[name] = len(queries)
    return counts


def approved(place: Place, maker: str, checker: str) -> None:
    operation, form = asked(place, maker, maker=maker)
    answer = {"command_id": str(uuid.uuid4()), "reason": "Looked.", **form}
    assert browser_of(checker).post(f"/operations/{operation.uid}/approve/", answer).status_code == 303


def limited_to(name: str, *entities: str) -> str:
    """A proposal of what somebody sees from then on."""
    said: dict[str, Any] = {"actor": "ada", "reason": "Theirs.", "command_id": uuid.uuid4()}
    return f"/approvals/rules/{limits.propose_limit(person(name), to=entities, **said).uid}/"


def hides(*paths: str) -> None:
    OperationType.objects.filter(name="invoice.create").update(review={"due": "4h", "redact": [*paths]})


def test_duties_people_hidden_values_and_proposals_ask_the_same_however_much_there_is(
    clock: Clock, tmp_path: Path
) -> None:
    place = Place(clock, tmp_path)
    for name in ("ada", "ann", "bob", "eve", "ira", "dan"):
        person(name)
    approved(place, "ann", "bob")
    hides("order")
    operation = silent(place, "bob")[0]
    hidden = f"/operations/{operation.uid}/hidden/"
    pages = {"duties": "/access/duties/", "people": "/people/", "hidden": hidden}
    few = asked_for(pages | {"proposal": limited_to("dan", DURBAN)})
    for maker, checker in (("eve", "bob"), ("bob", "eve"), ("ann", "eve")):
        approved(place, maker, checker)
    hides("order", "total", "metadata.operation")
    form = {"path": "order", "reason": "Acme asked."}
    for _ in range(3):
        browser_of("bob").post(hidden, {**form, "command_id": str(uuid.uuid4())})
    for name in ("kim", "vic"):
        limited(name, CAPE)
        Authenticator.objects.create(user=person(name), type="totp", data={"secret": "sealed"})
    billed(place.durban, 7)
    proposed(place, "bob")
    many = asked_for(pages | {"proposal": limited_to("eve", DURBAN, CAPE)})
    assert many == few
    assert all(count <= most for count, most in zip(many.values(), MOST.values(), strict=True)), many


MOST = {"duties": 15, "people": 9, "hidden": 5, "proposal": 8}
"""A bound for each, so that what is asked grows only on purpose."""
