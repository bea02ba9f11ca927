"""What is done about people, roles, rules and what others are told."""

import re
import uuid
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import User

from ledger import audit
from reconcile.proposals.actions import propose_role
from tests.browser.flows.rows import (
    REASON,
    TRAIL,
    Row,
    approvals,
    as_it_is,
    at,
    itself,
    pressed,
    written,
)
from tests.browser.hands import Hand
from tests.ledger.test_outbox import deliver, done
from tests.people import ROLES, audits, browser_of, person
from tests.receivers import hooked, receiving
from tests.review import test_every_door as doors
from tests.review.test_every_door import Form, Place

PEOPLE = ("dan", "vic", "nora")


def another(place: Place) -> User:
    """Somebody new each time."""
    return person(PEOPLE[(place.number() - 481) % len(PEOPLE)])


def said_of(pk: int) -> str:
    """Somebody as a list of people has them."""
    name = User.objects.get(pk=pk).username
    return f"{name}: {ROLES[name] or 'no role'}"


def hand_over(hand: Hand, form: Form) -> None:
    hand.choose("To whom", form["to"])
    hand.write("Note for whoever takes them", REASON)
    hand.click("Hand over")


def give(hand: Hand, form: Form) -> None:
    hand.choose("With many at once", "Give to somebody")
    hand.click("Preview all that this view finds")
    hand.choose("To whom", "bob")
    hand.write("Note for whoever takes them", REASON)
    hand.click("Give")


def role(hand: Hand, form: Form) -> None:
    hand.choose("Person", said_of(form["person"]))
    hand.choose("Role", form["role"])
    hand.tick("Give it")
    hand.write(TRAIL, REASON)
    hand.click("Propose")


def entities(hand: Hand, form: Form) -> None:
    name = User.objects.get(pk=form["person"]).username
    hand.choose("Person", f"{name}: sees all entities")
    hand.tick(form["entities"][0])
    hand.write(TRAIL, REASON)
    hand.click("Propose")


def rules(hand: Hand, form: Form) -> None:
    hand.write("Or write it here", form["text"])
    hand.click("See what would change")
    hand.write("Reason, for the approver and the trail", REASON)
    hand.click("Propose it")


def deputy(hand: Hand, form: Form) -> None:
    hand.choose("Who stands in", User.objects.get(pk=form["deputy"]).username)
    hand.write("From", form["starts_at"])
    hand.write("Until", form["ends_at"])
    hand.write(TRAIL, REASON)
    hand.click("Name a deputy")


def auditor(hand: Hand, form: Form) -> None:
    hand.click("Let somebody audit")
    hand.choose("Person", said_of(form["whose"]))
    hand.write("First day", form["first"])
    hand.write("Last day", form["last"])
    hand.write(TRAIL, REASON)
    hand.click("Let them audit")


def end_term(hand: Hand, form: Form) -> None:
    hand.click(re.compile(f"^End it ?: {form['name']}$"))
    hand.write(TRAIL, REASON)
    hand.click("End it")


def role_wished(place: Place, name: str) -> tuple[str, Form]:
    """A role for somebody who is a viewer."""
    return "/approvals/roles/", {"person": another(place).pk, "role": "reviewer"}


def limit_wished(place: Place, name: str) -> tuple[str, Form]:
    """A limit for somebody who sees all."""
    return "/approvals/entities/", {
        "person": another(place).pk,
        "entities": [place.durban.invoice.destination.entity],
    }


def to_audit(place: Place, name: str) -> tuple[str, Form]:
    """Somebody who is to audit."""
    address, form = doors.somebody_audits(place, name)
    return address, form | {"whose": another(place).pk}


def audit_to_end(place: Place, name: str) -> tuple[str, Form]:
    """Somebody's term."""
    term = audits(another(place))
    return f"/access/auditors/{term.pk}/", {"name": term.name}


def to_name(place: Place, name: str) -> tuple[str, Form]:
    """Somebody who is to stand in."""
    address, form = doors.deputised(place, name)
    return address, form | {"deputy": another(place).pk}


def elsewhere(place: Place, name: str) -> tuple[str, Form]:
    """Another browser in which they are signed in."""
    key = browser_of(name).cookies[settings.SESSION_COOKIE_NAME].value
    one = UserSession.objects.create(user=person(name), session_key=key, ip="127.0.0.1", user_agent="Firefox")
    return f"/accounts/security/sessions/{one.pk}/end/", {"session": one.pk}


def ended(form: Form) -> bool:
    """Whether that session is no more."""
    return not UserSession.objects.filter(pk=form["session"]).exists()


def proposed(place: Place, name: str) -> tuple[str, Form]:
    """A role that ada proposes for somebody."""
    said: dict[str, Any] = {"actor": person("ada").username, "reason": "New.", "command_id": uuid.uuid4()}
    made = propose_role(another(place), "reviewer", give=True, **said)
    return f"/approvals/rules/{made.uid}/", {}


def sealed(place: Place, name: str) -> tuple[str, Form]:
    """What an auditor may draw from: sealed, so that it is counted."""
    made = doors.sample_of(place, name)
    audit.seal()
    return made


def given_up(place: Place, name: str) -> tuple[str, Form]:
    """What the shop's webhook would not take, by a webhook of its own each time."""
    number = place.number()
    with receiving() as receiver:
        hooked(receiver.url, name=f"shop {number}")
        receiver.status = 410
        done(place.durban, number)
        deliver()
    return "/deliveries/", {}


OF_PEOPLE = (
    Row("hand over", "hand-over/", "bob", hand_over, "handed over", "handed_over", begins=as_it_is),
    Row("give", "bulk/give/", "ann", give, "given", "assigned", begins=at("/queue/?who=nobody")),
    Row("resume", "pauses/<uuid:uid>/", "ada", written("Resume"), "is resumed", "resumed", begins=itself),
    Row(
        "deliver again",
        "deliveries/<uuid:uid>/again/",
        "ada",
        pressed(re.compile("^Send again")),
        "It is sent again",
        "told_again",
        "Asked for on the page of deliveries.",
        begins=at("/deliveries/"),
        made=given_up,
    ),
    Row(
        "reset",
        "people/<int:pk>/reset/",
        "ada",
        written("Reset it", TRAIL, re.compile("^Reset")),
        "has no second factor",
        "second_factor_reset",
        begins=at("/people/"),
    ),
    Row(
        "end a session",
        "accounts/security/sessions/<int:pk>/end/",
        "ann",
        pressed(re.compile("^End ?:")),
        "That session is ended",
        "",
        begins=at("/accounts/security/"),
        made=elsewhere,
        gone=ended,
    ),
    Row(
        "end all other sessions",
        "accounts/security/sessions/end/",
        "ann",
        pressed("End all others"),
        "All other sessions",
        "",
        begins=at("/accounts/security/"),
        made=elsewhere,
        gone=ended,
    ),
    Row(
        "name a deputy",
        "approvals/deputies/",
        "bob",
        deputy,
        "for bob",
        "deputy_named",
        begins=itself,
        made=to_name,
    ),
    Row(
        "end a deputy",
        "approvals/deputies/<uuid:uid>/end/",
        "bob",
        written(re.compile("^End it now"), "Reason to end it, for the trail"),
        "Nobody stands in",
        "deputy_ended",
        begins=at("/approvals/deputies/"),
    ),
    Row(
        "draw",
        "samples/",
        "ira",
        written("Draw", "What for, for the trail"),
        re.compile("Sample \\d"),
        "sampled",
        begins=as_it_is,
        made=sealed,
    ),
    Row(
        "review access",
        "access/",
        "bob",
        written("Reviewed", "What you looked at, and what follows"),
        "Reviewed, and on record",
        "access_reviewed",
        begins=itself,
    ),
    Row(
        "let somebody audit",
        "access/auditors/",
        "ada",
        auditor,
        "audit",
        "auditor_let_in",
        begins=at("/access/"),
        made=to_audit,
    ),
    Row(
        "end a term",
        "access/auditors/<int:pk>/",
        "ada",
        end_term,
        "Ended. They are signed out",
        "auditor_ended",
        begins=at("/access/"),
        made=audit_to_end,
    ),
)


OF_RULES = (
    Row(
        "propose rules",
        "approvals/rules/",
        "ada",
        rules,
        "Waits for a second person",
        "proposed",
        begins=itself,
    ),
    Row(
        "propose a role",
        "approvals/roles/",
        "ada",
        role,
        "Waits for a second person",
        "proposed",
        begins=itself,
        made=role_wished,
    ),
    Row(
        "propose a limit",
        "approvals/entities/",
        "ada",
        entities,
        "Waits for a second person",
        "proposed",
        begins=itself,
        made=limit_wished,
    ),
    Row(
        "approve a proposal",
        "approvals/rules/<uuid:uid>/",
        "bob",
        approvals("Give", "Approve"),
        "Answered",
        "proposal_approved",
        begins=at("/approvals/"),
        made=proposed,
    ),
    Row(
        "refuse a proposal",
        "approvals/rules/<uuid:uid>/",
        "bob",
        approvals("Give", "Refuse"),
        "Answered",
        "proposal_refused",
        begins=at("/approvals/"),
        made=proposed,
    ),
    Row(
        "take back a proposal",
        "approvals/rules/<uuid:uid>/",
        "ada",
        approvals("Give", "Take it back"),
        "Answered",
        "proposal_withdrawn",
        begins=at("/approvals/"),
        made=proposed,
    ),
)
