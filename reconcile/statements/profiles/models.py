"""Profiles as they are kept: how the files of one source are read, under a name."""

from functools import cached_property
from typing import Self

from django.db import models
from django.db.models import Q

from ledger.models import TieoutNow
from ledger.sight import Seen, Sight
from reconcile.statements.profiles.rules import ProfileRules


class ProfileQuerySet(Seen, models.QuerySet["Profile"]):
    """Questions about profiles."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out those of other legal entities."""
        return self.filter(Q(entity="") | Q(entity__in=sight.entities or ()))


class Profile(models.Model):
    """How one source writes its files; made and changed by the configuration alone."""

    name = models.CharField(max_length=100, unique=True)
    entity = models.CharField(max_length=200, blank=True)
    rules = models.JSONField()
    changed_at = models.DateTimeField(db_default=TieoutNow())

    objects = ProfileQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="profile_has_form",
                condition=Q(rules__form__in=["csv", "xlsx", "json", "camt", "mt940", "ofx"]),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def said(self) -> ProfileRules:
        """What it says."""
        return ProfileRules.read(self.rules)
