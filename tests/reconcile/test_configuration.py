"""`configure`, through the command: all of a file or nothing of it, and every wrong line at once.

The stories, in the order of the file: what is refused (text, lines, names, secrets, limits, what operations
rest on), then what is taken in, said and put on record.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.models import Destination, Event, OperationType
from reconcile.models import Plan
from tests.databases import Database
from tests.processes import Manage

BOOKS = """
[destinations.books]
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
base_url = "http://127.0.0.1:8010"
timeout = "10s"

[destinations.books.contract]
idempotency = "header"
key_retention = "24h"
settle = "30s"

[operation_types."invoice.create"]
destination = "books"
performed_by = "tieout"
key = "order/{source.system}/{source.reference}"

[operation_types."invoice.create".send]
path = "/invoices"
set = { "metadata.operation" = "{key}" }

[operation_types."invoice.create".record]
id = "id"
reference = "metadata.operation"

[operation_types."invoice.create".lookup]
path = "/invoices?reference={key}"

[operation_types."invoice.create".list]
path = "/invoices?updated_since={since}"

[plans.invoices]
operation_type = "invoice.create"
schedule = "15 6 * * 1-5"
timezone = "Africa/Johannesburg"
"""


@dataclass(frozen=True)
class Done:
    """What one run of the command said."""

    stdout: str
    stderr: str


Configure = Callable[..., Done]


@pytest.fixture
def configure(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Run the command on a text; `wrong` says whether it must be refused."""

    def run(text: str, *arguments: str, wrong: bool = False, **environ: str) -> Done:
        file, stdout, stderr, status = tmp_path / "durban.toml", StringIO(), StringIO(), 0
        file.write_text(text, encoding="utf-8")
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        try:
            call_command("configure", str(file), *arguments, stdout=stdout, stderr=stderr)
        except SystemExit as ended:
            status = int(str(ended.code))
        done = Done(stdout.getvalue(), stderr.getvalue())
        assert status == int(wrong), done
        return done

    return run


def refusals(done: Done) -> dict[str, list[str]]:
    """What a refused file's command said: by "line N: path", what is wrong and the remedy."""
    said: dict[str, list[str]] = {}
    place = ""
    for line in done.stderr.splitlines()[1:]:
        if line.startswith("    "):
            said[place].append(line.strip())
        elif line:
            place = line
            said[place] = []
    return said


def lines(text: str, path: str, value: str) -> str:
    """The text with one line's value replaced; the line must be there once."""
    changed, count = re.subn(rf"^{re.escape(path)} = .*$", lambda _: f"{path} = {value}", text, flags=re.M)
    assert count == 1, path
    return changed


def stored() -> tuple[int, int, int, int]:
    """How many rows of each kind there are."""
    models = (Destination, OperationType, Plan, Event)
    return tuple(model._default_manager.count() for model in models)  # type: ignore[return-value]


MANY_WRONG = """\
[destinations.books]
name = "Durban Books"
entty = "Durban Trading"
connector = "shop.nowhere"
base_url = "https://ann:secret@books.example.com"
timeout = "10 sec"
auth = { kind = "bearer", token = "sk_live_do_not_print" }

[destinations.books.contract]
idempotency = "heder"
not_done = [42]
when = { exists = "error[", rejected = "]" }
final_within = nan
settle = 1979-05-27

[operation_types.invoice.create]
performed_by = "tieout"

[operation_types."invoice.make"]
destination = "boks"
performed_by = "tieout"
key = "order/{source.run}"
retries = 3

[operation_types."invoice.make".lookup]
path = "/invoices?reference={kay}"
headers = { Authorization = "Bearer sk_live_do_not_print" }

[operation_types."invoice.make".retry]
attempts = true
base = "20m"

[operation_types."invoice.make".review]
four_eyes_above = { ZAR = 10.5, QQQ = "1" }

[automations.shop]
types = ["invoice.mak"]

[plans.invoices]
operation_type = "invoice.make"
schedule = "61 6 * * *"
timezone = "Africa/Johanesburg"
recipients = ["finance"]
tolerance = { JPY = "0.5" }
source = { connector = "sql" }

[plan.weekly]
operation_type = "invoice.make"
"""


def test_every_wrong_line_is_reported_at_once_with_line_and_remedy(configure: Configure) -> None:
    said = refusals(configure(MANY_WRONG, wrong=True))
    make = 'operation_types."invoice.make"'
    assert list(said) == [
        "line 1: destinations.books.entity",
        "line 3: destinations.books.entty",
        "line 4: destinations.books.connector",
        "line 5: destinations.books.base_url",
        "line 6: destinations.books.timeout",
        "line 7: destinations.books.auth.token",
        "line 10: destinations.books.contract.idempotency",
        "line 11: destinations.books.contract.not_done.0",
        "line 12: destinations.books.contract.when.exists",
        "line 12: destinations.books.contract.when.rejected",
        "line 13: destinations.books.contract.final_within",
        "line 14: destinations.books.contract.settle",
        "line 16: operation_types.invoice.create",
        f"line 19: {make}.send",
        f"line 19: {make}.record",
        f"line 20: {make}.destination",
        f"line 22: {make}.key",
        f"line 23: {make}.retries",
        f"line 26: {make}.lookup.path",
        f"line 27: {make}.lookup.headers.Authorization",
        f"line 30: {make}.retry.attempts",
        f"line 34: {make}.review.four_eyes_above.ZAR",
        f"line 34: {make}.review.four_eyes_above.QQQ",
        "line 37: automations.shop.types.0",
        "line 40: plans.invoices.operation_type",
        "line 41: plans.invoices.schedule",
        "line 42: plans.invoices.timezone",
        "line 43: plans.invoices.recipients.0",
        "line 44: plans.invoices.tolerance.JPY",
        "line 45: plans.invoices.source.url",
        "line 45: plans.invoices.source.query",
        "line 47: plan",
    ]
    assert all(len(what_and_remedy) == 2 for what_and_remedy in said.values()), said
    assert stored() == (0, 0, 0, 0)


def test_a_refusal_says_what_to_write_instead(configure: Configure) -> None:
    done = configure(MANY_WRONG, wrong=True)
    assert 'Did you mean "entity"?' in done.stderr
    assert '"10 sec" is not a duration.' in done.stderr
    assert 'Write a duration such as "30s"' in done.stderr
    assert 'Did you mean "header"?' in done.stderr
    assert '[operation_types."invoice.create"]' in done.stderr
    assert 'Did you mean "books"?' in done.stderr
    assert 'Did you mean "Africa/Johannesburg"?' in done.stderr
    assert 'Did you mean "plans"?' in done.stderr


def test_a_secret_in_the_file_is_refused_and_never_printed(configure: Configure) -> None:
    done = configure(MANY_WRONG, wrong=True)
    assert "A secret never stands in this file." in done.stderr
    assert "sk_live" not in done.stdout + done.stderr
    assert "ann:secret" not in done.stdout + done.stderr


def test_what_is_not_toml_is_said_with_line_and_column_and_the_rest_is_still_read(
    configure: Configure,
) -> None:
    broken = BOOKS.replace('timeout = "10s"', "timeout = 10s").replace('settle = "30s"', "settle = 30s")
    broken = broken.replace('entity = "Durban Trading (Pty) Ltd"', 'entity = "Durban').replace(
        "path =", "paht =", 1
    )
    assert list(refusals(configure(broken, wrong=True)).items()) == [
        ("line 4, column 17", ["This is not TOML: illegal character end of line.", CLOSE]),
        ("line 6, column 13", [BARE, 'Put the duration in quotes, such as "30s".']),
        ("line 11, column 12", [BARE, 'Put the duration in quotes, such as "30s".']),
        ('line 19: operation_types."invoice.create".send.paht', [UNKNOWN, MEANT]),
    ]


CLOSE = "Close what was opened before: each quote, bracket and brace."
BARE = "This is not TOML: expected newline or end of document after a statement."
UNKNOWN = "paht is not known here."
MEANT = 'Did you mean "path"? There are: body, fails, form_arrays, headers, item, method, path, set, wrap.'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\nb = 1\n[a]\nc = 2\n", "line 3, column 3"),
        ("a = 1\na = 2\n", "A name may stand once"),
        ("a = [1,\n2\n", "Close what was opened before"),
        ("a = True\n", "Write true or false"),
        ("a = books\n", "Put text in quotes"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a" * (1024 * 1024 + 1), "larger than 1 MiB"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_in_words(configure: Configure, text: str, said: str) -> None:
    assert said in configure(text, wrong=True).stderr


def test_a_file_that_is_not_there_or_not_utf_8_is_refused_in_words(
    run_manage: Manage, tmp_path: Path
) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"# first\n[destinations.caf\xe9]\n")
    for file, said in (
        (tmp_path / "no.toml", "There is no file"),
        (latin, "line 2"),
        (tmp_path, "is a directory"),
    ):
        done = run_manage("configure", str(file), check=False)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_missing_secret_is_refused_by_the_name_of_its_variable(configure: Configure) -> None:
    text = BOOKS.replace('timeout = "10s"', 'auth = { kind = "bearer", token = "env:BOOKS_TOKEN" }', 1)
    [(place, said)] = refusals(configure(text, wrong=True)).items()
    assert place == "line 6: destinations.books.auth.token"
    assert "BOOKS_TOKEN is not set" in said[0]
    assert stored() == (0, 0, 0, 0)
    configure(text, BOOKS_TOKEN="sk_live_do_not_print")
    assert Destination.objects.get().reach.auth is not None
    assert "sk_live" not in str([*Destination.objects.values(), *Event.objects.values()])


def test_a_secret_file_must_be_there_with_something_in_it(configure: Configure, tmp_path: Path) -> None:
    file = tmp_path / "token"
    auth = f'auth = {{ kind = "bearer", token = "file:{file}" }}'
    text = BOOKS.replace('timeout = "10s"', auth, 1)
    assert f"The file {file} cannot be read" in configure(text, wrong=True).stderr
    file.write_text("\n")
    assert f"The file {file} is empty" in configure(text, wrong=True).stderr
    file.write_text("sk_live_do_not_print\n")
    configure(text)


def test_every_wrong_line_of_a_section_is_said(configure: Configure) -> None:
    text = lines(BOOKS, "idempotency", '"maybe"').replace(
        'key_retention = "24h"', 'key_retention = "99999999d"'
    )
    assert '"99999999d"' in text
    said = configure(text, wrong=True).stderr
    assert '"maybe"' in said
    assert "longer than ten years" in said


@pytest.mark.parametrize(
    ("line", "value", "said"),
    [
        ("timeout", '"0s"', "Write more than 0."),
        ("timeout", '"99999d"', "longer than ten years"),
        ("timeout", '"9m"', 'Write at most "8m".'),
        ("timeout", '"10s"\nauth = { kind = "oauth2", client_secret = "env:X" }', "needs token_url"),
        ("timeout", '"10s"\nconnector = "json:nothing"', "json has no class nothing"),
        ("timeout", '"10s"\nconnector = "no.such:Connector"', "there is no module no"),
        ("timeout", '"10s"\nopen_url = "javascript:alert(1)"', "Begin with http://"),
        ("timeout", '"10s"\ntimeout_s = 5', "timeout_s is not known here."),
        ("idempotency", '"field"', 'Name the field of the body: key_name = "request_id".'),
        ("settle", '"30s"\nsettle_s = 5', "settle_s is not known here."),
        ("name", '" "', "Write some text."),
        ("name", '"a\\u0000b"', "control character"),
        ("schedule", '"0 0 31 2 *"', "bad day-of-month"),
        ("schedule", '"0 6 * * * 1 2"', "it has 7 parts, not 5"),
        ("timezone", '"/etc/passwd"', "There is no time zone"),
        ("operation_type", '"invoice.creat"', 'Did you mean "invoice.create"?'),
        ("set", '{ "metadata.operation" = "{idempotency_key}" }', "in place of {idempotency_key}"),
        ("set", '{ "..a" = "{key}" }', "This is no path into a payload."),
    ],
)  # fmt: skip
def test_a_line_that_cannot_work_is_refused(configure: Configure, line: str, value: str, said: str) -> None:
    assert said in configure(lines(BOOKS, line, value), wrong=True).stderr
    assert stored() == (0, 0, 0, 0)


def test_more_time_for_tries_than_the_key_is_remembered_is_refused(configure: Configure) -> None:
    retry = '\n[operation_types."invoice.create".retry]\nelapsed = "{}"\n'
    [(place, said)] = refusals(configure(BOOKS + retry.format("24h"), wrong=True)).items()
    assert place == 'line 38: operation_types."invoice.create".retry.elapsed'
    assert said[0] == "24h is longer than the key's window of 1430m."
    configure(BOOKS + retry.format("1430m"))
    unknown = lines(BOOKS, "key_retention", '"unknown"')
    configure(unknown + retry.format("48h"))


def test_tries_end_with_the_keys_window_where_nothing_else_is_written(configure: Configure) -> None:
    configure(lines(BOOKS, "key_retention", '"2h"'))
    assert OperationType.objects.get().policy.elapsed_s == 2 * 3600 - 600
    configure(lines(BOOKS, "key_retention", '"24h"'))
    assert OperationType.objects.get().policy.elapsed_s == 12 * 3600


def test_who_performs_a_type_cannot_change_while_it_has_operations(configure: Configure) -> None:
    by_caller = lines(BOOKS, "performed_by", '"caller"')
    configure(BOOKS)
    configure(by_caller)
    configure(BOOKS)
    payload = {"total": "1240.00"}
    actions.submit(actions.Submission("invoice.create", payload, key="order/483"), actor="api:webshop")
    [(place, said)] = refusals(configure(by_caller, wrong=True)).items()
    assert place == 'line 15: operation_types."invoice.create".performed_by'
    assert said[0] == 'performed_by cannot change from "tieout": operations of this type exist.'
    assert OperationType.objects.get().performed_by == "tieout"


def test_a_check_changes_nothing_and_says_what_would(configure: Configure) -> None:
    done = configure(BOOKS, "--check")
    assert "+ destination books\n+ operation type invoice.create\n+ plan invoices\n" in done.stdout
    assert "Nothing was changed" in done.stdout
    assert stored() == (0, 0, 0, 0)
    configure(lines(BOOKS, "timeout", '"x"'), "--check", wrong=True)


def test_the_same_file_again_touches_nothing(configure: Configure) -> None:
    configure(BOOKS)
    before = [*Destination.objects.values(), *OperationType.objects.values(), *Plan.objects.values()]
    events = Event.objects.count()
    assert configure(BOOKS).stdout == "= nothing changes\n"
    assert configure(BOOKS, "--check").stdout.endswith("\n= nothing changes\n")
    after = [*Destination.objects.values(), *OperationType.objects.values(), *Plan.objects.values()]
    assert after == before
    assert Event.objects.count() == events == 3


def test_a_change_is_said_in_the_files_own_words_and_put_on_record(configure: Configure) -> None:
    configure(BOOKS)
    changed = lines(lines(BOOKS, "settle", '"10s"'), "timezone", '"UTC"')
    done = configure(changed)
    assert done.stdout == (
        "~ operation type invoice.create: contract.settle 30s -> 10s\n"
        '~ plan invoices: timezone "Africa/Johannesburg" -> "UTC"\n'
        "durban.toml is in force.\n"
    )
    event = Event.objects.filter(operation=None).order_by("-id")[1]
    assert (event.kind, event.actor) == ("configured", "configure")
    assert event.reason == "Configuration file durban.toml"
    assert event.data == {
        "section": 'operation_types."invoice.create"',
        "made": False,
        "changed": {"contract.settle": ["30s", "10s"]},
        "version": 2,
    }
    assert OperationType.objects.get().promises.settle_s == 10


def test_what_may_lead_to_a_secret_is_neither_said_nor_kept_in_events(configure: Configure) -> None:
    auth = 'timeout = "10s"\nauth = {{ kind = "bearer", token = "env:{}" }}'
    secrets = {"BOOKS_ONE": "sk_one", "BOOKS_TWO": "sk_two"}
    configure(BOOKS.replace('timeout = "10s"', auth.format("BOOKS_ONE")), **secrets)
    done = configure(BOOKS.replace('timeout = "10s"', auth.format("BOOKS_TWO")), **secrets)
    assert "~ destination books: auth.token changed\n" in done.stdout
    assert not any("BOOKS_" in str(data) for data in Event.objects.values_list("data", flat=True))


MARK = "s3cret-by-mistake"
BY_MISTAKE = """
[destinations.marked]
name = "Marked"
entity = "Durban Trading (Pty) Ltd"
base_url = "{base}"
open_url = "https://books.example.com/{{destination_reference}}?key={mark}"

[operation_types.marked]
destination = "marked"
performed_by = "tieout"
send.path = "{root}?key={mark}"
send.headers = {{ X = "{mark}" }}
send.set = {{ a = "{{key}}", b = "{mark}" }}
send.wrap = {{ a = "{mark}", b = "{{payload}}" }}
record = {{ id = "id", reference = "reference" }}

[operation_types.marked.lookup]
method = "POST"
path = "{root}?reference={{key}}&key={mark}"
headers = {{ X = "{mark}" }}
body = {{ a = "{mark}", b = "{{key}}" }}

[operation_types.marked.list]
path = "{root}?since={{since}}&key={mark}"
headers = {{ X = "{mark}" }}

[operation_types.marked.void]
path = "{root}{{destination_reference}}?key={mark}"
headers = {{ X = "{mark}" }}
"""


def test_what_may_be_a_secret_by_mistake_is_printed_in_no_refusal_and_in_no_change(
    configure: Configure,
) -> None:
    address = f"ftp://ann:{MARK}@books.example.com?key={MARK}"
    refused = configure(BY_MISTAKE.format(base=address, root="x", mark=MARK), wrong=True)
    assert refused.stderr.count("What stands here cannot be used.") == 5
    assert MARK not in refused.stderr + refused.stdout
    said = [
        configure(BY_MISTAKE.format(base="https://books.example.com", root=root, mark=mark))
        for root, mark in (("/", MARK), ("/", f"{MARK}-2"), ("/v2/", f"{MARK}-3"))
    ]
    for done in said:
        assert MARK not in done.stdout + done.stderr
    assert "lookup.path changed" in said[1].stdout
    assert 'lookup.path "/?reference={key}&key=…" -> "/v2/?reference={key}&key=…"' in said[2].stdout
    assert not any(MARK in str(data) for data in Event.objects.values_list("data", flat=True))


@pytest.mark.parametrize(
    ("path", "value", "proved"),
    [
        ("base_url", '"http://127.0.0.1:8011"', False),
        ("timeout", '"10s"\naccount = "other"', False),
        ("reference", '"reference"', False),
        ("path = \"/invoices?reference={key}\"\nitems", None, False),
        ("settle", '"31s"', True),
        ("timezone", '"UTC"', True),
    ],
)  # fmt: skip
def test_a_lookup_must_prove_itself_again_once_its_configuration_changes(
    configure: Configure, path: str, value: str | None, proved: bool
) -> None:
    configure(BOOKS)
    OperationType.objects.update(lookup_proved_at=datetime.now(UTC))
    configure(BOOKS)
    assert OperationType.objects.get().lookup_proved_at is not None
    lookup = 'path = "/invoices?reference={key}"'
    configure(lines(BOOKS, path, value) if value else BOOKS.replace(lookup, f'{lookup}\nitems = "data"'))
    assert (OperationType.objects.get().lookup_proved_at is not None) == proved


def test_a_changed_schedule_is_computed_anew(configure: Configure) -> None:
    configure(BOOKS)
    due_now = datetime.now(UTC)
    Plan.objects.update(next_run_at=due_now)
    configure(BOOKS.replace("[plans.invoices]", '[plans.invoices]\ngrace = "1m"'))
    assert Plan.objects.get().next_run_at == due_now
    configure(lines(BOOKS, "schedule", '"15 7 * * 1-5"'))
    plan = Plan.objects.get()
    assert plan.next_run_at is not None and plan.next_run_at > due_now
    assert plan.next_run_at.astimezone(plan.zone).strftime("%H:%M") == "07:15"


def test_a_type_overrides_single_lines_of_its_destinations_contract(configure: Configure) -> None:
    configure(BOOKS + '\n[operation_types."invoice.create".contract]\nsettle = "5s"\n')
    contract = OperationType.objects.get().promises
    assert (contract.settle_s, contract.idempotency, contract.key_retention_s) == (5, "header", 86400)
    here, there = (
        "\n[destinations.books.contract.when]\n",
        '\n[operation_types."invoice.create".contract.when]\n',
    )
    configure(
        BOOKS
        + f"{here}exists = \"code == 'there'\"\nrejected = \"code == 'no'\"\n"
        + f'{there}rejected = "errors"\nnot_done = "busy"\n'
    )
    assert OperationType.objects.get().promises.when == {
        "exists": "code == 'there'",
        "rejected": "errors",
        "not_done": "busy",
    }


def test_what_is_left_out_has_the_documented_defaults(configure: Configure) -> None:
    configure(BOOKS)
    made, plan = OperationType.objects.get(), Plan.objects.get()
    assert (made.label, made.noun, made.owner) == ("invoice.create", "invoice", "operations")
    assert (made.lease_s, made.permit_for_s, made.payload_keep_s) == (30, 86400, 90 * 86400)
    assert (made.policy.attempts, made.policy.elapsed_s) == (5, 12 * 3600)
    assert (plan.window_s, plan.grace_s, plan.tolerance, plan.recipients) == (35 * 86400, 900, {}, [])


def test_the_lease_of_tieouts_own_tries_follows_the_time_out_in_another_file_too(
    configure: Configure,
) -> None:
    configure(BOOKS)
    destination = BOOKS.partition("\n[operation_types")[0]
    done = configure(lines(destination, "timeout", '"3s"'))
    assert "~ operation type invoice.create: lease 30s -> 16s\n" in done.stdout
    assert (
        "! not in this file, and left as it is: operation type invoice.create, plan invoices" in done.stdout
    )
    assert OperationType.objects.get().lease_s == 16


def test_the_demos_file_is_right(run_manage: Manage) -> None:
    run_manage("configure", "config/demo/durban.toml")
    assert run_manage("configure", "config/demo/durban.toml").stdout.endswith("= nothing changes\n")
    by_tieout, by_caller = OperationType.objects.order_by("name")
    assert (by_tieout.policy.attempts, by_tieout.lease_s) == (1, 16)
    assert (by_caller.lease_s, by_caller.has_lookup, by_caller.how.send) == (20, False, None)


def test_a_database_that_is_down_is_said_in_words(
    run_manage: Manage, tmp_path: Path, database: Database
) -> None:
    file = tmp_path / "durban.toml"
    file.write_text(BOOKS)
    nowhere = "postgresql://tieout@/none?host=/nonexistent"
    done = run_manage("configure", str(file), check=False, DATABASE_URL=nowhere, DATABASE_OWNER_URL=nowhere)
    assert done.returncode == 1
    assert "The database refused or could not be reached, and nothing was changed" in done.stderr
    assert "Traceback" not in done.stderr


def test_rules_that_cannot_be_read_are_put_right_by_their_file(configure: Configure) -> None:
    """As a version that was taken back may have left them."""
    configure(BOOKS)
    for part in ("contract", "calls", "retry", "review"):
        OperationType.objects.update(**{part: {"from the next version": 1}})
        Destination.objects.update(connection={"from the next version": 1})
        configure(BOOKS)
        kind = OperationType.objects.get()
        assert kind.trouble == ""


# --- drills


SAMPLE = """
[operation_types."invoice.create".drill]
payload = { order = "drill" }
"""


def test_what_a_drill_may_send_is_checked_and_said_where_it_is_not_allowed(configure: Configure) -> None:
    assert (
        "nothing is drilled without drills = true in destinations.books" in configure(BOOKS + SAMPLE).stdout
    )
    kind = OperationType.objects.get(name="invoice.create")
    assert kind.sample is not None and kind.sample.payload == {"order": "drill"}
    allowed = BOOKS.replace('timeout = "10s"', 'timeout = "10s"\ndrills = true')
    assert "destination books: drills nothing -> true" in configure(allowed + SAMPLE).stdout
    assert Destination.objects.get(name="books").drills
    half = configure(allowed + SAMPLE + 'amount = "1.00"\n', wrong=True)
    assert "currency is missing." in half.stderr
    wrong = configure(allowed + SAMPLE + 'amount = "1.001"\ncurrency = "ZAR"\n', wrong=True)
    assert 'operation_types."invoice.create".drill' in wrong.stderr
    configure(BOOKS)
    assert not Destination.objects.get(name="books").drills
    assert OperationType.objects.get(name="invoice.create").drill is None
