"""What is checked of plans and automations beyond their lines: types, zone, schedule, amounts, addresses."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from ledger.models import OperationType
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part, PlanHead
from reconcile.configuration.source_checks import check_source
from reconcile.configuration.type_checks import check_amounts, check_zone
from reconcile.configuration.wrongs import Path, Wrongs, choices
from reconcile.models import Plan, SignOff
from reconcile.rules import payouts

CRON_FIELDS = 5


def check_plan(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check one plan."""
    check_source(part, layout, wrongs)
    name = part.raw.get("operation_type")
    if isinstance(name, str):
        _check_type(part, name, layout=layout, wrongs=wrongs)
    check_zone(part.raw.get("timezone"), (*part.path, "timezone"), wrongs)
    _check_closed(part, wrongs)
    _check_schedule(part, wrongs)
    for name in ("tolerance", "tolerance_cap"):
        check_amounts(part.under(name), (*part.path, name), wrongs)
    _check_rules(part, wrongs)
    _check_payout(part, wrongs)
    recipients = part.raw.get("recipients")
    for index, address in enumerate(recipients if isinstance(recipients, list) else ()):
        _check_address(address, (*part.path, "recipients", index), wrongs)


def check_automation(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check one automation."""
    types = part.raw.get("types")
    known = _known_types(layout)
    for index, name in enumerate(types if isinstance(types, list) else ()):
        if isinstance(name, str) and name not in known:
            _unknown_type((*part.path, "types", index), name, known=known, wrongs=wrongs)


def _known_types(layout: Layout) -> dict[str, bool]:
    """Return the operation types of file and database, each with whether it can be listed."""
    stored = {row.name: bool(row.calls.get("list")) for row in OperationType.objects.configured()}
    return stored | {name: "list" in part.raw for name, part in layout.operation_types.items()}


def _check_type(part: Part, name: str, *, layout: Layout, wrongs: Wrongs) -> None:
    known = _known_types(layout)
    path: Path = (*part.path, "operation_type")
    if name not in known:
        _unknown_type(path, name, known=known, wrongs=wrongs)
    elif not known[name]:
        remedy = (
            f'Add a section [operation_types."{name}".list] that says how the destination lists its records.'
        )
        wrongs.add(path, f'"{name}" cannot be reconciled: it has no list section.', remedy)


def _unknown_type(path: Path, name: str, *, known: dict[str, bool], wrongs: Wrongs) -> None:
    remedy = choices(name, known, none="Add a section for it under operation_types.")
    wrongs.add(path, f'There is no operation type "{name}".', remedy)


def _check_payout(part: Part, wrongs: Wrongs) -> None:
    head = part.get("head", PlanHead)
    if head is not None and (why := payouts.refused(head.payout, head.rules)):
        remedy = 'Name parts, such as payout = { fee = "fee" }, and add a rule with split = true.'
        wrongs.add((*part.path, "payout"), why, remedy)


def _check_closed(part: Part, wrongs: Wrongs) -> None:
    """Refuse another zone once a month is prepared or signed: the next would overlap it, or leave a gap."""
    head = part.get("head", PlanHead)
    plan = Plan.objects.filter(name=part.name).exclude(timezone=head.timezone).first() if head else None
    if plan is None:
        return
    Plan.objects.select_for_update(no_key=True).get(pk=plan.pk)  # against who prepares one just now
    if SignOff.objects.standing().filter(period__plan=plan).exists():
        what = f'timezone cannot change from "{plan.timezone}": a month is prepared or signed by it.'
        remedy = "Keep it, and make a new plan under another name, with the first month that it closes."
        wrongs.add((*part.path, "timezone"), what, remedy)


def _check_rules(part: Part, wrongs: Wrongs) -> None:
    rules = part.raw.get("rules")
    names: set[object] = set()
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if not isinstance(rule, dict):
            continue
        path: Path = (*part.path, "rules", index)
        name, tolerance = str(rule.get("name", "")), rule.get("tolerance")
        if name in names:
            wrongs.add((*path, "name"), f'There are two rules "{name}".', "Give each a name of its own.")
        names.add(name)
        if isinstance(tolerance, dict):
            check_amounts(tolerance, (*path, "tolerance"), wrongs)


def _check_schedule(part: Part, wrongs: Wrongs) -> None:
    schedule = part.raw.get("schedule")
    if isinstance(schedule, str) and schedule and (why := _no_cron(schedule)):
        remedy = 'Write minute, hour, day, month and weekday, such as "15 6 * * 1-5"; or leave the line out.'
        wrongs.add((*part.path, "schedule"), f'"{schedule}" is no schedule: {why}.', remedy)


def _no_cron(schedule: str) -> str:
    if len(schedule.split()) != CRON_FIELDS:
        return f"it has {len(schedule.split())} parts, not {CRON_FIELDS}"
    try:
        next(CronSim(schedule, datetime.now(UTC)))
    except CronSimError as error:
        return str(error).lower()
    except StopIteration:
        return "that time never comes"
    return ""


def _check_address(address: object, path: Path, wrongs: Wrongs) -> None:
    if not isinstance(address, str):
        return
    try:
        validate_email(address)
    except ValidationError:
        wrongs.add(path, f'"{address}" is no e-mail address.', "Write one such as finance@example.com.")
