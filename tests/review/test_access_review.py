"""Who may do what, gone through by a person; what changed since; and the duties of a month."""

import csv
import io
import re
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from ledger.models import Event, database_now
from review.instants import zone
from review.models import AccessReview
from tests import stories
from tests.databases import Clock
from tests.people import browser_of, person
from tests.review.test_every_door import Place, asked, bulk, extra, extra_asked, proposed


def page(name: str = "vic") -> str:
    return browser_of(name).get("/access/").content.decode()


def shown(page: str) -> str:
    found = re.search(r'name="shown" value="([0-9a-f]{64})"', page)
    return found[1] if found else ""


def reviewed(
    name: str = "bob", words: str = "All of them work here.", seen: str | None = None, *, clicks: int = 1
) -> Any:
    seen = shown(page(name)) if seen is None else seen
    form = {"command_id": str(uuid.uuid4()), "reason": words, "shown": seen}
    return [browser_of(name).post("/access/", form) for _ in range(clicks)][-1]


def test_what_has_changed_since_the_last_review_stands_beside_each_name(durban: stories.Durban) -> None:
    for name in ("ann", "bob", "vic"):
        person(name)
    assert "Nobody has gone through it yet." in page()
    assert reviewed(clicks=2).status_code == 303
    assert "bob went through it" in page() and "Nothing has changed since." in page()
    person("vic").groups.set([Group.objects.get(name="reviewer")])
    person("ann").groups.clear()
    before = shown(told := page("bob"))
    person("ira")
    assert "Nothing has changed since." not in told
    refused = reviewed(seen=before).content.decode()
    assert "has changed since you opened the page" in refused and ">new<" in refused
    assert shown(refused) not in ("", before), "it shows what there is now"
    assert reviewed(seen="").status_code == 200 and AccessReview.objects.count() == 1
    told = page("bob")
    for words in (
        "Since then 3 have changed.",
        "now reviewer; no longer viewer",
        "no longer reviewer",
        ">new<",
    ):
        assert words in told, words
    assert reviewed(words="Vic took over.").status_code == 303
    assert "Nothing has changed since." in page()
    assert [event.data["changed"] for event in Event.objects.filter(kind="access_reviewed")] == [0, 3]
    for change in (
        lambda: AccessReview.objects.update(words="x"),
        lambda: AccessReview.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError):
            change()


def test_nobody_else_reviews_and_the_queries_do_not_grow(durban: stories.Durban) -> None:
    for name in ("ann", "vic", "ada", "ira"):
        refused = reviewed(name).content.decode()
        assert "An approver reviews it: roles are given by administrators." in refused
    assert not AccessReview.objects.exists()
    counts, bob = [], browser_of("bob")
    for name in ("eve", "nora"):
        person(name)
        with CaptureQueriesContext(connection) as queries:
            bob.get("/access/")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_duties_of_a_month_say_who_could_and_who_did(durban: stories.Durban, tmp_path: Any) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    durban.invoice.save(update_fields=["review"])
    place = Place(durban.clock, tmp_path, _durban=durban)
    for maker, checker in (("eve", "bob"), ("bob", "eve"), ("ann", "bob")):
        operation, form = asked(place, maker, maker=maker)
        answer = {"command_id": str(uuid.uuid4()), "reason": "Looked.", **form}
        assert browser_of(checker).post(f"/operations/{operation.uid}/approve/", answer).status_code == 303
    ordered, said = bulk(place, "bob", "approve/", "start")
    role, answered = proposed(place, "bob")
    answer = {"command_id": str(uuid.uuid4()), "reason": "Looked."}
    for address, form in ((ordered, said), (role, answered)):
        browser_of("bob").post(address, {**answer, **form, "command_id": str(uuid.uuid4())})
    month = f"{database_now().astimezone(zone()):%Y-%m}"
    told = browser_of("ira").get(f"/access/duties/?month={month}").content.decode()
    assert "2 could, 2 did." in told
    assert "bob: decides and approves in this month; bob and eve approved each other’s requests." in told
    assert "ann: " not in told and 'data-label="Roles and teams now">auditor<' in told
    file = browser_of("ira").get(f"/access/duties.csv?month={month}")
    about, _, rows = file.getvalue().decode("utf-8-sig").partition("\r\n\r\n")
    assert '"author","ira"' in about
    lines = {row["person"]: row for row in csv.DictReader(io.StringIO(rows))}
    assert (lines["bob"]["decided"], lines["bob"]["approved"], lines["bob"]["approved_of"]) == (
        "1",
        "4",
        "ada (1), ann (1), eve (2)",
    )
    assert lines["eve"]["decided"] == "2", "her list besides her request"
    assert (lines["ann"]["decided"], lines["ann"]["did"]) == ("1", ""), "what was approved counts once"
    before = browser_of("ira").get("/access/duties/?month=2020-01").content.decode()
    assert "2 could, 0 did." in before


def test_the_duties_know_what_is_decided_about_differences_each_once(clock: Clock, tmp_path: Any) -> None:
    """Asked and approved is one decision of who asked, and one answer; nothing of these was counted."""
    place = Place(clock, tmp_path)
    alone = extra(place, "bob")
    for address, form in (alone, extra_asked(place, "bob")):
        said = {**form, "command_id": str(uuid.uuid4()), "reason": "Known."}
        assert browser_of("bob").post(address, said).status_code == 303
    month = f"{database_now().astimezone(zone()):%Y-%m}"
    file = browser_of("ira").get(f"/access/duties.csv?month={month}").getvalue().decode("utf-8-sig")
    lines = {row["person"]: row for row in csv.DictReader(io.StringIO(file.partition("\r\n\r\n")[2]))}
    assert (lines["bob"]["decided"], lines["bob"]["approved"]) == ("1", "1")
    assert (lines["bob"]["approved_of"], lines["ann"]["decided"]) == ("ann (1)", "1")
