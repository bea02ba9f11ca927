"""OAuth 2: one access token for all workers, renewed by one, kept sealed; and what is said when it ends.

| what happens                              | the send is | and then                         |
|-------------------------------------------|-------------|----------------------------------|
| its endpoint is down, slow or talks junk  | not sent    | tried again                      |
| a good token is refused (401)             | retryable   | the next try has a new one       |
| a new token is refused (401)              | rejected    | the destination is paused        |
| the sign-in has ended                     | not sent    | paused: "sign in there again"    |
| killed while it was renewed               | not sent    | the old one, or "sign in again"  |
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection as session

from config.environment import ROOT
from ledger.destinations import lookups, sending
from ledger.destinations.connectors.guarded import connector_for
from ledger.models import Destination, Event, Grant, Operation, Pause
from ledger.rules.outcomes import Answer
from ledger.rules.states import Outcome, State
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.sessions import at_once
from tests.ledger.wires import looking
from tests.ledger.wires import sending as a_send
from tests.proxies import proxying
from tests.tokens import CLIENT, SECRET, SIGNED_IN, Books, serving_tokens
from tests.workers import until

HOUR_S = 3600
SECRETS = ("access-1", "refresh-1", SIGNED_IN, SECRET)


@dataclass
class Ours:
    """A destination of ours behind the OAuth server."""

    books: Books
    clock: Clock

    @property
    def row(self) -> Destination:
        """The destination's row."""
        return Destination.objects.get(name="books")

    def reach(self, *, timeout: float = 5, **auth: Any) -> None:
        """Write how it is reached."""
        kinds = {"kind": "oauth2", "token_url": f"{self.books.url}/token"}
        ours = {"client_id": CLIENT, "client_secret": "env:BOOKS_SECRET"}
        reached = {"base_url": self.books.url, "timeout": timeout, "auth": kinds | ours | auth}
        make.destination()
        Destination.objects.update(connection=reached)

    def send(self) -> Answer:
        """Send as any worker would: with a connector made anew."""
        return connector_for(self.row).send(a_send(timeout_s=self.row.reach.timeout_s))


@pytest.fixture
def ours(clock: Clock, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    monkeypatch.setenv("BOOKS_SECRET", SECRET)
    monkeypatch.setenv("BOOKS_REFRESH", SIGNED_IN)
    with serving_tokens() as books:
        made = Ours(books, clock)
        made.reach()
        yield made


def signed_in(ours: Ours) -> None:
    """Go by a sign-in, whose refresh token serves once."""
    ours.books.rotates = True
    ours.reach(refresh_token="env:BOOKS_REFRESH")


# --- kept, and renewed by one


def test_one_token_serves_every_worker_and_is_kept_sealed(ours: Ours) -> None:
    ours.reach(scope="invoices")
    assert [ours.send().status for _ in range(3)] == [201, 201, 201]
    assert connector_for(ours.row).look_up(looking()).complete
    (asked,) = ours.books.asked
    assert (asked["grant_type"], asked["scope"]) == ("client_credentials", "invoices")
    (kept,) = Grant.objects.values()
    sealed = bytes(kept["sealed"] or b"")
    assert sealed and not any(secret.encode() in sealed for secret in SECRETS)
    assert not any(secret in str(kept) for secret in SECRETS)


@pytest.mark.parametrize("gone_s", [HOUR_S - 30, HOUR_S + 1], ids=["still good", "at its end"])
def test_of_many_workers_one_renews_it(ours: Ours, gone_s: int) -> None:
    assert ours.send().status == 201
    ours.clock.advance(gone_s)

    def act() -> str:
        return str(ours.send().status)

    assert at_once([act] * 8) == ["201"] * 8
    assert len(ours.books.asked) == 2
    assert ours.send().status == 201
    assert ours.books.calls[-1] == "access-2"
    assert len(ours.books.asked) == 2


def test_a_token_without_an_end_serves_until_it_is_refused(ours: Ours) -> None:
    ours.books.life_s = None
    ours.send()
    ours.clock.advance(400 * 86400)
    assert ours.send().status == 201
    assert len(ours.books.asked) == 1


def test_a_refresh_token_that_serves_once_is_stored_as_it_comes(ours: Ours) -> None:
    signed_in(ours)
    for _ in range(3):
        assert ours.send().status == 201
        ours.clock.advance(HOUR_S)
    told = [asked["refresh_token"] for asked in ours.books.asked]
    assert told == [SIGNED_IN, "refresh-1", "refresh-2"]
    assert not Pause.objects.exists()


def test_destinations_of_one_sign_in_share_what_came_of_it(ours: Ours) -> None:
    signed_in(ours)
    other = make.destination("other", connection=ours.row.connection)
    for row in (ours.row, other, ours.row):
        assert connector_for(row).send(a_send()).status == 201
        ours.clock.advance(HOUR_S)
    assert len(ours.books.asked) == 3
    assert Grant.objects.count() == 1


@pytest.mark.parametrize("how", ["basic", "body"])
def test_the_client_shows_itself_as_the_rules_say(ours: Ours, how: str) -> None:
    ours.reach(client_auth=None if how == "basic" else how)
    assert ours.send().status == 201
    (asked,) = ours.books.asked
    assert asked["authorization"].startswith("Basic ") is (how == "basic")
    assert ("client_secret" in asked) is (how == "body")


# --- nothing was sent


def down(ours: Ours) -> str:
    ours.reach(token_url="http://127.0.0.1:9/token")
    return "The connection was refused. So there is no access token."


def busy(ours: Ours) -> str:
    ours.books.says = (503, "<html>s3cret</html>")
    return "The token endpoint answered with status 503. So there is no access token."


def junk(ours: Ours) -> str:
    ours.books.says = (200, "<html>s3cret</html>")
    return "The token endpoint gave no token. So there is no access token."


def not_a_bearer(ours: Ours) -> str:
    ours.books.says = (200, '{"access_token": "s3cret", "token_type": "mac"}')
    return "The token endpoint gave a token that cannot be used. So there is no access token."


def silent(ours: Ours) -> str:
    ours.reach(timeout=0.3)
    ours.books.hold = threading.Event()
    return "Read time-out after 0.3 s. So there is no access token."


@pytest.mark.parametrize("trouble", [down, busy, junk, not_a_bearer, silent])
def test_without_a_token_nothing_is_sent(ours: Ours, trouble: Callable[[Ours], str]) -> None:
    words = trouble(ours)
    answer = ours.send()
    assert (answer.stage, answer.detail) == ("not_sent", words)
    assert not ours.books.calls
    assert not Pause.objects.exists()
    looked = connector_for(ours.row).look_up(looking(timeout_s=0.3))
    assert (looked.complete, looked.why) == (False, words)
    ours.books.says, ours.books.hold = None, None
    ours.reach()
    assert ours.send().status == 201, "who got nothing keeps nobody else from asking"


def test_a_token_that_is_still_good_serves_while_its_endpoint_is_down(ours: Ours) -> None:
    ours.send()
    ours.clock.advance(HOUR_S - 30)
    ours.books.says = (503, "")
    assert ours.send().status == 201


def test_a_renewal_that_took_most_of_the_time_leaves_the_send_for_the_next_try(ours: Ours) -> None:
    ours.reach(timeout=2)
    ours.books.hold = threading.Event()
    threading.Timer(1.3, ours.books.hold.set).start()
    assert ours.send().detail == "Renewing its access token took most of the time; it is there now."
    assert not ours.books.calls
    assert ours.send().status == 201
    assert len(ours.books.asked) == 1


# --- refused


def operation(number: int, *, looks: bool = False, **columns: Any) -> Operation:
    """An invoice that waits to be sent."""
    calls: dict[str, Any] = {"send": {"path": "/invoices", "set": {"metadata.operation": "{key}"}}}
    if looks:
        calls |= {"record": make.RECORD, "lookup": make.LOOKUP}
    kind = make.kind(f"invoice.{number}", by="tieout", looks=looks, calls=calls, **columns)
    return make.handed(kind, key=f"order/{number}")


def test_a_good_token_that_is_refused_makes_the_try_retryable_and_the_next_has_a_new_one(ours: Ours) -> None:
    first, second = operation(1), operation(2)
    sending.send(first.pk)
    ours.clock.advance(300)
    ours.books.good.clear()
    sending.send(second.pk)
    (tried,) = second.attempts.all()
    assert (tried.outcome, tried.http_status, tried.error_code) == (Outcome.RETRYABLE, 401, "access_lapsed")
    assert make.again(second).state == State.PENDING
    assert not Pause.objects.exists()
    ours.clock.advance(30)
    sending.send(second.pk)
    assert make.again(second).state == State.COMPLETED
    assert ours.books.effects == [first.key, second.key]
    assert len(ours.books.asked) == 2


def test_however_long_it_waits_a_second_refusal_in_a_row_refuses_us(ours: Ours) -> None:
    first, second = operation(1, retry={"base": "5m"}), operation(2, retry={"base": "5m"})
    ours.send()
    for refused in (first, second):
        ours.clock.advance(301)
        ours.books.refuses = True
        sending.send(refused.pk)
        assert not Pause.objects.exists()
        ours.clock.advance(301)
        if refused is first:  # taken again: the next refusal is a first one
            ours.books.refuses = False
        sending.send(refused.pk)
    assert make.again(first).state == State.COMPLETED
    assert [one.outcome for one in second.attempts.order_by("number")] == [
        Outcome.RETRYABLE,
        Outcome.REJECTED,
    ]
    assert Pause.objects.get().http_status == 401


def test_a_token_is_asked_for_on_the_destinations_own_way(ours: Ours) -> None:
    with proxying() as proxy:
        ours.reach()
        reached = {**ours.row.connection, "proxy": proxy.url}
        Destination.objects.update(connection=reached)
        assert ours.send().status == 201
    assert [request.split(b" ")[1].rpartition(b"/")[2] for request in proxy.requests] == [
        b"token",
        b"invoices",
    ]


def test_a_look_asks_again_at_once_for_it_makes_no_effect(ours: Ours) -> None:
    assert connector_for(ours.row).look_up(looking()).complete
    ours.clock.advance(300)
    ours.books.good.clear()
    assert connector_for(ours.row).look_up(looking()).complete
    assert ours.books.calls == ["access-1", "access-1", "access-2"]


def test_a_new_token_that_is_refused_refuses_us(ours: Ours) -> None:
    refused = operation(1)
    ours.send()
    ours.books.good.clear()
    sending.send(refused.pk)
    assert [one.outcome for one in refused.attempts.all()] == [Outcome.REJECTED]
    assert Pause.objects.get().http_status == 401
    assert len(ours.books.asked) == 1, "not one new token after another"


def test_a_look_that_is_refused_with_a_new_token_is_asked_no_third_time(ours: Ours) -> None:
    ours.send()
    ours.books.good.clear()
    looked = connector_for(ours.row).look_up(looking())
    assert (looked.complete, looked.status) == (False, 401)
    assert len(ours.books.calls) == 2


def test_a_sign_in_that_has_ended_pauses_and_says_what_to_do(ours: Ours) -> None:
    signed_in(ours)
    ours.books.says = (503, "")
    ours.send()
    ours.books.says, ours.books.refresh_tokens = None, {"another"}
    waiting = operation(1)
    sending.send(waiting.pk)
    assert (make.again(waiting).state, ours.books.calls) == (State.PENDING, [])
    pause = Pause.objects.get()
    assert "Sign in there again, and put the new refresh token into env:BOOKS_REFRESH." in pause.why
    assert "cut off" not in pause.why
    assert not any(secret in str([*Event.objects.values()]) for secret in (*SECRETS, "s3cret"))


def test_another_sign_in_forgets_what_came_of_the_one_before(
    ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(ours)
    ours.send()
    monkeypatch.setenv("BOOKS_REFRESH", "another")
    ours.books.refresh_tokens = {"another"}
    assert ours.send().status == 201
    assert [asked["refresh_token"] for asked in ours.books.asked] == [SIGNED_IN, "another"]
    # Processes that still have the old one go on; a day later its tokens are gone.
    assert Grant.objects.count() == 2
    ours.clock.advance(2 * 86400)
    assert ours.send().status == 201
    assert Grant.objects.count() == 1


def test_a_client_that_is_refused_pauses_too(ours: Ours, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKS_SECRET", "wrong")
    looked = connector_for(ours.row).look_up(looking())
    assert looked.why == (
        "Its token endpoint refuses us (invalid_client): see client_id, client_secret and scope."
    )
    assert "invalid_client" in Pause.objects.get().why


def test_another_client_forgets_the_token_of_the_one_before(ours: Ours) -> None:
    ours.send()
    ours.reach(client_id="another")
    assert ours.send().stage == "not_sent"
    assert len(ours.books.asked) == 2


# --- killed in between


SENDER = """
import django
django.setup()
from ledger.destinations.connectors.guarded import connector_for
from ledger.models import Destination
from tests.ledger.wires import sending
connector_for(Destination.objects.get(name="books")).send(sending())
"""


@pytest.mark.parametrize("lenient", [True, False], ids=["takes the old one again", "does not"])
def test_a_kill_while_it_is_renewed_frees_it_for_others_and_tells_what_was_lost(
    ours: Ours, database: Database, *, lenient: bool
) -> None:
    signed_in(ours)
    ours.books.hold = threading.Event()
    sender = subprocess.Popen([sys.executable, "-c", SENDER], cwd=ROOT, env=database.environ)
    try:
        until(ours.books.arrived.is_set, what="The renewal")
    finally:
        sender.kill()
        sender.wait()
    ours.books.hold.set()
    ours.books.hold = None
    if lenient:
        ours.books.refresh_tokens.add(SIGNED_IN)
    ours.clock.advance(11)
    answer = ours.send()
    assert (answer.stage == "answered") is lenient
    assert [pause.why.count("what it brought was lost") for pause in Pause.objects.all()] == [1] * (
        not lenient
    )
    assert ours.books.effects == ["order/webshop/483/v1"] * lenient


def test_what_comes_while_the_database_is_away_for_a_moment_is_stored_all_the_same(ours: Ours) -> None:
    signed_in(ours)
    ours.books.hold = threading.Event()
    done: list[Answer] = []

    def act() -> None:
        done.append(ours.send())
        session.close()

    thread = threading.Thread(target=act)
    thread.start()
    until(ours.books.arrived.is_set, what="The renewal")
    ours.clock.database.as_superuser(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    ours.books.hold.set()
    thread.join(20)
    session.close()
    assert [answer.status for answer in done] == [201]
    ours.clock.advance(HOUR_S)
    assert ours.send().status == 201
    assert not Pause.objects.exists()


def test_a_look_before_the_send_without_a_token_leaves_it_waiting(ours: Ours) -> None:
    waits = operation(1, looks=True, contract={"idempotency": "none", "key_retention": "unknown"})
    ours.books.says = (503, "")
    sending.send(waits.pk)
    assert make.again(waits).state == State.PENDING
    assert not ours.books.calls
    ours.books.says = None
    ours.clock.advance(60)
    sending.send(waits.pk)
    assert make.again(waits).state == State.COMPLETED
    assert lookups.ask(make.again(waits)).complete
