"""What stands in the queue, a row each: read from it alone, written by the database alone."""

from typing import Self

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from ledger.models import Case, Operation, OperationType
from ledger.sight import Seen, Sight
from reconcile.models import Finding


class ItemQuerySet(Seen, models.QuerySet["Item"]):
    """Questions about items."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(operation_type__in=sight.types)


class Item(models.Model):
    """An operation that needs a person or is in doubt, or a difference that no operation carries.

    Derived from the rows of the other floors by triggers (`sql/items.sql`), at the end of the transaction
    that changed them; the database refuses any other writer. What only waits for its turn has no row.
    """

    operation = models.ForeignKey(
        Operation,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    case = models.ForeignKey(
        Case, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    """The open one."""
    finding = models.ForeignKey(
        Finding, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    """The difference, where there is no operation."""
    operation_type = models.ForeignKey(
        OperationType, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    state = models.CharField(max_length=10, blank=True)
    """The operation's; empty for a difference."""
    kind = models.CharField(max_length=20, blank=True)
    """The case's, empty without one; see `CaseKind`."""
    owner = models.CharField(max_length=100, blank=True)
    assignee = models.CharField(max_length=150, blank=True, db_default="")
    """The person who has it; empty where it is nobody's yet."""
    rests_s = models.FloatField(db_default=0)
    """Until when it is put off, in seconds since 1970; 0 where it is not, or something has happened since."""
    level = models.PositiveSmallIntegerField(db_default=0)
    """How often it went to a next level because nobody had answered in time."""
    verdict = models.CharField(max_length=20, blank=True)
    """That of the latest check that saw the end of every try; empty before one."""
    amount = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    currency = models.CharField(max_length=3, blank=True)
    at_risk = models.DecimalField(max_digits=20, decimal_places=4, null=True)
    """The money at risk (`sql/at_risk.sql`); None without an amount, and of what reverses a surplus."""
    band = models.IntegerField()
    """The power of two below the size; without an amount, the type: alike ones by age are in order."""
    size = models.FloatField()
    """The money at risk, of a reversal its amount, or 1 without any; floating, for ordering only."""
    lightness = models.FloatField()
    """The amount without its sign, negative, so that the largest comes first; or 1 without one."""
    since = models.DateTimeField()
    """When it was accepted, or a difference first seen."""
    since_s = models.FloatField()
    """The same in seconds since 1970; floating, for ordering only."""
    due_at = models.DateTimeField(null=True)
    due_s = models.FloatField()
    """The same in seconds since 1970; what is never due comes last."""
    entered_at = models.DateTimeField()
    """When it came into the queue."""
    words = SearchVectorField()
    """What a person may hold of it, word by word."""

    objects = ItemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="item_of_operation", fields=["operation"]),
            models.UniqueConstraint(
                name="item_of_case", fields=["case"], condition=models.Q(operation__isnull=True)
            ),
            models.UniqueConstraint(
                name="item_of_finding",
                fields=["finding"],
                condition=models.Q(operation__isnull=True, case__isnull=True),
            ),
        ]
        indexes = [
            # With what ranks items, and most of what they are filtered by: their rows are long.
            models.Index(
                name="item_by_rank",
                fields=["currency", "band", "since_s"],
                include=[
                    *("size", "rests_s", "id", "operation", "operation_type", "at_risk"),
                    *("kind", "state", "verdict", "owner", "finding"),
                ],
            ),
            # With the type wherever a tab counts: who is limited to legal entities asks for some types alone.
            models.Index(name="item_by_type", fields=["operation_type", "currency"]),
            models.Index(name="item_of_person", fields=["assignee"], condition=~models.Q(assignee="")),
            models.Index(
                name="item_resting", fields=["rests_s", "operation_type"], condition=models.Q(rests_s__gt=0)
            ),
            models.Index(
                name="item_escalated", fields=["level", "operation_type"], condition=models.Q(level__gt=0)
            ),
            models.Index(name="item_by_age", fields=["since_s", "id"]),
            models.Index(name="item_by_due", fields=["due_s", "id"], include=["operation_type"]),
            models.Index(name="item_by_amount", fields=["lightness", "id"]),
            models.Index(name="item_by_kind", fields=["kind", "operation_type"]),
            models.Index(name="item_by_owner", fields=["owner"]),
            models.Index(name="item_by_state", fields=["state"]),
            models.Index(name="item_by_verdict", fields=["verdict", "operation_type"]),
            models.Index(name="item_entered", fields=["entered_at"]),
            GinIndex(name="item_by_words", fields=["words"]),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id or self.finding_id} {self.kind}"
