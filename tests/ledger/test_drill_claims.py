"""A drill claims no more than it has seen.

| what was seen                                | what is not claimed                                   |
|----------------------------------------------|-------------------------------------------------------|
| all was taken, and no record ever            | that a check finds, proves absence, or a list is whole |
"""

from pathlib import Path

import pytest

from ledger.models import OperationType
from tests.databases import Database
from tests.drilling import Drills, broken, held, hindered
from tests.sandboxes import Sandbox


@pytest.fixture
def drills(database: Database, sandbox: Sandbox, tmp_path: Path) -> Drills:
    made = Drills(tmp_path, sandbox)
    made.set_up()
    return made


def test_a_look_up_and_a_list_that_showed_nothing_have_proved_nothing(drills: Drills) -> None:
    drills.through("tests.drilling:TakesAndShowsNothing")
    done = drills.run()
    assert {"lookup_finds", "lookup_absent", "list_whole", "changed_data"} <= hindered(done)
    assert held(done) == broken(done) - {"replay_marked"} == set()
    assert OperationType.objects.get(pk=drills.kind().pk).lookup_proved_at is None
