"""Which lines go with which connector, and what a query must be like."""

import re
from pathlib import Path

from ledger.destinations.connectors import databases
from ledger.destinations.connectors.base import BUILT_IN, READS_ONLY, ConfigurationError, kept_text
from ledger.rules import placeholders
from ledger.rules.calls import LookupCall, Question
from ledger.rules.paths import dotted
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part
from reconcile.configuration.wrongs import Path as Place
from reconcile.configuration.wrongs import Wrongs

WAYS = {
    "http": frozenset({"base_url", "auth", "tls", "proxy"}),
    "sql": frozenset({"url"}),
    "file": frozenset({"path", "pattern", "format", "encoding", "separator", "as_of"}),
}
"""The lines of a destination by which a connector of ours reaches it; one of your own may use any."""
NEEDED = {
    "http": {"base_url": 'Add the line: base_url = "https://books.example.com".'},
    "sql": {"url": 'Say where its address is kept: url = "env:NAME" or "file:PATH".'},
    "file": {
        "path": 'Name the folder of exports: path = "/var/exports".',
        "format": 'Write format = "csv", "jsonl" or "json".',
        "as_of": (
            "Say how its name tells the time: "
            'as_of = { name = "invoices-%Y-%m-%d.csv", timezone = "Africa/Johannesburg" }.'
        ),
    },
}
ASKS = {
    "sql": frozenset({"query", "since_format", "timezone", "match"}),
    "file": frozenset({"items", "match"}),
}
"""The lines of a look-up or a list that a connector understands, where that is not all but the query."""
NAMES = {"lookup": placeholders.MARKS | {"destination_reference"}, "list": frozenset({"since"})}
"""What a query must name, one of them at least: without it, everything would be read."""


def connector_of(part: Part) -> str:
    """Return the connector that a destination's section names."""
    return str(part.raw.get("connector", "http"))


def check_lines(part: Part, wrongs: Wrongs) -> None:
    """Check that a destination has the lines of its connector, and none of another one's."""
    connector = connector_of(part)
    if connector not in BUILT_IN:
        return
    if not wrongs.misses(part.path):
        for name, remedy in NEEDED[connector].items():
            if name not in part.raw:
                wrongs.add((*part.path, name), f"{name} is missing.", remedy)
    foreign = frozenset({"options"}).union(*WAYS.values()) - WAYS[connector]
    for name in sorted(foreign & part.raw.keys()):
        remedy = f"Leave it out; {', '.join(sorted(WAYS[connector]))} say where the destination is."
        wrongs.add((*part.path, name), f'{name} does not go with connector "{connector}".', remedy)
    if connector == "sql":
        _check_url(part, wrongs)
    folder = part.raw.get("path")
    if (
        connector == "file"
        and isinstance(folder, str)
        and folder.startswith("/")
        and not Path(folder).is_dir()
    ):
        remedy = "Make it, or name another; configure and the worker must both see it."
        wrongs.add((*part.path, "path"), "There is no such folder here.", remedy)


def _check_url(part: Part, wrongs: Wrongs) -> None:
    url = part.raw.get("url")
    if not isinstance(url, str) or not url.startswith(("env:", "file:")):
        return
    try:
        databases.kind_of(kept_text(url))
    except ConfigurationError as error:
        remedy = "Put the address there, where configure and the worker run, or name another place."
        wrongs.add((*part.path, "url"), error.detail, remedy)


def check_call_lines(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check that the calls of a type have what its destination's connector needs, and nothing else."""
    destination = layout.destinations.get(str(part.raw.get("destination")))
    if destination is None or wrongs.misses(part.path):
        return
    connector = connector_of(destination)
    if connector in READS_ONLY:
        _check_only_read(part, connector, wrongs)
    for name in ("send", "lookup", "list"):
        if isinstance(part.raw.get(name), dict):
            check_asked(part, name, connector=connector, layout=layout, wrongs=wrongs)


def _check_only_read(part: Part, connector: str, wrongs: Wrongs) -> None:
    if part.raw.get("performed_by") == "tieout":
        what = f'Nothing is sent through connector "{connector}": it only reads.'
        wrongs.add((*part.path, "performed_by"), what, 'Write performed_by = "caller".')
    for name in ("send", "void", "drill"):
        if name in part.raw:
            what = f'{name} does not go with connector "{connector}": it only reads.'
            wrongs.add((*part.path, name), what, "Leave the section out.")


def check_asked(
    part: Part,
    name: str,
    *,
    connector: str,
    layout: Layout,
    wrongs: Wrongs,
    more: frozenset[str] = frozenset(),
) -> None:
    """Check that a call has the lines that its connector understands; `more`: those it has besides."""
    path, call = (*part.path, name), part.under(name)
    known = ASKS[connector] | more if connector in ASKS else None
    for line in sorted(call.keys() - known) if known is not None and name != "send" else ():
        what = f'{line} does not go with connector "{connector}".'
        wrongs.add((*path, line), what, f"Leave it out; there is: {', '.join(sorted(known or ()))}.")
    if connector == "http":
        if "path" not in call:
            wrongs.add((*path, "path"), "path is missing.", "Add the line: path = …")
        if "query" in call:
            remedy = 'Leave it out, or write connector = "sql" in the destination.'
            wrongs.add((*path, "query"), "query is asked of a database.", remedy)
    if connector == "sql" and name != "send":
        if "query" not in call:
            remedy = 'Write query = "select … where reference = {key}"' if name == "lookup" else "Write one."
            wrongs.add((*path, "query"), "query is missing.", remedy)
        _check_query(part.get(name, Question), name, path=path, layout=layout, wrongs=wrongs)


def _check_query(call: Question | None, name: str, *, path: Place, layout: Layout, wrongs: Wrongs) -> None:
    """Check that a query is one statement, and that its values stand beside it instead of in its text."""
    if call is None or call.query is None:
        return
    place, query = (*path, "query"), call.query.strip().removesuffix(";")
    if ";" in query:
        remedy = "Write one query; where a text in it has a semicolon, write chr(59) instead."
        wrongs.add(place, "There is a second statement after the semicolon.", remedy)
    # Between an odd and an even quote is text, where a placeholder would be text, too.
    quoted = [one for text in re.split("'", query)[1::2] for one in placeholders.named(text)]
    if quoted:
        remedy = f"Write it without the quotes: where reference = {{{quoted[0]}}}."
        wrongs.add(place, f"{{{quoted[0]}}} stands for a value, and is no part of a text.", remedy)
    wanted = NAMES.get(name, frozenset()) if name != "lookup" or _matches(call) else {"key"}
    if wanted and not wanted & set(placeholders.named(query)):
        shown = " or ".join(f"{{{one}}}" for one in sorted(wanted))
        wrongs.add(
            place, f"The query does not name {shown}: it would read everything.", f"Use {shown} in it."
        )
    if re.search(r"\b(limit|fetch\s+(first|next)|top)\b", query, re.IGNORECASE):
        layout.notes.append(f"{dotted(place)}: rows that a limit leaves out count as absent; leave it out.")


def _matches(call: Question) -> bool:
    return isinstance(call, LookupCall) and bool(call.match)
