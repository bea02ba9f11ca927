"""A comparison kept as evidence: both files and the report, sealed, seen by few, gone after its day.

| who                                  | keeps        | sees                       |
|--------------------------------------|--------------|----------------------------|
| reviewers, approvers                 | their own    | their own; approvers all   |
| auditors                             | nothing      | all                        |
| viewers, administrators              | nothing      | nothing                    |
| who is limited to some entities      | their own    | their own                  |
"""

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from ledger.models import Event, database_now
from reconcile.models import Comparison, Kept, KeptPiece
from reconcile.statements import keeping
from reconcile.statements.evidence import actions
from tests.databases import Clock, Database
from tests.people import browser_of, limited
from tests.review.test_compare_page import HEAD, compare, drop, page, work

SOURCE, BOOKS = HEAD + "A,1,ZAR\nSecret 5,2,ZAR\nB,x,ZAR\n", HEAD + "A,1,ZAR\n"


def done(name: str) -> Client:
    """Somebody's own comparison, whose report stands on the page."""
    client = browser_of(name)
    drop(client, SOURCE, BOOKS)
    work()
    compare(client)
    return client


def keep(client: Client, *, days: int = 30, reason: str = "Close of November", uid: str = "") -> str:
    """Keep it; what the page said where that was refused."""
    until = (database_now() + timedelta(days=days)).date().isoformat()
    said = {"uid": uid or str(Comparison.objects.latest("pk").uid), "until": until, "reason": reason}
    answer = client.post("/compare/keep/", said)
    return "" if answer.status_code == 303 else answer.content.decode()


def test_both_files_and_the_report_are_kept_sealed_until_their_day_and_then_gone(
    database: Database, clock: Clock
) -> None:
    ann = done("ann")
    report = ann.get("/compare.json").getvalue()
    assert keep(ann) == "" and keep(ann) == "", "the same click twice is one"
    kept = Kept.objects.get()
    event = Event.objects.get(kind="comparison_kept")
    assert (event.actor, event.reason) == ("ann", "Close of November")
    assert event.data["comparison"] == str(kept.uid)
    files = json.loads(report)["files"]
    assert event.data["sha256"] == {side: files[side]["sha256"] for side in ("source", "destination")}
    assert "shop" not in json.dumps(event.data), "no name of a file is put on record"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(k::text, '') || string_agg(p::text, '')"
            " FROM reconcile_kept AS k, reconcile_keptpiece AS p"
        )
        stored = cursor.fetchone()[0]
    assert b"Secret 5".hex() not in stored and b"shop.csv".hex() not in stored
    clock.advance(2 * 3600)
    keeping.sweep()
    assert not Comparison.objects.exists(), "what is not kept is deleted as ever"
    told = page(ann)
    assert "Kept as evidence" in told and "Close of November" in told and "2 differences" in told
    place = f"/compare/kept/{kept.uid}"
    assert ann.get(f"{place}.json").getvalue() == report
    source = ann.get(f"{place}/source/")
    assert source.getvalue().decode() == SOURCE and 'filename="shop.csv"' in source["Content-Disposition"]
    assert ann.get(f"{place}/destination/").getvalue().decode() == BOOKS
    assert ann.get(f"{place}/differences/").status_code == 404
    clock.advance(29 * 86400)
    assert actions.sweep() == 0 and Kept.objects.exists()
    clock.advance(2 * 86400)
    assert actions.sweep() == 1 and not Kept.objects.exists() and not KeptPiece.objects.exists()
    gone = Event.objects.get(kind="comparison_deleted")
    assert (gone.actor, gone.data["comparison"]) == ("policy", str(kept.uid))
    assert ann.get(f"{place}.json").status_code == 404


def test_what_is_kept_is_its_keeper_s_and_of_who_looks_at_everything(database: Database) -> None:
    assert keep(done("ann")) == ""
    place = f"/compare/kept/{Kept.objects.get().uid}"
    seen = {
        name: browser_of(name).get(f"{place}/source/").status_code
        for name in ("ann", "bob", "ira", "vic", "ada")
    }
    assert seen == {"ann": 200, "bob": 200, "ira": 200, "vic": 404, "ada": 404}
    limited("bob", "Durban Trading")
    bob = browser_of("bob")
    assert bob.get(f"{place}.json").status_code == 404 and "Kept as evidence" not in page(bob)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"reason": " "}, "Write a reason"),
        ({"days": 0}, "It has to be a day after today."),
        ({"days": 4000}, "Ten years are the longest"),
        ({"uid": "00000000-0000-0000-0000-000000000000"}, "The files are gone"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words(database: Database, said: dict[str, str], why: str) -> None:
    ann = done("ann")
    assert why in keep(ann, **said)  # type: ignore[arg-type]  # days or texts
    assert not Kept.objects.exists() and not Event.objects.filter(kind="comparison_kept").exists()


def test_nothing_is_kept_by_who_looks_only_of_others_too_large_or_before_it_is_compared(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    vic = done("vic")
    assert "Your role looks only" in keep(vic)
    ann = browser_of("ann")
    assert "The files are gone" in keep(ann), "those are vic's"
    drop(ann, SOURCE, BOOKS)
    assert "Nothing is compared yet" in keep(ann)
    work_of(ann)
    monkeypatch.setattr(actions, "BYTES_MAX", 10)
    assert "larger than 50 MB" in keep(ann)
    assert not Kept.objects.exists()


def work_of(client: Client) -> None:
    keeping.forget(Comparison.objects.earliest("pk").owner)
    work()
    compare(client)


def test_the_database_keeps_it_as_it_is_until_its_end(database: Database, clock: Clock) -> None:
    assert keep(done("ann")) == ""
    for change in (
        "UPDATE reconcile_kept SET until = until + interval '1 day'",
        "DELETE FROM reconcile_kept",
        "UPDATE reconcile_keptpiece SET sealed = ''",
        "DELETE FROM reconcile_keptpiece",
        "INSERT INTO reconcile_kept (uid, keeper, reason, until, size, sealed)"
        " VALUES (gen_random_uuid(), 'worker:1', 'x', tieout_now() + interval '1 day', 1, '')",
        "INSERT INTO reconcile_kept (uid, keeper, reason, until, size, sealed)"
        " VALUES (gen_random_uuid(), 'ann', 'x', tieout_now() + interval '11 years', 1, '')",
    ):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)
