"""Run histories: which triggers have several successful runs; nothing is guessed, nothing counts twice."""

import json
import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ledger.models import Case, Event, Operation, OperationType
from ledger.rules.states import Outcome
from reconcile.histories import looking
from reconcile.models import History, PastRun, Repeat
from tests.processes import Manage
from tests.reconcile.books import Books, key_of
from tests.reconcile.test_reconcile_command import Done

MONDAY = """trigger,time,status,run
471,2026-11-23T07:01:00+02:00,success,e-1
471,2026-11-23T07:02:10+02:00,success,e-2
471,2026-11-23T07:03:20+02:00,success,e-3
471,2026-11-23T07:04:30+02:00,error,e-4
472,2026-11-23T07:05:00+02:00,success,e-5
473,2026-11-23T07:06:00+02:00,error,e-6
473,2026-11-23T07:07:00+02:00,success,e-7
"""


def here(file: Path, *arguments: str) -> Done:
    """Run the command in this process, where a process of its own would show nothing more."""
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(
            "import_runs",
            str(file),
            "--automation",
            "shop",
            "--type",
            "invoice.create",
            *arguments,
            stdout=out,
            stderr=err,
        )
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, out.getvalue(), err.getvalue())


def written(folder: Path, text: str | bytes, name: str = "runs.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def told(done: Done) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def refusal(done: Done) -> str:
    """The words with which nothing was taken in."""
    assert (done.returncode, done.stdout) == (2, ""), (done.returncode, done.stdout)
    assert not History.objects.exists() and not PastRun.objects.exists() and not Repeat.objects.exists()
    return done.stderr.strip()


def test_a_trigger_with_several_successful_runs_is_a_case(listed: Books, tmp_path: Path) -> None:
    """Only what its platform calls successful counts: 473 failed first, and was run again as it should be."""
    done = told(here(written(tmp_path, MONDAY), "--json", "--source-version", "1"))
    assert done["import"]["statuses"] == {"success": 5, "error": 2}
    assert (done["import"]["rows"], done["import"]["added"], done["import"]["bad"]) == (7, 5, 0)
    (found,) = done["triggers"]
    assert (found["reference"], found["runs"], found["class"], found["open"]) == ("471", 3, "uncertain", True)
    assert (found["key"], found["operation"], found["effects"]) == (key_of("471"), None, None)
    assert found["first_run_at"] == "2026-11-23T05:01:00+00:00"
    case = Repeat.objects.get().case
    assert (case.kind, case.owner, case.operation) == ("repeated", "finance", None)
    assert Event.objects.filter(kind="held", data__case=str(case.uid)).exists()
    assert Event.objects.filter(kind="imported", actor="command line").count() == 1


def test_25_other_orders_of_one_customer_are_other_triggers(listed: Books, tmp_path: Path) -> None:
    rows = "order,customer,time,status,run\n" + "".join(
        f"{order},77,2026-11-23T07:0{order}:00Z,success,e-{order}\n" for order in (1, 2, 3)
    )
    done = here(written(tmp_path, rows), "--columns", "trigger=order", "--json")
    assert (done.returncode, told(done)["triggers"]) == (0, [])


def test_20_a_blank_trigger_is_no_trigger(listed: Books, tmp_path: Path) -> None:
    """A month of runs without one is no repetition of anything; each of them is said."""
    rows = "".join(f",2026-11-{day:02d}T07:00:00Z,success,e-{day}\n" for day in range(1, 31))
    done = told(here(written(tmp_path, f"{HEAD}{rows}{ROW}"), "--json"))
    assert (done["import"]["bad"], done["import"]["added"], done["triggers"]) == (30, 1, [])
    assert {row["why"] for row in done["import"]["bad_rows"]} == {"its trigger is blank"}


def test_the_same_file_again_adds_nothing(listed: Books, tmp_path: Path) -> None:
    file = written(tmp_path, MONDAY)
    first = told(here(file, "--json"))
    again = told(here(written(tmp_path, MONDAY, "renamed.csv"), "--json"))
    assert (again["import"]["known"], again["import"]["added"]) == (True, 0)
    assert again["triggers"] == first["triggers"]
    assert (History.objects.count(), PastRun.objects.count(), Case.objects.count()) == (1, 5, 1)
    otherwise = here(file, "--successful", "success,error")
    assert otherwise.returncode == 2
    assert "read in another way" in otherwise.stderr


def test_exports_that_overlap_do_not_double_and_a_later_run_counts_on(listed: Books, tmp_path: Path) -> None:
    here(written(tmp_path, MONDAY))
    case = Repeat.objects.get().case
    later = MONDAY + "472,2026-11-24T07:05:00+02:00,success,e-8\n"
    done = told(here(written(tmp_path, later, "later.csv"), "--json"))
    assert done["import"]["added"] == 1
    assert [(one["reference"], one["runs"]) for one in done["triggers"]] == [("471", 3), ("472", 2)]
    assert Repeat.objects.get(reference="471").case == case
    more = "trigger,time,status,run\n471,2026-11-25T07:05:00+02:00,success,e-9\n"
    (found,) = told(here(written(tmp_path, more, "more.csv"), "--json"))["triggers"]
    assert (found["reference"], found["runs"]) == ("471", 4)
    assert Repeat.objects.get(reference="471").case == case, "one finding has one case"


def test_what_is_open_of_a_files_triggers_is_told_whichever_file_had_their_runs(
    listed: Books, tmp_path: Path
) -> None:
    """By reference and version: another version of it, or another order, is not in the file."""
    here(written(tmp_path, MONDAY + MONDAY.partition("\n")[2].replace("471,", "474,").replace("e-", "f-")))
    here(written(tmp_path, MONDAY, "other.csv"), "--source-version", "2")
    file = written(tmp_path, MONDAY.partition("472")[0], "part.csv")
    for known in (False, True):
        done = here(file, "--source-version", "2", "--json")
        assert done.returncode == 1
        assert (told(done)["import"]["known"], told(done)["import"]["added"]) == (known, 0)
        found = [(one["reference"], one["version"], one["open"]) for one in told(done)["triggers"]]
        assert found == [("471", "2", True)]
    assert "1 trigger has several successful runs" in here(file, "--source-version", "2").stdout
    looking.close(Repeat.objects.get(reference="471", version="2"), actor="ann", reason="Looked by hand.")
    closed = here(file, "--source-version", "2")
    assert (closed.returncode, "No trigger of it has several" in closed.stdout) == (0, True)
    assert here(written(tmp_path, HEAD + ROW, "one.csv")).returncode == 0


def test_two_automations_that_both_ran_it_are_one_trigger(listed: Books, tmp_path: Path) -> None:
    """The old connector and the new one number their runs alike; both have made an invoice of order 472."""
    row = "trigger,time,status,run\n472,2026-11-23T07:05:00+02:00,success,e-5\n"
    here(written(tmp_path, row, "old.csv"))
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command(
            "import_runs",
            str(written(tmp_path, row, "new.csv")),
            *("--automation", "webshop", "--system", "shop", "--type", "invoice.create", "--json"),
            stdout=out,
        )
    (found,) = json.loads(out.getvalue())["triggers"]
    assert (found["reference"], found["runs"]) == ("472", 2)


def test_a_check_says_the_same_and_keeps_nothing(listed: Books, tmp_path: Path) -> None:
    file = written(tmp_path, MONDAY.replace("\n473,2026-11-23T07:06", "\n473,yesterday"))
    before = Event.objects.count()
    done = here(file, "--check")
    assert done.returncode == 1
    assert "Read as CSV (,), UTF-8, as plain writes it." in done.stdout
    assert "line 2: trigger 471, 2026-11-23T05:01:00+00:00, success, run e-1" in done.stdout
    assert "line 7: its time is not written as 2026-11-30T09:43:00+02:00" in done.stdout
    assert "471: 3 runs" in done.stdout
    assert not History.objects.exists() and not Repeat.objects.exists() and not Case.objects.exists()
    assert Event.objects.count() == before
    checked, real = (told(here(file, "--json", *more)) for more in (["--check"], []))
    same = ("class", "reference", "runs", "why")
    assert [[one[name] for name in same] for one in checked["triggers"]] == [
        [one[name] for name in same] for one in real["triggers"]
    ]


def test_bad_rows_are_said_with_line_and_reason_and_the_others_count(listed: Books, tmp_path: Path) -> None:
    bad = {
        ",2026-11-23T07:01:00Z,success,e-1": "its trigger is blank",
        "   ,2026-11-23T07:01:00Z,success,e-1": "its trigger is blank",
        "6.17E+25,2026-11-23T07:01:00Z,success,e-1": "its trigger was shortened by a spreadsheet (6.17E+25)",
        "1,2026-11-23T07:01:00Z,success": "it has 3 fields, and the header 4",
        "1,2026-11-23,success,e-1": "its time tells only a day",
        "1,2026-11-23T07:01:00,success,e-1": "its time names no zone",
        "1,23/11/2026 07:01,success,e-1": "its time is not written as",
        "1,2026-11-23T07:01:00Z,success,": "its run is blank",
        "1,2026-11-23T07:01:00Z,,e-1": "its status is blank",
        " 1,2026-11-23T07:01:00Z,success,e-1": "its trigger has white space at its beginning or end",
        "1\u202e2,2026-11-23T07:01:00Z,success,e-1": "its trigger has characters that cannot be seen",
        "1,2026-11-23T07:01:00Z,suc\x00cess,e-1": "its status has characters that cannot be seen",
        f"{'1' * 201},2026-11-23T07:01:00Z,success,e-1": "its trigger has 201 characters",
    }
    text = "trigger,time,status,run\n" + "".join(f"{row}\n" for row in bad) + MONDAY.partition("\n")[2]
    done = told(here(written(tmp_path, text), "--json"))
    said = done["import"]["bad_rows"]
    assert [row["place"] for row in said] == [f"line {number}" for number in range(2, len(bad) + 2)]
    for row, why in zip(said, bad.values(), strict=True):
        assert row["why"].startswith(why), row
    assert (done["import"]["added"], len(done["triggers"])) == (5, 1)


def test_a_zone_is_said_and_an_hour_that_came_twice_is_not_placed(listed: Books, tmp_path: Path) -> None:
    rows = "trigger,time,status,run\n1,2026-10-25 02:30:00,success,a\n1,2026-10-25 03:30:00,success,b\n"
    done = told(here(written(tmp_path, rows), "--timezone", "Europe/Berlin", "--json"))
    (bad,) = done["import"]["bad_rows"]
    assert "came twice or never" in bad["why"]
    assert PastRun.objects.get().started_at.isoformat() == "2026-10-25T02:30:00+00:00"


UMLAUT = (
    'trigger,time,status,run\n"Kö-1",2026-11-23T07:01:00Z,success,a\n"Kö-1",2026-11-23T07:02:00Z,success,b\n'
)


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [
        ("utf-8", ()),
        ("utf-8-sig", ()),
        ("utf-16", ()),
        ("utf-16-le", ("--encoding", "utf-16-le")),
        ("cp1252", ("--encoding", "cp1252")),
    ],
)
def test_encodings(listed: Books, tmp_path: Path, encoding: str, arguments: tuple[str, ...]) -> None:
    (found,) = told(here(written(tmp_path, UMLAUT.encode(encoding)), "--json", *arguments))["triggers"]
    assert (found["reference"], found["runs"]) == ("Kö-1", 2)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_rows_over_several_lines(listed: Books, tmp_path: Path, separator: str) -> None:
    rows = [
        ["Run ID", "Trigger", "Time", "Status", "Note"],
        ["a", "1", "2026-11-23T07:01:00Z", "success", '"two\nlines"'],
        ["b", "", "2026-11-23T07:02:00Z", "success", ""],
        ["c", "1", "2026-11-23T07:03:00Z", "success", ""],
    ]
    text = "\r\n".join(separator.join(row) for row in rows)
    done = told(here(written(tmp_path, text), "--columns", "run=run_id", "--json"))
    assert done["import"]["bad_rows"] == [{"place": "line 4", "why": "its trigger is blank"}]
    assert [one["runs"] for one in done["triggers"]] == [2]


def n8n(number: int, order: object, status: str = "success") -> dict[str, Any]:
    return {
        "id": number,
        "finished": True,
        "mode": "webhook",
        "startedAt": f"2026-11-23T07:0{number}:00.000Z",
        "workflowId": "1000",
        "customData": {"order": order},
        "status": status,
    }


def power(name: str, order: str) -> dict[str, Any]:
    correlation = {"clientTrackingId": order}
    return {
        "name": name,
        "properties": {
            "startTime": "2026-11-23T07:01:00.5779999Z",
            "status": "Succeeded",
            "correlation": correlation,
        },
    }


PLATFORMS: dict[str, tuple[object, str]] = {
    "n8n": ({"data": [n8n(1, 471), n8n(2, "471"), n8n(3, "471", "crashed")]}, "customData.order"),
    "Zapier": (
        [
            {
                "id": f"z-{n}",
                "start_time": "2026-11-23T07:01:00Z",
                "status": "success",
                "data_in": {"o": "471"},
            }
            for n in (1, 2)
        ],
        "data_in.o",
    ),
    "Make": (
        {
            "scenarioLogs": [
                {"id": f"m-{n}", "timestamp": "2026-11-23T07:01:00Z", "status": n, "executionName": "471"}
                for n in (1, 3)
            ]
            + [{"id": "m-9", "timestamp": "2026-11-23T07:01:00Z", "status": 1, "executionName": "471"}]
        },
        "executionName",
    ),
    "Airflow": (
        {
            "dag_runs": [
                {
                    "dag_run_id": f"manual__{n}",
                    "start_date": "2026-11-23T07:01:00+00:00",
                    "state": "success",
                    "conf": {"order": "471"},
                }
                for n in (1, 2)
            ],
            "total_entries": 2,
        },
        "conf.order",
    ),
    "Power Automate": (
        {"value": [power("a", "471"), power("b", "471")]},
        "properties.correlation.clientTrackingId",
    ),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_platforms_give(listed: Books, tmp_path: Path, platform: str) -> None:
    body, trigger = PLATFORMS[platform]
    file = written(tmp_path, json.dumps(body, indent=1), "runs.json")
    done = told(here(file, "--columns", f"trigger={trigger}", "--json"))
    assert (done["import"]["platform"], done["import"]["form"]) == (platform, "JSON")
    assert [(one["reference"], one["runs"]) for one in done["triggers"]] == [("471", 2)]


def test_json_lines_and_items_larger_than_what_is_read_at_once(listed: Books, tmp_path: Path) -> None:
    lines = [{**n8n(number, "471"), "note": "x" * 200_000 * number} for number in (1, 2, 3)]
    bad = {**n8n(4, None)}, {**n8n(5, "5"), "status": "\x00"}, {**n8n(6, "6"), "status": "\ud800"}
    text = "\n".join(json.dumps(line) for line in [*lines, *bad])
    done = told(here(written(tmp_path, text), "--columns", "trigger=customData.order", "--json"))
    assert done["import"]["bad_rows"] == [
        {"place": "item 4", "why": "it has no trigger"},
        {"place": "item 5", "why": "its status has characters that cannot be seen"},
        {"place": "item 6", "why": "its status has characters that cannot be seen"},
    ]
    assert [one["runs"] for one in done["triggers"]] == [3]


HEAD = "trigger,time,status,run\n"
ROW = "1,2026-11-23T07:01:00Z,success,a\n"
ITEM = '{"trigger": "1", "time": "2026-11-23T07:01:00Z", "status": "success", "run": "a"}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n \n", "holds nothing"),
        (HEAD, "The file holds no runs."),
        ("runs of november\n" + HEAD + ROW, "is no header"),
        ("a;b,c\n1;2,3\n", "more than one of comma, semicolon and tab"),
        ("trigger,time,time,run\n" + ROW, 'two columns "time"'),
        ("order,time,status,run\n" + ROW, "Which column holds what started a run"),
        ("trigger,reference,time,status,run\n1,1,2026-11-23T07:01:00Z,success,a\n", "could both be it"),
        ("trigger,day,status,run\n" + ROW, "not those of a platform that is known"),
        ("trigger,id,name,start_time,status\n1,2,3,4,5\n", "Its columns fit Zapier and Power Automate"),
        (HEAD + ROW + '2,"2026-11-23T07:01:00Z,success,a\n' + ROW, "is no CSV"),
        (HEAD + ROW.replace("success", "Erfolgreich"), '"Erfolgreich" (1)'),
        (HEAD + ROW.replace("2026-", "26-"), "No row of it can be read. The first, line 2: its time"),
        (UMLAUT.encode("cp1252"), "is not UTF-8 throughout"),
        (UMLAUT.encode("utf-16-le"), "say --encoding utf-16-le"),
        (f"[{ITEM} {ITEM}]", '"," is missing after item 1'),
        (f"[{ITEM}", '"," is missing after item 1'),
        (f"[{ITEM},]", "a comma stands before the end, after item 1"),
        (f'{{"data": [{ITEM}]}} {ITEM}', "something stands behind its end, after item 1"),
        ('[{"id": 1, "id": 2}]', "names a member twice"),
        ('[{"id": NaN}]', "NaN is no number"),
        (f'[{{"id": {"1" * 6000}}}]', "a number has 6000 digits; 100 are the most"),
        ("[]", "The file holds no runs."),
        (f'[{ITEM}, {{"a": {"[" * 50_000}{"]" * 50_000}}}]', "something in it is nested too deeply"),
        (f'{ITEM} {{"a": {"[" * 100_000}', "something in it is nested too deeply"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_that_cannot_be_read_is_not_taken_in(
    listed: Books, tmp_path: Path, content: str | bytes, said: str
) -> None:
    assert said in refusal(here(written(tmp_path, content)))


def test_a_pipe_is_not_waited_for(listed: Books, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "runs.csv")
    assert "runs.csv cannot be opened: it is no regular file." in refusal(here(tmp_path / "runs.csv"))


def test_a_file_that_breaks_late_leaves_nothing_behind(listed: Books, tmp_path: Path) -> None:
    text = HEAD + "".join(f"1,2026-11-23T07:01:00Z,success,{run}\n" for run in range(12_000))
    assert "is not UTF-8 throughout" in refusal(here(written(tmp_path, text.encode() + b'"\xff"')))
    assert not Case.objects.exists()


def test_what_is_asked_wrongly_is_said(listed: Books, tmp_path: Path, run_manage: Manage) -> None:
    file = written(tmp_path, MONDAY)
    unknown = run_manage("import_runs", str(file), "--automation", "shop", "--type", "invoice", check=False)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert 'There is no operation type "invoice". Known types: invoice.create.' in unknown.stderr
    for option, value, said in (
        ("--columns", "order=x", "names no columns"),
        ("--timezone", "Durban", 'there is no time zone "Durban"'),
        ("--time-format", "%H:%M", "does not tell year, month and day"),
    ):
        with pytest.raises(CommandError, match=re.escape(said)):
            call_command(
                "import_runs", str(file), "--automation=shop", "--type=invoice.create", f"{option}={value}"
            )
    assert "cannot be opened" in refusal(here(tmp_path / "nothing.csv"))


def test_what_is_more_than_is_read_is_refused(
    listed: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, MONDAY)
    for name, value, said in (
        ("reconcile.histories.files.BYTES_MAX", 10, "larger than 100 MiB"),
        ("reconcile.histories.reading.ROWS_MAX", 6, "more than 1 000 000 rows"),
        ("reconcile.histories.reading.STATUSES_MAX", 1, "that is no status"),
        ("reconcile.histories.importing.REPEATS_MAX", 0, "hardly names what started them"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(name, value)
            assert said in refusal(here(file))


def test_an_operation_is_known_by_key_or_by_source_and_its_tries_stand_beside(
    listed: Books, tmp_path: Path
) -> None:
    operation = listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    for name, arguments in (("a.csv", ("--source-version", "1")), ("b.csv", ())):
        text = MONDAY.replace("e-", name)
        found = told(here(written(tmp_path, text, name), "--json", *arguments))["triggers"][0]
        assert (found["operation"], found["key"]) == (str(operation.uid), key_of("471")), name
        assert (found["tries"], found["effects"]) == (1, 1)
    assert Operation.objects.get().state == "completed", "a history moves nothing"


def test_what_could_not_be_looked_up_is_said_before_it_is_taken_in(listed: Books, tmp_path: Path) -> None:
    file = written(tmp_path, MONDAY)
    said = "this file has no versions: what Tieout does not have cannot be checked. Say --source-version 1"
    assert said in here(file, "--check").stdout
    (warning,) = told(here(file, "--check", "--json"))["import"]["warnings"]
    assert said in warning
    assert said not in here(file, "--check", "--source-version", "1").stdout
    named = written(tmp_path, MONDAY.replace("trigger,time", "trigger,moment"), "named.csv")
    columns = "trigger=trigger,time=moment,status=status,run=run,version=run"
    assert said not in here(named, "--check", "--columns", columns).stdout
    OperationType.objects.update(key_template="")
    assert "invoice.create has no template for keys" in here(file, "--check").stdout
