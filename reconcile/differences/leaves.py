"""Whether a difference can be decided, in which way, and by how many; with the reason where it cannot."""

from datetime import datetime

from django.db import connection
from django.db.models import Q

from ledger.models import Case, Operation
from ledger.rules.approvals import Answer
from ledger.rules.states import State
from reconcile.carrying import ABSENT, apart
from reconcile.classes import ItemClass
from reconcile.differences.models import Decision, DecisionQuerySet, Way
from reconcile.models import Finding, Run

SUPERSEDED = "A later run has looked again: see what it found."
UNDONE = "Its run has not come to an end that counts: decide what the next one finds."


def name_of(finding: Finding) -> str:
    """Return what a difference goes by from run to run."""
    return finding.reference or finding.fingerprint


def current(finding: Finding) -> Finding | None:
    """Return the difference as the latest run that looked has found it; None where it is gone."""
    item_class = ItemClass(finding.item_class)
    classes = [str(one) for one in (item_class, ABSENT.get(item_class)) if one is not None]
    named = {"reference": finding.reference} if finding.reference else {"fingerprint": finding.fingerprint}
    if currency := apart(finding):
        named["currency"] = currency
    living = Finding.objects.filter(
        lives=True, run__plan=finding.run.plan_id, item_class__in=classes, **named
    )
    return living.select_related("run__plan__operation_type__destination", "case").order_by("-pk").first()


def standing(finding: Finding) -> Decision | None:
    """Return the decision about a difference that waits or is in force."""
    return about(finding).filter(ended_at=None, answer__in=["", Answer.APPROVED]).first()


def about(finding: Finding) -> DecisionQuerySet:
    """Return what was decided about a difference, also as the record that a missing one was matched with."""
    name, item_class = name_of(finding), finding.item_class
    named = {"other__reference": name} if finding.reference else {"other__fingerprint": name}
    own = Q(currency=apart(finding)) if item_class == ItemClass.DUPLICATE else Q()
    its = Q(own, name=name, item_class=item_class) | Q(other__item_class=item_class, **named)
    return Decision.objects.filter(its, plan=finding.run.plan_id)


def takes_two(finding: Finding, actor: str) -> bool:
    """Say whether settling it takes two people, by the function that the database's guard asks.

    The turn of its entity is held until the transaction's end.
    """
    kind = finding.run.plan.operation_type_id
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ledger_settling_takes_two(%s, %s, %s, %s)",
            [kind, finding.amount, finding.currency, actor],
        )
        return bool(cursor.fetchone()[0])


def why_not(finding: Finding, way: Way) -> str:
    """Say why a difference, as a run found it, cannot be decided in this way; empty where it can."""
    return why_closed(finding, current(finding), standing(finding)) or why_unfit(finding, way)


def why_closed(finding: Finding, latest: Finding | None, before: Decision | None) -> str:
    """Say why nothing is decided about a difference any more, or again; empty where something can be."""
    if latest is None:
        return "A later run found it gone: there is nothing left to decide."
    if latest.pk != finding.pk:
        return SUPERSEDED
    if finding.run.state != Run.State.DONE:
        return UNDONE
    if before is not None:
        if before.in_force_at is None:
            return f"{before.maker} has asked a second person already: it waits under Approvals."
        return f"{before.maker} has decided already: {before.why_said}"
    return ""


def why_unfit(finding: Finding, way: Way) -> str:
    """Say why a difference that is open is not one to be decided in this way; empty where it is."""
    asked = {Way.CLOSE: _why_not_closed, Way.TAKE_IN: _why_not_taken, Way.MATCH: _why_not_matched}
    return asked[way](finding) if way in asked else ""


def _why_not_matched(finding: Finding) -> str:
    if finding.item_class not in ABSENT or finding.operation is None:
        return "Only what is missing is matched with a record that no operation carries."
    if finding.operation.state == State.PENDING:
        return "It waits to be sent: cancel it first, or it would be there twice."
    return ""


def _why_not_closed(finding: Finding) -> str:
    if finding.operation_id is not None and not finding.by_source:
        return "It stands in the case of its operation, and is answered on that page."
    if finding.case is None:
        return "It has no case to close. Waive it, or mend the record there."
    if finding.case.closed_at is not None:
        return f"{finding.case.closed_by} closed it."
    if shared(finding):
        return "Its case answers another difference as well. Waive each of them, or mend them there."
    return ""


def _why_not_taken(finding: Finding) -> str:
    kind = finding.run.plan.operation_type
    if finding.item_class != ItemClass.UNEXPECTED or finding.operation_id is not None:
        return "Only a record that no operation carries is taken in."
    if not finding.reference:
        return "Its record carries no reference of ours, which would be the key."
    if finding.elsewhere:
        # Unnamed: it is kept as why a request is void, and not all who read that may know the other type.
        return "An operation of another type carries it already."
    if Operation.objects.filter(operation_type=kind, key=finding.reference).exists():
        return "An operation has its key by now: the next run compares them."
    return ""


def shared(finding: Finding) -> bool:
    """Say whether its case answers another open difference as well."""
    others = Finding.objects.filter(case=finding.case_id, lives=True, is_open=True)
    return others.exclude(pk=finding.pk).exists()


def waived_until(case: Case) -> datetime | None:
    """Return until when all that a case asks is waived; None where something of it is not."""
    asked = Finding.objects.filter(case=case, lives=True, is_open=True).select_related("run")
    ends = [one.until if one is not None and one.in_force_at else None for one in map(standing, asked)]
    return min((end for end in ends if end is not None), default=None) if all(ends) else None
