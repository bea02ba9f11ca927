"""The history on an operation’s page: what others wrote is text there; a long one asks no more questions."""

from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.db import connection
from django.template import engines
from django.test.utils import CaptureQueriesContext

from ledger.models import Attempt
from review.own import LOOKUPS_SHOWN
from review.reading import read
from review.timeline import Entry
from review.trail import Line
from tests import stories
from tests.databases import Clock
from tests.people import browser_of


def test_what_anybody_wrote_stands_in_a_history_as_text() -> None:
    wrote, at = "<script>&\"'", datetime(2026, 11, 23, 9, 42, tzinfo=UTC)
    lines = [Line(at, wrote, wrote, wrote, said=said) for said in (True, False)]
    attempt = Attempt(number=1, closed_at=at, outcome="rejected", error_code=wrote, message=wrote, run=wrote)
    page = {"lines": lines, "entries": [Entry(at, "pending", wrote, wrote)], "attempts": [attempt], "now": at}
    form = "{% load history %}{% timeline entries %}{% trail lines %}{% tries attempts %}"
    text = engines["django"].from_string(form).render(page)
    assert "<script" not in text
    assert text.count("&lt;script&gt;&amp;&quot;&#x27;") == 11


def test_however_often_it_was_checked_the_page_costs_the_same_and_ones_own_check_counts(
    clock: Clock,
) -> None:
    durban, browser = stories.Durban(clock), browser_of("ann")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            browser.get(f"/operations/{operation.uid}/")
        return len(asked)

    operation = durban.looked(durban.silent(413), stories.ABSENT, actor="ann")
    ann, alone = User.objects.get(username="ann"), queries()
    mine = read(operation, ann).sitting
    for _ in range(LOOKUPS_SHOWN):
        durban.clock.advance(1)
        operation = durban.looked(operation, stories.ABSENT)
    reading = read(operation, ann)
    assert mine is not None and reading.sitting == mine and mine not in reading.lookups
    assert reading.latest == operation.lookups.order_by("-asked_at").first()
    durban.clock.advance(300)
    assert read(operation, ann).sitting is None
    # Without one's own check nobody asks what was told after it.
    assert queries() == alone - 1 <= 20
