"""Which level a case that nobody answers goes to next, and when; read from the rules of its team."""

from datetime import datetime, timedelta

from django.db.models import F

from ledger.models import Case, Destination, Operation, Team
from ledger.rules import escalating
from ledger.rules.errors import RulesUnreadable
from ledger.rules.escalating import Step


def of_team(owner: str) -> list[Step]:
    """Return the levels of a team's cases; of one whose levels cannot be read, those of one without any."""
    team = Team.objects.filter(name=owner).first()
    try:
        said = team.steps if team is not None else None
    except RulesUnreadable:
        said = None
    return list(escalating.steps(owner, said))


def there(case: Case, operation: Operation | None) -> Destination | None:
    """Return the destination whose entity's working hours count."""
    return operation.operation_type.destination if operation is not None else case.destination


def later(there: Destination | None, start: datetime, work_s: float) -> datetime:
    """Return the instant `work_s` seconds of working hours after a start."""
    return start + timedelta(seconds=work_s) if there is None else there.due_at(start, work_s)


def begin(case: Case, operation: Operation | None, now: datetime) -> list[str]:
    """Let a case that has come to another team climb by that team's levels; returns the fields to save.

    It begins with the first one, or after the one that has it already; what is overdue gives the new team
    the time before its level from now on.
    """
    steps = of_team(case.owner)
    has_it = [at for at, step in enumerate(steps, start=1) if step.to == case.escalated_to]
    case.step, case.escalates_at = (has_it or [0])[0], None
    if case.level > 0 or case.due_at <= now:
        further = steps[case.step :]
        end = None if case.level else Case.NEVER
        case.escalates_at = later(there(case, operation), now, further[0].after_s) if further else end
    return ["step", "escalates_at"]


def levels_changed(team: str) -> None:
    """Let the open cases of a team be looked at anew: its levels are others than they were."""
    # Without a level yet: when it is due. Each is asked once more, and goes on from where it is.
    Case.objects.open().filter(owner=team).update(escalates_at=F("escalated_at"))
