"""The evidence of one operation: all of it, alike on paper and as JSON, and no more than a reader may see."""

import json
import re
import uuid
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions, audit
from ledger.models import Operation
from ledger.rules import chain
from tests import stories
from tests.people import browser_of
from tests.review.test_every_door import Place
from tests.review.test_every_door import asked as asked_of


def document(operation: Operation, name: str = "ann") -> dict[str, Any]:
    answer = browser_of(name).get(f"/operations/{operation.uid}/evidence.json")
    assert answer["Content-Disposition"] == f'attachment; filename="evidence-{operation.uid}.json"'
    told: dict[str, Any] = json.loads(answer.content)
    return told


def paper(operation: Operation, name: str = "ann") -> str:
    page = browser_of(name).get(f"/operations/{operation.uid}/evidence/").content.decode()
    main = page.partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


def done_on_the_second_try(durban: stories.Durban) -> Operation:
    """Silence, absence, ann's leave, and an answer."""
    operation = durban.absent(483)
    durban.allowed(operation)
    durban.clock.advance(11)
    return durban.tried(operation, stories.done("INV-1187"))


def test_it_tells_each_try_check_decision_and_event_and_which_seal_covers_them(
    durban: stories.Durban,
) -> None:
    operation = done_on_the_second_try(durban)
    seal = audit.seal()
    assert seal is not None
    told, page = document(operation), paper(operation)
    assert told["operation"]["reference"] == "INV-1187" and told["operation"]["amount"] == "1240.00"
    assert [one["outcome"] for one in told["tries"]] == ["uncertain", "succeeded"]
    assert [one["verdict"] for one in told["lookups"]] == ["absent", "absent", "absent"]
    assert all(one["digest"] for one in told["lookups"]) and told["lookups"][0]["proof"] is True
    (permit,) = told["permits"]
    assert (permit["by"], permit["reason"]) == ("ann", "Acme is waiting for it.")
    assert permit["rests_on"] in [one["id"] for one in told["lookups"]]
    assert told["rules"]["now"]["settle"] == "30s" and told["rules"]["now_digest"].startswith("sha256:")
    assert "It remembers a key for 24h, which counts as over 10m before." in told["rules"]["now_says"]
    for words in (
        "It takes a key in a header, Idempotency-Key, of 255 characters at most. It remembers a key for 24h",
        "Under a key it keeps what succeeded.",
        "Refused: status 400, 401, 403,",
        "A record shows there within 30s. What it accepts is final within 1h.",
    ):
        assert page.count(words) == 2, "now, and when it was first tried"
    assert "key_retention" not in page and "settle:" not in page
    assert [one["id"] for one in told["events"]] == list(operation.events.values_list("pk", flat=True))
    assert {one["seal"] for one in told["events"]} == {1}
    assert told["seal"] == {"seal": 1, "head": seal.head, "through": seal.through, "covers_all": True}
    for words in (
        "Try 2",
        "INV-1187",
        "Acme is waiting for it.",
        seal.head,
        f"--kept {seal}",
        "drawn by ann , reviewer",
    ):
        assert words in page, words
    assert chain.kept([str(seal)]) == {1: seal.head}
    durban.looked(operation, stories.one(operation, "INV-1187"), actor="ann")
    assert document(operation)["seal"]["covers_all"] is False
    assert "The latest events are not sealed yet" in paper(operation)
    assert audit.seal() is not None
    durban.looked(operation, stories.one(operation, "INV-1187"), actor="ann")
    sealed = [one["seal"] for one in document(operation)["events"]]
    assert sealed == sorted(sealed, key=lambda number: number or 9) and {*sealed} == {1, 2, None}


def test_what_two_have_decided_stands_in_it_with_both_reasons(durban: stories.Durban, tmp_path: Any) -> None:
    place = Place(durban.clock, tmp_path, _durban=durban)
    operation, form = asked_of(place, "bob")
    decided = {"command_id": str(uuid.uuid4()), "reason": "I called them.", **form}
    assert browser_of("bob").post(f"/operations/{operation.uid}/approve/", decided).status_code == 303
    (one,) = document(operation)["approvals"]
    assert (one["maker"], one["reason"], one["decided_by"], one["why"]) == (
        *("eve", "Nothing is there."),
        *("bob", "I called them."),
    )
    assert one["answer"] == "approved" and one["says"]["where"] == "The outbox"
    assert "I called them." in paper(operation, "vic")


def test_it_shows_of_the_payload_what_its_reader_may_see(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "redact": ["customer.email"]}
    durban.invoice.save(update_fields=["review"])
    payload = {
        "order": "483",
        "customer": {"email": "thandi@example.com"},
        "token": "sk_live_0123456789abcdef",
    }
    submission = actions.Submission("invoice.create", payload, key="k/1", amount="1240.00", currency="ZAR")
    operation = actions.submit(submission, actor="api:webshop").operation
    fields = {one["path"]: one["value"] for one in document(operation)["payload"]}
    assert fields["order"] == "“483”" and fields["customer.email"] == fields["token"] == "hidden"
    for name in ("vic", "ada"):
        told = document(operation, name)
        assert told["payload"] == [] and "its digest alone" in told["pack"]["left_out"][0]
        assert told["operation"]["payload_digest"] == operation.payload_digest
    for name in ("vic", "ann"):
        text = paper(operation, name) + json.dumps(document(operation, name))
        assert "thandi" not in text and "sk_live" not in text


def test_its_queries_do_not_grow_with_what_happened(durban: stories.Durban) -> None:
    operation = done_on_the_second_try(durban)
    ann, counts = browser_of("ann"), []
    for looks in (1, 5):
        for _ in range(looks):
            durban.looked(operation, stories.one(operation, "INV-1187"))
        with CaptureQueriesContext(connection) as asked:
            ann.get(f"/operations/{operation.uid}/evidence/")
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 35, counts
