"""A draft, then its posting, sent by Tieout; effects are counted at the other side.

| what goes wrong                                                               | drafts | postings |
|-------------------------------------------------------------------------------|--------|----------|
| the draft's worker is killed after the effect, the posting's answer is lost   | 1      | 1        |
| the draft's request is lost, the posting's worker is killed after the effect  | 1      | 1        |
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import actions
from ledger.destinations import lookups, sending
from ledger.models import Operation, OperationType
from ledger.rules.following import Earlier
from ledger.rules.states import CaseKind, Outcome, State, Verdict
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.wires import Handler, serving
from tests.sandboxes import Sandbox
from tests.stories import Durban
from tests.workers import Worker, until

NAMED = {"metadata.operation": "{key}", "metadata.draft": "{after.destination_reference}"}
BY_PATH: dict[str, Any] = {
    "send": {
        "path": "/invoices/{after.destination_reference}/post",
        "headers": {"X-Draft": "{after.destination_reference}"},
        "set": {"draft.id": "{after.destination_reference}", "ref": "{key}"},
        "wrap": {"post": "{payload}", "of": "{after.destination_reference}"},
    },
    "record": {"id": "id", "reference": "ref", "status": "status", "done_statuses": ["posted"]},
    "lookup": {
        "path": "/invoices/{after.destination_reference}/posting",
        "match": {"draft": "{after.destination_reference}"},
    },
}


# --- by the real worker


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    """Durban with a second of patience, where a posting comes after an invoice."""
    durban = Durban(clock, base_url=sandbox.url)
    contract = {**durban.invoice.contract, "settle": "1s"}
    retry = {"attempts": 3, "base": "500ms", "cap": "500ms"}
    OperationType.objects.filter(pk=durban.invoice.pk).update(contract=contract, retry=retry)
    durban.invoice = OperationType.objects.select_related("destination").get(pk=durban.invoice.pk)
    post = OperationType.objects.get(pk=durban.invoice.pk)
    post.pk, post.name = None, "invoice.post"
    post.calls = {**post.calls, "send": {"path": "/invoices", "set": NAMED}}
    post.save()
    return durban


def posted(draft: Operation) -> Operation:
    """The posting of a draft, handed over with it."""
    submission = actions.Submission(
        "invoice.post",
        {"total": "1240.00"},
        key=f"post/{draft.key}",
        amount="1240.00",
        currency="ZAR",
        after=Earlier("invoice.create", draft.key),
    )
    return actions.submit(submission, actor="api:webshop").operation


def dies_after(durban: Durban) -> None:
    """The next send of a worker kills it between the effect and its record."""
    durban.invoice.destination.connector = "tests.connectors:DiesAfter"
    durban.invoice.destination.save(update_fields=["connector"])


def finished(durban: Durban, *operations: Operation) -> None:
    until(
        lambda: {durban.again(one).state for one in operations} == {State.COMPLETED},
        what="completed for all",
    )


def test_each_is_made_once_whichever_answer_is_lost_and_whoever_is_killed(
    durban: Durban, died: Path, worker: Worker, sandbox: Sandbox
) -> None:
    known = durban.invoiced(1)
    both = [(known, posted(known))]  # so that each look-up has found a record
    finished(durban, *both[0])
    # The draft's worker is killed; the posting's answer is lost.
    dies_after(durban)
    draft = durban.invoiced(2)
    sandbox.faults("drop_after", match=f"post/{draft.key}")
    both.append((draft, posted(draft)))
    until(died.exists, what="The death")
    assert durban.again(both[1][1]).attempt_count == 0, "it waits"
    durban.clock.advance(31)
    finished(durban, *both[1])
    # The draft's request is lost; the posting's worker is killed.
    draft = durban.invoiced(3)
    sandbox.faults("drop_before", match=draft.key)
    post = posted(draft)
    until(lambda: durban.again(draft).attempt_count > 0, what="The draft's first try")
    until(lambda: draft.attempts.filter(closed_at__isnull=False).exists(), what="Its end")
    died.unlink()
    both.append((draft, post))
    until(died.exists, what="The second death")
    durban.clock.advance(31)
    finished(durban, draft, post)
    for draft, post in both:
        assert (sandbox.effects(draft.key), sandbox.effects(post.key)) == (1, 1)
        made = sandbox.records(draft.key)[0]["id"]
        assert sandbox.records(post.key)[0]["metadata"]["draft"] == made
        assert durban.again(post).after_reference == made
        assert Outcome.RETRYABLE not in [one.outcome for one in post.attempts.all()]


# --- what goes out


class Books:
    """Answers a posting, and what is asked of it; keeps what it was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.heads: list[str] = []
        self.bodies: list[Any] = []

    def handler(self) -> Handler:
        def answer(connection: Any, request: bytes) -> None:
            head, _, body = request.partition(b"\r\n\r\n")
            self.heads.append(head.decode())
            self.bodies.append(json.loads(body) if body else None)
            content = json.dumps(self.answers.pop(0)).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

        return answer


def types(url: str) -> OperationType:
    """Postings whose calls name their draft everywhere; the draft is DR/1."""
    reach = {"base_url": url, "timeout": 3}
    books = make.destination("books", connection=reach)
    drafts = make.kind("draft.create", destination=books)
    make.tried(drafts, make.done("DR/1"), key="draft/1")
    return make.invoice_type(name="draft.post", destination=books, calls=BY_PATH)


def handed(posts: OperationType, key: str = "post/1") -> Operation:
    return make.handed(posts, key, amount=None, currency=None, after=Earlier("draft.create", "draft/1"))


def test_the_reference_stands_wherever_the_rules_name_it(database: Database) -> None:
    there = {"id": "PO-1", "draft": "DR/1", "ref": "post/1", "status": "posted"}
    books = Books({"id": "PO-1", "ref": "post/1", "draft": "DR/1", "status": "working"}, there)
    with serving(books.handler()) as wire:
        posts = types(wire.url)
        OperationType.objects.filter(pk=posts.pk).update(
            calls={**BY_PATH, "record": {**BY_PATH["record"], "pending_statuses": ["working"]}}
        )
        operation = handed(posts)
        digest = operation.payload_digest
        sending.send(operation.pk)
        assert make.again(operation).state == State.UNCERTAIN
        lookups.look(make.again(operation), actor="worker", reason="A look.")
    assert books.heads[0].startswith("POST /invoices/DR%2F1/post HTTP/1.1")
    assert "x-draft: dr/1" in books.heads[0].lower()
    sent = {"order": "483", "total": "1240.00", "ref": "post/1", "draft": {"id": "DR/1"}}
    assert books.bodies[0] == {"post": sent, "of": "DR/1"}
    assert books.heads[1].startswith("GET /invoices/DR%2F1/posting HTTP/1.1")
    done = make.again(operation)
    assert (done.state, done.destination_reference) == (State.COMPLETED, "PO-1")
    assert done.payload_digest == digest
    assert actions.open_payload(done) == {"order": "483", "total": "1240.00", "ref": "post/1"}, "as reviewed"


def test_a_record_that_is_known_by_its_draft_alone_belongs_to_one_posting(database: Database) -> None:
    there = {"id": "PO-1", "draft": "DR/1", "status": "posted"}
    books = Books(there, {**there, "draft": "DR/2"})
    with serving(books.handler()) as wire:
        posts = types(wire.url)
        first = handed(posts)
        assert lookups.ask(first).verdict is Verdict.ONE_MATCH
        assert lookups.ask(first).records == (), "another draft's"
        handed(posts, "post/2")
        found = lookups.ask(first)
    assert found.verdict is Verdict.COULD_NOT_LOOK
    assert found.why == "Another of its type comes after the same one."


def test_what_has_no_draft_to_name_cannot_be_looked_up_and_sends_nothing(database: Database) -> None:
    posts = types("http://127.0.0.1:1")
    drafts = OperationType.objects.get(name="draft.create")
    make.tried(drafts, make.done(""), key="draft/2")
    operation = make.handed(
        posts, "post/2", amount=None, currency=None, after=Earlier("draft.create", "draft/2")
    )
    assert make.case_of(operation) == CaseKind.FIRST
    sending.send(operation.pk)
    assert make.again(operation).attempt_count == 0
    assert lookups.ask(operation).verdict is Verdict.COULD_NOT_LOOK
