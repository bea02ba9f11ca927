"""Two made-up files, compared by the command in this process."""

import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

HEAD = "reference,amount,currency\n"


@dataclass(frozen=True)
class Files:
    """Writes two files and compares them in this process."""

    folder: Path

    def __call__(
        self, source: str | bytes, destination: str | bytes = "", *options: str, name: str = "shop.csv"
    ) -> dict[str, Any]:
        """Compare them; `exit` is the exit status, `refused` what was said where nothing was compared."""
        paths = []
        for called, content in ((name, source), ("books.csv", destination or HEAD + "1,1.00,ZAR\n")):
            paths.append(self.folder / called)
            paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
        out, err = StringIO(), StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("compare", *map(str, paths), "--json", *options, stdout=out, stderr=err)
        if ended.value.code == 2:
            return {"exit": 2, "refused": err.getvalue().strip()}
        return {"exit": ended.value.code, **json.loads(out.getvalue())}


def counts(done: dict[str, Any]) -> dict[str, int]:
    """Return the classes that hold anything."""
    return {name: of["count"] for name, of in done["classes"].items() if of["count"]}
