"""What is there has to say what was meant, also where the amount is right: contents are compared by digests.

| the record's fields, by `record.compare`           | it is                                                 |
|----------------------------------------------------|-------------------------------------------------------|
| as the payload has them                            | matched                                               |
| another day, a line less, one line more            | payload differs, and says in which fields             |
| a field that the payload does not have             | not compared                                          |
| nothing where the payload has something            | payload differs                                       |
| otherwise, and the amount or the status, too       | over or under comes first, status differs comes after |
| digests by a key that is listed no more            | not compared, and that is said                        |
"""

from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from ledger import actions
from ledger.actions import Submission
from ledger.models import Case, Lookup, Operation, OperationType
from ledger.rules.states import Outcome
from reconcile.models import Finding, Record, Run
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, adds_up, command_id, counts, key_of, record

COMPARE = {"due": "due_on", "lines": "rows[].{sku: code, qty: quantity}", "buyer.mail": "contact"}
"""What of a payload is where in a record."""


@pytest.fixture
def books(listed: Books) -> Books:
    kind = OperationType.objects.get(name="invoice.create")
    kind.calls = kind.calls | {"record": kind.calls["record"] | {"compare": COMPARE}}
    kind.save(update_fields=["calls"])
    listed.plan.refresh_from_db()
    return listed


def meant(order: str, **payload: Any) -> Operation:
    submission = Submission(
        "invoice.create",
        {"order": order, "metadata": {"operation": key_of(order)}, **payload},
        key=key_of(order),
        amount="100.00",
        currency="ZAR",
    )
    reply = actions.claim(submission, actor="api:shop")
    assert reply.attempt is not None and reply.token is not None
    report = actions.Report(Outcome.SUCCEEDED, destination_reference=f"INV-{order}")
    actions.record(reply.attempt.uid, token=reply.token, report=report, actor="api:shop")
    return reply.operation


LINES = [{"sku": "A-1", "qty": 2}, {"sku": "B-7", "qty": 1.5}]
ROWS = [{"code": "A-1", "quantity": 2, "tax": "0.15"}, {"code": "B-7", "quantity": 1.5}]


def test_contents_that_are_as_meant_match_and_others_say_in_which_fields(books: Books) -> None:
    for order in "12345":
        meant(order, due="2026-12-31", lines=LINES)
    HELD.pages = [
        [record(1, key=key_of("1"), due_on="2026-12-31", rows=ROWS)],
        [record(2, key=key_of("2"), due_on="2027-01-31", rows=ROWS)],
        [record(3, key=key_of("3"), due_on="2026-12-31", rows=ROWS[:1])],
        [record(4, key=key_of("4"), due_on=None, rows=[*ROWS, *ROWS[:1]])],
        [record(5, key=key_of("5"), due_on="2026-12-31", rows=ROWS, total="90.00")],
    ]
    run, found = books.run()
    assert counts(run) == {"matched": 1, "payload_differs": 3, "amount_under": 1}
    adds_up(run)
    told = {one.reference: one.contents for one in found if one.item_class == "payload_differs"}
    assert told == {key_of("2"): ["due"], key_of("3"): ["lines"], key_of("4"): ["due", "lines"]}
    assert {one.why for one in found} >= {"INV-4 is there with other contents than were meant: due, lines."}
    assert [one["class"] for one in run.tie["lines"]].count("payload_differs") == 1


def test_it_stops_its_operation_for_a_person_and_ends_when_it_is_put_right(books: Books) -> None:
    operation = meant("1", due="2026-12-31")
    HELD.pages = [[record(1, key=key_of("1"), due_on="2027-01-01")]]
    run, _ = books.run()
    lookup = Lookup.objects.get(operation=operation)
    assert (lookup.verdict, lookup.records[0]["differs"], lookup.records[0]["contents"]) == (
        "differs",
        ["contents"],
        ["due"],
    )
    assert Case.objects.get(operation=operation).closed_at is None
    assert run.settled == {"held": 1}
    HELD.pages = [[record(1, key=key_of("1"), due_on="2026-12-31")]]
    run, _ = books.run()
    assert Case.objects.get(operation=operation).closed_at is not None
    assert counts(run) == {"matched": 1} and run.gone.count() == 1


def test_the_same_again_is_one_difference_and_another_field_is_news(books: Books) -> None:
    meant("1", due="2026-12-31", lines=LINES)
    prints = []
    for due in ("2027-01-01", "2027-01-01", "2027-01-02"):
        HELD.pages = [[record(1, key=key_of("1"), due_on=due, rows=ROWS)]]
        prints.append(books.run()[1][0].fingerprint)
    assert prints[0] == prints[1] != prints[2]


def test_what_the_payload_does_not_have_was_not_meant(books: Books) -> None:
    meant("1", due="2026-12-31")
    meant("2")
    meant("3", due=None)
    HELD.pages = [
        [record(1, key=key_of("1"), due_on="2026-12-31", rows=ROWS, contact="x@example.com")],
        [record(2, key=key_of("2"), due_on="2026-12-31"), record(3, key=key_of("3"))],
    ]
    run, _ = books.run()
    assert counts(run) == {"matched": 3}
    assert "The contents of 1 matched operation:" in " ".join(run.made_with["not_tested"])
    assert "Compared: reference, amount, currency, status, due, lines, buyer.mail." in " ".join(
        run.made_with["not_tested"]
    )


def test_a_check_of_its_own_compares_the_same_and_so_does_what_it_found_off_the_list(books: Books) -> None:
    OperationType.objects.update(lookup_proved_at="2026-01-01T00:00:00Z")
    meant("1", due="2026-12-31")
    HELD.pages = [[record(1, key=key_of("1"), due_on="2027-01-31", unlisted=True)]]
    run, found = books.run()
    assert counts(run) == {"payload_differs": 1} and found[0].contents == ["due"]
    lookup = Lookup.objects.latest("pk")
    assert lookup.records[0]["contents"] == ["due"]
    first = Lookup.objects.earliest("pk")
    assert first.why == "It is there, with other contents than were meant: due."


def test_the_status_comes_after_and_a_key_that_is_gone_is_said(books: Books, settings: Any) -> None:
    meant("1", due="2026-12-31")
    HELD.pages = [[record(1, key=key_of("1"), due_on="2027-01-31", status="processing")]]
    run, _ = books.run()
    assert counts(run) == {"payload_differs": 1}
    new = "k9:" + "".join(reversed(settings.DIGEST_KEYS.split(",")[0].partition(":")[2][:-1])) + "="
    with override_settings(DIGEST_KEYS=f"{new},{settings.DIGEST_KEYS}"):
        run, _ = books.run()
        assert counts(run) == {"payload_differs": 1}
    with override_settings(DIGEST_KEYS=new):
        run, _ = books.run()
        assert counts(run) == {"status_differs": 1}


def test_no_value_of_what_is_there_stands_in_the_database_and_the_page_shows_them_to_some(
    books: Books,
) -> None:
    OperationType.objects.update(performed_by="tieout", review={"redact": ["buyer.mail"]})
    books.plan.refresh_from_db()
    payload = {"due": "first of May", "lines": LINES, "buyer": {"mail": "thandi@example.com"}}
    operation = actions.submit(
        Submission("invoice.create", payload, key=key_of("1"), amount="100.00", currency="ZAR"),
        actor="api:shop",
    ).operation
    claimed = actions.claim_to_send(operation.pk, actor="worker")
    assert claimed is not None
    actions.start(claimed.attempt.uid, start_id=command_id(), token=claimed.token, actor="worker")
    report = actions.Report(Outcome.UNCERTAIN)
    actions.record(claimed.attempt.uid, token=claimed.token, report=report, actor="worker")
    HELD.pages = [
        [record(1, key=key_of("1"), due_on="second of May", rows=ROWS[1:], contact="zola@example.com")]
    ]
    run, (found,) = books.run()
    with connection.cursor() as cursor:
        for table in ("reconcile_record", "reconcile_finding", "reconcile_run", "ledger_lookup"):
            cursor.execute(f"SELECT count(*) FROM {table} AS t WHERE t::text ~ 'May|B-7|zola'")
            assert cursor.fetchone() == (0,), table
    address = f"/runs/{run.uid}/differences/{found.pk}/"
    ann, vic = (browser_of(name).get(address).content.decode() for name in ("ann", "vic"))
    for words in ("“first of May”", "“second of May”", "Contents, lines.0.sku", "“A-1”", "“B-7”"):
        assert words in ann, words
    assert "example.com" not in ann, "what the rules redact is hidden on either side"
    assert "May”" not in vic and "B-7" not in vic and "for who may correct it" in vic
    for form in ("csv", "json"):
        text = browser_of("ann").get(f"/runs/{run.uid}.{form}").getvalue().decode()
        assert "other contents than were meant: buyer.mail, due, lines." in text and "of May" not in text
    HELD.pages = [[record(1, key=key_of("1"), due_on="second of May", rows=ROWS[1:])]]
    books.run()
    assert "not kept here" in browser_of("ann").get(address).content.decode()
    assert Run.objects.count() == 2 and Finding.objects.filter(run=run).get().contents == found.contents
    assert not Record.objects.filter(run=run).exists()
