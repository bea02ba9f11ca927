"""What comes after another operation, in a run: a draft is made first, then it is posted.

| the posting, absent past the grace | class      | why                                         |
|-------------------------------------|-----------|---------------------------------------------|
| its draft goes on by itself         | in flight |                                             |
| its draft was done just now         | in flight | its own grace begins with that              |
| a person is asked about its draft   | uncertain | its record is known by the draft's alone    |
| its draft did not happen            | uncertain | so is this                                  |
| its draft was done long ago         | missing   | a check of its own looked for it            |
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Reply, Report
from ledger.destinations.connectors.base import ListPage, ListRequest, Looked, LookRequest, Target
from ledger.models import Lookup, Operation
from ledger.rules.following import Earlier
from ledger.rules.outcomes import Answer
from ledger.rules.states import CaseKind
from ledger.worker.sweep import Sweep
from reconcile.actions import start
from reconcile.configuration import configure
from reconcile.models import Finding, Plan, Run
from reconcile.running import execute, window
from tests import factories as make
from tests.databases import Clock, Database
from tests.reconcile.books import adds_up, command_id, counts, refreshed

FILE = """
[destinations.books]
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
connector = "tests.reconcile.test_following:Postings"
account = "main"
base_url = "http://books.test"

[destinations.books.contract]
settle = "0s"

[operation_types."draft.create"]
destination = "books"
performed_by = "caller"
owner = "finance"

[operation_types."draft.create".contract]
idempotency = "header"
key_retention = "24h"

[operation_types."draft.post"]
destination = "books"
performed_by = "caller"
owner = "finance"

[operation_types."draft.post".record]
id = "id"
reference = "told"
amount = "total"
currency = "currency"

[operation_types."draft.post".lookup]
path = "/drafts/{after.destination_reference}/posting"
match = { draft = "{after.destination_reference}", kind = "posting" }

[operation_types."draft.post".list]
path = "/postings"

[operation_types."order.create"]
destination = "books"
performed_by = "caller"
owner = "finance"
key = "order/{source.system}/{source.reference}"

[operation_types."order.create".record]
id = "id"
reference = "told"
amount = "total"
currency = "currency"

[operation_types."order.create".lookup]
path = "/orders?number={source.reference}"
match = { shop = "{source.system}", number = "no. {source.reference}" }

[operation_types."order.create".list]
path = "/orders"

[plans.orders]
operation_type = "order.create"
timezone = "UTC"
window = "35d"
grace = "0s"

[plans.postings]
operation_type = "draft.post"
timezone = "UTC"
window = "35d"
grace = "15m"
"""
GRACE_S = 15 * 60


class Postings:
    """A destination whose postings name their draft, and nothing of ours."""

    held: tuple[dict[str, Any], ...] = ()
    looks = 0

    def __init__(self, target: Target) -> None:
        self.target = target

    def send(self, request: object) -> Answer:
        return Answer("not_sent", detail="It takes nothing.")

    def look_up(self, request: LookRequest) -> Looked:
        Postings.looks += 1
        return Looked(self.held, complete=True)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        yield ListPage([one for one in self.held if not one.get("unlisted")], None)


def posting(number: int, draft: str, *, kind: str = "posting", **more: Any) -> dict[str, Any]:
    """A posting as the destination lists it."""
    return {"id": f"PO-{number}", "draft": draft, "kind": kind, "total": "100.00", "currency": "ZAR", **more}


@pytest.fixture
def plan(database: Database, tmp_path: Path) -> Plan:
    """Reconciles postings."""
    file = tmp_path / "books.toml"
    file.write_text(FILE)
    configure(file, check=False)
    Postings.held, Postings.looks = (), 0
    return Plan.objects.select_related("operation_type__destination").get(name="postings")


def run(plan: Plan) -> tuple[Run, list[Finding]]:
    """Reconcile over the plan's own window; the figures add up."""
    start_at, to = window(plan, None, None)
    done = start(plan, window_from=start_at, window_to=to, actor="ann")
    found = execute(done)
    adds_up(done)
    return done, found


def claimed(type_name: str, key: str | None, after: Earlier | None = None, **source: str) -> Reply:
    submission = actions.Submission(
        type_name=type_name,
        key=key,
        source=source,
        description="",
        subject="",
        amount="100.00",
        currency="ZAR",
        payload={"order": "483"},
        attempt_id=None,
        lease_s=None,
        after=after,
    )
    return actions.claim(submission, actor="api:shop")


def drafted(number: int, report: Report | None) -> Operation:
    """A draft, and what came of its try; None leaves it running."""
    reply = claimed("draft.create", f"draft/{number}")
    if report is not None:
        _, attempt, token = make.held(reply)
        actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    return refreshed(reply.operation)


def posted(number: int, report: Report | None = None, *, draft: int | None = None) -> Operation:
    """A posting that comes after its draft, and what came of its try where it may be tried."""
    after = Earlier("draft.create", f"draft/{draft or number}")
    reply = claimed("draft.post", f"post/{number}", after)
    if report is not None:
        _, attempt, token = make.held(reply)
        actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    return refreshed(reply.operation)


def test_while_its_draft_goes_on_by_itself_a_posting_is_in_flight(plan: Plan, clock: Clock) -> None:
    draft = drafted(1, None)
    drafted(2, make.UNREACHED)
    for number in (1, 2):
        posted(number)
    clock.advance(GRACE_S + 60)
    actions.expire(draft.pk, actor="worker")
    assert refreshed(draft).state == "uncertain" and make.case_of(refreshed(draft)) == ""
    done, found = run(plan)
    assert (counts(done), found, Postings.looks) == ({"in_flight": 2}, [], 0)


def test_what_comes_after_a_posting_that_waits_is_in_flight_too(plan: Plan, clock: Clock) -> None:
    draft = drafted(1, make.UNREACHED)
    posted(1)
    claimed("draft.post", "post/next", Earlier("draft.post", "post/1"))
    clock.advance(GRACE_S + 60)
    assert counts(run(plan)[0]) == {"in_flight": 2}
    actions.hold(draft.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Two of them.")
    done, found = run(plan)
    assert counts(done) == {"uncertain": 2}
    assert [one.reference for one in found] == ["post/1", "post/next"]


def test_its_grace_begins_once_its_draft_is_done(plan: Plan, clock: Clock) -> None:
    known = drafted(9, make.done("DR-9"))
    posted(9, make.done("PO-9"))
    Postings.held = (posting(9, known.destination_reference),)
    reply = claimed("draft.create", "draft/1")
    posted(1)
    clock.advance(GRACE_S + 60)
    _, attempt, token = make.held(reply)
    actions.record(attempt.uid, token=token, report=make.done("DR-1"), actor="api:shop")
    assert counts(run(plan)[0]) == {"in_flight": 1, "matched": 1}, "not let go yet"
    Sweep().run()
    clock.advance(GRACE_S - 60)
    assert counts(run(plan)[0]) == {"in_flight": 1, "matched": 1}
    clock.advance(120)
    done, (finding,) = run(plan)
    assert counts(done) == {"missing_at_destination": 1, "matched": 1}
    assert finding.why == "Neither on the list nor found by a check of its own."


def test_what_waits_for_a_person_or_for_nothing_says_so_and_takes_no_others_turn(
    plan: Plan, clock: Clock
) -> None:
    """Five of them could not be asked about; after three such answers nobody would ask for the sixth."""
    known = drafted(9, make.done("DR-9"))
    posted(9, make.done("PO-9"))
    Postings.held = (posting(9, known.destination_reference, unlisted=True),)
    for number in range(1, 5):
        drafted(number, make.UNREACHED)
        actions.hold(
            posted(number).after_id or 0, kind=CaseKind.SEVERAL, actor="ann", reason="Which one counts?"
        )
    refused = drafted(5, make.REFUSED)
    last = posted(5)
    actions.end(refused.pk, actor="ann", reason="Not needed.", command_id=command_id())
    Sweep().run()
    assert make.case_of(last) == CaseKind.FIRST
    clock.advance(GRACE_S + 60)
    done, found = run(plan)
    assert counts(done) == {"uncertain": 5, "matched": 1}
    unasked = "It would be asked about by the reference of what it comes after, which has none yet."
    not_listed = f"Not on the list, and the check could not look. {unasked}"
    assert [one.why for one in found] == [
        *[f"Waits for another operation, which waits for a person. {not_listed}"] * 4,
        f"It comes after another operation, which did not happen. {not_listed}",
    ]
    assert not Lookup.objects.exclude(operation__key="post/9").exists()
    first = Operation.objects.get(key="draft/1")
    actions.cancel(first.pk, actor="ann", reason="Not needed.", command_id=command_id())
    Sweep().run()
    again, now_found = run(plan)
    assert now_found[0].why != found[0].why, "what it says of the draft is as that stands now"
    assert again.digest == done.digest, "the drafts are in other books"


# --- known by several fields


def test_a_record_without_our_key_belongs_to_the_posting_whose_draft_it_names(
    plan: Plan, clock: Clock
) -> None:
    for number in (1, 2, 3):
        drafted(number, make.done(f"DR-{number}"))
    posted(1, make.done("PO-1"))
    posted(2, make.SILENCE)
    posted(3, make.done("PO-3"))
    Postings.held = (
        posting(1, "DR-1"),
        posting(2, "DR-2", total="90.00"),
        posting(3, "DR-3"),
        posting(4, "DR-3"),
        posting(5, "DR-1", kind="reversal"),
        posting(6, "DR-6", total="7.00"),
    )
    clock.advance(GRACE_S + 60)
    done, found = run(plan)
    assert counts(done) == {
        "amount_under": 1,
        "duplicate_at_destination": 1,
        "matched": 2,
        "unexpected_at_destination": 2,
    }
    assert Postings.looks == 0, "all were on the list"
    assert [one.reference for one in found] == [
        "post/3",
        "post/2",
        "draft = DR-1, kind = reversal",
        "draft = DR-6, kind = posting",
    ]
    assert found[-1].amount == 7


def test_what_two_postings_of_one_draft_could_have_made_is_ambiguous(plan: Plan, clock: Clock) -> None:
    drafted(1, make.done("DR-1"))
    posted(1, make.done("PO-1"))
    posted(2, make.done("PO-2"), draft=1)
    Postings.held = (posting(1, "DR-1"),)
    clock.advance(GRACE_S + 60)
    done, found = run(plan)
    assert counts(done) == {"ambiguous": 1, "uncertain": 2}
    assert found[0].why == "It could be of more than one operation."
    assert {one.why.partition("look. ")[2] for one in found[1:]} == {
        "Another of its type comes after the same one."
    }


def ordered(key: str | None, reference: str, *, system: str = "till/2") -> Operation:
    """An order of a shop, done as its caller says; its record is known by its source alone."""
    reply = claimed("order.create", key, system=system, reference=reference)
    _, attempt, token = make.held(reply)
    actions.record(attempt.uid, token=token, report=make.done(f"OR-{reference}"), actor="api:shop")
    return refreshed(reply.operation)


def order(number: int) -> dict[str, Any]:
    """An order as the destination lists it."""
    return {**posting(number, ""), "shop": "till/2", "number": f"no. {number}"}


def test_a_record_belongs_to_the_order_whose_key_is_made_of_the_same_source(plan: Plan) -> None:
    plan = Plan.objects.select_related("operation_type__destination").get(name="orders")
    ordered(None, "1")
    ordered("order/by hand", "2")
    ordered("order/none of its source", "3")
    drill = "drill/0123456789ab/1"
    Postings.held = (
        order(1),
        order(2),
        {**order(3), "number": "", "told": "order/none of its source"},
        order(4),
        {**order(5), "shop": drill, "total": "1.00"},
        {**order(6), "number": True},
        {**order(7), "shop": "x" * 300},
    )
    done, found = run(plan)
    assert counts(done) == {
        "unreadable": 2,
        "out_of_scope": 1,
        "ambiguous": 1,
        "matched": 2,
        "uncertain": 1,
        "unexpected_at_destination": 1,
    }
    told = {one.item_class: (one.reference, one.why) for one in found}
    assert told["ambiguous"] == ("number = no. 2, shop = till/2", "It could be of more than one operation.")
    assert told["uncertain"] == (
        "order/by hand",
        "Not on the list, and the check could not look."
        " Its key is not made of the source parts by which its record would be known.",
    )
    assert told["unexpected_at_destination"][0] == "number = no. 4, shop = till/2"
    assert {one.why for one in found if one.item_class == "unreadable"} == {
        "It cannot be read: number is neither text nor a whole number.",
        "It cannot be read: shop is longer than 200 characters.",
    }
    assert Operation.objects.filter(key="order/till%2F2/1").exists(), "a separator within a part is encoded"


def test_a_record_that_cannot_be_read_is_one_item_with_the_order_that_it_names(plan: Plan) -> None:
    plan = Plan.objects.select_related("operation_type__destination").get(name="orders")
    operation = ordered(None, "1")
    Postings.held = ({**order(1), "total": "ten"},)
    done, (finding,) = run(plan)
    assert counts(done) == {"unreadable": 1}
    assert (finding.operation, Postings.looks) == (operation, 0)
    assert finding.why.startswith("It cannot be read: amount")


def test_records_that_a_look_up_tells_apart_are_told_apart(plan: Plan) -> None:
    """Written out one after the other, without more, the values of the second would read as the first's."""
    plan = Plan.objects.select_related("operation_type__destination").get(name="orders")
    ordered(None, "1", system="east, shop = west")
    own = {**order(1), "shop": "east, shop = west"}
    Postings.held = (own, {**order(2), "number": "no. 1, shop = east", "shop": "west"})
    done, found = run(plan)
    assert counts(done) == {"matched": 1, "unexpected_at_destination": 1}
    assert found[0].reference == "number = no. 1,, shop = east, shop = west"
