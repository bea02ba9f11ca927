"""Each way in which a destination can break its contract is found by a drill, as the promise that it breaks.

| the destination                    | what does not hold                                                  |
|------------------------------------|---------------------------------------------------------------------|
| keeps its word                     | nothing                                                             |
| ignore_keys                        | same_key replay_marked changed_data lost_answer saves               |
| ignore_keys, at once only          | at_once                                                             |
| ignore_keys, after a lost answer   | lost_answer                                                         |
| ignore_filter                      | lookup_finds lookup_absent                                          |
| substring_filter                   | lookup_finds lookup_absent                                          |
| restart_paging                     | list_whole                                                          |
| replay_error, and promises 2xx     | saves                                                               |
| refuses, and promises to replay    | changed_data                                                        |
| names another header               | replay_marked                                                       |
| takes no void                      | void                                                                |
| key_in_use, for a while            | nothing: it is waited for                                           |
| accept_only                        | nothing: accepted counts                                            |
| error_before, drop_after, throttle | nothing, and nothing held: the sample was not taken                 |
| the refused payload is not refused | nothing; rejected and saves could not be tried                      |
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ledger.rules.drills import Promise
from tests.databases import Database
from tests.drilling import Drills, broken, commanded, held, hindered
from tests.processes import Manage
from tests.sandboxes import Sandbox

EVERY = {promise.value for promise in Promise}
UNPROVABLE = {"key_retention"}
SEND = "POST /invoices"


@dataclass(frozen=True)
class Line:
    """What the destination does, what the file says otherwise, and what a drill finds."""

    broken: str = ""
    hindered: str = ""
    faults: tuple[tuple[str, str, int | None, float | None], ...] = ()
    changed: dict[str, str] = field(default_factory=dict)
    not_held: str = ""


def always(
    mode: str, match: str = SEND, arg: float | None = None
) -> tuple[str, str, int | None, float | None]:
    return (mode, match, None, arg)


def once(mode: str, match: str = SEND, arg: float | None = None) -> tuple[str, str, int | None, float | None]:
    return (mode, match, 1, arg)


NOTHING = " ".join(EVERY)
LINES = {
    "keeps its word": Line(),
    "ignore_keys": Line(
        "same_key replay_marked changed_data lost_answer saves",
        faults=(always("ignore_keys"),),
        not_held="at_once",
    ),
    "ignore_keys at once": Line("at_once", faults=(always("ignore_keys", '/at-once"'),)),
    "ignore_keys when lost": Line("lost_answer", faults=(always("ignore_keys", '/lost"'),)),
    "ignore_filter": Line("lookup_finds lookup_absent", faults=(always("ignore_filter", "GET"),)),
    "substring_filter": Line("lookup_finds lookup_absent", faults=(always("substring_filter", "GET"),)),
    "restart_paging": Line("list_whole", faults=(always("restart_paging", "GET"),)),
    "replay_error": Line(
        "saves",
        faults=(once("replay_error", "Blocked", 422),),
        changed={'saves = "all"': 'saves = "2xx"'},
    ),
    "promises to replay": Line(
        "changed_data", changed={'changed_data = "rejects"': 'changed_data = "replays"'}
    ),
    "names another header": Line(
        "replay_marked", changed={'replay_header = "idempotent-replayed"': 'replay_header = "seen-before"'}
    ),
    "takes no void": Line("void", faults=(always("error_before", "/void", 500),)),
    "key_in_use": Line(faults=(once("key_in_use", '/lost"', 1),)),
    "accept_only": Line(faults=(always("accept_only"),)),
    "error_before": Line(hindered=NOTHING, faults=(always("error_before"),)),
    "drop_after": Line(hindered=NOTHING, faults=(always("drop_after"),)),
    "throttle": Line(hindered=NOTHING, faults=(always("throttle"),)),
    "nothing is refused": Line(hindered="rejected saves", changed={"Blocked Drill": "Open Drill"}),
}


def found(drills: Drills, line: Line) -> tuple[set[str], set[str], set[str]]:
    """What a drill finds at a destination that misbehaves so; whatever it made is gone afterwards."""
    drills.set_up(line.changed)
    drills.sandbox.clear_faults()
    for mode, match, count, arg in line.faults:
        drills.sandbox.faults(mode, match, count=count, arg=arg)
    done = drills.run()
    if "void" not in broken(done):
        assert [one for one in done.records if not one.void] == []
        assert all(drills.sandbox.effects(one.reference) == 0 for one in done.records)
    return broken(done), hindered(done), held(done)


def test_what_a_destination_breaks_is_what_the_drill_finds(
    database: Database, sandbox: Sandbox, tmp_path: Path
) -> None:
    drills = Drills(tmp_path, sandbox)
    came = {name: found(drills, line) for name, line in LINES.items()}
    meant = {}
    for name, line in LINES.items():
        failed, stopped = set(line.broken.split()), set(line.hindered.split())
        rest = EVERY - failed - stopped - UNPROVABLE - set(line.not_held.split())
        meant[name] = (failed, stopped, rest)
    assert came == meant


@pytest.mark.parametrize("missing", ["void", "lookup", "list", "refused"])
def test_what_cannot_be_tried_is_not_said_to_hold(
    database: Database, sandbox: Sandbox, tmp_path: Path, missing: str
) -> None:
    drills = Drills(tmp_path, sandbox)
    kind = drills.set_up()
    kind.drill = {name: value for name, value in (kind.drill or {}).items() if name != missing}
    kind.calls = {name: value for name, value in kind.calls.items() if name != missing}
    kind.save(update_fields=["drill", "calls"])
    done = drills.run()
    expected = {
        "void": {"void"},
        "lookup": {"lookup_finds", "lookup_absent", "void"},
        "list": {"list_whole"},
        "refused": {"rejected", "saves"},
    }
    assert EVERY - held(done) == expected[missing] | UNPROVABLE
    assert broken(done) == hindered(done) == set()
    assert all(one.why for one in done.results)


def test_without_a_key_nothing_is_sent_twice(database: Database, sandbox: Sandbox, tmp_path: Path) -> None:
    drills = Drills(tmp_path, sandbox)
    drills.set_up({'idempotency = "header"': 'idempotency = "none"'})
    done = drills.run()
    assert held(done) == {"lookup_finds", "lookup_absent", "list_whole", "rejected", "void"}
    assert {sandbox.deliveries(one.reference) for one in done.records} == {1}


def test_where_nothing_counts_the_records_one_key_is_not_said_to_make_one(
    database: Database, sandbox: Sandbox, tmp_path: Path
) -> None:
    drills = Drills(tmp_path, sandbox)
    kind = drills.set_up()
    kind.calls = {name: value for name, value in kind.calls.items() if name not in ("lookup", "list")}
    kind.save(update_fields=["calls"])
    done = drills.run()
    assert {"same_key", "at_once", "lost_answer", "rejected"} <= hindered(done)
    assert done.records and not any(one.void for one in done.records), "all are named, for people"


def test_the_command_says_what_each_promise_did_and_its_status_what_came_of_all(
    database: Database, sandbox: Sandbox, run_manage: Manage, tmp_path: Path
) -> None:
    drills = Drills(tmp_path, sandbox)
    drills.set_up()
    sandbox.faults("restart_paging", "GET", count=None)
    told = commanded("--json")
    assert told.returncode == 1, told.stderr
    (drill,) = json.loads(told.stdout)["drills"]
    assert {one["promise"] for one in drill["promises"]} == EVERY
    by_name = {one["promise"]: one for one in drill["promises"]}
    assert (by_name["list_whole"]["tried"], by_name["same_key"]["tried"]) == ("broken", "held")
    assert drill["reference"].startswith("drill/") and drill["exit"] == 1
    assert all(one["void"] and one["reference"].startswith(drill["reference"]) for one in drill["records"])
    sandbox.clear_faults()
    plain = run_manage("drill", "invoice.create")
    assert plain.stdout.count("\n  held ") == len(EVERY) - 1
    assert "Void again: INV-" in plain.stdout and "DID NOT HOLD" not in plain.stdout
