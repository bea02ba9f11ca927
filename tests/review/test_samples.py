"""What an auditor draws: a population frozen by a seal, drawn again by its seed, and by anybody's hand."""

import csv
import io
import json
import uuid
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from hashlib import sha256
from math import ceil
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Event, Operation, database_now
from review import sampling
from review.instants import zone
from review.models import AuditorTerm, Sample
from tests import stories
from tests.databases import Database
from tests.ledger.sessions import at_once
from tests.people import browser_of, person
from tests.review.test_choose import choose, doubled
from tests.review.test_runs import plain

AMOUNTS = ("10.00", "250.00", "0.00", "75.50", "4000.00", "33.10", "-120.00", "18.00")


@pytest.fixture
def orders(durban: stories.Durban) -> list[Operation]:
    """Eight invoices in ZAR and one in EUR, and a reminder without an amount."""
    made = [durban.invoiced(480 + place, amount) for place, amount in enumerate(AMOUNTS)]
    made.append(durban.invoiced(500, "99.00", currency="EUR"))
    durban.reminded(398)
    return made


def days(**more: str) -> str:
    today = f"{database_now().astimezone(zone()):%Y-%m-%d}"
    return "&".join(f"{name}={value}" for name, value in {"since": today, "until": today, **more}.items())


def drawing(query: str, **form: Any) -> Any:
    asked = {
        "command_id": str(Sample(seed="").uid),
        "way": "random",
        "seed": "471",
        "size": "3",
        "reason": "Year end.",
    }
    return browser_of("ira").post(f"/samples/?{query}", asked | form)


def drawn(query: str, **form: Any) -> Sample:
    answer = drawing(query, **form)
    assert answer.status_code == 303, answer.content.decode()
    return Sample.objects.get(uid=answer["Location"].split("/")[2])


def by_hand(orders: list[Operation], seed: str) -> list[Operation]:
    """In the order that the seed gives them."""
    return sorted(orders, key=lambda one: sha256(f"{seed}:{one.uid}".encode()).hexdigest())


def test_a_seed_draws_the_same_again_whatever_has_come_since(
    durban: stories.Durban, orders: list[Operation]
) -> None:
    counted = browser_of("vic").get(f"/samples/?{days(type='invoice.create')}").content.decode()
    assert "An auditor draws samples" in counted
    durban.tried(orders[0], stories.SILENT)
    durban.looked(orders[0], stories.several(orders[0], "INV-1", "INV-2"))
    sample = drawn(days(type="invoice.create"), size="4")
    assert [item["id"] for item in sample.items] == [str(one.uid) for one in by_hand(orders, "471")[:4]]
    assert (sample.count, sample.without_amount) == (9, 0)
    assert sample.totals == {"EUR": "99.00", "ZAR": "4266.60"}
    doubtful = drawn(days(state="uncertain"), size="9")
    assert [item["id"] for item in doubtful.items] == [str(orders[0].uid)]
    stands = browser_of("vic").get(f"/samples/{doubtful.uid}/").content.decode()
    assert "Done, but doubled" in stands, "the badge is the queue's"
    event = Event.objects.filter(kind="sampled").first()
    assert event is not None and (event.actor, event.reason, event.data["seed"]) == (
        "ira",
        "Year end.",
        "471",
    )
    # More operations, and another state of what was drawn: the population is that of then.
    durban.invoiced(600)
    durban.clock.advance(31)
    durban.looked(orders[0], stories.one(orders[0], "INV-1"))
    for one in (sample, doubtful):
        page = browser_of("vic").get(f"/samples/{one.uid}/?again=1").content.decode()
        assert f"Drawn again: the same {len(one.items)} operations, from the same population." in page
    assert drawn(days(type="invoice.create")).count == 10
    assert [
        item["id"] for item in drawn(days(type="invoice.create"), seed="472", size="4").items
    ] != sample.items


def test_before_the_first_seal_the_page_says_why_nothing_counts_and_draws_all_the_same(
    orders: list[Operation],
) -> None:
    asked = f"/samples/?{days(type='invoice.create')}"
    vic, ira = (plain(browser_of(name).get(asked).content.decode()) for name in ("vic", "ira"))
    for page in (vic, ira):
        assert "9 operations, none of them sealed yet." in page and ">0 operations" not in page
    assert "count again then" in vic and "the trail is sealed first" in ira
    assert 'name="seed"' in ira and 'name="seed"' not in vic
    assert drawn(days(type="invoice.create"), size="2").count == 9
    assert "9 operations</b>" in plain(browser_of("ira").get(asked).content.decode())
    none = plain(browser_of("ira").get(f"/samples/?{days(currency='USD')}").content.decode())
    assert "0 operations" in none and "sealed yet" not in none and 'name="seed"' not in none


def test_by_value_each_part_of_the_total_is_hit_once(orders: list[Operation]) -> None:
    """Monetary units, recomputed by hand with exact fractions; a credit counts by its size."""
    for seed in ("471", "b", "2026-11"):
        sample = drawn(days(currency="ZAR"), way="value", size="5", seed=seed)
        start = Fraction(int(sha256(seed.encode()).hexdigest()[:12], 16), 16**12)
        laid, total, wanted = Fraction(0), sum(abs(Fraction(amount)) for amount in AMOUNTS), {}
        for one in by_hand(orders[:8], seed):
            before, laid = laid, laid + abs(Fraction(one.amount or 0))
            hits = ceil(laid * 5 / total - start) - ceil(before * 5 / total - start)
            if hits:
                wanted[str(one.uid)] = hits
        assert {item["id"]: item["hits"] for item in sample.items} == wanted
        assert sum(wanted.values()) == 5 and wanted[str(orders[4].uid)] >= 4, "the largest is always drawn"
        assert str(orders[2].uid) not in wanted, "nothing is worth nothing"
    refused = drawing(days(), way="value")
    assert "By value it is drawn from one currency" in refused.content.decode()


def test_corrections_and_reversals_are_counted_apart_from_originals(durban: stories.Durban) -> None:
    """Three originals over 9 045.00, of which one was corrected to 990.00, and two extras of one reversed."""
    refused = durban.tried(durban.invoiced(455, "7315.00"), stories.REFUSED)
    meant = actions.Correction({"order": "455", "total": "990.00"}, "990.00", "ZAR")
    actions.correct(refused.pk, meant, actor="api:webshop", reason="The price was wrong.", who="ann")
    choose(doubled(durban), "INV-1")
    durban.invoiced(472, "865.00")
    sample = drawn(days(currency="ZAR"), way="value", size="6")
    counted = plain(browser_of("ira").get(f"/samples/?{days(currency='ZAR')}").content.decode())
    said = "6 operations, 3 originals, 1 correction, 2 reversals"
    sums = {
        "Total of the originals": "9 045.00 ZAR",
        "Corrections apart": "990.00 ZAR",
        "Reversals apart": "1 730.00 ZAR",
    }
    assert said in counted and "Nothing is netted" in counted
    page = plain(browser_of("ira").get(f"/samples/{sample.uid}/?again=1").content.decode())
    assert said in page and "from the same population" in page
    for words, total in sums.items():
        assert f'{words}: <span class="nb">{total}</span>' in counted
        assert f'<dt>{words}</dt><dd><span class="nb">{total}</span></dd>' in page
    files = entries(sample)
    told = json.loads(files["sample.json"])
    assert told["totals"] == {"ZAR": "9045.00"}
    assert told["apart"]["reversals"] == {"count": 2, "totals": {"ZAR": "1730.00"}}
    for line in ('"total originals ZAR","9045.00"', '"total corrections ZAR","990.00"'):
        assert line in files["sample.csv"]
    assert sum(item["hits"] for item in sample.items) == 6, "all of it is laid end to end"


def test_what_was_drawn_before_they_were_told_apart_says_so(
    orders: list[Operation], database: Database
) -> None:
    sample = drawn(days(currency="ZAR"))
    with database.rewriting("review_sample"):
        Sample.objects.filter(pk=sample.pk).update(apart=None)
    page = plain(browser_of("ira").get(f"/samples/{sample.uid}/").content.decode())
    assert "<dt>Total of all, corrections and reversals among them</dt>" in page
    assert '"total population ZAR"' in entries(sample)["sample.csv"]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"size": "501"}, "something in the form is missing"),
        ({"seed": "  "}, "something in the form is missing"),
        ({"reason": ""}, "something in the form is missing"),
        ({"query": "since=2026-02-01&until=2026-01-01"}, "Choose the first and the last day, 2000 to 2099."),
        ({"query": "since=1999-12-31&until=9998-12-31"}, "Choose the first and the last day, 2000 to 2099."),
        ({"query": "since=2020-01-01&until=2099-01-02&entity=Nobody"}, "nothing to draw from"),
        ({"query": "since=2020-01-01&until=2099-01-02&type=nothing"}, "nothing to draw from"),
        ({"query": "since=2020-01-01&until=2020-01-02"}, "nothing to draw from"),
    ],
)
def test_what_cannot_be_drawn_is_said(orders: list[Operation], form: dict[str, str], words: str) -> None:
    answer = drawing(form.pop("query", days()), **form)
    assert answer.status_code == 200 and words in answer.content.decode()
    assert not Sample.objects.exists() and not Event.objects.filter(kind="sampled").exists()


def test_two_clicks_draw_once_and_what_was_drawn_stays(orders: list[Operation]) -> None:
    sample = drawn(days())
    assert drawn(days(), command_id=str(sample.uid), seed="other").seed == "471"
    population, click = sampling.Population.read(dict(parse_qsl(days()))), uuid.uuid4()
    said: dict[str, Any] = {"way": "random", "seed": "1", "size": 3, "purpose": "Both.", "command_id": click}
    assert (
        at_once([lambda: str(sampling.draw(population, person=person("ira"), **said).uid)] * 2)
        == [str(click)] * 2
    )
    with pytest.raises(DatabaseError):
        Sample.objects.filter(pk=sample.pk).update(seed="mine")
    with pytest.raises(DatabaseError):
        sample.delete()


def entries(sample: Sample, name: str = "ira") -> dict[str, str]:
    """The files of the archive."""
    answer = browser_of(name).get(f"/samples/{sample.uid}.zip")
    parts: Iterator[bytes] = answer.streaming_content  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}


def test_one_archive_holds_the_packs_and_how_they_were_drawn(
    durban: stories.Durban, orders: list[Operation]
) -> None:
    odd = durban.invoiced(700, "-5.00", subject="=HYPERLINK(1)")
    sample = drawn(days(type="invoice.create"), size="500")
    files = entries(sample)
    assert len(files) == 5 + 2 * len(sample.items)
    told = json.loads(files["sample.json"])
    assert (told["seed"], told["count"], told["digest"]) == ("471", 10, sample.digest)
    place = [item["id"] for item in sample.items].index(str(odd.uid)) + 1
    pack = json.loads(files[f"packs/{place:03}-{odd.uid}.json"])
    assert pack["operation"]["key"] == odd.key and pack["payload"] == [], "an auditor sees no payload"
    assert "=HYPERLINK(1)" in files[f"packs/{place:03}-{odd.uid}.html"]
    about, _, rows = files["sample.csv"].partition("\r\n\r\n")
    assert '"seed","471"' in about and '"author","ira"' in about and '"total originals ZAR",' in about
    (row,) = [row for row in csv.reader(io.StringIO(rows)) if str(odd.uid) in row]
    assert "'=HYPERLINK(1)" in row and "-5.00" in row, "text is guarded, and a credit is a number"
    assert f"--kept {sample.seal}:{sample.head}" in files["README.txt"]


def test_a_term_ends_by_itself_and_leaves_no_other_right(durban: stories.Durban) -> None:
    ira = browser_of("ira")
    assert ira.get("/queue/").status_code == 200
    # Whatever role is given meanwhile: who audits decides nothing.
    person("ira").groups.add(Group.objects.get(name="reviewer"))
    operation = durban.silent(483)
    refused = ira.post(f"/operations/{operation.uid}/check/", {"command_id": str(Sample().uid)}, follow=True)
    assert "Your role looks only." in refused.content.decode()
    person("ira").groups.clear()
    durban.clock.advance(timedelta(days=29, hours=1))
    over = ira.get("/queue/")
    assert over.status_code == 403 and "Your time as an auditor ended on" in over.content.decode()
    with pytest.raises(DatabaseError):
        AuditorTerm.objects.update(ends_at=database_now() + timedelta(days=3))


def test_an_administrator_lets_somebody_audit_and_ends_it(durban: stories.Durban) -> None:
    ada, today = browser_of("ada"), database_now().astimezone(zone()).date()
    form = {
        "whose": person("vic").pk,
        "first": today,
        "last": today + timedelta(days=9),
        "reason": "The audit, token sk_live_0123456789abcdef.",
    }
    for wrong, words in (
        ({"whose": person("bob").pk}, "bob is approver: who audits decides and administers nothing."),
        ({"whose": person("ada").pk}, "nobody does so for themselves"),
        ({"last": today - timedelta(days=1)}, "A term ends after it begins"),
        ({"last": today + timedelta(days=400)}, "lasts a year at most"),
        ({"last": "9999-12-31"}, "Give a date from 2000 to 2099."),
    ):
        answer = ada.post("/access/auditors/", form | wrong | {"command_id": str(Sample().uid)})
        assert words in answer.content.decode()
    click = {"command_id": str(Sample().uid)}
    for _ in range(2):
        assert ada.post("/access/auditors/", form | click).status_code == 303, "two clicks are one"
    again = ada.post("/access/auditors/", form | {"command_id": str(Sample().uid)})
    assert "vic has a term in these days." in again.content.decode()
    vic, term = browser_of("vic"), AuditorTerm.objects.get()
    assert "sk_live" not in term.reason + Event.objects.get(kind="auditor_let_in").reason
    assert "Nothing was drawn yet." in vic.get("/samples/").content.decode()
    assert "vic · auditor" in vic.get("/queue/").content.decode()
    assert "<b>vic</b> from" in ada.get("/access/").content.decode()
    ended = {"command_id": str(Sample().uid), "reason": "Done early."}
    assert ada.post(f"/access/auditors/{term.pk}/", ended).status_code == 303
    assert vic.get("/queue/").status_code == 302, "signed out at once"
    told = Event.objects.filter(kind__in=["auditor_let_in", "auditor_ended"]).values_list(
        "kind", "actor", "data__person"
    )
    assert list(told) == [("auditor_let_in", "ada", "vic"), ("auditor_ended", "ada", "vic")]
    assert Client().get("/samples/").status_code == 302


def test_a_population_that_is_too_large_is_refused_before_it_is_counted(
    orders: list[Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "POPULATION_MOST", 9)
    with CaptureQueriesContext(connection) as asked:
        assert "It has more than 9 operations" in drawing(days()).content.decode()
    assert not any("sum(amount)" in query["sql"] for query in asked)
    assert drawn(days(currency="ZAR")).count == 8
