"""Two people on the pages: one asks, another one answers, and both read beforehand what it takes."""

import html
import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Approval, Event, Operation, Permit
from reconcile.models import Proposal
from reconcile.proposals import actions as proposals
from review.instants import zone
from tests import stories
from tests.databases import Clock
from tests.people import browser_of, person


@pytest.fixture
def durban(clock: Clock) -> stories.Durban:
    """Invoices above 10 000.00 ZAR take two people; bob and eve could be the second one."""
    made = stories.Durban(clock)
    made.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    made.invoice.save(update_fields=["review"])
    for name in ("bob", "eve"):
        person(name)
    return made


def silent(durban: stories.Durban, order: int) -> Operation:
    """A reminder whose automation fell silent so long ago that what is not there now will not come."""
    operation = durban.expired(order)
    durban.clock.advance(60)
    return operation


def page(name: str, operation: Operation, way: str = "") -> str:
    return browser_of(name).get(f"/operations/{operation.uid}/{way}").content.decode()


def post(name: str, operation: Operation, way: str, **fields: Any) -> Any:
    form = {"command_id": str(uuid.uuid4()), "reason": "The outbox is empty.", **fields}
    return browser_of(name).post(f"/operations/{operation.uid}/{way}/", form)


def override(
    durban: stories.Durban, operation: Operation, *, leads_to: str = "override_end", **fields: Any
) -> Any:
    at = durban.clock.now().astimezone(zone())
    form = {"leads_to": leads_to, "where": "The outbox", "looked_at": f"{at:%Y-%m-%dT%H:%M:%S}", **fields}
    return post("ann", operation, "override", **form)


def answer(name: str, operation: Operation, way: str, **fields: Any) -> Any:
    return post(name, operation, way, approval=str(operation.approvals.latest("id").uid), **fields)


def test_an_override_asks_where_when_why_and_what_it_leads_to(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    shown = page("ann", operation)
    assert ">Override<" in shown
    assert "it is not there. A second person must agree. Needs bob or another approver." in shown
    dialog = page("ann", operation, "override/")
    assert "Go ahead without proof: you looked in Mailroom by hand?" in dialog
    assert "Nothing happens yet: it needs bob or another approver." in dialog
    for field in ("leads_to", "where", "looked_at", "reason"):
        refused = override(durban, operation, **{field: ""})
        assert refused.status_code == 200
        assert 'class="wrong small"' in refused.content.decode(), field
    later = (durban.clock.now() + timedelta(days=1)).astimezone(zone())
    for wrong, words in (
        ({"looked_at": "yesterday"}, "Write the date and the time"),
        ({"looked_at": f"{later:%Y-%m-%dT%H:%M}"}, "later than now"),
        ({"looked_at": "2020-01-01T10:00"}, "may still have come"),
        ({"leads_to": "attest"}, "Select a valid choice"),
    ):
        assert words in override(durban, operation, **wrong).content.decode()
    assert not Approval.objects.exists()
    assert ">Override<" not in page("ann", durban.silent(476)), "what can be checked is checked"


def test_the_page_says_who_asks_what_why_and_until_when_and_who_may_answer(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    assert override(durban, operation).status_code == 303
    asked = (
        "ann asks for an override: close it as not done. Mailroom cannot be checked, so two people decide."
    )
    for name in ("ann", "bob", "vic", "ada"):
        shown = page(name, operation)
        assert "Waits for a second person" in shown
        assert asked in shown
        assert "not there: The outbox" in shown
        assert "Reason given: “The outbox is empty.” The request is due by" in shown
        assert (f'action="/operations/{operation.uid}/approve/"' in shown) == (name == "bob"), name
    assert ">Take it back<" in page("ann", operation)
    assert "An approver decides this; your role asks." in page("ann", operation, "approve/")
    assert "You asked for it yourself" in browser_of("ann").get("/approvals/").content.decode()
    assert "Your role looks only." in page("vic", operation)
    assert "Administrators decide no items." in page("ada", operation)
    for name, words in (
        ("ann", "An approver decides this"),
        ("vic", "looks only"),
        ("ada", "decide no items"),
    ):
        for way in ("approve", "refuse"):
            assert words in answer(name, operation, way).content.decode()
    assert Approval.objects.get().answer == ""


def test_44_an_approver_and_superuser_who_asked_is_told_that_another_one_decides(
    durban: stories.Durban,
) -> None:
    operation = durban.blind(318, "18400.00")
    User.objects.filter(username="bob").update(is_superuser=True)
    assert post("bob", operation, "confirm-with-reference", reference="INV-7").status_code == 303
    assert "You asked for it yourself" in answer("bob", operation, "approve").content.decode()
    assert "It needs eve." in page("bob", operation)
    assert durban.again(operation).state == "uncertain"


def test_an_approved_override_is_done_on_the_words_of_two_and_says_so(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    override(durban, operation)
    assert "Approve the override that closes it as not done?" in page("bob", operation, "approve/")
    assert answer("bob", operation, "approve", reason="").status_code == 303
    shown = page("vic", operation)
    assert "It did not happen, on ann’s word. bob agreed. Looked by hand at" in shown
    assert "proved not done" not in shown
    assert "Allow another try: It is not there on ann’s word only" in page("ann", operation)
    assert ">Override<" in page("ann", operation)
    assert "Not there, on two people’s word" in browser_of("vic").get("/queue/?view=latest").content.decode()
    assert '<b>bob</b> approved what was asked. <span class="soft">No reason given.</span>' in shown
    told = answer("eve", operation, "approve").content.decode()
    assert "Not now." in told
    assert "bob approved it at" in told


def test_an_approved_override_for_one_more_try_has_its_ten_seconds_of_undo(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    override(durban, operation, leads_to="override_permit")
    assert "Mailroom would hold two, and nobody could look." in page("bob", operation, "approve/")
    answer("bob", operation, "approve")
    assert "ann allowed another try at" in page("ann", operation)
    post("ann", operation, "undo")
    assert Permit.objects.get().withdrawn_by == "ann"
    assert "May have happened" in page("ann", operation)


def test_above_the_limit_the_page_says_so_first_and_confirming_only_asks(durban: stories.Durban) -> None:
    small, large = durban.silent(1, "10000.00"), durban.blind(318, "18400.00")
    above = "Above 10\u00a0000.00\u00a0ZAR, so two people decide."
    assert above not in page("ann", small)
    assert f"{above} Needs bob or another approver." in page("ann", large)
    way = "confirm-with-reference"
    assert f"it needs bob or another approver. {above}" in page("ann", large, f"{way}/")
    post("ann", small, way, reference="INV-6")
    assert "Done on ann’s word, not yet seen in Durban Books.<" in page("ann", small)
    post("ann", large, way, reference="INV-7")
    assert 'data-state="uncertain"' in page("ann", large)
    answer("bob", large, "approve")
    assert "Done on ann’s word, not yet seen in Durban Books. bob agreed." in page("ann", large)


def test_what_is_added_to_it_is_said_before_and_to_the_second_person(durban: stories.Durban) -> None:
    for order in (1, 2, 3):
        post("ann", durban.silent(order, "3000.00"), "confirm-with-reference", reference=f"INV-{order}")
    fourth = durban.silent(4, "3000.00")
    much, limit = "12\u00a0000.00\u00a0ZAR", "10\u00a0000.00\u00a0ZAR"
    why = f"With 3 others of today, {much}: above {limit}, so two people decide."
    assert f"{why} Needs bob or another approver." in page("ann", fourth)
    assert why not in page("bob", fourth), "bob has closed nothing today"
    assert why in page("ann", fourth, "confirm-with-reference/")
    post("ann", fourth, "confirm-with-reference", reference="INV-4")
    assert f"ann asks to confirm it with reference INV-4. {why}" in page("bob", fourth)
    assert why in browser_of("bob").get("/approvals/").content.decode()
    answer("bob", fourth, "approve")
    assert durban.again(fourth).state == "completed"


def test_it_did_not_happen_above_the_limit_waits_for_the_approvers_own_check(durban: stories.Durban) -> None:
    operation = durban.looked(durban.absent(318, "18400.00"), stories.ABSENT, actor="ann")
    post("ann", operation, "did-not-happen")
    assert Approval.objects.get().action == "end"
    answer("bob", operation, "approve")
    assert operation.cases.get().closed_by == "ann"
    looks = operation.lookups.order_by("id")
    assert [look.actor for look in looks] == ["worker", "ann", "bob"], "approving looks once more"


def test_refusing_needs_a_reason_and_leads_back_to_the_list(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    override(durban, operation)
    bob = browser_of("bob")
    listed = bob.get("/approvals/").content.decode()
    assert "1 approval waits for a second person" in listed
    address = f"/operations/{operation.uid}/refuse/?back=approvals"
    assert f'href="{address}"' in listed
    form = {"command_id": str(uuid.uuid4()), "approval": str(Approval.objects.get().uid)}
    assert "Write a reason" in bob.post(address, form).content.decode()
    answered = bob.post(address, {**form, "reason": "The customer has it."})
    assert answered["Location"] == "/approvals/"
    listed = bob.get("/approvals/").content.decode()
    assert "Nothing waits for a second person" in listed
    assert "refused the override that closes it as not done, asked by ann. “The customer has it.”" in listed
    assert "refused what was asked. “The customer has it.”" in page("ann", operation)


def test_correcting_what_may_have_happened_says_what_changes_and_what_if_the_first_one_arrived(
    durban: stories.Durban,
) -> None:
    operation = durban.blind(318, "8400.00")
    meant = actions.Correction({"order": "318", "total": "8040.00", "iban": "ZA-4242"}, "8040.00", "ZAR")
    risk = actions.Risk("Open invoices of Acme", durban.clock.now(), "The truck leaves at noon.")
    words: dict[str, Any] = {"actor": "api:webshop", "reason": "Two figures were swapped.", "who": "thandi"}
    actions.correct_in_doubt(operation.pk, meant, risk=risk, **words)
    says = (
        "webshop for thandi asks",
        "It may have happened all the same, so two people decide.",
        "Changes amount, iban, total. 8\u00a0400.00\u00a0ZAR becomes 8\u00a0040.00\u00a0ZAR",
        "which proves nothing: Open invoices of Acme",
        "The truck leaves at noon.",
        "Two figures were swapped.",
    )
    listed = browser_of("bob").get("/approvals/").content.decode()
    shown, dialog = page("bob", operation), page("bob", operation, "approve/")
    arrived = "Durban Books would hold both, 8\u00a0400.00\u00a0ZAR and 8\u00a0040.00\u00a0ZAR."
    for part in (*says, arrived):
        assert part in listed, part
    for part in says:
        assert part in shown, part
    assert "4242" not in listed + shown + dialog, "paths, and never a value"
    assert "Approve the correction of what may have happened?" in dialog
    for part in (says[2], arrived, "Durban Books is checked once more as you approve"):
        assert part in dialog, part
    assert "on webshop’s word and yours" in page("bob", operation)
    assert answer("bob", operation, "approve").status_code == 303
    made = operation.corrections.get()
    shown = page("vic", operation)
    assert 'data-state="uncertain"' in shown
    assert f"It was corrected and never runs again. {made.key} stands in its place: waiting." in shown
    assert "asked a second person for thandi." in shown
    assert "approved the correction of what may have happened, asked by webshop for thandi." in (
        browser_of("vic").get("/approvals/").content.decode()
    )
    durban.tried(made, stories.done("INV-2"))
    durban.looked(operation, stories.one(operation, "INV-1"))
    shown = page("ann", operation)
    for part in (
        "It is there, and so may be its correction",
        "Done, but doubled",
        "Durban Books holds INV-1, and its correction is there, too. One invoice was meant: reverse",
        "Keep one, reverse the other in Durban Books, then confirm here which one counts.",
    ):
        assert part in shown, part


def test_correcting_what_has_no_amount_speaks_of_none(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    risk = actions.Risk("The outbox", durban.clock.now(), "The truck leaves at noon.")
    meant = actions.Correction({"order": "398", "to": "Bluff"}, None, None)
    actions.correct_in_doubt(
        operation.pk, meant, risk=risk, actor="api:webshop", reason="It goes to Bluff.", who="thandi"
    )
    dialog, listed = page("bob", operation, "approve/"), browser_of("bob").get("/approvals/").content.decode()
    for shown in (page("bob", operation), dialog, listed):
        assert "Changes to" in shown
        assert "becomes" not in shown
    for shown in (dialog, listed):
        assert "Mailroom would hold both." in shown


def test_taking_it_back_is_the_makers_own(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    override(durban, operation)
    assert "Only ann takes it back." in answer("bob", operation, "take-back").content.decode()
    assert answer("ann", operation, "take-back").status_code == 303
    assert Approval.objects.get().answer == "withdrawn"


def test_an_answer_is_for_the_request_that_was_read(durban: stories.Durban) -> None:
    """A page that is older than the request which replaced the one it shows decides nothing."""
    operation = silent(durban, 398)
    override(durban, operation)
    first = Approval.objects.get()
    answer("ann", operation, "take-back")
    override(durban, operation, leads_to="override_permit")
    told = post("bob", operation, "approve", approval=str(first.uid)).content.decode()
    assert "ann took it back at" in told
    assert Approval.objects.open().count() == 1
    assert "The form was not whole" in post("bob", operation, "approve", approval="").content.decode()


def test_an_answer_is_for_the_operation_of_its_address(durban: stories.Durban) -> None:
    read, other = silent(durban, 398), silent(durban, 399)
    override(durban, read)
    override(durban, other)
    its = str(other.approvals.get().uid)
    for name, way in (("bob", "approve"), ("bob", "refuse"), ("ann", "take-back")):
        told = post(name, read, way, approval=its).content.decode()
        assert "The form was not whole" in told, way
        assert its not in told, way
    assert Approval.objects.open().count() == 2


def test_the_figure_on_each_page_is_that_of_the_list(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has lapsed counts no more, although no sweep has said so; beyond what is counted both say more."""

    def figures() -> tuple[str, str]:
        listed = browser_of("bob").get("/approvals/").content.decode()
        heading, badge = listed.split("<h1>")[1], listed.split('Approvals <span class="n">')
        return heading.split()[0], badge[1].split("<")[0] if len(badge) > 1 else ""

    for order in (1, 2):
        override(durban, silent(durban, order))
    assert figures() == ("2", "2")
    monkeypatch.setattr("review.waiting.COUNTED", 1)
    assert figures() == ("1+", "1+")
    durban.clock.advance(2 * 86400)
    assert figures() == ("Nothing", "")
    assert Approval.objects.open().count() == 2


def test_a_long_list_is_counted_whole_and_read_page_by_page(durban: stories.Durban) -> None:
    """Each kind has fifty on a page; heading, tab and Today count all; what waits there is there once."""
    wishes = [(f"auditor {number}", number) for number in range(53)]
    person("ada")
    for name, number in wishes:
        wish = {"person": name, "role": "viewer", "give": True}
        with transaction.atomic():
            proposals.propose(
                "role",
                actor="ada",
                reason="New here.",
                title=name,
                lines=["-"],
                data=wish,
                command_id=uuid.UUID(int=number),
            )
    now = durban.clock.now()
    with durban.clock.database.rewriting("reconcile_proposal"):
        Proposal.objects.update(made_at=now, expires_at=now + timedelta(days=7))  # due alike, to the instant
    override(durban, silent(durban, 1))
    bob = browser_of("bob")
    first = bob.get("/approvals/").content.decode()
    assert "<h1>54 approvals wait for a second person" in first
    assert 'Approvals <span class="n">54<' in first
    assert "All 54 requests" in bob.get("/").content.decode()
    assert "50 of 53 changes, due first." in first and "of 1 requests" not in first
    seen, address = titles(first), again(first)
    assert [int(number) for number in seen] == [*range(50)]
    second = bob.get(address).content.decode()
    assert "<h1>54 approvals wait" in second and "3 of 53 changes." in second
    assert [int(number) for number in titles(second)] == [50, 51, 52] and not again(second)
    assert "Reminder for order 1" in first and "Reminder for order 1" not in second
    for wrong in ("x", "1~", "~1", "9" * 20 + "~1", "-1~2"):
        assert titles(bob.get("/approvals/", {"of": "rules", "after": wrong}).content.decode()) == seen
    assert titles(bob.get("/approvals/", {"of": "nothing"}).content.decode()) == seen


def titles(page: str) -> list[str]:
    return re.findall(r">Give auditor (\d+) the role", page)


def again(page: str) -> str:
    found = re.search(r'rel="next" href="([^"]+)">Next changes', page)
    return html.unescape(found[1]) if found else ""


def test_50_a_person_who_is_deleted_stays_in_the_trail(durban: stories.Durban) -> None:
    operation = silent(durban, 398)
    override(durban, operation)
    answer("bob", operation, "approve", reason="I called them.")
    before = list(Event.objects.values_list("actor", "reason"))
    User.objects.filter(username__in=["ann", "bob"]).delete()
    assert list(Event.objects.values_list("actor", "reason")) == before
    shown = page("vic", operation)
    assert "It did not happen, on ann’s word. bob agreed." in shown
    assert "approved what was asked. “I called them.”" in shown


def test_the_list_costs_the_same_queries_however_long_it_is(durban: stories.Durban) -> None:
    counts = []
    bob = browser_of("bob")
    for orders in ((1,), (2, 3, 4)):
        for order in orders:
            override(durban, silent(durban, order))
        with CaptureQueriesContext(connection) as queries:
            assert f"Reminder for order {orders[-1]}" in bob.get("/approvals/").content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 17
    row = bob.get("/queue/?view=person").content.decode()
    assert "Approve or refuse" in row
