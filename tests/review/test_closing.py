"""The other ways to close: on a person's word, as not done, cancelled; each only where it is true."""

import re
import uuid
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from ledger.models import Event, Operation
from ledger.rules.states import Evidence, State
from tests import stories
from tests.people import browser_of


def close(operation: Operation, way: str, *, who: str = "ann", **form: str) -> Any:
    form = {"reason": "I asked them.", "command_id": str(uuid.uuid4()), **form}
    return browser_of(who).post(f"/operations/{operation.uid}/{way}/", form)


def page(operation: Operation) -> str:
    return browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()


@pytest.mark.parametrize("reference", ["", "  ", "x" * 201, "INV\x07"])
def test_a_word_needs_a_reference(durban: stories.Durban, reference: str) -> None:
    operation = durban.silent(483)
    response = close(operation, "confirm-with-reference", reference=reference)
    assert response.status_code == 200
    assert b"id_reference" in response.content
    assert durban.again(operation).state == State.UNCERTAIN


def test_it_is_done_on_a_persons_word_and_says_so_until_it_is_seen(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    assert close(operation, "confirm-with-reference", reference="INV-77").status_code == 303
    operation = durban.again(operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.ATTESTED)
    assert "Done on ann’s word, not yet seen in Durban Books." in page(operation)
    durban.looked(operation, stories.one(operation, "INV-77"))
    assert "Durban Books confirmed INV-77 at" in page(operation)
    assert "ann’s word" not in page(operation)


def test_a_word_is_no_way_to_close_what_is_proved_not_done(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(455), stories.REFUSED)
    response = close(operation, "confirm-with-reference", reference="INV-77")
    assert "If you see it there, check first." in response.content.decode()
    assert durban.again(operation).state == State.FAILED


def test_it_did_not_happen_needs_proof(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    response = close(operation, "did-not-happen")
    assert "Not yet: nothing proves it. A check can." in response.content.decode()
    reminder = durban.expired(398)
    response = close(reminder, "did-not-happen")
    assert "needs an override by an approver" in response.content.decode()
    assert not Event.objects.filter(kind="ended").exists()


def test_what_did_not_happen_is_left_and_its_case_closed(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    assert close(operation, "did-not-happen").status_code == 303
    operation = durban.again(operation)
    assert (operation.state, operation.held_at) == (State.FAILED, None)
    closed = operation.events.get(kind="closed")
    assert (closed.actor, closed.reason) == ("ann", "I asked them.")


def test_19_the_first_cause_stays_on_top_when_the_tries_are_used_up(durban: stories.Durban) -> None:
    durban.invoice.retry = {"attempts": 3, "base": "0s"}
    durban.invoice.save(update_fields=["retry"])
    operation = durban.tried(durban.invoiced(455), replace(stories.UNSENT, message="No route to Durban."))
    for _ in range(2):
        operation = durban.tried(operation, stories.UNSENT)
    verdict, _, folded = page(operation).partition("<details")
    assert "Every try is proved not done" in verdict
    assert "What went wrong first: No route to Durban." in verdict
    assert "The connection was refused." in folded


def test_the_one_that_counts_is_named_and_the_surplus_stays_a_case(durban: stories.Durban) -> None:
    operation = durban.silent(471)
    several = stories.several(operation, "INV-1181", "INV-1182")
    durban.looked(operation, several, actor="ann")
    assert close(operation, "confirm-with-reference", reference="INV-1181").status_code == 303
    shown = page(operation)
    assert "Done, but doubled" in shown and ">Confirm with reference<" in shown
    asked = browser_of("ann").get(f"/operations/{operation.uid}/confirm-with-reference/").content.decode()
    assert "Which invoice counts?" in asked
    assert close(operation, "confirm-with-reference", reference="INV-1182").status_code == 303
    operation = durban.again(operation)
    assert (operation.held_at, operation.destination_reference) == (None, "INV-1182")
    assert (operation.evidence, operation.evidence_by) == (Evidence.ATTESTED, "ann")
    assert ">Confirm with reference<" not in page(operation)


def test_39_cancel_is_honest_before_the_send_only(durban: stories.Durban) -> None:
    operation = durban.invoiced(412)
    assert close(operation, "cancel").status_code == 303
    assert durban.again(operation).state == State.FAILED
    assert "ann cancelled it at" in page(operation)
    assert "before it was sent. Nothing was created." in page(operation)
    sent = durban.silent(413)
    response = close(sent, "cancel")
    assert "Too late to cancel: it has been sent." in response.content.decode()
    running = durban.invoiced(485)
    durban.started(running)
    assert "In progress: its answer is expected by" in close(running, "cancel").content.decode()


def listed(operation: Operation, address: str) -> str:
    """What the queue's link to it carries along."""
    queue = unescape(browser_of("ann").get(address).content.decode())
    return queue.partition(f'href="/operations/{operation.uid}/')[2].partition('"')[0]


def test_37_after_an_action_the_next_item_opens_in_the_same_filter_at_the_same_place(
    durban: stories.Durban,
) -> None:
    """The filter, the page and the place were lost: all of it stands in one address."""
    first, second, third = (durban.absent(order) for order in (1, 2, 3))
    query = listed(second, "/queue/?view=person&order=age")
    assert query.startswith("?view=person&order=age&") and query.endswith("&place=2")
    form = {"reason": "Nobody wants it.", "command_id": str(uuid.uuid4())}
    ann = browser_of("ann")
    response = ann.post(f"/operations/{second.uid}/did-not-happen/{query}", form, follow=True)
    ((address, status),) = response.redirect_chain
    assert status == 303 and address.startswith(f"/operations/{third.uid}/?view=person&order=age&")
    assert address.endswith("&place=2"), "it stands where the one that was decided stood"
    shown = unescape(response.content.decode())
    said = re.search(r'role="status">([^<]+)<a href="([^"]+)">Go back to it</a>', shown)
    assert said is not None and said[1] == "Order 2: closed as not done. "
    assert "number 2" in shown and f'rel="prev" href="/operations/{first.uid}/?view=person' in shown
    assert "Go back to it" not in unescape(ann.get(address).content.decode()), "said once"
    back = unescape(ann.get(said[2]).content.decode())
    assert "no longer in this list" in back and "Next in the queue" in back
    for way, other, place in (("next", third, 2), ("prev", first, 1)):
        there = back.partition(f'rel="{way}" href="/operations/{other.uid}/?view=person&order=age&')[2]
        assert there.partition('"')[0].endswith(f"&place={place}")


def test_37_what_is_not_finished_or_the_last_of_its_list_stays_where_it_is(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    durban.invoice.save(update_fields=["review"])
    above, last = durban.blind(318, "18400.00"), durban.blind(319, "10.00")
    ann, form = browser_of("ann"), {"reason": "I see it there.", "reference": "INV-7"}

    def sent(operation: Operation) -> str:
        query = listed(operation, "/queue/?view=person&order=age")
        way = f"/operations/{operation.uid}/confirm-with-reference/{query}"
        answer = ann.post(way, {**form, "command_id": str(uuid.uuid4())})
        return str(answer["Location"]).partition("?")[0]

    assert sent(above) == f"/operations/{above.uid}/", "it waits for a second person"
    assert sent(last) == f"/operations/{last.uid}/", "nothing comes after it"
    bare = durban.absent(4)
    assert close(bare, "did-not-happen")["Location"] == f"/operations/{bare.uid}/", "it came from no list"
