"""What is checked of a plan's source beyond its lines: its connector's lines, its questions, and its key."""

import re

from ledger.destinations.connectors.base import BUILT_IN
from ledger.models import OperationType
from ledger.rules import keys
from ledger.rules.calls import ListCall
from reconcile.configuration.call_checks import check_minor, check_question
from reconcile.configuration.connector_checks import check_asked
from reconcile.configuration.destination_checks import check_reach
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part, TypeHead
from reconcile.configuration.wrongs import Wrongs
from reconcile.sources.rules import RowMap

COUNTED = frozenset({"count", "total"})
"""What a control says beside how it is asked."""


def check_source(plan: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check a plan's source, where it has one."""
    part = plan.inner.get("source")
    if part is None:
        return
    if "connector" in part.raw:
        check_reach(part, wrongs)
    _check_list(plan, part, layout, wrongs)
    _check_control(part, layout, wrongs)
    if (record := part.get("record", RowMap)) is not None:
        check_minor((*part.path, "record"), record.amount_unit, record.minor_decimals, wrongs)
        _check_key(record, part, _template(plan.raw.get("operation_type"), layout), wrongs)


def _check_list(plan: Part, part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check what is asked for; a query that stands in the section itself is a list of no more than that."""
    connector = str(part.raw.get("connector"))
    if "query" in part.raw and "list" in part.raw:
        remedy = "Write the query where the other lines of the list are."
        wrongs.add((*part.path, "query"), "There is a list beside it.", remedy)
    elif "query" in part.raw:
        alone = Part(plan.name, plan.path, {"source": {"query": part.raw["query"]}})
        alone.sections["source"] = ListCall(query=str(part.raw["query"]))
        _ask(alone, "source", layout, wrongs, connector=connector)
    elif "list" in part.raw:
        _ask(part, "list", layout, wrongs, connector=connector)
    elif connector == "sql":
        remedy = 'Write query = "select reference, amount, currency, date, status from …".'
        wrongs.add((*part.path, "query"), "query is missing.", remedy)
    elif connector == "http":
        remedy = 'Say what is asked for: list = { path = "/orders?since={since}", items = "data" }.'
        wrongs.add((*part.path, "list"), "list is missing.", remedy)


def _check_control(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    control, connector = part.raw.get("control"), str(part.raw.get("connector"))
    if control is None:
        return
    if connector == "file":
        remedy = "Leave it out: the run says that nothing proves it complete."
        wrongs.add((*part.path, "control"), "A folder of exports counts nothing beside its rows.", remedy)
        return
    written = {"control": {"query": control}} if isinstance(control, str) else {"control": control}
    counts = Part(part.name, part.path, written)
    counts.sections |= {"control": part.sections["control"]} if "control" in part.sections else {}
    _ask(counts, "control", layout, wrongs, connector=connector)


def _ask(part: Part, name: str, layout: Layout, wrongs: Wrongs, *, connector: str) -> None:
    """Check one question: its lines, by its connector, and what stands in them."""
    if not isinstance(part.raw.get(name), dict):
        return
    if connector in BUILT_IN:
        check_asked(part, name, connector=connector, layout=layout, wrongs=wrongs, more=COUNTED)
    check_question(part, name, wrongs)


def _check_key(record: RowMap, part: Part, template: str, wrongs: Wrongs) -> None:
    """Refuse a fixed part of which no key of the type could be made."""
    if record.key is not None or not template or keys.template_errors(template):
        return
    for name in keys.needed(template):
        if re.fullmatch(r"'\s*'", getattr(record, name).strip()):
            remedy = f"Say where a row has it, or what it always is, such as {name} = \"'webshop'\"."
            wrongs.add((*part.path, "record", name), f"{name} would always be blank.", remedy)


def _template(name: object, layout: Layout) -> str:
    own = layout.operation_types.get(str(name))
    if own is not None:
        head = own.get("head", TypeHead)
        return head.key if head is not None else ""
    stored = OperationType.objects.configured().filter(name=str(name)).first()
    return stored.key_template if stored is not None else ""
