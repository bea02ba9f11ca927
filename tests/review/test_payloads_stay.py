"""Known failure 43, for what leaves the console as a file.

| of a payload                             | the evidence of an operation, archives of it | every other file |
|------------------------------------------|----------------------------------------------|------------------|
| a secret, or what `review.redact` hides  | never                                        | never            |
| the rest                                 | for who may correct it                       | never            |
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger import actions
from ledger.models import Operation
from tests import stories
from tests.databases import Clock
from tests.people import browser_of, person
from tests.reconcile.books import Books
from tests.review.test_every_door import DOORS, OPERATION, READ, Place

SECRETS = ("Zwartberg 17b", "NL91ABNA0417164300", "sk_live_9fK2")
SHOWN = "Ring twice at 4711"
PAYLOAD: dict[str, Any] = {
    "note": SHOWN,
    "customer": {"address": SECRETS[0], "accounts": [{"iban": SECRETS[1]}]},
    "authorization": f"Bearer {SECRETS[2]}",
}


class Told(stories.Durban):
    """Durban whose invoices carry what no page needs."""

    def invoiced(self, order: int, amount: str = "1240.00", **named: str) -> Operation:
        submission = actions.Submission(
            "invoice.create",
            {"order": str(order), "total": amount, **PAYLOAD},
            key=f"order/webshop/{order}/v1",
            source={"system": "webshop", "reference": str(order), "version": "1"},
            description=f"Order {order}",
            subject="Acme",
            amount=amount,
            currency=named.get("currency", "ZAR"),
        )
        return actions.submit(submission, actor="api:webshop").operation


def of_durban(place: Place) -> None:
    """Operations of the console's own story, one of which is in the queue by now."""
    place._durban = Told(place.clock)
    place._durban.invoice.review |= {"redact": ["customer"]}
    place._durban.invoice.save(update_fields=["review"])
    for name in ("ira", "bob"):
        person(name)
    place._durban.silent(1)


def of_a_run(place: Place) -> None:
    """A run with a difference of an operation that carries as much."""
    person("ira")
    books = Books.configured(place.folder, performed_by="caller")
    meant = books.submission("470")
    actions.claim(replace(meant, payload={**(meant.payload or {}), **PAYLOAD}), actor="api:shop")
    place.run = f"/runs/{books.run()[0].uid}"


def texts(answer: Any) -> Iterator[str]:
    """All of a file; of an archive, each that is in it."""
    whole = b"".join(answer) if answer.streaming else answer.content
    if whole[:2] != b"PK":
        yield whole.decode()
        return
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        for name in archive.namelist():
            yield f"{name}\n{archive.read(name).decode(errors='replace')}"


EVIDENCE = re.compile(r"evidence|\.zip$")
OF_RUNS = ("runs/", "periods/", "approvals/signatures/")
FILES = [route for route in READ if re.search(r"\.\w+$|evidence/$", route)]


@pytest.mark.parametrize("made", [of_durban, of_a_run])
def test_43_no_export_holds_a_secret_and_none_but_the_evidence_a_payload(
    clock: Clock, tmp_path: Path, made: Callable[[Place], None]
) -> None:
    place, runs = Place(clock, tmp_path), made is of_a_run
    made(place)
    shown: set[tuple[str, str]] = set()
    files = [route for route in FILES if route.startswith(OF_RUNS) == runs]
    assert len(files) >= (2 if runs else 10), files
    for route in files:
        address, _ = DOORS[route].scene(place, "bob")
        for name in ("bob", "ira"):
            answer = browser_of(name).get(address)
            assert answer.status_code == 200, route
            whole = "".join(texts(answer))
            assert [secret for secret in SECRETS if secret in whole] == [], route
            shown |= {(name, route)} if SHOWN in whole else set()
    assert all(name == "bob" and EVIDENCE.search(route) for name, route in shown), shown
    assert runs or ("bob", f"{OPERATION}evidence.json") in shown, "who may correct it reads it there"
