"""Whether what a run came to has been mailed, as its page says it: to how many, or why not; no address."""

from reconcile.models import Run
from review.models import Message
from review.runs import stamp

State = Message.State
NOBODY = "It is mailed to nobody: its plan names no recipients."
NO_RECORD = "No mail about it is on record: its plan named no recipients then, or it is too long ago."
NO_WORKER = "it waits for a worker."


def of(run: Run) -> list[str]:
    """Say how the mails about a run that has ended stand, a line for each way they went; one query."""
    told = list(Message.objects.filter(run=run).exclude(address="").order_by("pk"))
    if not told:
        return [NO_RECORD if run.plan.recipients else NOBODY]
    ways = (State.DELIVERED, State.WAITING, State.GIVEN_UP, State.DROPPED)
    parted = ((way, [one for one in told if one.state == way]) for way in ways)
    return [_said(way, some, len(told)) for way, some in parted if some]


def _said(way: str, some: list[Message], of_all: int) -> str:
    many = f"{of_all} recipient{'' if of_all == 1 else 's'}"
    whom = many if len(some) == of_all else f"{len(some)} of {many}"
    why = " ".join(sorted({one.words for one in some if one.words}))
    match way:
        case State.DELIVERED:
            return f"Mailed to {whom}, {stamp(max(one.delivered_at for one in some if one.delivered_at))}."
        case State.WAITING:
            return f"Not mailed yet to {whom}: {f'{why} It is tried again.' if why else NO_WORKER}"
        case State.GIVEN_UP:
            return f"Not mailed to {whom}, and given up: {why}"
    return f"Not mailed to {whom}: {why}"
