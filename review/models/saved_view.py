"""Addresses of the queue that somebody keeps under a name, for themselves or for everybody."""

import uuid

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from ledger.models import TieoutNow


class SavedView(models.Model):
    """One address of the queue under a name; "mine" in it means whoever opens it."""

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    address = models.CharField(max_length=2000, blank=True)
    """Its query, without what is the default."""
    shared = models.BooleanField(default=False)
    """Everybody sees it."""
    entities = models.JSONField(null=True)
    """The legal entities that its maker saw as they made it; None: all."""
    made_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(name="saved_view_one_name", fields=["person", "name"]),
            models.CheckConstraint(name="saved_view_named", condition=~Q(name="")),
        ]

    def __str__(self) -> str:
        return self.name
