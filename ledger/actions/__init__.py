"""The only writers of an operation. Every state change is a verb with its actor, its reason and its event."""

from ledger.actions.accepting import Reply, claim, is_due, submit
from ledger.actions.approving import approve, lapse_asked, looks_as_approved, override, refuse, take_back
from ledger.actions.asking import together
from ledger.actions.assigning import Passing, assign, comment, hand_over, passing, set_aside, snooze, wake
from ledger.actions.batching import Told, claim_all, record_all
from ledger.actions.cases import close_case, open_case
from ledger.actions.choosing import Split, choice_needs_second, choose, split, undo_choice
from ledger.actions.claiming import Claimed, claim_to_send, start
from ledger.actions.correcting import Correction, Draft, correct, drafted
from ledger.actions.deputising import end_deputy, name_deputy
from ledger.actions.drilling import (
    begin_drill,
    drilled,
    drilled_each,
    end_drill,
    is_still_there,
    note_made,
    note_sending,
    note_voided,
)
from ledger.actions.escalating import escalate, escalate_ask, mark_overdue, overdue, overdue_asks
from ledger.actions.extending import EXTENDED, extend
from ledger.actions.hearing import hear, refuse_unsigned, unheard
from ledger.actions.keeping import remove_payload
from ledger.actions.levels import levels_changed
from ledger.actions.looking import before_send, keep_lookup
from ledger.actions.overriding import Risk, correct_in_doubt
from ledger.actions.pausing import pause, resume
from ledger.actions.people import attest, cancel, end, permit, withdraw
from ledger.actions.proof import is_proof, is_settled, predates_rules, same_rules
from ledger.actions.reading import (
    comes_beside,
    contract_of,
    correction_of,
    corrections_of,
    facts,
    first_fact,
    first_reference,
    latest_lookup,
    latest_of,
    lookup_fact,
    sitting,
    sitting_of,
    standing_first,
)
from ledger.actions.recording import record
from ledger.actions.resolving import expire, hold, reopen, settle
from ledger.actions.revealing import reveal
from ledger.actions.reversing import chosen_for, first_tried_on, follow_rules
from ledger.actions.submission import Submission, key_for, open_payload, rehearsed
from ledger.actions.taking import Taken, take_in
from ledger.actions.telling import send_again
from ledger.actions.told import told_late
from ledger.rules.outcomes import Report

__all__ = [
    "EXTENDED",
    "Claimed",
    "Correction",
    "Draft",
    "Passing",
    "Reply",
    "Report",
    "Risk",
    "Split",
    "Submission",
    "Taken",
    "Told",
    "approve",
    "assign",
    "attest",
    "before_send",
    "begin_drill",
    "cancel",
    "choice_needs_second",
    "choose",
    "chosen_for",
    "claim",
    "claim_all",
    "claim_to_send",
    "close_case",
    "comes_beside",
    "comment",
    "contract_of",
    "correct",
    "correct_in_doubt",
    "correction_of",
    "corrections_of",
    "drafted",
    "drilled",
    "drilled_each",
    "end",
    "end_deputy",
    "end_drill",
    "escalate",
    "escalate_ask",
    "expire",
    "extend",
    "facts",
    "first_fact",
    "first_reference",
    "first_tried_on",
    "follow_rules",
    "hand_over",
    "hear",
    "hold",
    "is_due",
    "is_proof",
    "is_settled",
    "is_still_there",
    "keep_lookup",
    "key_for",
    "lapse_asked",
    "latest_lookup",
    "latest_of",
    "levels_changed",
    "looks_as_approved",
    "lookup_fact",
    "mark_overdue",
    "name_deputy",
    "note_made",
    "note_sending",
    "note_voided",
    "open_case",
    "open_payload",
    "overdue",
    "overdue_asks",
    "override",
    "passing",
    "pause",
    "permit",
    "predates_rules",
    "record",
    "record_all",
    "refuse",
    "refuse_unsigned",
    "rehearsed",
    "remove_payload",
    "reopen",
    "resume",
    "reveal",
    "same_rules",
    "send_again",
    "set_aside",
    "settle",
    "sitting",
    "sitting_of",
    "snooze",
    "split",
    "standing_first",
    "start",
    "submit",
    "take_back",
    "take_in",
    "together",
    "told_late",
    "undo_choice",
    "unheard",
    "wake",
    "withdraw",
]
