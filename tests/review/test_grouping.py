"""The queue by cause and destination: one decision a line, and together exactly the list."""

import json
import re
from pathlib import Path

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from review.models import Bulk
from tests import stories
from tests.people import browser_of
from tests.review.test_display import set_rates


def lines(client: Client, query: str) -> dict[str, tuple[str, int, str]]:
    """Return of each cause its address, its count and its money."""
    page = client.get(f"/queue/?{query}").content.decode()
    found = re.findall(
        r'<th scope="row" role="rowheader"><a href="/queue/\?([^"]+)">([^<]+)<.*?data-label="Items">(\d+)<'
        r'.*?data-label="Money at risk">(.*?)</td>',
        page,
        re.DOTALL,
    )
    return {
        cause: (address.replace("&amp;", "&"), int(count), money) for address, cause, count, money in found
    }


def test_the_groups_add_up_to_the_list_and_each_leads_to_its_own(durban: stories.Durban) -> None:
    durban.every_state()
    ann = browser_of("ann")
    for view in ("view=open", "view=person&currency=ZAR", "view=late", "view=person&text=umgeni"):
        rows = json.loads(ann.get(f"/queue.json?{view}").getvalue())
        shown = lines(ann, f"{view}&group=cause")
        waiting = sum(row["state"] in ("Waiting", "In progress") for row in rows["rows"])
        assert sum(count for _, count, _ in shown.values()) == len(rows["rows"]) - waiting > 0, view
        for cause, (address, count, money) in shown.items():
            own = json.loads(ann.get(f"/queue.json?{address}").getvalue())["about"]
            assert own["count"] == count, cause
            sums = {f"{total}{currency}" for currency, total in own["totals"].items()} or {"–"}
            assert set(re.sub(r"\s", "", money).split("<br>")) == sums, cause
    page = ann.get("/queue/?group=cause").content.decode()
    assert re.search(r">\d+ wait for their turn or are under way</a>", page)
    assert 'href="/queue/">Show each by itself' in page


def test_31_32_a_group_is_one_click_and_frozen_with_its_number(durban: stories.Durban) -> None:
    """Four hundred of one cause are one decision: its number is on the button, and nothing joins it."""
    held = {str(durban.absent(order).uid) for order in range(600, 612)}
    durban.every_state()
    ann, vic = browser_of("ann"), browser_of("vic")
    page = ann.get("/queue/?view=person&group=cause").content.decode()
    forms = re.findall(r"<form method=\"post\" action=\"/bulk/freeze.*?</form>", page, re.DOTALL)
    (form,) = [form for form in forms if "It is absent" in form]
    (number,) = re.findall(r">Send all (\d+) again…<", form)
    late = durban.absent(700)
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    assert fields["reason"] == "absent" and fields["destination"] == "books" and "group" not in fields
    assert ann.post("/bulk/freeze/", fields).status_code == 303
    bulk = Bulk.objects.get()
    frozen = {str(uid) for uid in bulk.items.values_list("operation__uid", flat=True)}
    assert held <= frozen and bulk.frozen == len(frozen) == int(number) + 1, (
        "all that the filter finds at the click"
    )
    again = durban.absent(701)
    assert str(late.uid) in frozen and str(again.uid) not in frozen, "none joins a list that is frozen"
    assert "…<" not in vic.get("/queue/?view=person&group=cause").content.decode(), (
        "who only looks sees no button"
    )


def test_the_riskiest_group_comes_first_by_the_rates_and_priorities_of_the_list(
    durban: stories.Durban, tmp_path: Path
) -> None:
    durban.absent(1, "100.00", currency="EUR")
    durban.silent(2, "1000.00")
    durban.expired(3)
    durban.clock.advance(86400)
    assert list(lines(browser_of("ann"), "group=cause"))[-1] == "It fell silent"
    for euro, first in (("20.00", "It is absent"), ("2.00", "In doubt, software looks")):
        set_rates(tmp_path, euro)
        assert next(iter(lines(browser_of("ann"), "group=cause"))) == first
    durban.reminder.review = {"due": "4h", "priority": "9000.00"}
    durban.reminder.save(update_fields=["review"])
    assert next(iter(lines(browser_of("ann"), "group=cause"))) == "It fell silent"


def test_groups_cost_the_same_queries_however_much_there_is(durban: stories.Durban) -> None:
    ann, counts = browser_of("ann"), []
    durban.absent(1)
    for time in (1, 2):
        with CaptureQueriesContext(connection) as queries:
            ann.get("/queue/?group=cause")
        counts.append(len(queries))
        if time == 1:
            durban.every_state()
    assert counts[0] == counts[1] <= 12, queries.captured_queries
