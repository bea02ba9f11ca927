"""Whose a row is, on the pages: taken from the queue, filtered by, put off, handed over; and remarks."""

import html
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Case, Event, Operation, database_now
from ledger.rules.records import Found
from ledger.rules.states import CaseKind, Standing, Verdict
from review.instants import zone
from review.models import SavedView
from review.notices import digest
from tests import stories
from tests.people import browser_of, person
from tests.review.test_queue import listed


def of(operation: Operation) -> Case:
    return Case.objects.open().get(operation=operation)


def page(client: Client, address: str, form: Mapping[str, object] | None = None) -> str:
    answer = client.get(address) if form is None else client.post(address, form, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_mine_my_teams_and_nobodys(durban: stories.Durban) -> None:
    first, second, other = durban.absent(483), durban.absent(484), durban.expired(398)
    person("ann").groups.add(Group.objects.create(name="finance"))
    ann, bob = browser_of("ann"), browser_of("bob")
    (address,) = re.findall(
        rf'q-own"><a href="(/cases/{of(first).uid}/[^"]+)"', page(ann, "/queue/?state=failed")
    )
    assert "ann · reviewer<" in page(ann, address), "a team is no role"
    back = re.search('name="back" value="([^"]+)"', page(ann, address))
    assert back is not None and back[1] == "/queue/?state=failed"
    taken = ann.post(address.split("?")[0] + "assign/", {"back": back[1], "to": "ann", "team": "finance"})
    assert (taken.status_code, taken["Location"]) == (303, back[1]), "back to the same filter"
    assert listed(ann, "?who=me") == ["Order 483"] and listed(bob, "?who=me") == []
    assert sorted(listed(ann, "?who=team")) == ["Order 483", "Order 484"] and listed(bob, "?who=team") == []
    assert sorted(listed(bob, "?who=nobody")) == ["Order 484", "Reminder for order 398"]
    assert listed(bob, "?who=ann") == ["Order 483"]
    assert "Who has it: ann" in page(bob, "/queue/?who=ann"), "the chip names whose it is"
    mine = ann.get(f"/operations/{first.uid}/?who=me")
    assert 'rel="next"' not in mine.content.decode(), "the next item is the next of mine"
    for wrong, why in (({"to": "vic"}, "vic cannot take it"), ({"team": "nowhere"}, "There is no such team")):
        assert why in page(bob, f"/cases/{of(second).uid}/assign/", wrong)
    away = {"back": "https://elsewhere.example/", "to": "bob"}
    assert bob.post(f"/cases/{of(other).uid}/assign/", away)["Location"] == f"/operations/{other.uid}/"


def test_what_is_snoozed_counts_and_is_listed_apart(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    durban.absent(484)
    ann, case = browser_of("ann"), of(operation)
    at = database_now().astimezone(zone()) + timedelta(hours=5)
    form = {"other": f"{at:%Y-%m-%dT%H:%M}", "reason": "The shop calls back."}
    refused = page(ann, f"/cases/{case.uid}/snooze/", form)
    assert "Something comes to its end before that" in refused and "The shop calls back." in refused
    assert "its due time (" in refused
    chosen = {"until": f"{at:%Y-%m-%dT%H:%M}", "other": ""}
    again = page(ann, f"/cases/{case.uid}/snooze/", form | chosen)
    assert f'<option value="{chosen["until"]}" selected>' in again, "what was chosen stays chosen"
    page(ann, f"/cases/{case.uid}/snooze/", form | {"knowingly": "on"})
    queue = page(ann, "/queue/")
    assert listed(ann) == ["Order 484"] and listed(ann, "?view=snoozed") == ["Order 483"]
    assert 'All open <span class="n">2</span>' in queue and "1 is snoozed" in queue
    assert "snoozed until" in page(ann, f"/operations/{operation.uid}/")
    durban.clock.advance(4.5 * 3600)
    assert "Order 483" in listed(ann, "?view=late"), "late is never left out"
    durban.looked(operation, stories.ABSENT)
    assert sorted(listed(ann)) == ["Order 483", "Order 484"], "a check has woken it"
    for wrong in ({"other": "soon"}, {"other": "", "until": ""}):
        assert "Choose until when" in page(ann, f"/cases/{case.uid}/snooze/", form | wrong)


def test_what_is_snoozed_stands_in_every_total_and_is_counted_beside_it(durban: stories.Durban) -> None:
    """In the groups, the files, the digest, and on Today; the button of a group leaves it alone."""
    held = [durban.absent(number, "100.00") for number in (483, 484, 485)]
    until = database_now() + timedelta(hours=5)
    actions.snooze(of(held[0]).uid, actor="ann", reason="They call back.", until=until, knowingly=True)
    ann = browser_of("ann")
    groups = page(ann, "/queue/?view=person&group=cause").replace("\u00a0", " ")
    (line,) = re.findall(r">It is absent<.*?</tr>", groups)
    assert 'Items">3<br><span class="small soft nb">1 snoozed' in line and "300.00 ZAR" in line
    assert "Send all 2 again…" in line
    (address,) = re.findall(r'<a href="([^"]+)">It is absent<', groups)
    assert page(ann, html.unescape(address)).count('class="q-key"') == 3
    kept = json.loads(ann.get("/queue.json?view=person").getvalue())
    about = kept["about"]
    assert (about["count"], about["totals"], about["snoozed"][:2]) == (3, {"ZAR": "300.00"}, "1 ")
    assert [row["key"] for row in kept["rows"] if row["snoozed_until"]] == [held[0].key]
    table = b"".join(iter(ann.get("/queue.csv?view=person"))).decode()
    assert "1 of these rows" in table and table.count('"Order 48') == 3
    said = dict(digest.lines(person("bob"), database_now()))
    assert "/queue/?view=person&who=nobody&rests=with&order=due" in said.values()
    assert "3 waiting for somebody to take them, 1 of them snoozed" in said
    today = page(ann, "/")
    assert "All 3 items</a>" in today and ">1 of them snoozed</a>" in today and ", 1 of 3 snoozed" in today
    durban.looked(held[0], stories.ABSENT)
    assert (
        "snoozed"
        not in page(ann, "/queue/?view=person&group=cause").split("</form>", 1)[1].split("<table")[1]
    )


def test_an_address_is_kept_under_a_name_and_shared_by_who_may(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    actions.assign(of(operation).uid, actor="ann", to="ann")
    ann, bob = browser_of("ann"), browser_of("bob")
    form = {"name": "My failed <ones>", "address": "state=failed&who=me&nonsense=1"}
    assert "Save this view" not in page(ann, "/queue/") and "Save this view" in page(ann, "/queue/?who=me")
    assert "Everybody sees it" not in page(ann, "/queue/?who=me")
    kept = page(ann, "/views/", form)
    assert "Saved as “My failed &lt;ones&gt;”" in kept and "Order 483" in kept, "back under the same filter"
    assert "?state=failed&amp;who=me" in kept and "Delete this view" in kept
    assert "already" in page(ann, "/views/", form)
    assert "Only an approver or an administrator" in page(
        ann, "/views/", form | {"name": "x", "shared": "on"}
    )
    assert "My failed" not in page(bob, "/queue/"), "one's own"
    page(bob, "/views/", {"name": "What I have", "address": "who=me", "shared": "on"})
    assert "What I have" in page(ann, "/queue/") and "Order 483" in page(ann, "/queue/?who=me"), "hers"
    view = SavedView.objects.get(name="What I have")
    assert "Only whose it is" in page(ann, f"/views/{view.uid}/delete/", {})
    assert "is deleted" in page(bob, f"/views/{view.uid}/delete/", {})
    assert "What I have" not in page(ann, "/queue/")
    assert "Give it a name" in page(ann, "/views/", {"name": " ", "address": "who=me"})


def test_all_that_somebody_has_is_handed_over_with_a_note(durban: stories.Durban) -> None:
    cases = [of(durban.absent(number)) for number in (483, 484, 485)]
    for case in cases:
        actions.assign(case.uid, actor="bob", to="ann")
    bob, ann = browser_of("bob"), browser_of("ann")
    shown = page(bob, "/hand-over/?of=ann")
    assert [f'value="{case.uid}"' in shown for case in cases] == [True] * 3
    form = {"of": "ann", "to": "bob", "chosen": [str(case.uid) for case in cases[:2]], "note": "Ann is away."}
    assert "vic cannot take it" in page(bob, "/hand-over/", form | {"to": "vic"})
    assert "2 handed over to bob." in page(bob, "/hand-over/", form)
    assert "0 handed over to bob." in page(bob, "/hand-over/", form), "a second click finds them gone"
    assert [Case.objects.get(pk=case.pk).assignee for case in cases] == ["bob", "bob", "ann"]
    assert "Only an approver or an administrator" in page(ann, "/hand-over/?of=bob")
    mine = {"of": "ann", "to": "bob", "chosen": [str(cases[2].uid)], "note": "For you."}
    assert "1 handed over to bob." in page(ann, "/hand-over/", mine), "one may hand over one's own"
    trail = page(ann, f"/operations/{cases[0].operation.uid}/")  # type: ignore[union-attr]
    assert "handed it over to bob." in trail and "Ann is away." in trail


def test_an_operations_page_leads_to_handing_over_that_one_by_an_address_of_its_own(
    durban: stories.Durban,
) -> None:
    one, other = durban.absent(483), durban.absent(484)
    bob = browser_of("bob")
    assert "Hand over</a>" not in page(bob, f"/operations/{one.uid}/"), "nobody has it yet"
    for operation in (one, other):
        actions.assign(of(operation).uid, actor="bob", to="ann")
    link = re.search(r'href="(/hand-over/[^"]+)">Hand over</a>', page(bob, f"/operations/{one.uid}/"))
    assert link is not None
    shown = page(bob, html.unescape(link[1]))
    assert re.findall(r'name="chosen" value="([^"]+)" checked', shown) == [str(of(one).uid)]
    assert f'value="{of(other).uid}"' in shown, "the others stand there, too"


def test_one_case_is_given_by_the_same_rule_as_many(durban: stories.Durban) -> None:
    case, ann, bob = of(durban.absent(483)), browser_of("ann"), browser_of("bob")
    person("eve")
    address, form = f"/cases/{case.uid}/", {"team": "finance"}
    page(ann, f"{address}assign/", {**form, "to": "ann"})
    page(ann, f"{address}assign/", {**form, "to": "eve"})
    assert of(case.operation).assignee == "eve", "one's own goes without a note"  # type: ignore[arg-type]
    shown = page(ann, address)
    assert "eve has it. Only an approver" in shown and "Take it" not in shown
    for to in ("ann", ""):
        refused = page(ann, f"{address}assign/", {**form, "to": to, "note": "Mine."})
        assert "Only an approver or an administrator hands over" in refused
    assert "Write a note: eve has it now" in page(bob, f"{address}assign/", {**form, "to": "bob"})
    case.refresh_from_db()
    assert case.assignee == "eve"
    page(bob, f"{address}assign/", {"team": "operations", "to": "bob", "note": "Eve is away."})
    case.refresh_from_db()
    assert (case.assignee, case.owner) == ("bob", "operations")
    last = Event.objects.filter(kind="handed_over").latest("pk")
    assert (last.reason, last.data["was"], last.data["to"]) == ("Eve is away.", "eve", "bob")


def test_the_lists_of_give_and_hand_over_say_what_is_snoozed(durban: stories.Durban) -> None:
    first, second = durban.absent(483), durban.absent(484)
    ann = browser_of("ann")
    for one in (first, second):
        actions.assign(of(one).uid, actor="ann", to="ann")
    until = durban.clock.now() + timedelta(hours=3)
    actions.snooze(of(first).uid, actor="ann", reason="The shop calls back.", until=until, knowingly=True)
    ticked = {"action": "give", "which": "ticked", "pick": [str(first.uid), str(second.uid)]}
    for shown in (page(ann, "/hand-over/?of=ann"), page(ann, "/bulk/freeze/", ticked)):
        lines = [line for line in shown.split("<li>") if 'name="chosen"' in line]
        assert {
            of(one).uid: "snoozed until" in line
            for one in (first, second)
            for line in lines
            if str(of(one).uid) in line
        } == {
            of(first).uid: True,
            of(second).uid: False,
        }


def test_a_comment_stands_in_the_timeline_and_decides_nothing(durban: stories.Durban) -> None:
    operation, ann = durban.absent(483), browser_of("ann")
    address = f"/operations/{operation.uid}/comment/"
    form = {"command_id": str(uuid.uuid4()), "text": "@bob: <b>Acme</b> wants it on Monday."}
    shown = [page(ann, address, form) for _ in range(2)][1]
    assert shown.count("@bob: &lt;b&gt;Acme&lt;/b&gt; wants it on Monday.") == 2, (
        "timeline and trail, once each"
    )
    assert "Write a comment first." in page(
        ann, address, form | {"text": " ", "command_id": str(uuid.uuid4())}
    )
    assert "Comment</button>" in shown
    assert "Comment</button>" not in page(browser_of("vic"), f"/operations/{operation.uid}/")
    assert durban.again(operation).state == "failed"


def test_what_differs_stands_beside_what_was_meant_and_the_same_subject_is_listed(
    durban: stories.Durban,
) -> None:
    differs = durban.silent(466, "4960.00", subject="North Coast Dairy")
    other = durban.silent(467, "12.00", subject="NORTH coast dairy")
    durban.silent(468, "13.00", subject="Somebody else")
    durban.looked(differs, stories.differing(differs, "INV-1160", "5580.00"))
    shown = page(browser_of("vic"), f"/operations/{differs.uid}/").replace("\u00a0", " ")
    amount = shown[shown.index('<th scope="col">Meant</th>') :]
    assert re.search(r"Amount</th><td>4 960.00</td><td><b>5 580.00</b>.*?differs</span></td>", amount)
    assert re.search(r"Currency</th><td>ZAR</td><td>ZAR</td>", amount)
    assert "Same subject" in shown and f"/operations/{other.uid}/" in shown and "Order 468" not in shown
    assert "Meant</th>" not in page(browser_of("vic"), f"/operations/{other.uid}/")


def test_all_that_is_kept_of_what_differs_is_beside_what_was_meant_whatever_is_void_there(
    durban: stories.Durban,
) -> None:
    operation = durban.tried(durban.invoiced(466, "4960.00"), stories.done("INV-1159"))
    (found,) = stories.differing(operation, "INV-1160", "5580.00").records
    paid = replace(found, more=(("paid", "yes"), ("period", "closed")))
    gone = stories.record(operation, "INV-1159", standing=Standing.VOID, differs=("status",))
    durban.looked(operation, Found(Verdict.DIFFERS, complete=True, records=(gone, paid)))
    shown = page(browser_of("vic"), f"/operations/{operation.uid}/").replace("\u00a0", " ")
    beside = shown[shown.index('<th scope="col">Meant</th>') :]
    assert re.search(r"Number</th><td>INV-1159</td><td><b>INV-1160</b>.*?differs</span></td>", beside)
    assert re.search(r"Amount</th><td>4 960.00</td><td><b>5 580.00</b>", beside)
    assert re.search(
        r"Paid</th><td>–</td><td>yes</td>.*?Period</th><td>–</td><td>closed</td>", beside, re.DOTALL
    )


def test_the_page_of_a_case_asks_as_much_whoever_has_how_many(durban: stories.Durban) -> None:
    cases = [of(durban.absent(number)) for number in range(483, 489)]
    ann = browser_of("ann")
    for address, most in ((f"/cases/{cases[0].uid}/", 16), ("/hand-over/?of=ann", 8)):
        counts = []
        for case in cases[::5]:
            actions.assign(case.uid, actor="ann", to="ann")
            with CaptureQueriesContext(connection) as asked:
                ann.get(address)
            counts.append(len(asked))
        assert counts[0] == counts[1] <= most
    of_none, counts = {"kind": CaseKind.NEVER_SUBMITTED, "owner": "finance", "due_s": 60}, []
    for _ in range(3):
        loose = actions.open_case(**of_none, actor="policy", reason="Found.")  # type: ignore[arg-type]
        actions.assign(loose.uid, actor="ann", to="ann")
        with CaptureQueriesContext(connection) as asked:
            assert "Found by a reconciliation" in page(ann, "/hand-over/?of=ann")
        counts.append(len(asked))
    assert counts[0] == counts[2] <= 10, "also where no operation carries them"


def test_what_was_escalated_stands_in_the_queue_on_today_and_on_its_case(durban: stories.Durban) -> None:
    held, ann = durban.absent(483), browser_of("ann")
    case, operation = of(held), f"/operations/{held.uid}/"
    assert ">Escalated 1 item<" not in page(ann, "/")
    durban.clock.set(case.due_at)
    assert actions.escalate(case.uid)
    durban.absent(484)
    assert listed(ann, "?view=escalated") == ["Order 483"]
    queue = page(ann, "/queue/?view=escalated")
    assert 'Escalated <span class="n">1</span>' in queue and "also approvers" in queue
    assert 'href="/queue/?view=escalated&amp;order=due">Escalated 1 item<' in page(ann, "/")
    assert "escalated to <b>approvers</b>" in page(ann, f"/cases/{case.uid}/")
    assert "passed it on to approvers, beside its owner." in page(ann, operation)


def test_many_are_given_at_once_and_what_somebody_has_is_handed_over_with_a_note(
    durban: stories.Durban,
) -> None:
    first, second, third = durban.absent(483), durban.absent(484), durban.absent(485)
    ann, bob = browser_of("ann"), browser_of("bob")
    person("eve")
    page(bob, f"/cases/{of(third).uid}/assign/", {"to": "bob", "team": "finance"})
    ticked = {
        "action": "give",
        "which": "ticked",
        "pick": [str(first.uid), str(second.uid)],
        "view": "person",
    }
    asked = page(ann, "/bulk/freeze/", ticked)
    assert "Give 2 to somebody" in asked and f'value="{of(third).uid}"' not in asked
    cases = re.findall(
        r'name="chosen" value="([^"]+)" checked', page(ann, "/bulk/freeze/", {**ticked, "which": "all"})
    )
    assert set(cases) == {str(of(one).uid) for one in (first, second, third)}
    form = {"chosen": cases, "listed": cases, "address": "view=person", "to": "team:finance"}
    assert "Choose who takes them" in page(ann, "/bulk/give/", {**form, "to": ""})
    assert "vic cannot take it" in page(ann, "/bulk/give/", {**form, "to": "person:vic"})
    refused = page(ann, "/bulk/give/", {**form, "to": "person:eve"})
    assert (
        "1 of them are somebody else’s now" in refused
        and len(re.findall('name="chosen".* checked', refused)) == 3
    )
    assert not Case.objects.open().filter(assignee="eve").exists(), "all or none of what has no note"
    given = page(ann, "/bulk/give/", {**form, "to": "person:eve", "note": "Ann is away."})
    assert "2 given to eve. 1 left with who has them: Only an approver" in given
    assert "1 given to eve. 2 there already." in page(
        bob, "/bulk/give/", {**form, "to": "person:eve", "note": "So am I."}
    )
    assert [one.reason for one in third.events.filter(kind="handed_over")] == ["So am I."]
    assert [one.reason for one in first.events.filter(kind="assigned")] == ["Ann is away."]
    back = bob.post("/bulk/give/", {**form, "to": "team:operations", "note": "Theirs."})
    assert back["Location"] == "/queue/?view=person"
    assert {(one.owner, one.assignee) for one in Case.objects.open()} == {("operations", "")}
    assert "1 answered meanwhile." in page(bob, "/bulk/give/", {**form, "chosen": [str(uuid.uuid4())]})
