"""What an import came to, for the command: as text and as JSON, from the same rows."""

from typing import Any

from ledger.models import Operation
from ledger.rules.register.entries import several
from ledger.rules.states import State
from reconcile.classes import ItemClass
from reconcile.histories import linking
from reconcile.histories.importing import Imported
from reconcile.histories.models import Repeat
from reconcile.histories.reading import Reader
from reconcile.sums import amount_text

SHOWN = 50


def document(done: Imported, *, check: bool) -> dict[str, Any]:
    """Return an import as JSON; `import` says how the file was read, `triggers` what ran more than once."""
    history, reader = done.history, done.reader
    warning = _warning(done)
    return {
        "import": {
            "number": None if check and reader else history.pk,
            "automation": history.automation,
            "type": history.operation_type.name,
            "system": history.system,
            "file": history.file_name,
            "checksum": history.checksum,
            "known": reader is None,
            "rows": history.rows,
            "statuses": history.statuses,
            "added": history.added if reader else 0,
            "bad": history.bad,
            **(_how(reader) if reader else {}),
            "warnings": [warning] if warning else [],
        },
        "triggers": [trigger(repeat) for repeat in done.repeats],
    }


def _warning(done: Imported) -> str:
    """Say why what was found could not be looked up; known only of a file that was read now."""
    if done.reader is None:
        return ""
    versions = bool(done.reader.rules.version) or "version" in done.reader.columns.paths
    return linking.without_key(done.history.operation_type, versions=versions)


def _how(reader: Reader) -> dict[str, Any]:
    platform = reader.columns.platform
    return {
        "form": reader.opened.form,
        "encoding": reader.opened.encoding,
        "platform": platform.name if platform else None,
        "columns": dict(reader.columns.paths),
        "successful": sorted(reader.successful),
        "bad_rows": [{"place": place, "why": why} for place, why in reader.bad_rows],
    }


def trigger(repeat: Repeat) -> dict[str, Any]:
    """Return one trigger that ran more than once; amounts are text."""
    operation = repeat.operation
    return {
        "id": str(repeat.uid),
        "class": repeat.item_class,
        "open": repeat.is_open,
        "reference": repeat.reference,
        "version": repeat.version,
        "key": repeat.key,
        "runs": repeat.runs,
        "first_run_at": repeat.first_run_at.isoformat(),
        "last_run_at": repeat.last_run_at.isoformat(),
        "first_seen_at": repeat.first_seen_at.isoformat(),
        "operation": str(operation.uid) if operation else None,
        "tries": operation.attempt_count if operation else None,
        "effects": effects(repeat),
        "destination": repeat.records,
        "amount": None if repeat.amount is None else amount_text(repeat.amount, repeat.currency),
        "currency": repeat.currency,
        "why": repeat.why,
    }


def effects(repeat: Repeat) -> int | None:
    """Return how many effects are known of a trigger; None where nobody knows."""
    if repeat.item_class in (ItemClass.DUPLICATE, ItemClass.MATCHED):
        return repeat.surplus + 1
    if repeat.item_class in (ItemClass.MISSING, ItemClass.STATUS_DIFFERS):
        return 0
    return _known(repeat.operation)


def _known(operation: Operation | None) -> int | None:
    if operation is None or operation.state in (State.RUNNING, State.UNCERTAIN):
        return None
    return 1 if operation.state == State.COMPLETED else 0


def text(done: Imported, *, check: bool) -> str:
    """Write an import for a terminal."""
    history, reader = done.history, done.reader
    if reader is None:
        lines = [f"This file is import {history.pk}, and was taken in before: nothing is added."]
    else:
        lines = [*_preview(reader)] if check else []
        what = "would be import" if check else "is import"
        lines.append(f"{history.file_name} {what} {history.pk}." if not check else "Nothing was taken in.")
        lines += _counted(done, reader)
        lines += filter(None, [_warning(done)])
    return "\n".join([*lines, *_triggers(done)])


def _preview(reader: Reader) -> list[str]:
    platform = reader.columns.platform
    named = ", ".join(f'{part} = "{path}"' for part, path in reader.columns.paths.items())
    lines = [
        f"Read as {reader.opened.form}, {reader.opened.encoding.upper()}"
        + (f", as {platform.name} writes it." if platform else "."),
        f"Columns: {named}.",
    ]
    for place, read, status in reader.shown:
        version = f" version {read.version}" if read.version else ""
        lines.append(
            f"  {place}: trigger {read.trigger}{version}, {read.at.isoformat()}, {status}, run {read.run}"
        )
    return lines


def _counted(done: Imported, reader: Reader) -> list[str]:
    history = done.history
    counted = [
        f"{status} {count}{'' if status.casefold() in reader.successful else ' (not successful)'}"
        for status, count in sorted(history.statuses.items())
    ]
    lines = [f"{': '.join(filter(None, (several(history.rows, 'row'), ', '.join(counted))))}."]
    were = "was" if history.added == 1 else "were"
    lines.append(f"{several(history.added, 'successful run')} that {were} not on record yet.")
    if history.bad:
        are = "is" if history.bad == 1 else "are"
        lines.append(f"{several(history.bad, 'row')} cannot be read, and {are} left out:")
        lines += [f"  {place}: {why}" for place, why in reader.bad_rows[:SHOWN]]
    if history.bad > SHOWN:
        lines.append(f"  and {history.bad - SHOWN} more")
    return lines


def _triggers(done: Imported) -> list[str]:
    still = [repeat for repeat in done.repeats if repeat.is_open]
    if not still:
        return ["No trigger of it has several successful runs that nobody has explained."]
    have = "has" if len(still) == 1 else "have"
    found = several(len(still), "trigger")
    lines = [f"{found} {have} several successful runs, to be looked up at the destination:"]
    for repeat in still[:SHOWN]:
        known = effects(repeat)
        what = f", {known} known there" if known is not None else ""
        lines.append(f"  {repeat.reference}: {repeat.runs} runs{what}. {repeat.why}")
    if len(still) > SHOWN:
        lines.append(f"  and {len(still) - SHOWN} more: see the page Runs, or --json")
    return lines
