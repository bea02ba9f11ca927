"""Lists: by keyset in the order of the last change, within the token's types, and without a gap."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from ledger import actions
from ledger.models import Operation, OperationType, Permit
from ledger.rules import cursors
from ledger.rules.states import CaseKind
from tests.doors import PAYLOAD, Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.sessions import WAIT_S, until_somebody_waits


def another(like: str) -> OperationType:
    """A type like one that is there, for one test alone."""
    kind = OperationType.objects.get(name=like)
    kind.pk, kind.name = None, f"{like}.{uuid.uuid4().hex[:8]}"
    kind.save(force_insert=True)
    return kind


def keys(page: dict[str, Any]) -> list[str]:
    return [item["key"] for item in page["items"]]


def walked(api: Api, **asked: str) -> list[dict[str, Any]]:
    """Every page of a list, by its cursors."""
    pages = [api.find(**asked)]
    while pages[-1]["next_cursor"] is not None:
        pages.append(api.find(**asked, cursor=pages[-1]["next_cursor"]))
    return pages


def test_40_a_walk_by_cursors_meets_each_operation_once(api: Api) -> None:
    kind = another("reminder.send").name
    made = [f"order/{number:02}" for number in range(11)]
    for key in made:
        api.claimed(key, type=kind)
    pages = walked(api, type=kind, limit="4")
    assert [len(page["items"]) for page in pages] == [4, 4, 3]
    assert [key for page in pages for key in keys(page)] == made
    assert (
        keys(api.find(type=kind, limit="11")) == made
        and api.find(type=kind, limit="11")["next_cursor"] is None
    )
    # All at one instant: the tie is broken by something that no two of them share.
    Operation.objects.filter(operation_type__name=kind).update(changed_at=api.clock.now())
    tied = [key for page in walked(api, type=kind, limit="4") for key in keys(page)]
    assert sorted(tied) == made


def test_what_changes_during_a_walk_comes_again_at_its_new_place(api: Api) -> None:
    kind = another("reminder.send").name
    held = {key: api.claimed(key, type=kind) for key in ("a", "b", "c")}
    first = api.find(type=kind, limit="2")
    api.outcome(held["b"], "succeeded")
    second = api.find(type=kind, limit="2", cursor=first["next_cursor"])
    assert (keys(first), keys(second)) == (["a", "b"], ["c", "b"])
    assert [item["state"] for item in second["items"]] == ["running", "completed"]
    assert second["next_cursor"] is None


def test_every_filter_narrows_the_list(api: Api) -> None:
    name, other = another("reminder.send").name, another("reminder.send").name
    for key, source in {"a": "shop", "b": "shop/za", "c": "till"}.items():
        api.claimed(key, type=name, source={"system": source, "reference": "4/83"})
    api.claimed("a", type=other, source={"system": "shop", "reference": "za/4/83"})
    api.outcome(api.claimed("d", type=name), "rejected")
    assert keys(api.find(type=name)) == ["a", "b", "c", "d"]
    found = {
        "key=a": ["a"],
        "key=nothing": [],
        "state=running": ["a", "b", "c"],
        "state=failed": ["d"],
        "state=failed&key=a": [],
        "source=shop/4/83": ["a"],
        "source=shop/za/4/83": ["b"],
        "source=shop/484": [],
        "source=till/4/83&state=running": ["c"],
    }
    assert {asked: keys(api.get(f"operations?type={name}&{asked}").json()) for asked in found} == found
    scoped = api.other(name, other)
    assert sorted(keys(scoped.find(source="shop/za/4/83"))) == ["a", "b"]
    failed = api.find(type=name, state="failed")["items"][0]
    assert (failed["case"], failed["retry_at"]) == (failed["page"], None)


def test_a_list_stays_within_the_types_of_its_token(api: Api) -> None:
    mine, theirs, key = another("reminder.send").name, another("reminder.send").name, new_key()
    for kind in (mine, theirs):
        api.claimed(key, type=kind)
    scoped = api.other(mine)
    assert [item["type"] for item in scoped.find(key=key)["items"]] == [mine]
    assert sorted(item["type"] for item in api.find(key=key)["items"]) == sorted([mine, theirs])
    problem(scoped.get("operations", type=theirs), 403, "type-not-allowed")
    problem(scoped.get("operations", type="no.such"), 403, "type-not-allowed")
    problem(api.get("operations", type="no.such"), 404, "not-found")
    assert api.http.get("/api/v1/operations").status_code == 401


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("cursor=garbage", "malformed", "cursor is not one that was given here"),
        ("cursor=", "malformed", "cursor is not one"),
        (f"cursor={'A' * 36}", "malformed", "cursor is not one"),
        ("cursor=%C3%A9", "malformed", "cursor is not one"),
        ("limit=0", "malformed", "limit must be at least 1"),
        ("limit=501", "malformed", "limit must be at most 500"),
        ("limit=1.0", "malformed", "limit must be a whole number"),
        ("limit=%D9%A1", "malformed", "limit must be a whole number"),
        ("state=done", "malformed", "state must be one of"),
        ("claimable=false", "malformed", "claimable must be"),
        ("source=webshop", "malformed", 'source must be "system/reference"'),
        ("updated_since=2026-11-30", "malformed", "updated_since must be a time with its offset"),
        ("updated_since=2026-11-30T09:42:00", "malformed", "updated_since must be a time"),
        ("updated_since=2026-11-30T09:42:00+02:00", "malformed", "%2B"),
        ("updated_since=2026-13-30T09:42:00Z", "malformed", "updated_since"),
        ("updated_since=0001-01-01T00:00:00%2B01:00", "malformed", "updated_since is no day or time"),
        ("updated_since=1796031720", "malformed", "updated_since must be a time"),
        ("key=a%00b", "malformed", "key has a NUL character"),
        ("type=a%00b", "malformed", "type has a NUL character"),
        ("stat=failed", "unknown-member", 'no parameter "stat"'),
        ("state=failed&state=pending", "duplicate-member", '"state" stands twice'),
    ],
)
def test_what_cannot_be_read_is_refused_in_words_and_never_ignored(
    api: Api, query: str, kind: str, words: str
) -> None:
    told = problem(api.get(f"operations?{query}"), 400, kind)
    assert words in told["detail"]


def test_the_longest_of_everything_fits_into_an_address(api: Api) -> None:
    far = "\N{OLD PERSIAN NUMBER HUNDRED}"
    kind = another("reminder.send")
    OperationType.objects.filter(pk=kind.pk).update(name=far * 100)
    asked = {"type": far * 100, "key": far * 200, "source": f"{far * 100}/{far * 200}", "state": "uncertain"}
    since = "2026-11-30T09:42:00.120483+00:00"
    place = cursors.write(cursors.Place(datetime.fromisoformat(since), uuid.uuid4()))
    page = api.find(**asked, claimable="true", updated_since=since, cursor=place, limit="500")
    assert page == {"items": [], "next_cursor": None}


def test_an_address_without_filters_takes_none(api: Api) -> None:
    body = {"type": "reminder.send", "key": new_key(), "payload": PAYLOAD}
    told = problem(api.post("operations/claim?key=other", body), 400, "unknown-member")
    assert "It takes none" in told["detail"]
    assert not Operation.objects.filter(key=body["key"]).exists()
    problem(api.get(f"operations/{uuid.uuid4()}?full=true"), 400, "unknown-member")


# --- claimable


def test_claimable_is_what_a_caller_may_claim_now(api: Api) -> None:
    kind = another("reminder.send").name
    for key, outcome, wait_s in (
        ("due", "retryable", 0),
        ("stopped", "retryable", 0),
        ("later", "retryable", 3600),
        ("over", "succeeded", None),
    ):
        api.outcome(api.claimed(key, type=kind), outcome, **({"retry_after_s": wait_s} if wait_s else {}))
    stopped = Operation.objects.get(key="stopped", operation_type__name=kind)
    actions.hold(stopped.pk, kind=CaseKind.THERE_AFTER_ALL, actor="reconciliation 1", reason="It is there.")
    api.clock.advance(60)
    for key in ("held", "allowed", "not yet", "withdrawn"):
        api.outcome(api.claimed(key, type=kind), "uncertain")
    api.outcome(api.claimed("allowed too", type=kind), "rejected")
    api.claimed("in flight", type=kind)
    allow(api, kind, "withdrawn", "allowed", "allowed too")
    api.clock.advance(11)
    allow(api, kind, "not yet")
    Permit.objects.filter(operation__key="withdrawn").update(withdrawn_at=api.clock.now(), withdrawn_by="ann")
    scoped = api.other(kind, "invoice.create")
    scoped.submit(new_key())
    assert sorted(keys(scoped.find(claimable="true"))) == ["allowed", "allowed too", "due"]
    assert keys(scoped.find(claimable="true", state="failed")) == ["allowed too"]
    assert keys(scoped.find(claimable="true", state="running")) == []
    assert sorted(key for page in walked(scoped, claimable="true", limit="1") for key in keys(page)) == [
        "allowed",
        "allowed too",
        "due",
    ]
    for key in ("due", "allowed too"):
        assert scoped.claim(key, type=kind).status_code == 201
    assert keys(scoped.find(claimable="true")) == ["allowed"]


def test_nothing_of_a_paused_destination_is_claimable(api: Api) -> None:
    kind = another("reminder.send")
    books = kind.destination
    books.pk, books.uid, books.name = None, uuid.uuid4(), f"books-{kind.pk}"
    books.save(force_insert=True)
    OperationType.objects.filter(pk=kind.pk).update(destination=books)
    api.outcome(api.claimed("due", type=kind.name), "retryable")
    api.clock.advance(60)
    assert keys(api.find(claimable="true", type=kind.name)) == ["due"]
    api.outcome(api.claimed("who are you", type=kind.name), "rejected", http_status=401)
    assert keys(api.find(claimable="true", type=kind.name)) == []
    assert api.claim("due", type=kind.name).json()["decision"] != "proceed"


def allow(api: Api, kind: str, *of: str) -> None:
    """Give permits that take effect after ten seconds."""
    now = api.clock.now()
    for key in of:
        operation = Operation.objects.get(operation_type__name=kind, key=key)
        Permit.objects.create(
            operation=operation,
            source=Permit.Source.PERSON,
            actor="ann",
            reason="Look there.",
            effective_at=now + timedelta(seconds=10),
            lapses_at=now + timedelta(hours=1),
        )


# --- what has changed


def test_what_has_changed_since_is_told_without_a_gap_though_a_commit_comes_late(api: Api) -> None:
    """The first change takes its time and commits last; whoever follows the list has not gone past it."""
    kind = another("reminder.send").name
    late, early = (api.claimed(key, type=kind) for key in ("late", "early"))
    since = api.find(type=kind)["items"][-1]["updated_at"]
    with closing(psycopg.connect(api.clock.database.app_url)) as slow:
        slow.execute(
            "UPDATE ledger_operation SET changed_at = tieout_now(), look_count = 1 WHERE key = 'late' "
            "AND operation_type_id = (SELECT id FROM ledger_operationtype WHERE name = %s)",
            [kind],
        )
        api.outcome(early, "succeeded")
        assert keys(api.find(type=kind, state="completed")) == ["early"], "it is there for who asks for it"
        assert keys(api.find(type=kind, updated_since=since)) == [], "the change before it is not"
        slow.commit()
    followed = api.find(type=kind, updated_since=since)
    assert keys(followed) == ["late", "early"]
    api.outcome(late, "succeeded")
    assert keys(api.find(type=kind, updated_since=followed["items"][-1]["updated_at"])) == ["early", "late"]


def test_a_statement_that_may_have_read_the_clock_and_not_written_yet_is_waited_for(api: Api) -> None:
    kind = another("reminder.send").name
    database = api.clock.database
    with (
        closing(psycopg.connect(database.app_url, autocommit=True)) as waiter,
        ThreadPoolExecutor(1) as pool,
        # Closed first, whatever happens: who waits for it goes on.
        closing(psycopg.connect(database.superuser_url, autocommit=True)) as holder,
    ):
        holder.execute("SELECT pg_advisory_lock(483)")
        waiting = pool.submit(waiter.execute, "SELECT pg_advisory_lock(483)")
        until_somebody_waits(database, waiting)
        api.claimed("a", type=kind)
        assert keys(api.find(type=kind, updated_since="2020-01-01T00:00:00Z")) == []
        holder.execute("SELECT pg_advisory_unlock(483)")
        waiting.result(WAIT_S)
        assert keys(api.find(type=kind, updated_since="2020-01-01T00:00:00Z")) == ["a"]


def test_who_only_reads_keeps_nobody_waiting(api: Api) -> None:
    kind = another("reminder.send").name
    with closing(psycopg.connect(api.clock.database.app_url)) as reader:
        reader.execute("SELECT count(*) FROM ledger_operation")
        api.claimed("a", type=kind)
        assert keys(api.find(type=kind, updated_since="2020-01-01T00:00:00+02:00")) == ["a"]


# --- cursors


def test_a_cursor_comes_back_as_it_went_and_nothing_else_does() -> None:
    place = cursors.Place(datetime.fromisoformat("2026-11-30T09:42:00.000483+00:00"), uuid.UUID(int=483))
    text = cursors.write(place)
    assert cursors.read(text) == place
    for wrong in ("", text[:-1], text + "A", text[:-4] + "AAAA", text.swapcase(), f" {text}", "é" * 36):
        with pytest.raises(ValueError, match="not one that was given here"):
            cursors.read(wrong)


def test_an_operation_s_last_change_is_told_everywhere(api: Api) -> None:
    answer = api.claim(new_key()).json()["operation"]
    read = api.get(f"operations/{answer['id']}").json()
    assert answer["updated_at"] == read["updated_at"] >= read["accepted_at"]
    assert (
        actions.facts(Operation.objects.get(uid=answer["id"])).accepted_at.isoformat() == read["accepted_at"]
    )
