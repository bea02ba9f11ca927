"""A draft and its posting name each other, and each says what the other's state means for it."""

import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Operation, OperationType
from ledger.rules.following import Earlier
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.people import browser_of

AFTER_DRAFT = Earlier("draft.create", "draft/483")


@pytest.fixture
def drafts(database: Database) -> OperationType:
    return make.kind("draft.create")


@pytest.fixture
def posts(database: Database) -> OperationType:
    return make.kind("draft.post", looks=False)


def shown(operation: Operation) -> str:
    page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    return re.sub(r"\s+", " ", page)


def row_of(operation: Operation) -> str:
    page = browser_of("ann").get("/queue/").content.decode()
    (row,) = re.findall(rf"<tr[^>]*>(?:(?!</tr>).)*{operation.uid}.*?</tr>", page, re.S)
    return re.sub(r"<[^>]+>|\s+", " ", row)


def drafted(drafts: OperationType) -> tuple[Operation, actions.Reply]:
    """A draft whose caller is at work."""
    draft = make.submission(drafts, AFTER_DRAFT.key, description="Draft of order 483")
    reply = actions.claim(draft, actor="api:shop")
    return reply.operation, reply


def posting(posts: OperationType) -> Operation:
    """Its posting, claimed where that is possible."""
    asked = make.submission(posts, "post/483", description="Posting of order 483", after=AFTER_DRAFT)
    return actions.claim(asked, actor="api:shop").operation


def record(operation: Operation, token: str | None, report: actions.Report) -> None:
    attempt = operation.attempts.get(closed_at=None)
    actions.record(attempt.uid, token=token or "", report=report, actor="api:shop")


def test_what_waits_says_what_for_and_each_leads_to_the_other(
    drafts: OperationType, posts: OperationType
) -> None:
    draft, claim = drafted(drafts)
    post = posting(posts)
    assert "Waits for Draft of order 483" in row_of(post)
    page = shown(post)
    assert "<span>Waits for Draft of order 483</span>" in page
    assert "It goes as soon as Draft of order 483 is done." in page
    assert f'<a href="/operations/{draft.uid}/">Draft of order 483</a>' in page and "comes first" in page
    other = shown(draft)
    assert f'<a href="/operations/{post.uid}/">Posting of order 483</a>' in other
    assert "comes after it" in other
    record(draft, claim.token, make.done("DR-7"))
    Sweep().run()
    assert "Next try now" in row_of(post)
    page = shown(post)
    assert "let it go." in page and "draft/483 is done." in page and "comes first, DR-7" in page


def test_what_cannot_go_any_more_is_for_a_person(drafts: OperationType, posts: OperationType) -> None:
    draft, claim = drafted(drafts)
    post = posting(posts)
    record(draft, claim.token, make.REFUSED)
    assert "A person decides about that one." in shown(post)
    actions.end(draft.pk, actor="ann", reason="Not needed.", command_id=uuid.uuid4())
    Sweep().run()
    assert "Decide" in row_of(post)
    page = shown(post)
    assert "it is not sent: Draft of order 483, which comes first, did not happen." in page
    assert "Nothing has been sent; nothing will be." in page, "it can be cancelled"


def test_both_pages_show_that_it_was_sent_after_what_is_missing_now(
    drafts: OperationType, posts: OperationType, clock: Clock
) -> None:
    draft, claim = drafted(drafts)
    record(draft, claim.token, make.done("DR-7"))
    asked = make.submission(posts, "post/483", description="Posting of order 483", after=AFTER_DRAFT)
    reply = actions.claim(asked, actor="api:shop")
    record(reply.operation, reply.token, make.done("POST-7"))
    assert "Nothing follows by itself" not in shown(reply.operation)
    clock.advance(31)
    make.looked(draft)
    page = shown(reply.operation)
    assert (
        "It was sent after DR-7. Draft of order 483 is now: may have happened, and waits for a person."
        in page
    )
    assert "It was sent after this one: Posting of order 483 is now: done." in shown(draft)


def test_how_much_comes_after_it_costs_no_further_query(drafts: OperationType, posts: OperationType) -> None:

    draft, _ = drafted(drafts)
    actions.claim(make.submission(posts, "post/beside"), actor="api:shop")  # a neighbour in the queue
    ann = browser_of("ann")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            ann.get(f"/operations/{draft.uid}/")
        return len(asked)

    alone = queries()
    for number in range(5):
        actions.claim(make.submission(posts, f"post/{number}", after=AFTER_DRAFT), actor="api:shop")
    assert queries() == alone
