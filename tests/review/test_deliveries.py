"""The page of deliveries: what webhooks were told, in words, and who may tell once more."""

import re
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Delivery, Destination, Event, Operation, Webhook
from review import deliveries
from tests import stories
from tests.ledger.test_outbox import deliver, done
from tests.people import browser_of
from tests.receivers import Receiver, hooked, receiving


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def page_of(name: str, query: str = "") -> str:
    return browser_of(name).get(f"/deliveries/{query}").content.decode()


def in_each_state(durban: stories.Durban, shop: Receiver) -> list[Operation]:
    """A delivery that arrived, one that was given up, one that is tried again, and one that waits."""
    hooked(shop.url + "?key=in-the-address")
    operations = []
    for order, status in ((1, 204), (2, 410), (3, 503), (4, 503)):
        shop.status = status
        operations.append(done(durban, order))
        durban.clock.advance(400)
        if order < 4:
            deliver()
    return operations


def test_each_delivery_stands_in_words_with_its_tries_and_its_last_answer(
    durban: stories.Durban, shop: Receiver
) -> None:
    in_each_state(durban, shop)
    page = page_of("vic")
    rows = re.findall(r"<tr role=\"row\">\n(.*?)</tr>", page, re.S)
    told = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]
    for row, words in zip(
        told,
        (
            ("Waiting", "0 – Now"),
            ("Not taken yet", "1 It answered 503."),
            ("Given up", "1 It answered 410: nobody is there any more."),
            ("Delivered", "1 It answered 204."),
        ),
        strict=True,
    ):
        assert row.startswith(words[0]) and words[1] in row
    assert "Done: Order 3 · Acme" in told[1]
    assert ["Send again" in row for row in told] == [False, True, True, True]
    assert shop.url not in page and "in-the-address" not in page and "whsec" not in page
    for view, count in (("waiting", 2), ("given_up", 1), ("nonsense", 4)):
        assert page_of("vic", f"?view={view}").count('<tr role="row">\n') == count


def test_the_next_try_waits_until_the_receiver_is_asked_again(durban: stories.Durban, shop: Receiver) -> None:
    hooked(shop.url)
    shop.status = 503
    for order in (1, 2):
        done(durban, order)
    deliver()
    page = page_of("vic")
    assert page.count("its receiver failed and rests") == 1 and "Now" not in page
    durban.clock.advance(400)
    page = page_of("vic")
    assert "rests" not in page and page.count(">Now<") == 2


def test_an_administrator_sends_again_and_two_clicks_are_one(durban: stories.Durban, shop: Receiver) -> None:
    in_each_state(durban, shop)
    lost, ada = Delivery.objects.get(state="given_up"), browser_of("ada")
    page = ada.get("/deliveries/?view=given_up").content.decode()
    assert f'action="/deliveries/{lost.uid}/again/"' in page
    for words in ("It is sent again within seconds", "It is due already"):
        response = ada.post(f"/deliveries/{lost.uid}/again/", {"view": "given_up"}, follow=True)
        assert response.redirect_chain == [("/deliveries/?view=given_up", 303)]
        assert words in response.content.decode()
    event = Event.objects.get(kind="told_again")
    assert (event.actor, event.data["webhook"]) == ("ada", "shop")
    shop.status = 204
    deliver()
    assert Delivery.objects.get(pk=lost.pk).state == "delivered"
    assert [one.name for one in shop.got].count(f"msg_{lost.uid.hex}") == 2
    gone = ada.post(f"/deliveries/{uuid.uuid4()}/again/", follow=True).content.decode()
    assert "There is no such delivery." in gone


def test_one_that_was_delivered_and_is_sent_again_says_so(durban: stories.Durban, shop: Receiver) -> None:
    in_each_state(durban, shop)
    ada, taken = browser_of("ada"), Delivery.objects.get(state="delivered")
    assert "Delivered before" not in page_of("vic")
    ada.post(f"/deliveries/{taken.uid}/again/")
    assert page_of("vic").count("Delivered before, <time") == 1
    ada.post(f"/deliveries/{Delivery.objects.get(state='given_up').uid}/again/")
    assert page_of("vic").count("Delivered before, <time") == 1


def test_nobody_else_sends_again_and_the_page_says_who_does(durban: stories.Durban, shop: Receiver) -> None:
    in_each_state(durban, shop)
    lost = Delivery.objects.get(state="given_up")
    for name in ("vic", "ann", "bob"):
        page = page_of(name)
        assert 'aria-disabled="true"' in page and '<form method="post"' not in page
        assert "An administrator sends again: webhooks are theirs." in page
        assert ">Deliveries</a>" in page, "whoever may read it finds it"
        answer = browser_of(name).post(f"/deliveries/{lost.uid}/again/", follow=True).content.decode()
        assert "An administrator sends again" in answer
    assert Delivery.objects.get(pk=lost.pk).state == "given_up"
    assert Client().get("/deliveries/").status_code == 302
    assert browser_of("nora").get("/deliveries/").status_code == 403
    assert browser_of("ada", csrf=True).post(f"/deliveries/{lost.uid}/again/").status_code == 403


def test_long_lists_go_on_page_by_page_in_a_fixed_number_of_queries(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "SHOWN", 2)
    hooked("http://127.0.0.1:1/")
    for order in range(5):
        done(durban, order)
    seen, query, counts = [], "", set()
    ada = browser_of("ada")
    while True:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page = ada.get(f"/deliveries/{query}").content.decode()
        counts.add(len(asked) - bool(query))
        seen += re.findall(r"Order (\d)", re.sub(r'<span class="vh">.*?</span>', "", page))
        earlier = re.search(r'href="/deliveries/(\?before=[^"]+)"', page)
        if earlier is None:
            break
        query = earlier[1]
    assert seen == ["4", "3", "2", "1", "0"]
    assert len(counts) == 1
    assert "Earlier ones" in ada.get("/deliveries/?before=nonsense").content.decode()


def test_what_destinations_told_and_what_was_not_signed_is_counted(durban: stories.Durban) -> None:
    assert "What destinations tell us" not in page_of("vic")
    assert "Nothing was told yet." in page_of("vic")
    books = Destination.objects.get(name="books")
    books.connection = {
        **books.connection,
        "events": {"scheme": "stripe", "secret": ["env:X"], "reference": "r"},
    }
    books.save(update_fields=["connection"])
    assert "No event about an operation of ours yet." in page_of("vic")
    for _ in range(2):
        actions.refuse_unsigned(books)
    page = page_of("vic")
    assert "<dt>Durban Books</dt>" in page and "<dt>Mailroom</dt>" not in page
    assert "2 were refused because of their signature" in page
    assert not Webhook.objects.exists()
