"""Automations as those who run them describe them: what the register sets beside what the ledger has seen."""

from typing import Self

from django.db import models

from ledger.models.clock import TieoutNow
from ledger.sight import Seen, Sight


class AutomationQuerySet(Seen, models.QuerySet["Automation"]):
    """Questions about automations."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(sight.among("types"))


class Automation(models.Model):
    """What is said of one automation; its API token, if it has one, goes by the same name."""

    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    types = models.JSONField(default=list)
    """Names of the operation types that it makes."""
    retries = models.CharField(max_length=300, blank=True)
    layers = models.JSONField(default=list)
    """Who repeats a call by itself, from the outside in, each as it was said."""
    stable_key = models.CharField(max_length=300, blank=True)
    last_failure = models.CharField(max_length=300, blank=True)
    owner = models.CharField(max_length=100, blank=True)
    changed_at = models.DateTimeField(db_default=TieoutNow())

    objects = AutomationQuerySet.as_manager()

    def __str__(self) -> str:
        return self.title
