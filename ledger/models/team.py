"""Teams, as the configuration file describes them; a team that it does not name has no row."""

from functools import cached_property

from django.db import models
from pydantic import ValidationError

from ledger.models.clock import TieoutNow
from ledger.rules.errors import RulesUnreadable
from ledger.rules.escalating import Step
from ledger.rules.hours import WorkingHours


class Team(models.Model):
    """To whom what a team owns goes when its due time has passed, and where the team itself is told."""

    name = models.CharField(max_length=100, unique=True)
    escalate = models.JSONField(null=True)
    """Its levels, the first one first; None: as without a row."""
    chat = models.CharField(max_length=300, blank=True)
    """Where the address of its chat's webhook is; never the address itself."""
    chat_kind = models.CharField(max_length=10, blank=True)
    allow_private = models.BooleanField(default=False)
    hours = models.JSONField(null=True)
    """When it may be told; None: at any time."""
    changed_at = models.DateTimeField(db_default=TieoutNow())

    def __str__(self) -> str:
        return self.name

    @cached_property
    def steps(self) -> list[Step] | None:
        """Its levels, parsed; RulesUnreadable where this version cannot."""
        try:
            return None if self.escalate is None else [Step.read(one) for one in self.escalate]
        except ValidationError:
            raise RulesUnreadable(
                f"The levels of the team {self.name} cannot be read by this version."
            ) from None

    @cached_property
    def working(self) -> WorkingHours | None:
        """When it may be told, parsed; None where at any time, or where that cannot be read."""
        try:
            return None if self.hours is None else WorkingHours.read(self.hours)
        except ValidationError:
            return None
