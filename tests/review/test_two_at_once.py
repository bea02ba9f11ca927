"""The second person of each of the four requests: two who answer at once, and the maker by every way.

| request              | asked by | approved by | what follows, once           |
|----------------------|----------|-------------|------------------------------|
| about an operation   | eve      | bob or kim  | it is closed as not done     |
| of a list            | eve      | bob or kim  | it begins                    |
| about a difference   | eve      | bob or kim  | its case is closed           |
| of a role            | ada      | bob or kim  | it is given                  |

| way of the maker, who may approve and is a superuser | ends in                                        |
|------------------------------------------------------|------------------------------------------------|
| the page                                             | words: a second person decides                 |
| the HTTP API, by a token or a person's cookie        | nothing there answers; no row changes          |
| the ORM, SQL as the application, as PostgreSQL's superuser | a constraint                             |
| another name given to the account                    | a constraint: by account                       |
| a row that is written as approved                    | a trigger: it is asked before it is answered   |
"""

import html
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, connection, models, transaction
from django.test import Client

from ledger.models import ApiToken, Approval, Case, Event
from ledger.rules.tokens import new_token, token_hash
from reconcile.differences import actions as differences
from reconcile.differences.models import Decision, Way
from reconcile.models import Proposal
from review.models import Bulk
from tests.databases import Clock, Database
from tests.ledger.sessions import at_once
from tests.people import browser_of, person
from tests.review.test_every_door import Form, Place, asked, bulk, found_extra, of_the_api, proposed, rows

DECIDED = {"answer": "approved", "why": "Alone."}


@dataclass(frozen=True)
class Request:
    """One request that waits: its row, the page that answers it, and the event of its approval."""

    row: Any
    address: str
    form: Form
    approved: str
    maker: str

    @property
    def rows(self) -> "models.QuerySet[Any]":
        found: models.QuerySet[Any] = type(self.row)._default_manager.filter(pk=self.row.pk)
        return found

    @property
    def carried_out(self) -> bool:
        """Whether what was asked is done."""
        row = self.rows.get()
        if isinstance(row, Proposal):
            return bool(person("nora").groups.filter(name="viewer").exists())
        if isinstance(row, Bulk):
            return row.starts_at is not None
        if isinstance(row, Decision):
            return Case.objects.get(findings=row.finding_id).closed_at is not None
        return bool(row.operation.state == "failed")


def of_operation(place: Place) -> Request:
    operation, form = asked(place, "bob", maker="eve")
    address = f"/operations/{operation.uid}/approve/"
    return Request(operation.approvals.get(), address, form, "ask_approved", "eve")


def of_list(place: Place) -> Request:
    address, form = bulk(place, "bob", "approve/", "start")
    return Request(Bulk.objects.latest("pk"), address, form, "bulk_approved", "eve")


def of_difference(place: Place) -> Request:
    place.serial = max(place.serial, 4)
    said: dict[str, Any] = {"actor": person("eve").username, "reason": "Known.", "command_id": uuid.uuid4()}
    made = differences.decide(found_extra(place), Way.CLOSE, **said)
    address = f"/approvals/differences/{made.uid}/"
    return Request(made, address, {"answer": "approve"}, "difference_approved", "eve")


def of_role(place: Place) -> Request:
    address, form = proposed(place, "bob")
    return Request(Proposal.objects.latest("pk"), address, form, "proposal_approved", "ada")


REQUESTS: dict[str, Callable[[Place], Request]] = {
    "operation": of_operation,
    "list": of_list,
    "difference": of_difference,
    "role": of_role,
}


@pytest.fixture
def place(clock: Clock, tmp_path: Path) -> Place:
    for name in ("bob", "eve", "kim", "ada"):
        person(name)
    return Place(clock, tmp_path)


@pytest.fixture(params=REQUESTS)
def request_made(place: Place, request: pytest.FixtureRequest) -> Request:
    return REQUESTS[request.param](place)


def answered(client: Client, to: Request) -> str:
    """Approve it on its page; "done", or the words of the refusal."""
    form = {"reason": "", "command_id": str(uuid.uuid4()), **to.form}
    answer = client.post(to.address, form, follow=True)
    assert answer.status_code == 200
    told = html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))
    mine = to.rows.get()
    by = mine.approved_by if isinstance(mine, Bulk) else mine.decided_by
    return "done" if by == client.name else told  # type: ignore[attr-defined]  # set by `windows`


def windows(*names: str) -> Iterator[Client]:
    for name in names:
        client = browser_of(name)
        client.name = name  # type: ignore[attr-defined]
        yield client


def test_45_of_two_who_approve_at_once_one_wins_and_the_other_is_told_who(request_made: Request) -> None:
    bob, kim = windows("bob", "kim")
    answers = at_once([partial(answered, one, request_made) for one in (bob, kim)])
    assert answers.count("done") == 1, answers
    winner, loser = (bob, kim) if answers[0] == "done" else (kim, bob)
    told = next(one for one in answers if one != "done")
    if "Try again in a moment" in told:  # it waited for nothing: the other one was just looking there
        told = answered(loser, request_made)
    assert re.search(rf"{winner.name} (approved it|has answered it|agreed)", told), told  # type: ignore[attr-defined]
    assert request_made.carried_out
    event = Event.objects.get(kind=request_made.approved)
    assert event.actor == winner.name  # type: ignore[attr-defined]


def superuser(name: str) -> User:
    """Who asked, as somebody who may do anything that an account can."""
    user = person(name)
    user.groups.set([Group.objects.get(name="approver")])
    User.objects.filter(pk=user.pk).update(is_superuser=True, is_staff=True)
    return user


def test_44_the_maker_is_told_on_the_page_that_a_second_person_decides(request_made: Request) -> None:
    superuser(request_made.maker)
    (maker,) = windows(request_made.maker)
    before = rows()
    assert re.search("yourself: a second person decides", answered(maker, request_made))
    assert rows() == before and not request_made.carried_out


def test_44_no_request_over_the_http_api_approves(request_made: Request) -> None:
    """There is no address to approve by; the pages take no token, and the API no person's cookie."""
    superuser(request_made.maker)
    token = new_token()
    ApiToken.objects.create(name="of-the-maker", token_hash=token_hash(token))
    uid, before = str(request_made.row.uid), rows()
    routes = [route for route in of_the_api() if "openapi" not in route]
    paths = [re.sub(r"<\w+:(\w+)>|<(\w+)>", uid, route) for route in routes]
    assert not any(word in path for path in paths for word in ("appro", "propos", "bulk", "decision"))
    addresses = [request_made.address, *(f"/{path}" for path in paths)]
    addresses += [
        f"/api/v1/{kind}/{uid}/approve" for kind in ("approvals", "operations", "bulk", "proposals")
    ]
    cookies = browser_of(request_made.maker).cookies
    for client, key in ((Client(), f"Bearer {token}"), (Client(), "")):
        client.cookies = client.cookies if key else cookies
        for address in addresses if key else addresses[1:]:
            for method in ("post", "put", "patch", "delete"):
                headers = {"Authorization": key} if key else {}
                body = {**DECIDED, **request_made.form, "actor": "bob", "decided_by": "bob"}
                said = getattr(client, method)(address, body, "application/json", headers=headers)
                assert said.status_code in (302, 400, 401, 403, 404, 405, 422), (address, said.status_code)
    assert rows() == before and not request_made.carried_out


def alone(to: Request, name: str) -> dict[str, Any]:
    """The columns that would say that this one approved it."""
    if isinstance(to.row, Bulk):
        return {"status": "running", "starts_at": to.row.asked_at, "approved_by": name}
    at = to.row.made_at
    said = {**DECIDED, "decided_by": name, "decided_at": at}
    if isinstance(to.row, Decision):
        said["in_force_at"] = at
    if not isinstance(to.row, Decision):
        said["meant_sealed"] = None
    return said


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises((IntegrityError, psycopg.errors.IntegrityError), match=words), transaction.atomic():
        yield


def statement(to: Request, name: str) -> str:
    """The same in SQL, whole."""
    said = {key: value for key, value in alone(to, name).items() if value is not None}
    sets = ", ".join(f"{column} = '{value}'" for column, value in said.items())
    sealed = ", meant_sealed = NULL" if "meant_sealed" in alone(to, name) else ""
    return f"UPDATE {to.row._meta.db_table} SET {sets}{sealed} WHERE id = {to.row.pk}"


def test_44_48_the_database_lets_no_maker_approve_by_any_way(
    request_made: Request, database: Database
) -> None:
    maker, name = superuser(request_made.maker), request_made.maker
    by = r"_by_another|needs two people|approves what"
    with refused(by):
        request_made.rows.update(**alone(request_made, name))
    with refused(by), connection.cursor() as cursor:
        cursor.execute(statement(request_made, name))
    with refused(by):
        database.as_superuser(statement(request_made, name))
    User.objects.filter(pk=maker.pk).update(username="somebody.else")
    for other in (
        ("somebody.else", "nobody at all")
        if not isinstance(request_made.row, Approval)
        else ("somebody.else",)
    ):
        with refused(by):
            request_made.rows.update(**alone(request_made, other))
        with refused(by):
            database.as_superuser(statement(request_made, other))
    row = request_made.rows.get()
    row.pk, row.uid = None, uuid.uuid4()
    if not isinstance(row, Bulk):
        row.command_id = uuid.uuid4()
    for column, value in alone(request_made, "bob").items():
        setattr(row, column, value)
    with refused(r"before it is|begins as a preview"):
        row.save(force_insert=True)
    with refused("without an event|carried out|needs its"):
        request_made.rows.update(**alone(request_made, "bob"))
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert not request_made.carried_out


def test_45_without_the_page_s_own_lock_a_difference_is_approved_once_too(place: Place) -> None:
    """The page looks at the destination first, one person at a time; the row decides all the same."""
    made = of_difference(place)

    def approve(actor: str) -> str:
        differences.approve(made.row.uid, actor=actor, reason="")
        return actor

    answers = at_once([partial(approve, "bob"), partial(approve, "kim")])
    assert answers.count("not-now") == 1, answers
    assert Event.objects.get(kind="difference_approved").actor in answers
