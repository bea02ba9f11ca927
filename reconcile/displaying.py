"""By which rates screens put amounts of different currencies in one order; nothing is added by them."""

from django.db import models

from ledger.models import TieoutNow

NAME = "display"


class Display(models.Model):
    """The rates that the configuration file names, with their day and their source: one row, or none."""

    name = models.CharField(max_length=100, unique=True, default=NAME)
    currency = models.CharField(max_length=3)
    rates = models.JSONField(default=dict)
    """Currency to what one of it is worth in the display's currency, as text."""
    as_of = models.DateField()
    source = models.CharField(max_length=100)
    changed_at = models.DateTimeField(db_default=TieoutNow())

    class Meta:
        constraints = [
            models.CheckConstraint(name="display_alone", condition=models.Q(name=NAME)),
            models.CheckConstraint(name="display_has_source", condition=~models.Q(source="")),
        ]

    def __str__(self) -> str:
        return f"{self.currency}, {self.source}"
