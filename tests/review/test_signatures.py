"""A signature on its pages: what is signed is what its signer saw, and stays in sight."""

import re
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import actions as ledger
from ledger.rules.states import Outcome
from reconcile.differences import actions as differences
from reconcile.differences.models import Way
from reconcile.models import Finding, SignOff
from reconcile.signing import actions, leaves
from tests.databases import Clock
from tests.people import browser_of, person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.signatures import prepared, signed
from tests.review.signing import text


@pytest.fixture
def listed(clock: Clock, tmp_path: Path) -> Books:
    """An invoice twice, with its case, and one that is nobody's; ann, bob and eve."""
    clock.set(clock.now())
    for name in ("ann", "bob", "eve"):
        person(name)
    books = Books.configured(tmp_path, performed_by="caller")
    books.plan.operation_type.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    books.plan.operation_type.save(update_fields=["review"])
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    HELD.pages = [[*(record(n, key=key_of("402"), total="1860.00") for n in (1, 2)), record(7, key="X-7")]]
    return books


def page(one: SignOff, name: str = "bob") -> str:
    return text(browser_of(name).get(f"/approvals/signatures/{one.uid}/"))


def pressed(one: SignOff, shown: str, name: str = "bob", **form: str) -> str:
    """Press "Sign it" on a page that was opened before; return where it leads, or what the page says."""
    found = re.search(r'name="seen" value="(\w+)"', shown)
    assert found is not None
    sent = {"answer": "approve", "reason": "", "seen": found[1], **form}
    answer = browser_of(name).post(f"/approvals/signatures/{one.uid}/", sent)
    return "done" if answer.status_code == 303 else text(answer)


def test_what_is_signed_stays_in_sight_however_often_somebody_asks_to_open_it(listed: Books) -> None:
    run, _ = listed.run()
    one = signed(run)
    for _time in range(51):
        asked = actions.ask_reopening(one, actor="ann", reason="Hm.", command_id=uuid.uuid4())
        actions.take_back(asked.uid, actor="ann", reason="No.")
    for name in ("ann", "bob"):
        said = text(browser_of(name).get(f"/runs/{run.uid}/"))
        assert "Prepared by ann" in said and "Signed by bob" in said and "nobody yet" not in said
        assert f"/approvals/signatures/{one.uid}/reopen/" in said


def test_the_page_lists_what_is_open_and_what_it_did_not_show_is_not_signed(
    listed: Books, clock: Clock
) -> None:
    run, _ = listed.run()
    doubled, nobodys = (Finding.objects.get(run=run, reference=name) for name in (key_of("402"), "X-7"))
    assert doubled.case is not None
    one = prepared(run)
    shown = page(one)
    for said in (key_of("402"), "X-7", ">finance<", "1 860.00".replace(" ", "\N{NO-BREAK SPACE}")):
        assert said in shown.replace("&nbsp;", "\N{NO-BREAK SPACE}"), said
    words: dict[str, Any] = {"actor": "ann", "reason": "Comes on Friday.", "command_id": uuid.uuid4()}
    changes = (
        lambda: ledger.assign(doubled.case.uid, actor="ann", to="eve", reason="Hers."),
        lambda: differences.decide(nobodys, Way.WAIVE, until=clock.now() + timedelta(days=3), **words),
        # Nobody has done anything: the waiver has ended.
        lambda: clock.advance(timedelta(days=3, seconds=1)),
    )
    for change in changes:
        change()
        refused = pressed(one, shown)
        assert "It has changed since you looked" in refused and "Not now" in refused
        one.refresh_from_db()
        assert one.waits and one.signed is None
        shown = page(one)
    assert ">eve<" in shown and "Waived by" not in shown
    assert pressed(one, shown) == "done"
    one.refresh_from_db()
    assert one.signed is not None
    assert [(each["assignee"], each["waived"]) for each in one.signed["open"]] == [("eve", None), ("", None)]


def test_what_was_not_seen_at_all_is_not_signed_and_a_form_that_is_not_whole_says_so(listed: Books) -> None:
    one = prepared(listed.run()[0])
    shown = page(one)
    assert "It has changed since you looked" in pressed(one, shown, seen="")
    assert "Write at most 1000 characters." in pressed(one, shown, reason="x" * 1001)
    for odd in ({"answer": ""}, {"answer": "perhaps"}, {"seen": "x" * 65}):
        assert "not sent whole" in pressed(one, shown, **odd) or "Not now" in pressed(one, shown, **odd)
    assert "Not now" in text(browser_of("bob").post(f"/approvals/signatures/{one.uid}/"))
    one.refresh_from_db()
    assert one.waits
    assert pressed(one, shown, answer="refuse", reason="Who has 402?") == "done"


def test_the_page_says_what_makes_a_preparation_void_and_refuses_more_than_anybody_looks_at(
    listed: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = listed.run()
    ann = browser_of("ann")
    assert "before a later run over the same days" in text(ann.get(f"/runs/{run.uid}/prepare/"))
    monkeypatch.setattr(leaves, "MOST", 1)
    assert "More than 1 differences are open" in text(ann.get(f"/runs/{run.uid}/prepare/"))
    monkeypatch.setattr(leaves, "MOST", 2)
    assert "differences are open" not in text(ann.get(f"/runs/{run.uid}/prepare/"))
