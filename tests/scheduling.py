"""Which tests go to one core: those of a file, and those of files that share what is dear to start."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

SHARED = {"demo.py": "the demo", "/recipes/": "the recipes' shop"}
"""By a part of a file's name: what its tests share with those of other files."""


class Together(LoadFileScheduling):  # type: ignore[misc]  # xdist tells no types
    """Files in their order, each whole; the last in it are soon done, so that no core ends alone.

    Marks would say it nearer to the tests, but from pytest 9.2 on xdist 3.8 no longer sees them, and gave out
    test by test: each core then started every server, and the demo, for itself.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((shared for part, shared in SHARED.items() if part in file), file)
