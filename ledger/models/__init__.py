"""The ledger's rows: facts, each with one writer in `ledger.actions`."""

from ledger.models.access import ApiToken, Heartbeat
from ledger.models.approval import HALF_OVER, Approval, DecidedAlone, SettledAlone
from ledger.models.automation import Automation
from ledger.models.choice import Choice
from ledger.models.clock import TieoutNow, database_now, settled_until
from ledger.models.deputy import Deputy
from ledger.models.destination import Destination, OperationType
from ledger.models.drill import Drill, DrillStep
from ledger.models.evidence import Case, Command, Event, Lookup
from ledger.models.grant import Grant
from ledger.models.hearing import Heard, Unsigned
from ledger.models.operation import REFERENCES, Attempt, Operation, OperationQuerySet, folded
from ledger.models.pace import Pace
from ledger.models.pause import Pause, Refusal
from ledger.models.permit import Permit
from ledger.models.seal import Seal
from ledger.models.seen import record_ids
from ledger.models.team import Team
from ledger.models.webhook import Delivery, Webhook

__all__ = [
    "HALF_OVER",
    "REFERENCES",
    "ApiToken",
    "Approval",
    "Attempt",
    "Automation",
    "Case",
    "Choice",
    "Command",
    "DecidedAlone",
    "Delivery",
    "Deputy",
    "Destination",
    "Drill",
    "DrillStep",
    "Event",
    "Grant",
    "Heard",
    "Heartbeat",
    "Lookup",
    "Operation",
    "OperationQuerySet",
    "OperationType",
    "Pace",
    "Pause",
    "Permit",
    "Refusal",
    "Seal",
    "SettledAlone",
    "Team",
    "TieoutNow",
    "Unsigned",
    "Webhook",
    "database_now",
    "folded",
    "record_ids",
    "settled_until",
]
