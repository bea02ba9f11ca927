"""To which legal entities a person is limited: proposed like a role, applied and told in one transaction."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from ledger import sight
from ledger.actions.accounts import tell_of_account
from ledger.actions.changing import given, once
from ledger.models import Destination, database_now
from ledger.rules.errors import Malformed, NotFound, NotNow
from reconcile.proposals.actions import HOW, How, approvers, by_two, propose
from reconcile.proposals.models import LIMIT, EntityLimit, Proposal

ALL, OTHERS = "all entities", "other entities"


def entities() -> list[str]:
    """Return the legal entities that destinations belong to."""
    return list(Destination.objects.order_by("entity").values_list("entity", flat=True).distinct())


def of(person: User) -> list[str]:
    """Return to which entities a person is limited; none where they see all."""
    limit = EntityLimit.objects.filter(person=person.pk).first()
    return list(limit.entities) if limit else []


def words(names: Sequence[str]) -> str:
    """Name the entities that somebody sees; to who is limited themselves, none but theirs."""
    here = sight.present()
    seen = [name for name in names if here is None or name in (here.entities or ())]
    return " and ".join([*seen, *([OTHERS] if len(seen) < len(names) else [])]) or ALL


def limit(name: str, *, to: Sequence[str], actor: str, reason: str) -> None:
    """Limit a person to these entities, or to none of them; at once.

    NotFound where nobody is called so, Malformed for an entity that no destination belongs to. NotNow where
    rules change by two: then it is proposed.
    """
    if by_two():
        raise NotNow("Limits change by two here: an administrator proposes it under Approvals.")
    with transaction.atomic():
        person = User.objects.select_for_update().filter(username=name).first()
        if person is None:
            raise NotFound(f"There is nobody called {name}.")
        _set(person, _known(to), actor=actor, reason=given(reason))


def propose_limit(
    person: User, *, to: Sequence[str], actor: str, reason: str, command_id: uuid.UUID
) -> Proposal:
    """Propose to limit a person to these entities, or to let them see all.

    NotNow where that is so already, or another waits.
    """
    name, wanted = person.get_username(), _known(to)

    def make() -> Proposal:
        User.objects.select_for_update().get(pk=person.pk)  # one proposal about a person at a time
        before = of(person)
        if before == wanted:
            raise NotNow(f"{name} sees {words(before)} already.")
        same = Proposal.objects.waiting(database_now()).filter(about_account=person.pk, kind=LIMIT)
        if (other := same.exclude(command_id=command_id).first()) is not None:
            raise NotNow(f"{other.maker} has proposed another limit: it waits for an answer under Approvals.")
        _require_one_left(person, wanted)
        return propose(
            LIMIT,
            actor=actor,
            reason=given(reason),
            title=name,
            about_account=person.pk,
            lines=[f"~ person {name}: sees {words(before)} -> {words(wanted)}"],
            data={"person": name, "entities": wanted, "before": before},
            command_id=command_id,
        )

    return once(Proposal.objects.filter(command_id=command_id), make)


def _known(to: Sequence[str]) -> list[str]:
    unknown = sorted({*to} - {*entities()})
    if unknown:
        raise Malformed(f"There is no entity “{unknown[0]}”: entities are those of the destinations.")
    return sorted({*to})


def _require_one_left(person: User, to: list[str]) -> None:
    """Raise NotNow where nobody would be left who can approve the next change, also of this limit."""
    if to and list(approvers().values_list("pk", flat=True).distinct()) == [person.pk]:
        raise NotNow("An approver is needed who sees all entities: rules and limits are approved by one.")


def _void(proposal: Proposal) -> str:
    person = User.objects.select_for_update().filter(pk=proposal.about_account or 0).first()
    if person is None or of(person) != proposal.data["before"]:
        return "What this person sees has changed since, or the account is gone."
    return ""


def _apply(proposal: Proposal, approver: str) -> None:
    person = User.objects.get(pk=proposal.about_account or 0)
    _require_one_left(person, proposal.data["entities"])
    agreed = {"proposal": str(proposal.uid), "approved_by": approver}
    _set(person, proposal.data["entities"], actor=proposal.maker, reason=proposal.reason, data=agreed)


def _set(
    person: User, to: list[str], *, actor: str, reason: str, data: Mapping[str, Any] | None = None
) -> None:
    told = {"before": of(person), "entities": to, "account": person.pk, **(data or {})}
    if to:
        EntityLimit.objects.update_or_create(person=person, defaults={"entities": to})
    else:
        EntityLimit.objects.filter(person=person).delete()
    tell_of_account(person.get_username(), kind="entities_limited", actor=actor, reason=reason, data=told)


HOW[LIMIT] = How(_void, _apply)
