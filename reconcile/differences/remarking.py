"""Write a remark on a difference, with its event, and read what was written."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from ledger.actions.changing import given, once
from ledger.models import Event
from reconcile.carrying import apart
from reconcile.classes import ItemClass
from reconcile.differences import leaves
from reconcile.differences.remarks import WRITTEN, Remark, RemarkQuerySet
from reconcile.models import Finding

Key = tuple[int, str, str, str]
"""Plan, class, name and currency: what a difference goes by from run to run."""


def key_of(finding: Finding) -> Key:
    """Return what remarks on a difference go by."""
    absent = finding.item_class == ItemClass.UNCERTAIN
    item_class = str(ItemClass.MISSING) if absent else finding.item_class
    return finding.run.plan_id, item_class, leaves.name_of(finding), apart(finding)


def write(finding: Finding, *, actor: str, text: str, command_id: uuid.UUID) -> Remark:
    """Write a remark, redacted; the same click again is the first one. Raises Malformed without words."""
    words = given(text, ask="Write a comment")
    plan, item_class, name, currency = key_of(finding)

    def make() -> Remark:
        data = {
            "difference": name,
            "plan": finding.run.plan.name,
            "run": str(finding.run.uid),
            "finding": finding.pk,
        }
        Event.objects.create(kind=WRITTEN, actor=actor, reason=words, data=data, command_id=command_id)
        return Remark.objects.create(
            plan_id=plan,
            finding=finding,
            item_class=item_class,
            name=name,
            currency=currency,
            text=words,
            actor=actor,
            command_id=command_id,
        )

    with transaction.atomic():
        return once(Remark.objects.filter(command_id=command_id), make)


def about(finding: Finding) -> RemarkQuerySet:
    """Return what was written about a difference, the latest first."""
    plan, item_class, name, currency = key_of(finding)
    return Remark.objects.filter(plan=plan, item_class=item_class, name=name, currency=currency).order_by(
        "-pk"
    )


def latest(found: Sequence[Finding]) -> dict[int, Remark]:
    """Return the latest remark on each of some differences since it was first seen, by its number."""
    keys = {one.pk: key_of(one) for one in found}
    plans, names = {key[0] for key in keys.values()}, {key[2] for key in keys.values()}
    rows = Remark.objects.filter(plan__in=plans, name__in=names).order_by("pk")
    known = {(one.plan_id, one.item_class, one.name, one.currency): one for one in rows}
    return {
        one.pk: known[keys[one.pk]]
        for one in found
        if keys[one.pk] in known and known[keys[one.pk]].made_at >= one.first_seen_at
    }
