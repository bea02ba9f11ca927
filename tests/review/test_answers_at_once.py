"""Two people answer one row at the same moment: one counts, and the other one is told why theirs does not.

| about                       | one            | the other      | what is on record            |
|-----------------------------|----------------|----------------|------------------------------|
| a list that runs            | pauses         | pauses         | one pause                    |
| a list that is not begun    | starts         | starts, again  | one start                    |
| a list that waits           | approves       | refuses        | one answer                   |
| a list that is paused       | resumes        | cancels        | cancelled, whoever is first  |
| a proposal                  | approves       | refuses        | one answer                   |
| a proposal                  | approves       | takes it back  | one answer                   |
| a request of a difference   | approves       | refuses        | one answer                   |
| a difference                | closes it      | closes it      | one decision                 |
| a deputy                    | ends it        | ends it        | one end                      |
"""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from django.test import Client

from ledger.models import Deputy, Event
from reconcile.differences.models import Decision
from reconcile.models import Proposal
from review.models import Bulk
from tests.databases import Clock
from tests.ledger.sessions import at_once
from tests.people import browser_of, person
from tests.review.test_every_door import Form, Place, bulk, extra, extra_asked, proposed, stands_in

SAID = re.compile(r'role="alert"[^>]*>(.*?)</p>', re.DOTALL)
Said = tuple[str, str, Form]


@dataclass(frozen=True)
class Race:
    """Who sends what where, and the events of which exactly one is written."""

    scene: Callable[[Place], tuple[Said, Said]]
    events: tuple[str, ...]
    stands: Callable[[], object]


def of_list(place: Place, one: tuple[str, str], other: tuple[str, str], *ways: str) -> tuple[Said, Said]:
    address, form = bulk(place, "ann", "approve/" if "approve" in (one[1], other[1]) else "", *ways)
    here = address.removesuffix("approve/")
    return (one[0], f"{here}{one[1]}/", form), (other[0], f"{here}{other[1]}/", form)


def of_answer(place: Place, scene: Callable[..., tuple[str, Form]], who: str, way: str) -> tuple[Said, Said]:
    address, form = scene(place, "bob")
    return ("bob", address, form), (who, address, {**form, "answer": way})


def of_deputy(place: Place) -> tuple[Said, Said]:
    address, form = stands_in(place, "ann")
    return ("ann", address, form), ("ada", address, form)


def of_difference(place: Place) -> tuple[Said, Said]:
    address, form = extra(place, "ann")
    return ("ann", address, form), ("bob", address, form)


RACES = {
    "a list is paused by two": Race(
        lambda place: of_list(place, ("ann", "pause"), ("bob", "pause"), "start"),
        ("bulk_paused",),
        lambda: Bulk.objects.get().status == "paused",
    ),
    "a list is started in two windows": Race(
        lambda place: of_list(place, ("ann", "start"), ("ann", "start")),
        ("bulk_started",),
        lambda: Bulk.objects.get().status == "running",
    ),
    "a list is approved and refused": Race(
        lambda place: of_list(place, ("bob", "approve"), ("kim", "refuse"), "start"),
        ("bulk_approved", "bulk_refused"),
        lambda: Bulk.objects.get().status in ("running", "cancelled"),
    ),
    "a list is resumed and cancelled": Race(
        lambda place: of_list(place, ("ann", "resume"), ("bob", "cancel"), "start", "pause"),
        ("bulk_cancelled",),
        lambda: Bulk.objects.get().status == "cancelled",
    ),
    "a proposal is approved and refused": Race(
        lambda place: of_answer(place, proposed, "kim", "refuse"),
        ("proposal_approved", "proposal_refused"),
        lambda: Proposal.objects.get().answer,
    ),
    "a proposal is approved and taken back": Race(
        lambda place: of_answer(place, proposed, "ada", "take-back"),
        ("proposal_approved", "proposal_withdrawn"),
        lambda: Proposal.objects.get().answer,
    ),
    "a request of a difference is approved and refused": Race(
        lambda place: of_answer(place, extra_asked, "kim", "refuse"),
        ("difference_approved", "difference_refused"),
        lambda: Decision.objects.get().answer,
    ),
    "a difference is closed by two": Race(
        of_difference, ("difference_closed",), lambda: Decision.objects.get().in_force_at
    ),
    "a deputy is ended by two": Race(of_deputy, ("deputy_ended",), lambda: Deputy.objects.get().ended_at),
}


@pytest.fixture
def place(clock: Clock, tmp_path: Path) -> Place:
    for name in ("ann", "bob", "kim", "ada", "eve", "vic"):
        person(name)
    return Place(clock, tmp_path)


def told(client: Client, address: str, form: Form) -> str:
    """Say it on its page; empty where it was taken, or the words of the refusal."""
    form = {"reason": "Known.", **form, "command_id": str(uuid.uuid4())}
    answer = client.post(address, form)
    if answer.status_code == 303:
        return ""
    assert answer.status_code == 200, answer
    refusal = SAID.search(answer.content.decode())
    assert refusal is not None, "the other one is told nothing"
    return re.sub(r"<[^>]+>", "", refusal[1])


@pytest.mark.parametrize("name", RACES)
def test_45_of_two_at_once_one_counts_and_the_other_is_told(place: Place, name: str) -> None:
    race = RACES[name]
    said = [(browser_of(who), address, form) for who, address, form in race.scene(place)]
    answers = at_once([partial(told, *one) for one in said])
    for at, answer in enumerate(answers):
        if "Try again in a moment" in answer:  # the other one was just looking at the destination
            answers[at] = told(*said[at])
    assert Event.objects.filter(kind__in=race.events).count() == 1
    assert race.stands()
    taken = answers.count("")
    assert taken == 1 or (taken == 2 and name == "a list is resumed and cancelled"), answers
