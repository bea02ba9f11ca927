"""Which columns hold trigger, time, status and run: by the platforms' own documents, or named; never guessed.

docs/histories.md names the documents. Names are compared without regard to case, spaces and underscores.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconcile.histories.files import FileRefused, Opened, Row

PARTS = ("trigger", "time", "status", "run", "version")
NEEDED = PARTS[:4]
TRIGGERS = ("trigger", "trigger_id", "source_reference", "reference")
"""What a column is called that holds what a run was started by: no platform has one of its own."""


@dataclass(frozen=True)
class Platform:
    """How one platform calls the parts of a run, and which of its statuses say that it was successful."""

    name: str
    run: str
    time: str
    status: str
    successful: frozenset[str]
    others: frozenset[str] = field(default_factory=frozenset)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLATFORMS = (
    Platform(
        "n8n",
        run="id",
        time="startedAt",
        status="status",
        successful=_words("success"),
        others=_words("canceled crashed error new running unknown waiting"),
    ),
    Platform(
        "Zapier",
        run="id",
        time="start_time",
        status="status",
        successful=_words("success"),
        others=_words("delayed error errored filtered halted held holding playing stopped waiting"),
    ),
    Platform(
        "Make",
        run="id",
        time="timestamp",
        status="status",
        successful=_words("1"),
        others=_words("3"),
    ),
    Platform(
        "Airflow",
        run="dag_run_id",
        time="start_date",
        status="state",
        successful=_words("success"),
        others=_words("failed queued running"),
    ),
    Platform(
        "Airflow (command line)",
        run="run_id",
        time="start_date",
        status="state",
        successful=_words("success"),
        others=_words("failed queued running"),
    ),
    Platform(
        "Power Automate",
        run="name",
        time="properties.startTime",
        status="properties.status",
        successful=_words("succeeded"),
        others=_words(
            "aborted cancelled failed faulted ignored notspecified paused running skipped suspended timedout"
            " waiting"
        ),
    ),
    Platform(
        "Power Automate (Dataverse)",
        run="name",
        time="starttime",
        status="status",
        successful=_words("success succeeded"),
        others=_words("cancelled failed running skipped"),
    ),
    Platform(
        "plain",
        run="run",
        time="time",
        status="status",
        successful=_words("success succeeded successful"),
        others=_words("cancelled canceled error failed failure running skipped waiting"),
    ),
)


@dataclass(frozen=True)
class Columns:
    """Where each part of a run stands, by its name in the file; a dot leads into an object."""

    paths: Mapping[str, str]
    platform: Platform | None = None

    def cell(self, row: Row, part: str) -> object:
        """Return what a row has there; None where it has nothing."""
        path = self.paths.get(part)
        return None if path is None else at(row.cells, path)


def at(cells: Mapping[str, object], path: str) -> object:
    """Return what stands at a dotted path; None where nothing does."""
    if path in cells:
        return cells[path]
    place: object = cells
    for name in path.split("."):
        place = place.get(name) if isinstance(place, Mapping) else None
    return place


def find(opened: Opened, first: Row, named: Mapping[str, str]) -> Columns:
    """Return where the parts of a run stand; FileRefused names what is missing or may be read two ways.

    What is named must be there; the other parts are found where exactly one platform's names all are.
    """
    there = opened.header if opened.header is not None else tuple(_paths(first.cells))
    spelt = _spelt(there)
    found, platform = dict(named), None
    if opened.header is not None:
        found = {part: _named(name, there, spelt, part=part) for part, name in named.items()}
    if not {"time", "status", "run"} <= found.keys():
        platform = _platform(spelt, found, there)
        for part in ("time", "status", "run"):
            found[part] = found.get(part) or spelt[_plain(getattr(platform, part))]
    if "trigger" not in found:
        found["trigger"] = _trigger(spelt, there)
    return Columns(found, platform)


def _paths(cells: Mapping[str, object], above: str = "") -> Iterable[str]:
    for name, value in cells.items():
        yield above + name
        if isinstance(value, Mapping) and above.count(".") < 2:
            yield from _paths(value, f"{above}{name}.")


def _spelt(there: tuple[str, ...]) -> Mapping[str, str]:
    """Return the names by how they compare; two that compare alike are found by neither."""
    alike = Counter(map(_plain, there))
    return {_plain(name): name for name in there if alike[_plain(name)] == 1}


def _plain(name: str) -> str:
    return re.sub(r"[ _]", "", name).casefold()


def _named(name: str, there: tuple[str, ...], spelt: Mapping[str, str], *, part: str) -> str:
    if name in there:
        return name
    if _plain(name) in spelt:
        return spelt[_plain(name)]
    raise FileRefused(f'There is no column "{name}" for {part}. There are: {_list(there)}.')


def _platform(spelt: Mapping[str, str], found: Mapping[str, str], there: tuple[str, ...]) -> Platform:
    """Return the one platform whose names are all there, those aside that were given."""
    fits = [
        platform
        for platform in PLATFORMS
        if all(
            part in found or _plain(getattr(platform, part)) in spelt for part in ("time", "status", "run")
        )
    ]
    if len(fits) == 1:
        return fits[0]
    if fits:
        names = " and ".join(platform.name for platform in fits)
        raise FileRefused(f"Its columns fit {names}. Name time, status and run with --columns.")
    raise FileRefused(
        "Its columns are not those of a platform that is known. Name them: --columns"
        f" trigger=…,time=…,status=…,run=…. There are: {_list(there)}."
    )


def _trigger(spelt: Mapping[str, str], there: tuple[str, ...]) -> str:
    fits = [spelt[_plain(name)] for name in TRIGGERS if _plain(name) in spelt]
    if len(fits) == 1:
        return fits[0]
    which = f"{' and '.join(fits)} could both be it" if fits else "None is called so"
    raise FileRefused(
        f"Which column holds what started a run, such as the order's number? {which}: name it with --columns"
        f" trigger=…. There are: {_list(there)}."
    )


def _list(names: tuple[str, ...]) -> str:
    shown = [name or "(without a name)" for name in names[:30]]
    return ", ".join(shown) + (" and more" if len(names) > len(shown) else "")
