"""Administrators decide no items: nobody is given that role and one that decides, by any way.

| way                                   | refused by                                     |
|---------------------------------------|------------------------------------------------|
| proposed, or agreed to meanwhile      | the action, in words                           |
| `manage.py person`                    | the action, in words                           |
| the ORM, SQL, two sessions at once    | the database                                   |
| both from before, at an upgrade       | kept; they decide nothing until one role goes  |
"""

import uuid
from functools import partial
from itertools import combinations

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from ledger.models import Event
from ledger.rules.errors import NotNow
from reconcile.models import Proposal
from reconcile.proposals import actions
from reconcile.proposals.roles import ROLES, in_force
from review import access, approvers, cases, duties
from tests import stories
from tests.databases import Database
from tests.ledger.sessions import at_once
from tests.people import browser_of, person
from tests.review.test_doctor import examined

APART = "administrators decide no items"
BOTH = "has both an administrator’s role and one that decides: decides nothing until one goes"


def group(name: str) -> Group:
    return Group.objects.get(name=name)


def names(of: User) -> set[str]:
    return {*of.groups.values_list("name", flat=True)}


def both(database: Database, name: str | User, *roles: str) -> User:
    """Somebody who has these roles from before nobody could have both."""
    user = person(name) if isinstance(name, str) else name
    with database.rewriting("auth_user_groups"):
        user.groups.set([group(role) for role in roles])
    return User.objects.get(pk=user.pk)


@pytest.mark.parametrize("one", ["reviewer", "approver"])
def test_the_database_lets_nobody_have_both_in_whatever_order(database: Database, one: str) -> None:
    nora = person("nora")
    for first, second in ((one, "administrator"), ("administrator", one)):
        nora.groups.set([group(first), group("viewer")])
        with pytest.raises(IntegrityError, match=APART), transaction.atomic():
            nora.groups.add(group(second))
        row = User.groups.through.objects.filter(user=nora, group=group("viewer"))
        with pytest.raises(IntegrityError, match=APART), transaction.atomic():
            row.update(group=group(second))
        with pytest.raises(IntegrityError, match=APART), connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO auth_user_groups (user_id, group_id) VALUES (%s, %s)",
                [nora.pk, group(second).pk],
            )
        nora.groups.clear()
        with pytest.raises(IntegrityError, match=APART), transaction.atomic():
            nora.groups.add(group(first), group(second))
        assert names(nora) == set()


def test_of_two_sessions_that_give_one_of_the_two_roles_at_once_one_wins(database: Database) -> None:
    for _ in range(5):
        nora = person("nora")
        nora.groups.clear()

        def give(role: str) -> str:
            try:
                nora.groups.add(group(role))  # noqa: B023 - awaited within the turn
            except IntegrityError:
                return "refused"
            return role

        assert "refused" in at_once([partial(give, "administrator"), partial(give, "approver")])
        assert len(names(nora)) == 1


def test_a_role_keeps_its_name_and_no_team_takes_it(database: Database) -> None:
    team = Group.objects.create(name="finance")
    for role in ROLES:
        for change in (
            partial(Group.objects.filter(name=role).update, name="other"),
            partial(Group.objects.filter(pk=team.pk).update, name=f"{role}"),
            partial(Group.objects.filter(name=role).delete),
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                change()
    Group.objects.filter(pk=team.pk).update(name="treasury")
    Group.objects.filter(pk=team.pk).delete()


def test_the_command_gives_nobody_both(database: Database) -> None:
    words = r"would be administrator and reviewer: administrators decide no items"
    with pytest.raises(CommandError, match=f"zoe {words}"):
        call_command("person", "zoe", "--role", "administrator", "--role", "reviewer")
    assert not User.objects.filter(username="zoe").exists()
    person("ann")
    with pytest.raises(CommandError, match=f"ann {words}"):
        call_command("person", "ann", "--role", "reviewer", "--role", "administrator", "--reason", "More.")
    assert names(person("ann")) == {"reviewer"}
    call_command("person", "ann", "--role", "administrator", "--reason", "She moves.")
    assert names(person("ann")) == {"administrator"}, "one in place of the other"


def test_a_role_that_does_not_go_with_another_is_neither_proposed_nor_given(durban: stories.Durban) -> None:
    vic, ada = person("vic"), person("ada")
    for name in ("bob", "eve"):
        person(name)
    durban.invoiced(1)
    form = {"person": vic.pk, "give": "yes", "reason": "She helps.", "command_id": str(uuid.uuid4())}
    browser = browser_of("ada")
    assert browser.post("/approvals/roles/", {**form, "role": "administrator"}).status_code == 303
    said = {**form, "role": "approver", "command_id": str(uuid.uuid4())}
    assert browser.post("/approvals/roles/", said).status_code == 303
    first, second = Proposal.objects.order_by("pk")
    actions.approve(first.uid, actor="bob", reason="")
    with pytest.raises(NotNow, match=r"vic would be administrator and approver.*Nothing was changed"):
        actions.approve(second.uid, actor="eve", reason="")
    assert names(vic) == {"viewer", "administrator"}
    assert Event.objects.get(kind="proposal_voided").actor == "policy"
    said = {**form, "person": ada.pk, "role": "reviewer", "command_id": str(uuid.uuid4())}
    told = browser.post("/approvals/roles/", said).content.decode()
    assert "ada would be administrator and reviewer" in told
    assert Proposal.objects.count() == 2


def test_who_has_both_from_before_decides_nothing_until_one_role_goes(
    durban: stories.Durban, database: Database
) -> None:
    operation = durban.looked(durban.absent(483), stories.ABSENT, actor="ann")
    eve = both(database, "eve", "administrator", "approver")
    person("bob")
    ours = browser_of("eve")
    page = f"/operations/{operation.uid}/"
    assert ours.get("/queue/").status_code == 200
    form = {"reason": "I want to.", "command_id": str(uuid.uuid4())}
    for way in ("send-again", "did-not-happen"):
        told = ours.post(f"{page}{way}/", form).content.decode()
        assert "You have a role that decides as well" in told, way
    assert not operation.permits.exists() and durban.again(operation).held_at is not None
    assert access.may(eve, "people") and not access.may(eve, "approve")
    assert approvers.second_person(person("ann")) == "bob"
    assert cases.takers() == ["ann", "bob"]
    assert actions.approvers().get() == person("bob")
    assert "decides nothing until one of these roles goes" in ours.get("/people/").content.decode()
    code, _, text = examined()
    assert code == 1 and "eve is administrator and decides items: both do not go together." in text
    made = actions.propose_role(
        eve, "administrator", give=False, actor="eve", reason="One goes.", command_id=uuid.uuid4()
    )
    actions.approve(made.uid, actor="bob", reason="")
    assert "decides nothing" not in ours.get("/people/").content.decode()
    assert ours.post(f"{page}did-not-happen/", form).status_code == 303
    assert durban.again(operation).held_at is None


def test_one_rule_says_which_roles_count_in_the_database_and_in_the_report(database: Database) -> None:
    for number, roles in enumerate(one for n in range(1, 5) for one in combinations(ROLES, n)):
        user, counting = (
            both(database, User.objects.create_user(f"zoe{number}"), *roles),
            in_force(frozenset(roles)),
        )
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT array_agg(role) FROM unnest(%s::text[]) AS role WHERE review_has_role(%s, role)",
                [list(ROLES), user.pk],
            )
            assert {*(cursor.fetchone()[0] or ())} == counting, roles
    for line in duties.read("").lines:
        counting = in_force(frozenset(line.roles))
        said = ["asks and approves (never the same request)"] * ("approver" in counting)
        said += [BOTH] * (counting != {*line.roles})
        assert line.could == said, line.roles
