"""The trail's events in words: who did what, and why."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledger.actions.approving import UNSAID as NO_REASON
from ledger.actions.assigning import ASSIGNED, GIVEN_BACK, TAKEN, WOKEN
from ledger.models import Event
from ledger.rules import actors
from ledger.rules.states import Outcome
from reconcile.asking import ASKED as RUN_ASKED
from review import wording
from review.deciding import CHECKED, UNDONE
from review.instants import instant

_DID = {
    "accepted": "handed it over.",
    "let_go": "let it go.",
    "waits": "let it wait again.",
    "extended": "was still at work.",
    "claimed": "claimed a try.",
    "started": "began to send.",
    "recorded": "recorded what came back.",
    "late": "reported late{told}.",
    "stray": "reported under a token that is not the try’s.",
    "expired": "ended a try whose sender fell silent.",
    "looked": "checked {there}.",
    "known": "began with what an earlier check had found.",
    "heard": "told of it{told}.",
    "permitted": "allowed another try.",
    "withdrawn": "took the permit back.",
    "lapsed": "let an unused permit lapse.",
    "attested": "confirmed it with a reference.",
    "corrected": "corrected it{who}.",
    "chosen": "chose which one is kept{kept}.",
    "reversed": "has seen one of the others reversed.",
    "reversal_stopped": "has seen the reversal of one of the others stopped.",
    "stood_back": "let it stand back.",
    "ended": "closed it: it did not happen.",
    "cancelled": "cancelled it.",
    "held": "opened a case.",
    "closed": "closed the case.",
    "reopened": "took it up again.",
    "settled": "settled it.",
    "payload_removed": "removed its payload; the digest stays.",
    "told_again": "let a webhook be told again.",
    "paused": "paused {there}.",
    "resumed": "resumed {there}.",
    "asked": "asked a second person{who}.",
    "proposed": "proposed it.",
    "proposal_approved": "approved the proposal.",
    "proposal_refused": "refused the proposal.",
    "proposal_withdrawn": "took the proposal back.",
    "proposal_voided": "ended the proposal.",
    "proposal_lapsed": "let the proposal lapse.",
    "deputy_named": "named a deputy{person}.",
    "deputy_ended": "ended a deputy{person}.",
    "ask_approved": "approved what was asked.",
    "ask_refused": "refused what was asked.",
    "ask_withdrawn": "took the request back.",
    "ask_voided": "ended the request.",
    "ask_lapsed": "let the request lapse.",
    "auditor_let_in": "let somebody audit{person}.",
    "auditor_ended": "ended an audit{person}.",
    "sampled": "drew a sample.",
    "access_reviewed": "reviewed who may do what.",
    "comparison_kept": "kept a comparison of two files.",
    "comparison_deleted": "deleted a comparison that was kept.",
    "configured": "changed the rules{section}.",
    "imported": "took in what a platform tells of its runs.",
    "drill_begun": "began a drill{type}.",
    "drilled": "tried what was promised{type}.",
    "key_issued": "issued a token{name}.",
    "key_rotated": "issued the next token{name}.",
    "key_revoked": "ended the tokens{name}.",
    "person_made": "made an account{person}.",
    "roles_changed": "changed the roles{person}.",
    "entities_limited": "changed which entities are seen{person}.",
    "teams_changed": "changed the teams{person}.",
    "person_ended": "ended an account{person}.",
    "person_let_back": "let back in{person}.",
    "password_reset": "gave a new password{person}.",
    "password_changed": "changed their own password.",
    "second_factor_added": "set up a second factor.",
    "second_factor_removed": "removed a second factor.",
    "second_factor_reset": "reset a second factor{person}.",
    "password_removed": "let in by single sign-on alone{person}.",
    "single_sign_on": "signed in by single sign-on for the first time.",
    "single_sign_on_untied": "untied an account from single sign-on{person}.",
    "recovery_code_used": "signed in with a recovery code.",
    "assigned": "gave it to {to}.",
    "escalated": "passed it on to {to}, beside its owner.",
    "handed_over": "handed it over to {to}.",
    "snoozed": "snoozed it until {until}.",
    "woken": "took it up again.",
    "commented": "wrote:",
    "run_asked": "started a run{name}.",
    "run_stopped": "stopped a run{name}.",
    "run_not_started": "found that a run which was due has not started{name}.",
    "run_incomplete": "found that a run which was due did not come to its end{name}.",
    "run_late": "found that a run has not reported in time{name}.",
    "taken_in": "took it in: it was there already.",
    "difference_asked": "asked a second person about a difference.",
    "difference_waived": "waived a difference until {until}.",
    "difference_closed": "closed a difference.",
    "difference_taken_in": "took in what no operation carried.",
    "difference_matched": "matched a difference by hand.",
    "difference_commented": "wrote about a difference:",
    "difference_ended": "ended what was decided about a difference.",
    "difference_approved": "approved what was asked about a difference.",
    "difference_refused": "refused what was asked about a difference.",
    "difference_withdrawn": "took a request about a difference back.",
    "difference_voided": "ended a request about a difference.",
    "difference_lapsed": "let a request about a difference lapse.",
    "prepared": "prepared a run to be signed{name}.",
    "signing_approved": "signed a run{name}.",
    "signing_refused": "refused to sign a run{name}.",
    "signing_withdrawn": "took a preparation back{name}.",
    "signing_voided": "ended a preparation{name}.",
    "signing_lapsed": "let a preparation lapse{name}.",
    "reopening_asked": "asked to open a signed run again{name}.",
    "reopening_approved": "agreed to open a signed run again{name}.",
    "reopening_refused": "refused to open a signed run again{name}.",
    "reopening_withdrawn": "took a request to open a signed run back{name}.",
    "reopening_voided": "ended a request to open a signed run{name}.",
    "reopening_lapsed": "let a request to open a signed run lapse{name}.",
    "signature_ended": "opened a signed run again{name}.",
    "period_drifted": "found what was signed otherwise{name}.",
    "revealed": "looked at a hidden field{path}.",
    "bulk_asked": "asked a second person for it.",
    "bulk_started": "confirmed it.",
    "bulk_approved": "approved it.",
    "bulk_refused": "refused it.",
    "bulk_lapsed": "cancelled it.",
    "bulk_paused": "paused it.",
    "bulk_resumed": "resumed it.",
    "bulk_stopped": "stopped it.",
    "bulk_cancelled": "cancelled the rest.",
    "bulk_done": "ended it.",
}
_NAMED = {"{section}": "section", "{type}": "type", "{name}": "name", "{person}": "person", "{path}": "path"}
"""What an event that is about no operation names, from its data."""
KINDS = {
    kind: wording.first_up(re.split(r"[:.{]", did)[0].replace(" {there}", "").strip())
    for kind, did in _DID.items()
}
"""What is done, in words that a list can be filtered by."""
_SAYS_NO_MORE = frozenset(
    {
        *("Handed over.", "First try.", "The first byte may go.", "Still at work: the lease lasts longer."),
        *(CHECKED, UNDONE, ASSIGNED, TAKEN, GIVEN_BACK, WOKEN, RUN_ASKED),
    }
)
"""Reasons of software that only repeat what was done, or are for those who write software."""
_UNASKED = frozenset(
    {
        *("looked", "known", "withdrawn", "password_changed"),
        *("second_factor_added", "second_factor_removed", "recovery_code_used", "single_sign_on"),
    }
)
"""What a person does without being asked why: the reason beside it is software's."""
_WORDLESS = frozenset(
    {
        *("ask_approved", "proposal_approved", "bulk_approved", "difference_approved"),
        *("signing_approved", "reopening_approved"),
        *("bulk_paused", "bulk_cancelled"),
    }
)
"""What may be done without a reason."""
UNSAID = frozenset({NO_REASON, "Agreed."})
"""What stands for the reason of who agreed or stopped and wrote none; the second in older records."""
_OUTCOMES = {
    Outcome.SUCCEEDED: "done",
    Outcome.ACCEPTED: "taken",
    Outcome.REJECTED: "refused",
    Outcome.RETRYABLE: "not done",
    Outcome.UNCERTAIN: "not known",
}


@dataclass(frozen=True)
class Line:
    """One event: who, what they did, and their reason; `said` marks a person's own words."""

    at: datetime
    who: str
    did: str
    reason: str
    said: bool


def _told(data: Mapping[str, Any]) -> str:
    """Say what was reported late, and under which reference; or which event told of it."""
    if "event" in data:
        return f": {data['event_type']} {data['event']}".replace("  ", " ")
    what = _OUTCOMES.get(data.get("outcome", ""), "")
    parts = (f": {what}" if what else "", f", as {data['reference']}" if data.get("reference") else "")
    return "".join(parts)


def _team(data: Mapping[str, Any]) -> str:
    return f"the team {data['owner']}" if data.get("owner") else "its team"


def did(kind: str) -> str:
    """Say what events of one kind did, wherever it was and for whomever."""
    words = _DID.get(kind, f"{kind.replace('_', ' ')}.").replace("{there}", "a destination")
    return re.sub(r"(?: (?:to|until))? ?\{[^}]+\}", "", words)


def line(event: Event, *, there: str) -> Line:
    """Return one event in words."""
    did = _DID.get(event.kind, f"{event.kind.replace('_', ' ')}.").replace("{there}", there)
    for mark, name in _NAMED.items():
        did = did.replace(mark, f": {event.data[name]}" if event.data.get(name) else "")
    did = did.replace("{who}", f" for {event.data['who']}" if event.data.get("who") else "")
    if event.kind == "assigned" and event.data["to"] == event.actor:
        did = "took it."
    did = did.replace("{told}", _told(event.data)).replace("{to}", event.data.get("to") or _team(event.data))
    if "until" in event.data:
        did = did.replace("{until}", instant(datetime.fromisoformat(event.data["until"]), event.at))
    did = did.replace("{kept}", f": {event.data.get('kept', '')}")
    who = there if event.actor.startswith(actors.DESTINATION) else wording.who(event.actor)
    if event.data.get("for"):
        who = f"{who} for {' and '.join(event.data['for'])}"
    # Nobody is asked for a reason to look, or to take a permit back in time.
    unasked = event.kind in _UNASKED or event.reason in _SAYS_NO_MORE
    unasked = unasked or (event.kind in _WORDLESS and event.reason in UNSAID)
    said = wording.is_person(event.actor) and not unasked
    reason = "" if not said and event.reason in _SAYS_NO_MORE else event.reason
    return Line(event.at, who, did, reason, said=said)
