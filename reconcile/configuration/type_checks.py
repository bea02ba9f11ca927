"""What is checked of an operation type beyond its lines: names, placeholders, keys, limits and amounts."""

import zoneinfo
from collections.abc import Mapping

from ledger.models import OperationType
from ledger.rules import keys, money, placeholders
from ledger.rules.calls import DrillSample, RecordMap, RetryPolicy, SendCall, VoidCall
from ledger.rules.contracts import Contract
from ledger.rules.paths import dotted, split
from ledger.rules.reversals import CREDIT
from reconcile.configuration.call_checks import check_calls, check_match, check_record
from reconcile.configuration.connector_checks import check_call_lines
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part
from reconcile.configuration.showing import duration
from reconcile.configuration.wrongs import Path, Wrongs, choices, meant

STATUS_LISTS = ("exists", "in_use", "rejected", "not_done")
"""In the order in which they count where two of them list one status."""


def check_type(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check one operation type."""
    _check_names(part, layout, wrongs)
    _check_fixed(part, wrongs)
    _check_needed(part, wrongs)
    check_call_lines(part, layout, wrongs)
    _check_template(part, wrongs)
    contract = contract_of(part, layout)
    check_calls(part, wrongs, key_name=(contract or Contract()).key_name)
    check_record(part, wrongs)
    check_match(part, layout, wrongs)
    _check_set(part, layout, wrongs)
    _check_review(part, layout, wrongs)
    _check_pauses(part, wrongs)
    if contract is not None:
        _check_key_field(part, layout, wrongs)
        _check_limits(part, contract, layout=layout, wrongs=wrongs)
        _note_shadowed(part, contract, layout)
    _check_sample(part, layout, wrongs)
    _note_unseen_void(part, layout)
    _check_closed(part, layout, wrongs)


def _note_unseen_void(part: Part, layout: Layout) -> None:
    """Say where nobody could see that a record was reversed, short of its being gone."""
    record = part.get("record", RecordMap)
    if "void" in part.raw and "lookup" not in part.raw:
        layout.notes.append(
            f"{dotted((*part.path, 'void'))} is used by drills alone: several are found by a lookup."
        )
    elif "void" in part.raw and record is not None and not record.void_statuses:
        layout.notes.append(
            f"{dotted((*part.path, 'record', 'void_statuses'))} is missing: a record counts as reversed only "
            "once it is there no more."
        )


def _check_closed(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check that what is barred in closed periods is known to be in one, and is credited in an open one."""
    void, record = part.get("void", VoidCall), part.get("record", RecordMap)
    if void is None or void.when_closed != CREDIT:
        return
    path = (*part.path, "void")
    if record is None or record.period is None:
        what = "when_closed counts only where record.period tells that a record’s period is closed."
        wrongs.add((*path, "when_closed"), what, 'Add period = "…" to its record section.')
    if void.credit is None:
        layout.notes.append(
            f"{dotted((*path, 'credit'))} is missing: what is in a closed period is for people."
        )
    elif "{today}" not in str(void.credit.model_dump()):
        layout.notes.append(
            f"{dotted((*path, 'credit'))} names no {{today}}: the destination has to date it as open."
        )


def contract_of(part: Part, layout: Layout) -> Contract | None:
    """Return the destination's contract with the type's own lines over it; None where either is wrong."""
    destination = layout.destinations.get(str(part.raw.get("destination")))
    if destination is None:
        return None
    base = destination.get("contract", Contract) if "contract" in destination.raw else Contract()
    own = part.get("contract", Contract) if "contract" in part.raw else Contract()
    if base is None or own is None:
        return None
    lines = {name: getattr(own, name) for name in own.model_fields_set}
    if "when" in lines:  # its lines are lines of the contract, too
        lines["when"] = {**base.when, **own.when}
    return base.model_copy(update=lines)


def policy_of(part: Part, contract: Contract) -> RetryPolicy | None:
    """Return the limits for tries; an `elapsed` that is not written ends with the key's window."""
    policy = part.get("retry", RetryPolicy) if "retry" in part.raw else RetryPolicy()
    if policy is None or "elapsed" in part.under("retry"):
        return policy
    window_s = key_window_s(contract)
    if not window_s or policy.elapsed_s <= window_s:
        return policy
    return policy.model_copy(update={"elapsed_s": window_s})


def key_window_s(contract: Contract) -> float | None:
    """Return how long the destination is known to remember a key, the margin taken off, in seconds."""
    if not contract.takes_key or contract.key_retention_s is None:
        return None
    return max(contract.key_retention_s - contract.key_margin_s, 0)


def _check_names(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    name = part.raw.get("destination")
    if isinstance(name, str) and name not in layout.destinations:
        remedy = choices(name, layout.destinations, none=f"Add a section [destinations.{name or 'books'}].")
        wrongs.add((*part.path, "destination"), f'There is no destination "{name}" in this file.', remedy)


def _check_fixed(part: Part, wrongs: Wrongs) -> None:
    """Refuse to change what the operations of a type were made with; the row is locked against new ones."""
    row = OperationType.objects.filter(name=part.name).select_related("destination").first()
    now = {"performed_by": row.performed_by, "destination": row.destination.name} if row else {}
    changed = {name: value for name, value in now.items() if part.raw.get(name, value) != value}
    if row is not None and row.reverses_id is not None:
        what = f"{part.name} reverses what {row.reverses} makes; its rules are those."
        wrongs.add(part.path, what, "Give the type another name.")
    if row is None or not changed:
        return
    OperationType.objects.select_for_update().get(pk=row.pk)
    if row.operations.exists():
        for name, value in changed.items():
            what = f'{name} cannot change from "{value}": operations of this type exist.'
            wrongs.add((*part.path, name), what, "Keep it, and make a new type under another name.")


def _check_needed(part: Part, wrongs: Wrongs) -> None:
    if wrongs.misses(part.path):
        return
    if part.raw.get("performed_by") == "tieout" and "send" not in part.raw:
        remedy = (
            f'Add a section [{dotted((*part.path, "send"))}] with its path, or write performed_by = "caller".'
        )
        wrongs.add((*part.path, "send"), "Tieout cannot perform it: send is missing.", remedy)
    for name in ("lookup", "list"):
        if name in part.raw and "record" not in part.raw:
            remedy = f"Add a section [{dotted((*part.path, 'record'))}] with id and reference."
            wrongs.add((*part.path, "record"), f"Nothing says how to read what {name} brings back.", remedy)


def _check_template(part: Part, wrongs: Wrongs) -> None:
    template = part.raw.get("key")
    if isinstance(template, str) and template and (errors := keys.template_errors(template)):
        what = f"The key's template cannot be used: {'; '.join(errors)}."
        remedy = 'Write one such as "order/{source.system}/{source.reference}".'
        wrongs.add((*part.path, "key"), what, remedy)


def _check_set(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    send = part.get("send", SendCall)
    if send is None:
        return
    for path, template in send.set.items():
        place: Path = (*part.path, "send", "set", path)
        known = placeholders.SET | {placeholders.FIRST}
        if unknown := placeholders.unknown(template, known):
            what = f"Nothing can be put in place of {{{unknown[0]}}}."
            wrongs.add(place, what, choices(unknown[0], known))
        if placeholders.FIRST in placeholders.named(template) and part.raw.get("performed_by") == "caller":
            remedy = "Leave it out: the answer to the claim tells the automation that reference."
            wrongs.add(place, "It is known only when the operation before is done.", remedy)
        try:
            whole = split(path) == ()
        except ValueError:
            whole = True
        if whole:
            remedy = 'Write names with dots between, such as "metadata.operation".'
            wrongs.add(place, "This is no path into a payload.", remedy)
    by_match = bool(part.under("lookup").get("match"))
    if (
        "lookup" in part.raw
        and not by_match
        and not any("{key}" in template for template in send.set.values())
    ):
        layout.notes.append(
            f"{dotted((*part.path, 'send'))}: no line of set writes {{key}}; a check finds the record "
            "only where the payload carries the key itself."
        )


def _check_review(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    limits, path = part.under("review").get("four_eyes_above"), (*part.path, "review")
    if isinstance(limits, dict):
        check_amounts(limits, (*path, "four_eyes_above"), wrongs)
    check_zone(part.under("review").get("timezone"), (*path, "timezone"), wrongs)
    refunds = part.under("review").get("refunds")
    known = {*layout.operation_types, *OperationType.objects.values_list("name", flat=True)} - {part.name}
    if isinstance(refunds, str) and refunds and refunds not in known:
        what = f'There is no other operation type "{refunds}", here or configured before.'
        wrongs.add((*path, "refunds"), what, choices(refunds, known))


def check_zone(zone: object, path: Path, wrongs: Wrongs) -> None:
    """Check the name of a time zone."""
    if not isinstance(zone, str):
        return
    known = zoneinfo.available_timezones()
    if zone not in known:
        remedy = f"{meant(zone, known)}Write a name of the IANA list, such as Africa/Johannesburg or UTC."
        wrongs.add(path, f'There is no time zone "{zone}".', remedy)


def check_amounts(amounts: Mapping[str, object], path: Path, wrongs: Wrongs) -> None:
    """Check a table of amounts by currency: text, known currencies, not below nought."""
    for currency, amount in amounts.items():
        place: Path = (*path, currency)
        try:
            example = f"{10:.{money.decimals(currency)}f}"
        except money.UnknownCurrency as error:
            wrongs.add(place, error.detail, "Write the code in capitals, such as ZAR.")
        else:
            if why := _wrong_amount(amount, currency):
                wrongs.add(place, why, f'Write the amount as text: {currency} = "{example}".')


def _wrong_amount(amount: object, currency: str) -> str:
    if not isinstance(amount, str):
        return "An amount is text, so that it stays exact."
    try:
        return "The amount is below nought." if money.parse(amount, currency).amount < 0 else ""
    except money.MoneyError as error:
        return error.detail


def _check_key_field(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    destination = layout.destinations[str(part.raw["destination"])]
    own, base = part.under("contract"), destination.under("contract")
    merged, where = {**base, **own}, part if "idempotency" in own else destination
    if merged.get("idempotency") == "field" and "key_name" not in merged:
        remedy = 'Name the field of the body: key_name = "request_id".'
        wrongs.add(
            (*where.path, "contract", "idempotency"), "The field that carries the key has no name.", remedy
        )


def _check_sample(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check what a drill may send; where drills are not allowed, say so."""
    sample, path = part.get("drill", DrillSample), (*part.path, "drill")
    if sample is None:
        return
    if (sample.amount is None) != (sample.currency is None):
        missing = "currency" if sample.currency is None else "amount"
        wrongs.add((*path, missing), f"{missing} is missing.", "Amount and currency come together.")
    elif sample.amount is not None and sample.currency is not None:
        check_amounts({sample.currency: sample.amount}, path, wrongs)
    there = layout.destinations.get(str(part.raw.get("destination")))
    if part.raw.get("performed_by") == "caller":
        layout.notes.append(f"{dotted(path)} is kept; only what Tieout performs is drilled.")
    elif there is not None and there.raw.get("drills") is not True:
        allow = f"drills = true in {dotted(there.path)}"
        layout.notes.append(f"{dotted(path)} is kept; nothing is drilled without {allow}.")


def _check_pauses(part: Part, wrongs: Wrongs) -> None:
    policy = part.get("retry", RetryPolicy)
    if policy is not None and policy.cap_s < policy.base_s:
        what = f"cap ({duration(policy.cap_s)}) is shorter than base ({duration(policy.base_s)})."
        wrongs.add((*part.path, "retry", "cap"), what, "Write a cap at least as long as base.")


def _check_limits(part: Part, contract: Contract, *, layout: Layout, wrongs: Wrongs) -> None:
    policy, window_s = policy_of(part, contract), key_window_s(contract)
    path: Path = (*part.path, "retry")
    if policy is None:
        return
    if window_s == 0:
        place = dotted((*part.path, "contract"))
        layout.notes.append(
            f"{place}: key_margin takes up all of key_retention, so the key's window counts as closed."
        )
    if window_s is not None and "elapsed" in part.under("retry") and policy.elapsed_s > window_s:
        what = f"{duration(policy.elapsed_s)} is longer than the key's window of {duration(window_s)}"
        remedy = (
            f"Write at most {duration(window_s)} (key_retention without key_margin), or leave the line out."
        )
        wrongs.add((*path, "elapsed"), f"{what}.", remedy)


def _note_shadowed(part: Part, contract: Contract, layout: Layout) -> None:
    for index, later in enumerate(STATUS_LISTS):
        for earlier in STATUS_LISTS[:index]:
            both = sorted(set(getattr(contract, later)) & set(getattr(contract, earlier)))
            if both:
                statuses = ", ".join(map(str, both))
                layout.notes.append(
                    f"{dotted((*part.path, 'contract'))}: {statuses} stands in {earlier} and in {later}; "
                    f"{earlier} counts. Take it out of {earlier} if {later} is meant."
                )
