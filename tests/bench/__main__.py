"""`python -m tests.bench`: measure, print, and write `bench.json`."""

import argparse
import json

from config.environment import ROOT
from tests.bench import table
from tests.bench.place import Place, folder


def main() -> None:
    """Measure as the command line asks."""
    asked = _asked()
    with Place.made(folder()) as place:
        # What it imports reads the settings, which are this place's.
        from tests.bench.run import bench

        result = bench(
            place,
            callers=tuple(asked.callers),
            rounds=asked.rounds,
            seconds=asked.seconds,
            beside_peer=not asked.alone,
        )
    (ROOT / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    print(table.readme(result) if asked.readme else table.plain(result))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=1.5, help="how long each figure is measured in a round"
    )
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--alone", action="store_true", help="without DBOS")
    parser.add_argument("--readme", action="store_true", help="print the tables for the README")
    return parser.parse_args()


if __name__ == "__main__":
    main()
