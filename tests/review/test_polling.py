"""A page that waits looks again by itself and disturbs nothing: no token rotates, nothing flickers."""

import re
import uuid

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import stories
from tests.people import browser_of

HTMX = {"HX-Request": "true"}


def poll_of(page: str) -> str:
    found = re.search(r'<main [^>]*hx-get="([^"]+)" hx-trigger="every 2s"', page)
    assert found is not None, "the page does not look again"
    return found[1].replace("&amp;", "&")


def test_what_waits_for_a_person_does_not_poll(durban: stories.Durban) -> None:
    for operation in (durban.absent(483), durban.tried(durban.invoiced(1), stories.done("INV-1"))):
        page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
        assert "every 2s" not in page


def test_an_unchanged_page_is_not_swapped_and_a_changed_one_is(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    durban.allowed(operation)
    ann = browser_of("ann")
    page = ann.get(f"/operations/{operation.uid}/?view=late").content.decode()
    address = poll_of(page)
    assert "view=late" in address
    response = ann.get(address, headers=HTMX)
    assert (response.status_code, response.content) == (204, b"")
    durban.clock.advance(11)
    response = ann.get(address, headers=HTMX)
    assert response.status_code == 200
    assert "Allowed since" in response.content.decode()
    durban.tried(durban.again(operation), stories.done("INV-9"))
    page = ann.get(poll_of(response.content.decode()), headers=HTMX).content.decode()
    assert 'data-state="completed"' in page
    assert "every 2s" not in page


def test_41_a_polled_fragment_does_not_rotate_the_token(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    durban.allowed(operation)
    ann = browser_of("ann", csrf=True)
    page = ann.get(f"/operations/{operation.uid}/").content.decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found is not None
    cookie = ann.cookies["csrftoken"].value
    for _ in range(3):
        durban.clock.advance(11)
        response = ann.get(f"/operations/{operation.uid}/?seen=old", headers=HTMX)
        assert response.status_code == 200
    assert ann.cookies["csrftoken"].value == cookie
    form = {"command_id": str(uuid.uuid4()), "csrfmiddlewaretoken": found[1]}
    response = ann.post(f"/operations/{operation.uid}/undo/", form, follow=True)
    assert "Undone: the permit is withdrawn" in response.content.decode()


def test_back_in_the_browsers_history_gets_the_whole_page(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    headers = {**HTMX, "HX-History-Restore-Request": "true"}
    response = browser_of("ann").get(f"/operations/{operation.uid}/", headers=headers)
    assert response.content.startswith(b"<!doctype html>")


def test_a_page_that_only_waits_costs_one_query_of_its_own(durban: stories.Durban) -> None:
    """It asks every two seconds; beside it only the person is read."""
    operation = durban.absent(483)
    durban.allowed(operation)
    ann = browser_of("ann")
    address = poll_of(ann.get(f"/operations/{operation.uid}/").content.decode())
    with CaptureQueriesContext(connection) as queries:
        assert ann.get(address, headers=HTMX).status_code == 204
    asked = [query["sql"] for query in queries if "ledger_" in query["sql"]]
    assert len(asked) == 1, asked
    assert len(queries) <= 4, queries.captured_queries


def test_a_poll_for_what_does_not_exist_is_not_unchanged(durban: stories.Durban) -> None:
    address = f"/operations/{uuid.uuid4()}/?seen="
    assert browser_of("ann").get(address, headers=HTMX).status_code == 404
