"""`manage.py person`: an account from its first password to its end, each step on the trail."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from ledger import actions
from ledger.models import Event
from tests.people import browser_of, person
from tests.review.signing import LOGIN
from tests.review.test_every_door import Place, fell_silent
from tests.review.test_every_door import place as place


def said(*words: str) -> str:
    out = io.StringIO()
    call_command("person", *words, stdout=out)
    return out.getvalue().strip()


def enters(name: str, password: str) -> Client | None:
    client = Client()
    answer = client.post(LOGIN, {"login": name, "password": password}, follow=True)
    return client if answer.redirect_chain and answer.wsgi_request.user.is_authenticated else None


def test_a_person_is_made_changed_ended_and_let_back(place: Place) -> None:
    place.durban  # noqa: B018  # its types name the teams
    first = said("zoe", "--role", "reviewer", "--team", "operations").removeprefix("zoe signs in with ")
    zoe = enters("zoe", first)
    assert zoe is not None
    for wrong, why in (
        (("zoe",), "is there already"),
        (("policy", "--role", "viewer"), "kept for software"),
        (("zoe", "--end"), "Give a reason"),
        (("nobody", "--end", "--reason", "Left."), "nobody called nobody"),
        (("zoe", "--team", "fnance", "--reason", "She moves."), "no team “fnance”: teams are the owners"),
        (("zoe", "--reset-second-factor", "--reason", "Lost."), "has no second factor"),
    ):
        with pytest.raises(CommandError, match=why):
            said(*wrong)
    assert "is now approver" in said("zoe", "--role", "approver", "--reason", "Bob is on leave.")
    assert groups("zoe") == {"approver", "operations"}, "other roles leave the teams as they are"
    operation, form = fell_silent(place, "zoe")
    ask = {"command_id": "7f6c1f0e-5f0e-4f0e-8f0e-5f0e4f0e8f0e", "reason": "Nothing is there.", **form}
    assert zoe.post(f"/operations/{operation.uid}/override/", ask).status_code == 303
    actions.assign(operation.cases.get(closed_at=None).uid, actor="ann", to="zoe")
    second = said("zoe", "--new-password", "--reason", "Forgotten.").rpartition(" ")[2]
    assert enters("zoe", first) is None and zoe.get("/queue/").status_code == 302
    again = enters("zoe", second)
    ended = said("zoe", "--end", "--reason", "Left the company.")
    assert "Still open in their name: 1 × request to a second person, 1 × case that is theirs, " in ended
    assert "they still take two, and no approver is left" in ended
    assert again is not None and again.get("/queue/").status_code == 302 and enters("zoe", second) is None
    assert "can sign in again" in said("zoe", "--back", "--reason", "Came back.")
    assert enters("zoe", second) is not None
    told = Event.objects.filter(data__person="zoe").values_list("kind", "actor", "reason")
    assert [kind for kind, _, _ in told] == [
        *(
            "person_made",
            "teams_changed",
            "roles_changed",
            "password_reset",
            "person_ended",
            "person_let_back",
        ),
    ]
    assert {actor for _, actor, _ in told} == {"command line"}
    assert (
        told[2][2] == "Bob is on leave."
        and "switched off" not in browser_of("vic").get("/people/").content.decode()
    )
    assert not User.objects.get(username="zoe").is_superuser


def groups(name: str) -> set[str]:
    return set(User.objects.get(username=name).groups.values_list("name", flat=True))


def test_teams_are_given_beside_roles_and_a_role_is_no_team(place: Place) -> None:
    types = [place.durban.invoice, place.durban.reminder]
    for kind, owner in zip(types, ("finance", "approver"), strict=True):
        kind.owner = owner
        kind.save(update_fields=["owner"])
    person("ann")
    with pytest.raises(CommandError, match="no team “approver”"):
        said("ann", "--team", "approver", "--reason", "A team that is called like a role.")
    both = "--role", "viewer", "--team", "finance"
    assert said("ann", *both, "--reason", "She moves.") == "ann is now viewer, in finance."
    assert groups("ann") == {"viewer", "finance"}
    assert said("ann", "--no-team", "--reason", "She left it.") == "ann is now in no team."
    assert groups("ann") == {"viewer"}
    told = Event.objects.filter(data__person="ann").values_list("kind", "data__before")
    assert list(told) == [
        ("roles_changed", ["reviewer"]),
        ("teams_changed", []),
        ("teams_changed", ["finance"]),
    ]
