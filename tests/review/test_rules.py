"""Rules proposed on a page: what a text would change stands there before, and only that is proposed."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import Destination
from reconcile.models import Plan, Proposal
from tests.databases import Database
from tests.people import browser_of
from tests.reconcile.books import Books
from tests.review.test_runs import plain

RULES = "/approvals/rules/"
TEXT = """
[plans.invoices]
operation_type = "invoice.create"
schedule = "15 6 * * 1-5"
timezone = "Africa/Johannesburg"
window = "35d"
grace = "20m"
tolerance = { ZAR = "0.50" }
recipients = ["finance@example.com"]
"""


@pytest.fixture
def books(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path)


def sent(step: str, name: str = "ada", **more: Any) -> Any:
    form = {"command_id": str(uuid.uuid4()), "step": step, "text": TEXT, **more}
    return browser_of(name).post(RULES, form)


def said(response: Any) -> str:
    return plain(response.content.decode())


def digest(page: str) -> str:
    return page.split('name="digest" value="')[1].split('"')[0]


def test_what_was_shown_is_proposed_and_in_force_once_another_agrees(books: Books) -> None:
    shown = said(sent("read"))
    for words in ("plan invoices · grace", "0s", "20m", "tolerance"):
        assert words in shown
    assert not Proposal.objects.exists()
    click = {
        "digest": digest(shown),
        "reason": "Agreed with the controller.",
        "command_id": str(uuid.uuid4()),
    }
    made = [sent("propose", **click)["Location"] for _ in range(2)]
    proposal = Proposal.objects.get()
    assert made == [f"/approvals/rules/{proposal.uid}/"] * 2
    assert Plan.objects.get().grace_s == 0
    answer = {"answer": "approve", "reason": ""}
    assert "Not now" in said(browser_of("ada").post(made[0], answer))
    assert browser_of("bob").post(made[0], answer).status_code == 303
    assert Plan.objects.get().grace_s == 1200
    assert "Nothing would change" in said(sent("read"))


def test_a_schedule_stands_in_words_old_and_new(books: Books) -> None:
    was, then = "At 06:15 on Monday through Friday (15 6 * * 1-5)", "At 07:30 every day (30 7 * * *)"
    Plan.objects.update(schedule="15 6 * * 1-5")
    made = sent(
        "propose",
        text=(text := TEXT.replace("15 6 * * 1-5", "30 7 * * *")),
        digest=digest(said(sent("read", text=text))),
        reason="Later.",
    )
    shown = said(browser_of("bob").get(made["Location"]))
    assert shown.index(was) < shown.index(then)


def test_what_would_hold_nothing_is_said_in_words(books: Books) -> None:
    none = TEXT.replace('["finance@example.com"]', "[]")
    Plan.objects.update(recipients=["old@example.com"])
    shown = sent("read", text=none).content.decode()
    then = shown.split("plan invoices · recipients</th>")[1].split("</tr>")[0]
    assert "<b>nothing</b>" in then and "[]" not in then


def test_other_than_was_shown_is_not_proposed(books: Books) -> None:
    shown = digest(said(sent("read")))
    refused = said(sent("propose", text=TEXT.replace("20m", "30m"), digest=shown, reason="Quietly."))
    assert "It would change something else by now than was shown." in refused
    assert "Give a reason" in said(sent("propose", digest=shown, reason=""))
    assert not Proposal.objects.exists()


def test_every_wrong_line_is_named_with_what_to_do(books: Books) -> None:
    wrong = said(sent("read", text=TEXT.replace('"35d"', '"ages"').replace("Johannesburg", "Nowhere")))
    assert "2 things wrong; nothing was changed" in wrong
    assert "line 6" in wrong and "line 5" in wrong
    file = SimpleUploadedFile("rules.toml", b"[plans.invoices]\nwindow = \xff")
    assert "is not UTF-8" in said(sent("read", text="", file=file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"x = {'9' * 5000}", "too large"),
        (f"x = 0x{'f' * 5000}", "too large"),
        (f"{'.'.join(['a'] * 2000)} = 1", "More than 200 dots"),
        (f"[{'.'.join(['a'] * 21)}]", "20 levels at most"),
        (f"x = {'[' * 3000}{']' * 3000}", "20 levels at most"),
        (f"x = {'[' * 21}{']' * 21}", "20 levels at most"),
        ('x = "\\u0000"', "the character zero"),
        ('"\\u0000" = 1', "the character zero"),
        ("x = 1\r\r\ny = 1", "x is not a section of this file"),
    ],
    ids=["nines", "hex", "dots", "header", "arrays", "few arrays", "zero", "zero name", "ends of lines"],
)
def test_any_text_is_answered_as_a_file_with_a_wrong_line(books: Books, text: str, words: str) -> None:
    page = said(sent("read", text=f"# first\n{text}"))
    assert words in page and "line 2" in page


def test_an_uploaded_file_counts_before_what_is_written_and_others_are_told_why_not(books: Books) -> None:
    file = SimpleUploadedFile("rules.toml", TEXT.replace("20m", "25m").encode())
    assert "25m" in said(sent("read", text=TEXT, file=file))
    for name in ("vic", "ann", "bob"):
        assert "An administrator proposes it" in said(sent("read", name))
    assert not Proposal.objects.exists()


def test_the_rules_in_force_stand_there_and_taken_in_again_change_nothing(books: Books) -> None:
    """In a file's own words, but for what may be a secret, which is named: that is written again."""
    Destination.objects.update(
        connection=Destination.objects.get().connection | {"options": {"password": "hunter2-as-a-mistake"}}
    )
    file = browser_of("vic").get(f"{RULES}in-force.toml")
    assert file["Content-Disposition"] == 'attachment; filename="rules-in-force.toml"'
    text = file.content.decode()
    page = said(browser_of("ada").get(RULES))
    for words in (
        '[operation_types."invoice.create".retry]',
        "[plans.invoices]",
        "# options is set, and not shown",
    ):
        assert words in text and words.replace('"', "&quot;") in page
    assert "hunter2" not in text + page
    asked = "[destinations.books]" + text.split("[destinations.books]")[1]
    for hidden, written in (
        ("# options is set, and not shown", 'options = { password = "hunter2-as-a-mistake" } #'),
        ("# set is set, and not shown", 'set = { "metadata.operation" = "{key}" } #'),
        ("limit=…", "limit=200"),
    ):
        assert hidden in asked
        asked = asked.replace(hidden, written)
    read = said(sent("read", text=asked))
    assert "Nothing would change" in read, read.split("h-lines")[-1][:1200]
    read = said(sent("read", text=asked.replace('grace = "0s"', 'grace = "20m"')))
    assert "plan invoices · grace" in read and read.count('data-label="Then"') == 1


def test_the_page_asks_the_same_however_many_rules_are_in_force(books: Books) -> None:
    ada, asked = browser_of("ada"), []
    for more in (0, 3):
        kind, plan = books.plan.operation_type, Plan.objects.get(name="invoices")
        for number in range(more):
            kind.pk, kind.name = None, f"invoice.{number}"
            kind.save(force_insert=True)
            plan.pk, plan.name, plan.operation_type = None, f"invoices-{number}", kind
            plan.save(force_insert=True)
        ada.get(RULES)
        with CaptureQueriesContext(connection) as queries:
            ada.get(RULES)
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 16, asked
