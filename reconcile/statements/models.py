"""Two exports that somebody dropped: how far their comparison is, both files in pieces, and its result.

They are kept for an hour, for the one who dropped them, and then they are gone.
"""

import json
import uuid
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from ledger.actions.submission import payload_keys
from ledger.models import TieoutNow
from ledger.rules import sealing

KEPT = timedelta(hours=1)
TRIES_MAX = 3
TOLD = ("files", "read", "report", "why")
"""What is said of the files: sealed as they are, for their contents are in it."""


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    """Questions about comparisons."""

    def with_work(self) -> Self:
        """Those that a worker has something to do for."""
        return self.filter(state__in=Comparison.WORKING)

    def over(self) -> Self:
        """Those whose hour has passed."""
        return self.filter(forget_at__lte=TieoutNow())


class Comparison(models.Model):
    """Two files of one person, from the drop to the report; a person has one at a time."""

    class State(models.TextChoices):
        READING = "reading"
        READ = "read"
        """The person looks at how the files were read."""
        COMPARING = "comparing"
        DONE = "done"
        FAILED = "failed"

    WORKING = (State.READING, State.COMPARING)

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    owner = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.READING)
    size = models.PositiveBigIntegerField()
    """How many bytes both files have."""
    sealed = models.BinaryField()
    """All that is said of the files (`TOLD`), as JSON: it holds names, headings, first lines and totals."""
    goes_on = models.BooleanField(default=False)
    """Once the files are read it is compared at once: the person has seen how, and has changed it."""
    lines = models.PositiveIntegerField(default=0)
    """How many lines the worker has read so far."""
    tries = models.PositiveSmallIntegerField(default=0)
    nudged_at = models.DateTimeField(null=True)
    dropped_at = models.DateTimeField(db_default=TieoutNow())
    done_at = models.DateTimeField(null=True)
    forget_at = models.DateTimeField()

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="comparison_state_known",
                condition=Q(state__in=["reading", "read", "comparing", "done", "failed"]),
            ),
            models.CheckConstraint(
                name="comparison_kept_for_an_hour",
                condition=Q(forget_at__lte=F("dropped_at") + KEPT),
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.uid}"

    @cached_property
    def _told(self) -> dict[str, Any]:
        if not self.sealed:
            return {"files": {}, "read": {}, "report": {}, "why": ""}
        plain = sealing.unseal(payload_keys(), bytes(self.sealed), bound_to=f"{self.uid}/told")
        told: dict[str, Any] = json.loads(plain)
        return told

    def tell(self, **changed: Any) -> None:
        """Write anew what is said of the files; whoever calls this stores `sealed`."""
        self._told = self._told | changed
        plain = json.dumps(self._told).encode()
        self.sealed = sealing.seal(payload_keys(), plain, bound_to=f"{self.uid}/told")

    @property
    def files(self) -> dict[str, Any]:
        """By side: the file's `name`, its `size` in bytes, and what was stated: `named`, `encoding`, …"""
        files: dict[str, Any] = self._told["files"]
        return files

    @property
    def read(self) -> dict[str, Any]:
        """By side: how the file is read, its first lines as parsed, what is left out; or why not."""
        read: dict[str, Any] = self._told["read"]
        return read

    @property
    def report(self) -> dict[str, Any]:
        """Headline, classes, totals, tie-out and digest; amounts are text."""
        report: dict[str, Any] = self._told["report"]
        return report

    @property
    def why(self) -> str:
        """Why it was not carried out."""
        return str(self._told["why"])


class Piece(models.Model):
    """A part of a file as it came, or of the differences as JSON; sealed."""

    class Of(models.TextChoices):
        SOURCE = "source"
        DESTINATION = "destination"
        DIFFERENCES = "differences"
        REJECTS = "rejects"
        """Unreadable lines: side, line, why, and what stands there."""

    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, related_name="pieces", db_index=False
    )
    of = models.CharField(max_length=11, choices=Of)
    number = models.PositiveIntegerField()
    sealed = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(name="piece_once", fields=["comparison", "of", "number"]),
            models.CheckConstraint(
                name="piece_of_known", condition=Q(of__in=["source", "destination", "differences", "rejects"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.of} {self.number}"
