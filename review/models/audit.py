"""Auditors' terms, the samples that they draw, and reviews of who may do what: kept as they were made."""

import uuid
from datetime import timedelta
from typing import Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Cast

from ledger.models import TieoutNow
from ledger.models.evidence import EventQuerySet
from ledger.sight import Seen, Sight

LONGEST = timedelta(days=366)


class AuditorTermQuerySet(models.QuerySet["AuditorTerm"]):
    """Questions about terms."""

    def open(self) -> Self:
        """Terms that have begun, are not over, and that nobody has ended, by the database's clock."""
        return self.filter(begins_at__lte=TieoutNow(), ends_at__gt=TieoutNow(), ended_at=None)


class AuditorTerm(models.Model):
    """From when until when a person looks as an auditor; it ends by itself, or once before."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="auditor_terms")
    name = models.CharField(max_length=150)
    """What their account was called then."""
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=1000)
    given_by = models.CharField(max_length=150)
    given_at = models.DateTimeField(db_default=TieoutNow())
    entities = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    """Names of the legal entities that it is limited to; an empty list means all."""
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)

    objects = AuditorTermQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="term_has_an_end",
                condition=Q(ends_at__gt=F("begins_at"), ends_at__lte=F("begins_at") + LONGEST),
            ),
            models.CheckConstraint(name="term_by_another", condition=~Q(given_by=F("name"))),
            models.CheckConstraint(
                name="term_ended_by_somebody",
                condition=Q(ended_at=None, ended_by="") | (Q(ended_at__isnull=False) & ~Q(ended_by="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} until {self.ends_at:%Y-%m-%d}"


class SampleQuerySet(Seen, models.QuerySet["Sample"]):
    """Questions about samples."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what was not drawn from one of these entities alone."""
        return self.filter(population__entity__in=sorted(sight.entities or ()))


class Sample(models.Model):
    """A sample as it was drawn: from which population, as of which seal, how, and which operations."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    drawn_by = models.CharField(max_length=150)
    drawn_at = models.DateTimeField(db_default=TieoutNow())
    purpose = models.CharField(max_length=1000)
    population = models.JSONField()
    """Its definition: `types`, `entity`, `currency`, `state`, and `since` and `until` in UTC, half open."""
    seal = models.PositiveIntegerField()
    head = models.CharField(max_length=64)
    through = models.BigIntegerField()
    """The last event of that seal: the population is what was on record up to it, in the state of then."""
    count = models.PositiveIntegerField()
    without_amount = models.PositiveIntegerField()
    totals = models.JSONField()
    """Of originals by currency, in its own decimals, as text; never added across."""
    apart = models.JSONField(null=True)
    """`corrections` and `reversals`, where it has any: each a `count`, and `totals` as above.

    None: it was drawn before they were told apart, and its totals are of all of them.
    """
    digest = models.CharField(max_length=64)
    """SHA-256 in hex over the ids and amounts of the population, by id."""
    way = models.CharField(max_length=10)
    seed = models.CharField(max_length=100)
    size = models.PositiveSmallIntegerField()
    items = models.JSONField()
    """The operations drawn, in their order: `id`, `amount`, `currency`, and `hits`: above 1 only by value."""

    objects = SampleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="sample_way_known", condition=Q(way__in=["random", "value"])),
            models.CheckConstraint(name="sample_has_purpose", condition=~Q(purpose="") & ~Q(seed="")),
        ]

    def __str__(self) -> str:
        return f"sample {self.pk}"


class AccessReview(models.Model):
    """One person's word that they have gone through who may do what, with what they saw."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    reviewed_by = models.CharField(max_length=150)
    reviewed_at = models.DateTimeField(db_default=TieoutNow())
    words = models.CharField(max_length=1000)
    seen = models.JSONField()
    """By name: `roles`, `active`, `second_factor`, and `auditor_until` where they have a term."""

    class Meta:
        constraints = [models.CheckConstraint(name="review_has_words", condition=~Q(words=""))]

    def __str__(self) -> str:
        return f"access review {self.pk}"


EventQuerySet.told_by["sample"] = lambda _: Sample.objects.values(text=Cast("uid", models.CharField()))
