"""One of several is chosen on the page: each record is named, asked about once more, and followed to its end.

| at the page       | what it says and does                                                             |
|-------------------|-----------------------------------------------------------------------------------|
| several are there | each with what its rules read of it, one suggested; closed till one's own check   |
| the dialog        | names what is kept and what goes, what the customer was told, and cannot be undone |
| chosen            | ten seconds to undo; then what is reversed, one by one                            |
| proved            | all of them, net 0.00                                                             |
"""

import re
import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Approval, Choice, Operation
from ledger.rules.records import Found
from ledger.rules.reversals import judged
from ledger.rules.states import Standing, Verdict
from tests import stories
from tests.databases import Clock
from tests.people import browser_of
from tests.review.test_evidence import document
from tests.stories import CALLS, Durban

VOID = {"path": "/invoices/{destination_reference}/void"}
NUMBERS = ("INV-1", "INV-2", "INV-3")


@pytest.fixture
def durban(clock: Clock) -> Durban:
    made = Durban(clock)
    made.invoice.calls = CALLS | {"void": VOID}
    made.invoice.save(update_fields=["calls"])
    return made


def there(operation: Operation, **void: Standing) -> Found:
    """Three records, with what tells them apart; those that are named are reversed."""
    more = {"INV-2": (("paid", "400.00"), ("sent", "Friday, 16:20"), ("period", "closed"))}
    found = stories.several(operation, *NUMBERS)
    records = [replace(one, more=more.get(one.id, ())) for one in found.records]
    records = [
        replace(one, standing=Standing.VOID, status="void") if one.id.replace("-", "") in void else one
        for one in records
    ]
    left = sum(one.live for one in records)
    verdict = Verdict.SEVERAL if left > 1 else Verdict.ONE_MATCH
    return Found(verdict, complete=True, records=tuple(records))


def doubled(durban: Durban, *, actor: str = "ann", order: int = 471) -> Operation:
    operation = durban.silent(order, "865.00")
    durban.clock.advance(60)
    return durban.looked(operation, there(operation), actor=actor)


def page(operation: Operation, way: str = "", *, name: str = "ann") -> str:
    html = browser_of(name).get(f"/operations/{operation.uid}/{way}").content.decode()
    return re.sub(r"\s+", " ", html.replace("\u00a0", " "))


def choose(operation: Operation, keep: str, *, name: str = "ann", clicks: int = 1, **changes: Any) -> Any:
    asked = page(operation, f"choose/?keep={keep}", name=name)
    form = dict(re.findall(r'name="(keep|seen|command_id)" value="([^"]+)"', asked))
    form |= {"reason": "The others are repeats."} | changes
    answers = [browser_of(name).post(f"/operations/{operation.uid}/choose/", form) for _ in range(clicks)]
    return answers[-1]


def reversed_there(durban: Durban, operation: Operation, number: str) -> None:
    """The worker voids one, and is told so."""
    reversal = operation.reversals.get(reversed_reference=number, corrected_at=None)
    claimed = actions.claim_to_send(reversal.pk, actor="worker")
    assert claimed is not None
    found = judged(there(operation), actions.chosen_for(reversal))
    assert actions.before_send(claimed, found=found, asked_at=durban.clock.now(), actor="worker")
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=uuid.uuid4(), actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=stories.done(number), actor="worker")


def test_each_record_stands_with_what_its_rules_read_and_one_is_suggested(durban: Durban) -> None:
    operation = doubled(durban)
    shown = page(operation)
    for words in ("400.00", "Friday, 16:20", "closed", "INV-2 is suggested: something is paid of it."):
        assert words in shown
    assert re.findall(r'value="(INV-\d)" required( checked)?', shown) == [
        ("INV-1", ""),
        ("INV-2", " checked"),
        ("INV-3", ""),
    ]
    for figure in ("2 595.00", "−1 730.00", "865.00"):
        assert figure in shown
    assert 'form="choose-one"' in shown
    assert "waits for a check made by you" in page(operation, name="bob")
    assert "Your role looks only" in page(operation, name="vic")


def test_the_dialog_names_each_record_and_what_cannot_be_undone(durban: Durban) -> None:
    operation = doubled(durban)
    asked = page(operation, "choose/?keep=INV-1")
    for words in (
        "Keep INV-1, and reverse two invoices?",
        "INV-2, 865.00 ZAR",
        "paid: 400.00, customer told: Friday, 16:20, period: closed",
        "1 730.00 ZAR",
        "cannot be taken back",
        "becomes a task for people",
        "Ten seconds to undo",
    ):
        assert words in asked, words
    for keep in ("INV-9", ""):
        assert "The one to keep does not stand there." in page(operation, f"choose/?keep={keep}")
        assert ">Confirm<" not in page(operation, f"choose/?keep={keep}")
    assert "Write a reason" in choose(operation, "INV-1", reason="").content.decode()
    assert "The form was not whole" in choose(operation, "INV-1", command_id="x").content.decode()
    assert "has changed since you chose" in choose(operation, "INV-1", seen="x").content.decode()
    assert not Choice.objects.exists()


def test_what_is_chosen_is_followed_on_the_page_until_it_is_proved(durban: Durban) -> None:
    operation = doubled(durban)
    assert choose(operation, "INV-2", clicks=2).status_code == 303, "a double click is one"
    seen = page(operation)
    assert Choice.objects.count() == 1
    for words in ("INV-2 is kept; two invoices to be reversed", ">Undo<", "Void invoice", "every 2s"):
        assert words in seen, words
    assert "choose-one" not in seen
    durban.clock.advance(11)
    reversed_there(durban, operation, "INV-1")
    assert ">Undo<" not in page(operation)
    reversed_there(durban, operation, "INV-3")
    shown = page(operation)
    assert "Done, but doubled" in shown, "requested is not solved, nor is what was only answered"
    assert "as the check found" not in shown
    # As a page reads it that was read between the last reversal's end and the look that follows.
    Operation.objects.filter(pk=operation.pk).update(told_look_at=None)
    assert "every 2s" in page(operation), "the look that proves it is still to come"
    done = durban.looked(operation, there(operation, INV1=Standing.VOID, INV3=Standing.VOID))
    assert (done.state, done.destination_reference) == ("completed", "INV-2")
    shown = page(done)
    assert "every 2s" not in shown
    for words in ("Kept: the only one that is left", "−1 730.00", "Net of the extras, as the check found"):
        assert words in shown, words
    assert '<td class="num">0.00</td>' in shown
    assert re.search(r"ann chose it at [^<]*\d\d:\d\d: “The others are repeats.”</p>", shown), shown
    assert len(re.findall(r">Void invoice: Durban Books confirmed it at [^<]*\d\d:\d\d", shown)) == 2
    reversal = operation.reversals.get(reversed_reference="INV-1")
    for words in ("Void INV-1", "INV-1 is reversed", "What it belongs to", operation.key):
        assert words in page(reversal), words
    pack = document(done)
    (one,) = pack["choices"]
    assert (one["by"], one["kept"], one["reversed"]) == ("ann", "INV-2", ["INV-1", "INV-3"])
    assert one["reason"] == "The others are repeats." and one["amount"] == "1730.00"
    hows = [link["how"] for link in pack["links"]]
    assert hows == ["Reversed by (record INV-1)", "Reversed by (record INV-3)"]
    assert document(reversal)["links"][0]["how"] == "It reverses a record of"


def test_the_page_says_that_the_kept_one_is_gone(durban: Durban) -> None:
    operation = doubled(durban)
    choose(operation, "INV-2")
    durban.clock.advance(11)
    for one in operation.reversals.select_related("operation_type__destination"):
        durban.looked(one, judged(there(operation, INV2=Standing.VOID), actions.chosen_for(one)))
    again = durban.again(operation)
    assert again.told_look_at is not None, "the operation itself is looked at as well"
    durban.looked(again, there(operation, INV2=Standing.VOID))
    shown = page(operation)
    assert "Choose one" in shown and "INV-2 is kept" not in shown
    durban.looked(again, there(operation, INV2=Standing.VOID, INV3=Standing.VOID))
    assert "Was kept, and no longer stands there" in page(operation)


def test_it_is_undone_as_a_whole_and_chosen_again(durban: Durban) -> None:
    operation = doubled(durban)
    choose(operation, "INV-1")
    undone = browser_of("ann").post(
        f"/operations/{operation.uid}/undo/", {"command_id": str(uuid.uuid4())}, follow=True
    )
    assert "Undone" in undone.content.decode()
    assert {one.state for one in operation.reversals.all()} == {"failed"}
    hows = {link["how"].partition(" (")[0] for link in document(operation)["links"]}
    assert hows == {"Not reversed by"}
    assert "choose-one" in page(operation)
    assert choose(operation, "INV-2").status_code == 303
    assert Choice.objects.latest("id").kept == "INV-2"


def test_a_task_for_people_says_what_to_do_and_that_a_check_closes_it(durban: Durban) -> None:
    durban.invoice.calls = CALLS
    durban.invoice.save(update_fields=["calls"])
    operation = doubled(durban)
    assert "each becomes a task for people" in page(operation, "choose/?keep=INV-1")
    choose(operation, "INV-1")
    assert "needs a person" in page(operation)
    task = page(operation.reversals.get(reversed_reference="INV-3"))
    for words in ("INV-3 is to be reversed by hand", "Reverse INV-3 in Durban Books, then check here"):
        assert words in task, words
    assert "To be reversed by hand" in browser_of("ann").get("/queue/").content.decode()


def test_above_the_limit_a_second_person_reads_what_goes(durban: Durban) -> None:
    durban.invoice.review |= {"four_eyes_above": {"ZAR": "1000.00"}}
    durban.invoice.save(update_fields=["review"])
    operation = doubled(durban)
    assert "Nothing happens yet: it needs" in page(operation, "choose/?keep=INV-1")
    choose(operation, "INV-1")
    request = Approval.objects.get()
    listed = re.sub(r"\s+", " ", browser_of("bob").get("/approvals/").content.decode().replace("\u00a0", " "))
    for words in ("to keep INV-1 and reverse the others", "Reverses INV-2, INV-3, together 1 730.00 ZAR"):
        assert words in listed, words
    durban.looked(operation, there(operation), actor="bob")
    asked = page(operation, "approve/", name="bob")
    assert "Above 1 000.00 ZAR" in page(operation, name="bob")
    assert "Approve the choice that keeps INV-1?" in asked
    actions.approve(request.uid, actor="bob", reason="", command_id=uuid.uuid4())
    assert operation.reversals.count() == 2
    said = re.search(r"ann chose it at [^<]*</p>", page(operation))
    assert said is not None and re.search(r"repeats.”. bob agreed at \d\d:\d\d", said[0]), said


def test_what_was_chosen_costs_the_page_a_few_queries_however_many_go(durban: Durban) -> None:
    operation, counts = doubled(durban), []
    for keep in ("", "INV-1"):
        if keep:
            choose(operation, keep)
        client = browser_of("ann")
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/operations/{operation.uid}/")
        counts.append(len(queries))
    assert counts[1] - counts[0] <= 6, counts
