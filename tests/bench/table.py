"""The figures as people read them: a table on a terminal, or one for the README."""

from collections.abc import Mapping
from statistics import median
from typing import Any

from tests.bench.cells import MIXES, TITLES, Cell, ratio

HEADINGS = ("", "callers", "operations a second", "lowest to highest", "by plain statements")
PROFILES = {
    "stages": "Where the time of one operation over HTTP goes (claim and outcome, one caller)",
    "stages of batches": "Where it goes for each of 500 at once",
}


def figures(rates: dict[Cell, list[float]]) -> list[dict[str, Any]]:
    """Return what is written to `bench.json`: each figure, its rounds, and its ratio to the floor."""
    return [
        {
            "work": cell.work,
            "callers": cell.callers,
            "mix": cell.mix,
            "per_second": round(median(found), 1),
            "lowest": round(min(found), 1),
            "highest": round(max(found), 1),
            "rounds": [round(rate, 1) for rate in found],
            "by_floor": None if (by := ratio(rates, cell)) is None else round(by, 3),
        }
        for cell, found in rates.items()
    ]


def lines(found: list[dict[str, Any]], *, mix: str) -> list[tuple[str, ...]]:
    """Return the rows of one table: what, callers, rate, spread, ratio."""
    return [
        (
            TITLES[one["work"]],
            str(one["callers"]),
            f"{one['per_second']:,.0f}",
            f"{one['lowest']:,.0f} – {one['highest']:,.0f}",
            "" if one["by_floor"] is None else f"{one['by_floor']:.2f}",
        )
        for one in found
        if one["mix"] == mix
    ]


def plain(result: Mapping[str, Any]) -> str:
    """Write everything for a terminal."""
    parts = [about(result)]
    for mix, title in MIXES.items():
        rows = [HEADINGS, *lines(result["figures"], mix=mix)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        parts.append(f"\n{title}")
        parts += [
            "  ".join(_set(cell, width, at) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
            for row in rows
        ]
    for stages, title in PROFILES.items():
        if spent := result[stages]:
            whole = sum(spent.values())
            parts.append(f"\n{title} (µs)")
            parts += [f"{name:40}{one:8,.0f}{one / whole:8.0%}" for name, one in spent.items()]
    return "\n".join([*parts, *(f"\n{note}" for note in result["notes"])])


def _set(cell: str, width: int, at: int) -> str:
    return cell.rjust(width) if at else cell.ljust(width)


def readme(result: Mapping[str, Any]) -> str:
    """Write the tables for the README, as `make bench BENCH=--readme` prints them."""
    parts = [about(result)]
    for mix, title in MIXES.items():
        parts += [f"\n{title}:\n", "| | " + " | ".join(HEADINGS[1:]) + " |", "|---|---:|---:|---:|---:|"]
        parts += ["| " + " | ".join(row) + " |" for row in lines(result["figures"], mix=mix)]
    for stages, title in PROFILES.items():
        if spent := result[stages]:
            whole = sum(spent.values())
            parts += [f"\n{title}:\n", "| | µs | |", "|---|---:|---:|"]
            parts += [f"| {name} | {one:,.0f} | {one / whole:.0%} |" for name, one in spent.items()]
    return "\n".join(parts)


def about(result: Mapping[str, Any]) -> str:
    """Say what was measured, where and how."""
    where = result["machine"]
    return (
        "One operation is a claim and its outcome with all events, in two durable commits. "
        f"{where['cores']} cores, {where['postgres']}, Python {where['python']}; medians of "
        f"{result['rounds']} interleaved rounds of {result['seconds']:g} s, on {result['on']}."
    )
