"""Whoever reads chooses the zone of the times: on every page, named, and nobody else's.

| ann has chosen        | her pages say | vic's, who has chosen nothing | a visitor's |
|-----------------------|---------------|-------------------------------|-------------|
| nothing               | SAST          | SAST                          | SAST        |
| Asia/Dubai            | UTC+04        | SAST                          | SAST        |
| one that is not known | SAST          | SAST                          | SAST        |
"""

from datetime import UTC, datetime
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.test import Client

from review import instants
from review.models import Reader
from tests import stories
from tests.people import browser_of, person
from tests.review.test_every_door import said


def test_each_person_reads_times_in_the_zone_that_they_chose(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    ann, vic, address = browser_of("ann"), browser_of("vic"), f"/operations/{operation.uid}/"
    at = operation.accepted_at
    here, there = at.astimezone(instants.zone()), at.astimezone(ZoneInfo("Asia/Dubai"))
    assert f">{here:%H:%M}<" in said(ann.get(address)) and here.hour != there.hour
    assert "selected" not in said(ann.get("/you/"))
    kept = ann.post("/you/", {"zone": "Asia/Dubai"}, follow=True)
    assert kept.redirect_chain == [("/you/", 303)] and "Kept." in said(kept)
    assert "<option selected>Asia/Dubai</option>" in said(kept)
    for shown, zone, client in ((there, "UTC+04", ann), (here, "SAST", vic)):
        page = said(client.get(address))
        assert f">{shown:%H:%M}<" in page and f'Times in <a href="/you/">{zone}</a>' in page
    assert "UTC+04" in said(ann.get(f"/operations/{uuid4()}/")), "a page that is not there, too"
    assert "Times in SAST" in said(Client().get("/accounts/login/"))
    assert instants.zone().key == "Africa/Johannesburg", "outside of a page it is the installation's"


def test_a_zone_that_is_not_known_is_neither_kept_nor_in_the_way(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    answer = ann.post("/you/", {"zone": "Africa/../../etc/passwd"})
    assert answer.status_code == 200 and "not one of those that are offered" in said(answer)
    assert not Reader.objects.exists()
    Reader.objects.create(person=person("ann"), zone="Atlantis/Port")
    assert "SAST</a>" in said(ann.get("/you/"))
    assert ann.post("/you/", {"zone": ""}).status_code == 303
    assert Reader.objects.get().zone == ""


def test_signing_out_is_two_clicks_from_every_page(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    assert '<a class="who" data-who href="/you/">' in said(ann.get("/queue/"))
    assert '<form method="post" action="/accounts/logout/">' in said(ann.get("/you/"))


def test_a_zone_is_named_as_it_is_at_that_time() -> None:
    london = ZoneInfo("Europe/London")
    assert instants.named(datetime(2026, 7, 1, tzinfo=UTC), london) == "BST"
    assert instants.named(datetime(2026, 12, 1, tzinfo=UTC), london) == "GMT"
