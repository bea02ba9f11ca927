"""`python -m tests.bench.files`: two CSV files of a million lines, from the drop to the report.

The page's part and the worker's run in this process, one after the other, as the queue would have them:
dropped and sealed, read for the preview, compared, and the report kept. One line in a hundred differs.
"""

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.place import Place, folder
from tests.bench.targets import Target

LINES = 1_000_000
SECONDS_MAX, MB_MAX = 25.0, 300.0
HEAD = "reference,amount,currency,date,customer\n"


def main() -> None:
    """Measure as the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.files", description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    lines = parser.parse_args().lines
    with Place.made(folder()) as place:
        paths = {side: Path(place.environ["DATA_DIR"]) / f"{side}.csv" for side in ("source", "destination")}
        for side, path in paths.items():
            with path.open("w") as file:
                file.writelines(written(side, lines))
        for told in measured(paths):
            print(told)


def written(side: str, lines: int) -> Iterator[str]:
    """Yield a side's lines: of 400 in the second file one is missing, one differs, one is double, one new."""
    yield HEAD
    for number in range(lines):
        cents = number * 7919 % 9_999_899 + 101
        kind = number % 400 if side == "destination" else 0
        if kind == 1:
            continue
        cents += 100 * (kind == 2)
        day = number % 28 + 1
        amount = f"{cents // 100}.{cents % 100:02d}"
        row = f"ORD-{number:08d},{amount},ZAR,2026-11-{day:02d},Customer {number % 997}\n"
        yield row
        if kind == 3:
            yield row
        if kind == 4:
            yield f"EXTRA-{number},5.00,ZAR,2026-11-01,Nobody\n"


def measured(paths: dict[str, Path]) -> Iterator[str]:
    """Yield what each step took, and what all of it is held to."""
    from django.contrib.auth.models import User
    from django.core.files import File

    from reconcile.statements import keeping, working

    owner = User.objects.create(username="bench")
    begun = time.monotonic()
    spent = time.process_time()

    def told(step: str) -> str:
        nonlocal begun, spent
        words = f"{step}: {time.monotonic() - begun:.1f} s, {time.process_time() - spent:.1f} of it in Python"
        begun, spent = time.monotonic(), time.process_time()
        return words

    first = begun
    with paths["source"].open("rb") as source, paths["destination"].open("rb") as destination:
        dropped: Any = {"source": File(source), "destination": File(destination)}
        made = keeping.drop(owner, dropped)
    yield told("dropped and sealed")
    working.carry_on(made.pk)
    yield told("read for the preview")
    made.refresh_from_db()
    keeping.state(made, {side: {} for side in keeping.SIDES}, compare=True)
    working.carry_on(made.pk)
    yield told("compared and kept")
    made = type(made).objects.get(pk=made.pk)
    yield f"{made.report['headline']}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for target in (
        Target("seconds from drop to report", time.monotonic() - first, SECONDS_MAX),
        Target("MB of memory", memory, MB_MAX),
    ):
        yield f"{target}: {'met' if target.met else 'not met'}"


if __name__ == "__main__":
    main()
