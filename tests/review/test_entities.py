"""Who is limited to legal entities sees nothing of the others, and their limit is not theirs to change.

That no address tells of another entity stands in `test_every_door`.
"""

import html
import re
import uuid
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.http import StreamingHttpResponse
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Case, Destination, Event, Operation, OperationType, Team, database_now
from ledger.rules.leaves import Action
from reconcile.models import EntityLimit, Proposal
from reconcile.proposals.actions import propose_role
from review import finding, saved
from review.access import NO_PART
from review.bulk.freezing import freeze
from review.filters import Filter
from review.instants import zone
from review.models import AuditorTerm, Bulk, Notice, Sample
from review.sights import Middleware
from tests import stories
from tests.people import audits, browser_of, limited, person

DURBAN, CAPE = "Durban Trading (Pty) Ltd", "Cape Trading (Pty) Ltd"


def billed(durban: stories.Durban, number: int) -> Operation:
    """A bill of Cape Trading whose automation fell silent."""
    there, _ = Destination.objects.get_or_create(
        name="cape",
        defaults={
            "title": "Cape Books",
            "entity": CAPE,
            "connector": "http",
            "account": "main",
            "connection": {"base_url": durban.base_url, "timeout": 3},
        },
    )
    rules = {"contract": {}, "calls": {}, "retry": {"attempts": 1}, "review": {"due": "4h"}}
    told = {"label": "Bill", "noun": "bill", "performed_by": "caller", "lease_s": 60, "owner": "cape"}
    OperationType.objects.get_or_create(name="bill.make", defaults={"destination": there, **told, **rules})
    submission = actions.Submission(
        "bill.make",
        {"bill": str(number)},
        key=f"bill/{number}",
        description=f"Bill {number}",
        subject="Bo-Kaap Spices",
        amount="310.00",
        currency="EUR",
        lease_s=1,
    )
    operation = actions.claim(submission, actor="api:till").operation
    durban.clock.advance(20)
    actions.expire(operation.pk, actor="policy")
    return durban.again(operation)


def read(name: str, address: str) -> str:
    answer = browser_of(name).get(address)
    assert answer.status_code == 200, (name, address)
    return (b"".join(answer) if answer.streaming else answer.content).decode()


def test_their_own_entity_is_whole_and_costs_two_queries_more(durban: stories.Durban) -> None:
    bill = billed(durban, 7)
    for order in range(3):
        durban.silent(480 + order)
    limited("kim", CAPE)
    for address in ("/", "/queue/", "/queue.csv", f"/operations/{bill.uid}/"):
        assert "Bill 7" in read("kim", address), address
    assert "Order 48" in (every := read("bob", "/queue/")) and "Bill 7" in every
    assert browser_of("kim").get("/find/?q=bill").status_code == 302, "the one hit opens by itself"
    attempt = Operation.objects.get(description="Order 480").attempts.get()
    assert "Order 480" not in read("kim", f"/find/?q={attempt.uid}"), "not by a try's id either"
    assert f"You see {CAPE} only." in read("kim", "/you/") and "You see" not in read("bob", "/you/")
    assert "1 needs a person" in read("kim", "/queue/")
    asked = {}
    for name in ("bob", "kim"):
        client = browser_of(name)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get("/queue/")
        asked[name] = len(queries)
    assert asked["kim"] == asked["bob"] + 2
    form = {"command_id": str(uuid.uuid4()), "text": "Bo-Kaap has called."}
    assert browser_of("kim").post(f"/operations/{bill.uid}/comment/", form).status_code == 303
    assert "Bo-Kaap has called." in read("kim", "/trail/")
    other = Operation.objects.get(description="Order 480").cases.first() or durban.absent(490).cases.get()
    given = browser_of("bob").post(f"/cases/{other.uid}/assign/", {"to": "kim"}, follow=True).content.decode()
    assert "kim does not see all of it" in given
    assert browser_of("bob").post(f"/cases/{bill.cases.get().uid}/assign/", {"to": "kim"}).status_code == 303
    assert bill.cases.get().assignee == "kim"


def test_tabs_count_and_currencies_offer_what_one_sees(durban: stories.Durban) -> None:
    durban.every_state()
    billed(durban, 7)
    limited("kim", CAPE)
    limited("dan", DURBAN)
    tab = r'<li><a href="(/queue/[^"]*)"[^>]*>[^<]+ <span class="n">(\d+)</span>'
    counted = {}
    for name in ("kim", "dan", "bob"):
        tabs = re.findall(tab, read(name, "/queue/"))
        counted[name] = [int(count) for _, count in tabs]
        for address, count in tabs:
            assert read(name, html.unescape(address)).count('class="q-key"') == int(count), (name, address)
    own = zip(counted["kim"], counted["dan"], strict=True)
    assert [sum(both) for both in own] == counted["bob"] and max(counted["kim"]) == 1
    for name, codes in {"kim": {"EUR"}, "bob": {"EUR", "ZAR"}}.items():
        assert {code for code in codes | {"ZAR"} if f'value="{code}"' in read(name, "/queue/")} == codes


def test_what_is_overdue_is_told_by_list_and_apart_from_proposals(durban: stories.Durban) -> None:
    """A later one, which they may not know of, takes no notice of theirs away, and counts for nobody."""
    limited("bob", DURBAN)
    for name in ("ann", "eve"):
        person(name)
    own, foreign = (
        freeze(Action.CHECK, person=person("ann"), chosen=Filter(), picked=[durban.silent(order).uid])
        for order in (480, 481)
    )
    ask = propose_role(
        person("nora"),
        "viewer",
        give=True,
        actor=person("ada").username,
        reason="New.",
        command_id=uuid.uuid4(),
    )
    for named in ({"bulk": own}, {"proposal": ask}, {"bulk": foreign}):
        said = {name: str(one.uid) for name, one in named.items()}
        Event.objects.create(kind="escalated", actor="policy", reason="Due.", data=said | {"to": "approvers"})
    for name in ("bob", "eve"):
        notices = Notice.objects.filter(person__username=name, kind="overdue")
        assert [
            (one.count, *(one.event.data.keys() & {"bulk", "proposal"})) for one in notices.order_by("pk")
        ] == [
            (1, "bulk"),
            (1, "proposal"),
            (1, "bulk"),
        ]


def test_what_is_told_is_counted_in_each_entity_by_itself(durban: stories.Durban) -> None:
    """Two of Cape's and a pause there were passed on to approvers, and one of Durban's in between."""
    limited("kim", CAPE)
    person("bob")
    for team in ("cape", "finance", "administrators"):
        Team.objects.create(name=team, escalate=[{"to": "approvers", "after": 0}])
    billed(durban, 7)
    durban.clock.advance(5 * 3600)
    assert [actions.escalate(uid) for uid in actions.overdue()] == [True]
    assert "Bill 7" in read("kim", "/notices/")
    durban.absent(480)
    billed(durban, 8)
    actions.pause(Destination.objects.get(name="cape").pk, why="No account.")
    durban.clock.advance(24 * 3600)
    told = [actions.escalate(uid) for uid in actions.overdue()]
    assert told == [True] * 3
    shown = read("kim", "/notices/")
    assert ">three items</a>" in shown and 'class="n">1<span' in shown and "rder 480" not in shown
    assert shown.count("Passed on to approvers") == 1
    assert read("bob", "/notices/").count("Passed on to approvers") == 2, "each entity's by itself"
    loose = Case.objects.get(operation=None)
    actions.assign(loose.uid, actor="bob", to="kim", reason="Cape's account.")
    assert "bob gave you" in read("kim", "/") and "an item without an operation" in read("kim", "/notices/")
    assert "Cape&#x27;s account." in read("kim", "/trail/") and "paused Cape Books" in read(
        "kim", "/trail/?by=all"
    )
    browser_of("kim").post(
        "/notices/read/", {"until": f"{durban.clock.now() + timedelta(hours=1):%FT%T}+00:00"}
    )
    assert 'class="n">' not in read("kim", "/notices/").split("</header>")[0].split('href="/notices/"')[1]
    actions.assign(loose.uid, actor="bob", to="eve")
    User.objects.filter(pk=person("eve").pk).update(is_active=False)
    for name in ("kim", "bob"):
        assert "1 open in the name of people whose account is closed" in read(name, "/")
    limited("dan", DURBAN)
    assert "open in the name" not in read("dan", "/")
    for address in ("/people/", "/access/"):
        assert "sees other entities" in read("kim", "/access/") and "other entities</td>" in read(
            "kim", "/people/"
        )
        assert DURBAN not in read("kim", address) and DURBAN in read("bob", address)


def test_what_is_streamed_is_read_under_the_sight_of_who_asked(durban: stories.Durban) -> None:
    """A file is made after its view has answered: each part of it is asked for under the same sight."""
    billed(durban, 7)
    durban.silent(480)
    request = RequestFactory().get("/")
    request.COOKIES[settings.SESSION_COOKIE_NAME] = "theirs"
    request.user = limited("kim", CAPE)

    def parts() -> Iterator[str]:
        for operation in Operation.objects.order_by("pk"):
            yield operation.description
            yield str(Operation.objects.count())

    answer = Middleware(lambda _: StreamingHttpResponse(parts()))(request)
    assert isinstance(answer, StreamingHttpResponse)
    assert list(answer) == [b"Bill 7", b"1"]


def test_a_search_is_cut_off_behind_what_is_seen(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of Durban's have seen a record called as Cape's is: theirs do not crowd hers out."""
    theirs = [durban.absent(480), durban.absent(481)]
    bill, look = billed(durban, 7), theirs[0].lookups.get()
    for operation in (*theirs, bill):
        look.pk, look.uid, look.operation, look.records = None, uuid.uuid4(), operation, [{"id": "R-1"}]
        look.verdict, look.proof = "one_match", False
        look.save(force_insert=True)
    limited("kim", CAPE)
    monkeypatch.setattr(finding, "SHOWN", 1)
    assert browser_of("kim").get("/find/?q=R-1")["Location"] == f"/operations/{bill.uid}/"


def test_a_view_is_shared_with_who_sees_all_that_its_maker_saw(durban: stories.Durban) -> None:
    """Its name, its words and its team may tell of all that its maker sees."""
    billed(durban, 7)
    saved.keep(person("ada"), name="Acme's", address="text=acme&owner=webshop", shared=True)
    limited("bob", CAPE)
    saved.keep(person("bob"), name="Cape's late", address="view=late", shared=True)
    limited("eve", CAPE, DURBAN)
    saved.keep(person("eve"), name="Both of ours", address="text=order", shared=True)
    limited("kim", CAPE)
    saved.keep(person("kim"), name="My own", address="text=bill", shared=False)
    seen = {
        "ann": ["Acme's", "Both of ours", "Cape's late"],
        "eve": ["Both of ours", "Cape's late"],
        "kim": ["Cape's late", "My own"],
    }
    for name, views in seen.items():
        told = html.unescape(read(name, "/queue/"))
        known = ("Acme's", "Both of ours", "Cape's late", "My own")
        assert [view for view in known if view in told] == views, name
        assert ("text=acme" in told) is (name == "ann"), name


def test_a_view_of_who_was_limited_later_is_shared_as_they_saw_then(durban: stories.Durban) -> None:
    """Its name may tell of what its maker saw; what it finds is the reader's own, whoever made it."""
    billed(durban, 7)
    durban.absent(483)
    saved.keep(person("ada"), name="Acme and Cape", address="text=acme", shared=True)
    limited("ada", CAPE)
    limited("kim", CAPE)
    assert "Acme and Cape" not in html.unescape(read("kim", "/queue/"))
    assert "Acme and Cape" in html.unescape(read("ann", "/queue/"))
    own = html.unescape(read("ada", "/queue/?text=acme"))
    assert "Acme and Cape" in own and "Order 483" not in own, "her own view, by her sight of now"
    saved.keep(person("ada"), name="Late at the Cape", address="view=late", shared=True)
    assert "Late at the Cape" in html.unescape(read("kim", "/queue/"))


def test_groups_and_what_is_done_with_many_hold_what_is_seen_alone(durban: stories.Durban) -> None:
    """All of a filter, or rows that were ticked: another entity's neither counts nor is taken along."""
    own = billed(durban, 7)
    others = durban.absent(480), durban.absent(481)
    limited("kim", CAPE)
    kim, picked = browser_of("kim"), [str(one.uid) for one in (own, *others)]
    grouped = read("kim", "/queue/?view=open&group=cause")
    assert "Cape Books" in grouped and not re.search(r"Durban|ZAR|1 240|3 720", grouped)
    assert "Durban" in read("bob", "/queue/?view=open&group=cause")
    for which in ({"which": "all", "view": "open"}, {"pick": picked}):
        assert kim.post("/bulk/freeze/", {"action": "check", **which}).status_code == 303
        frozen = Bulk.objects.latest("pk")
        assert [item.operation for item in frozen.items.all()] == [own] and frozen.frozen == 1, which
        given = kim.post("/bulk/freeze/", {"action": "give", **which}).content.decode()
        assert "Bill 7" in given and not re.search(r"Order 48|finance", given), which
    cases = [str(one.cases.get().uid) for one in (own, *others)]
    form = {"chosen": cases, "listed": cases, "to": "team:finance", "note": "x", "command_id": uuid.uuid4()}
    assert "finance" not in kim.post("/bulk/give/", form).content.decode(), "no such team is seen"
    assert kim.post("/bulk/give/", {**form, "to": "person:kim"}).status_code == 303
    assert [one.cases.get().assignee for one in (own, *others)] == ["kim", "", ""]
    mixed = browser_of("bob").post("/bulk/freeze/", {"action": "check", "pick": picked})["Location"]
    assert kim.get(mixed).status_code == 404 and mixed not in read("kim", "/bulk/")


def test_a_limit_takes_two_and_who_has_one_keeps_no_rules(durban: stories.Durban) -> None:
    billed(durban, 7)
    person("bob")
    form = {
        "person": person("kim").pk,
        "entities": [CAPE],
        "reason": "Cape is hers.",
        "command_id": uuid.uuid4(),
    }
    made = browser_of("ada").post("/approvals/entities/", form)
    assert made.status_code == 303 and not EntityLimit.objects.exists()
    assert browser_of("ada").post("/approvals/entities/", form)["Location"] == made["Location"], "one click"
    assert f"Let kim see {CAPE}" in read("bob", "/approvals/")
    assert "It is about yourself" in read("kim", made["Location"])
    answer = {"answer": "approve", "reason": ""}
    assert (
        browser_of("kim").post(made["Location"], answer).status_code == 200
        and not EntityLimit.objects.exists()
    )
    assert browser_of("bob").post(made["Location"], answer).status_code == 303
    assert EntityLimit.objects.get().entities == [CAPE]
    told = Event.objects.get(kind="entities_limited")
    assert (told.actor, told.data["approved_by"], told.data["entities"]) == ("ada", "bob", [CAPE])
    assert browser_of("kim").get(made["Location"]).status_code == 404, (
        "rules and limits are the installation's"
    )
    assert CAPE in read("ada", "/people/") and CAPE in read("bob", "/access/")
    form |= {"person": person("bob").pk, "command_id": str(uuid.uuid4())}
    last = browser_of("ada").post("/approvals/entities/", form).content.decode()
    assert "An approver is needed who sees all entities" in last
    limited("ada", CAPE)
    assert NO_PART in read("ada", "/approvals/roles/") and NO_PART in read("ada", "/approvals/entities/")
    refused = browser_of("ada").post(
        "/approvals/entities/", {**form, "entities": [], "command_id": uuid.uuid4()}
    )
    assert NO_PART in refused.content.decode() and Proposal.objects.count() == 1


def test_the_database_lets_no_limit_go_without_an_event(durban: stories.Durban) -> None:
    kim = limited("kim", CAPE)
    for change in (
        lambda: EntityLimit.objects.all().delete(),
        lambda: EntityLimit.objects.update(entities=[DURBAN]),
        lambda: EntityLimit.objects.create(person=person("bob"), entities=[DURBAN]),
        lambda: EntityLimit.objects.filter(person=kim).update(entities=[]),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    assert EntityLimit.objects.get().entities == [CAPE]


def test_the_command_limits_at_once_where_rules_do_not_change_by_two(durban: stories.Durban) -> None:
    person("kim")

    def told(*words: str) -> str:
        out = StringIO()
        call_command("person", "kim", *words, "--reason", "Hers.", stdout=out)
        return out.getvalue()

    with pytest.raises(CommandError, match="There is no entity"):
        told("--entity", "Nowhere")
    assert f"limited to {DURBAN}" in told("--entity", DURBAN)
    assert EntityLimit.objects.get().entities == [DURBAN]
    assert "limited to no entity" in told("--all-entities") and not EntityLimit.objects.exists()
    durban.invoiced(480)
    with pytest.raises(CommandError, match="Limits change by two"):
        told("--entity", DURBAN)


def test_an_auditors_term_names_entities_and_takes_two(durban: stories.Durban) -> None:
    billed(durban, 7)
    durban.silent(480)
    person("bob")
    now = durban.clock.now()
    days = {"first": f"{now:%Y-%m-%d}", "last": f"{now + timedelta(days=9):%Y-%m-%d}"}
    form = {"whose": person("nora").pk, **days, "entities": [CAPE], "reason": "Cape's audit."}
    form["command_id"] = str(uuid.uuid4())
    assert browser_of("ada").post("/access/auditors/", form).status_code == 303
    assert not AuditorTerm.objects.exists(), "rules change by two here"
    proposal = Proposal.objects.get()
    answer = {"answer": "approve", "reason": ""}
    assert browser_of("bob").post(f"/approvals/rules/{proposal.uid}/", answer).status_code == 303
    term = AuditorTerm.objects.get()
    assert (term.name, term.given_by, term.entities) == ("nora", "ada", [CAPE])
    with pytest.raises(DatabaseError):
        AuditorTerm.objects.update(entities=[])
    assert "auditor" in read("bob", "/people/")
    day = f"{database_now().astimezone(zone()):%Y-%m-%d}"
    draw = {"way": "random", "size": "5", "seed": "471", "command_id": uuid.uuid4(), "reason": "The audit."}
    made = browser_of("nora").post(f"/samples/?since=2020-01-01&until={day}", draw)
    assert made.status_code == 303, made.content.decode()
    sample = Sample.objects.get()
    assert sample.population["entity"] == CAPE and len(sample.items) == 1
    packs = browser_of("nora").get(made["Location"].removesuffix("/") + ".zip")
    assert packs.status_code == 200 and len(b"".join(packs)) > 1000
    audits(person("ira"))
    browser_of("ira").post(f"/samples/?since=2020-01-01&until={day}", {**draw, "command_id": uuid.uuid4()})
    every = Sample.objects.latest("pk")
    assert len(every.items) == 2 and browser_of("nora").get(f"/samples/{every.uid}/").status_code == 404
