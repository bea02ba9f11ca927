"""Systems that are asked in their own ways, from the configuration file to a server that speaks as they do.

Each is sent to, loses an answer, is looked up and listed. The servers keep what they made, so effects are
counted there.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from config.environment import ROOT
from ledger import actions
from ledger.actions import Submission
from ledger.destinations import listing, lookups, sending
from ledger.destinations.connectors.base import IncompletePull
from ledger.drills import running
from ledger.models import Operation, OperationType
from ledger.rules.drills import Promise, Tried
from ledger.rules.states import State, Verdict
from reconcile.configuration import configure
from reconcile.pulling import Listed, read
from tests.databases import Database
from tests.ledger.odd_books import Asked, replying
from tests.ledger.wires import serving

SINCE = datetime(2026, 11, 1, tzinfo=UTC)
HEAD = """
[destinations.odd]
name = "Odd Books"
entity = "Durban Trading (Pty) Ltd"
base_url = "{url}"
timeout = "10s"
contract = {{ settle = "0s" }}
{more}

[operation_types."invoice.create"]
destination = "odd"
performed_by = "tieout"
key = "order/{{source.reference}}"
"""


@dataclass
class Made:
    """What one server was asked to make, and what it does next: 'lose' makes it and never answers."""

    records: list[dict[str, Any]] = field(default_factory=list)
    lose: bool = False
    fail: bool = False
    asked: list[Asked] = field(default_factory=list)

    def make(self, record: dict[str, Any]) -> dict[str, Any]:
        """Keep a record under the next number; an OSError closes the connection without an answer."""
        made = {"id": len(self.records) + 1, **record}
        self.records.append(made)
        if self.lose:
            self.lose = False
            raise OSError
        return made


@contextmanager
def speaking(
    answer: Callable[[Made, Asked], object], folder: Path, file: str, *, more: str = ""
) -> Iterator[Made]:
    """A server that answers so, and the operation type that the file makes of it."""
    made = Made()

    def handle(question: Asked) -> object:
        made.asked.append(question)
        return answer(made, question)

    with serving(replying(handle)) as wire:
        path = folder / "odd.toml"
        path.write_text(HEAD.format(url=wire.url, more=more) + file)
        configure(path)
        yield made


def send(order: str, *, amount: str = "1240.00", currency: str = "ZAR", **payload: Any) -> Operation:
    """One operation, sent once."""
    submission = Submission(
        "invoice.create",
        {"order": order, **payload},
        source={"system": "shop", "reference": order, "version": "1"},
        amount=amount,
        currency=currency,
    )
    operation = actions.submit(submission, actor="api:shop").operation
    sending.send(operation.pk)
    return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)


def pulled() -> list[Listed]:
    """What a run would read of the destination's list."""
    kind = OperationType.objects.select_related("destination").get()
    record = kind.how.record
    assert record is not None
    return [read(record, item, {}) for page in listing.pages(kind, since=SINCE) for item in page.items]


def listed() -> list[tuple[str, str, Decimal | None, datetime | None]]:
    """The same in short, where all of it can be read."""
    found = pulled()
    assert [one.why for one in found if one.why] == []
    return [(one.id, one.reference, one.amount, one.occurred_at) for one in found]


def is_found_after_its_answer_was_lost(made: Made, order: str, **payload: Any) -> None:
    """A lost answer is doubt; a check that fails tells nothing; one that finds it ends the doubt."""
    before = len(made.records)
    made.lose = True
    operation = send(order, **payload)
    assert operation.state == State.UNCERTAIN
    made.fail = True
    assert lookups.ask(operation).verdict is Verdict.COULD_NOT_LOOK
    made.fail = False
    found = lookups.ask(operation)
    assert (found.verdict, found.why) == (Verdict.ONE_MATCH, "")
    lookups.look(operation, actor="worker", reason="test")
    operation.refresh_from_db()
    assert (operation.state, len(made.records)) == (State.COMPLETED, before + 1)


# --- GraphQL: the sections that docs/configuration.md shows

GRAPHQL_RECORD = """
[operation_types."invoice.create".record]
id = "id"
reference = "reference"

[operation_types."invoice.create".list]
method = "POST"
path   = "/graphql"
items  = "data.invoices.nodes"
[operation_types."invoice.create".list.body]
query     = "query ($since: String, $after: String) { invoices(since: $since, after: $after) { … } }"
variables = { since = "{since}" }
[operation_types."invoice.create".list.paging]
style     = "cursor"
in        = "body"
parameter = "variables.after"
next      = "data.invoices.pageInfo.endCursor"
more      = "data.invoices.pageInfo.hasNextPage"
"""


def documented() -> str:
    text = (ROOT / "docs" / "configuration.md").read_text()
    found = re.search(r"### GraphQL and JSON-RPC.*?```toml\n(.*?)```", text, re.S)
    assert found
    return found[1]


def graphql(made: Made, question: Asked) -> object:
    variables = question.body["variables"]
    if made.fail:
        return {"data": {"invoices": {"nodes": [], "pageInfo": {}}}, "errors": [{"message": "timeout"}]}
    if question.body["query"].startswith("mutation"):
        if variables["input"].get("refuse"):
            errors = [{"message": "the customer is blocked"}]
            return {"data": {"invoiceCreate": {"invoice": None, "userErrors": errors}}}
        return {"data": {"invoiceCreate": {"invoice": made.make(variables["input"]), "userErrors": []}}}
    fits = [one for one in made.records if variables.get("ref") in (None, one["reference"])]
    at = int(variables.get("after", 0))
    info = {"hasNextPage": at + 1 < len(fits), "endCursor": str(at + 1)}
    return {"data": {"invoices": {"nodes": fits[at : at + 1], "pageInfo": info}}}


def test_graphql_is_spoken_as_documented(database: Database, tmp_path: Path) -> None:
    with speaking(graphql, tmp_path, GRAPHQL_RECORD + documented()) as made:
        assert send("483").state == State.COMPLETED
        refused = send("484", refuse=True)
        assert (refused.state, len(made.records)) == (State.FAILED, 1)
        is_found_after_its_answer_was_lost(made, "485")
        assert [record[:2] for record in listed()] == [("1", "order/483"), ("2", "order/485")]
        assert made.asked[-1].body["variables"] == {"after": "1", "since": "2026-11-01T00:00:00Z"}
        made.fail = True
        with pytest.raises(IncompletePull, match="with an error"):
            listed()


DRILL = """
[operation_types."invoice.create".drill]
payload = { order = "1" }
amount = "1.00"
currency = "ZAR"
"""


def test_a_drill_reads_an_answer_as_a_send_does(database: Database, tmp_path: Path) -> None:
    """Its record is inside the answer, and an error beside it is no success."""
    file = GRAPHQL_RECORD + documented() + DRILL
    with speaking(graphql, tmp_path, file, more="drills = true") as made:
        kind = OperationType.objects.select_related("destination").get()
        done = running.run(kind, say=lambda _: None)
        finds = next(one for one in done.results if one.promise is Promise.LOOKUP_FINDS)
        assert (finds.tried, len(made.records) > 1) == (Tried.HELD, True)
        made.fail = True
        done = running.run(kind, say=lambda _: None)
        assert {one.tried for one in done.results}.isdisjoint({Tried.HELD})


# --- Odoo: JSON-RPC, a POST for everything, domains as lists, a bare number as the answer

ODOO = """
[operation_types."invoice.create".send]
path = "/jsonrpc"
set  = { ref = "{key}" }
item = "{id: result}"
[operation_types."invoice.create".send.wrap]
jsonrpc = "2.0"
method  = "call"
[operation_types."invoice.create".send.wrap.params]
service = "object"
method  = "execute_kw"
args    = ["acme", 2, "env:ODOO_KEY", "account.move", "create", ["{payload}"]]

[operation_types."invoice.create".record]
id          = "id"
reference   = "ref"
occurred_at = "create_date"
timezone    = "UTC"

[operation_types."invoice.create".lookup]
method = "POST"
path   = "/jsonrpc"
items  = "result"
paging = { style = "offset", in = "body", parameter = "params.args.6.offset" }
[operation_types."invoice.create".lookup.body]
jsonrpc = "2.0"
method  = "call"
[operation_types."invoice.create".lookup.body.params]
service = "object"
method  = "execute_kw"
args    = ["acme", 2, "env:ODOO_READER", "account.move", "search_read",
           [[["ref", "=", "{key}"]]], { limit = 80, order = "id" }]

[operation_types."invoice.create".list]
method       = "POST"
path         = "/jsonrpc"
items        = "result"
since_format = "%Y-%m-%d %H:%M:%S"
paging       = { style = "offset", in = "body", parameter = "params.args.6.offset", overlap = 1 }
[operation_types."invoice.create".list.body]
jsonrpc = "2.0"
method  = "call"
[operation_types."invoice.create".list.body.params]
service = "object"
method  = "execute_kw"
args    = ["acme", 2, "env:ODOO_READER", "account.move", "search_read",
           [[["write_date", ">=", "{since}"]]], { limit = 80, order = "id" }]
"""


def odoo(made: Made, question: Asked) -> object:
    name, user, key, model, method, args, *options = question.body["params"]["args"]
    assert (name, user, key, model) == ("acme", 2, "s3cret", "account.move")
    if made.fail:
        return {"jsonrpc": "2.0", "error": {"code": 200, "message": "Odoo Server Error"}}
    if method == "create":
        return {"result": made.make({**args[0], "create_date": "2026-11-29 07:42:00"})["id"]}
    [[what, relation, value]] = args[0]
    assert (what, relation) in (("ref", "="), ("write_date", ">="))
    fits = [one for one in made.records if what != "ref" or one["ref"] == value]
    start = options[0]["offset"]
    return {"result": fits[start : start + 2]}


def test_odoo_is_asked_by_posts_with_domains(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODOO_KEY", "s3cret")
    monkeypatch.setenv("ODOO_READER", "s3cret")
    with speaking(odoo, tmp_path, ODOO) as made:
        first = send("483")
        assert (first.state, first.destination_reference) == (State.COMPLETED, "1")
        is_found_after_its_answer_was_lost(made, "484")
        for order in ("485", "486"):
            send(order)
        monkeypatch.delenv("ODOO_KEY")
        waiting = send("487")
        assert (waiting.state, waiting.attempts.get().started_at, len(made.records)) == (
            State.PENDING,
            None,
            4,
        )
        monkeypatch.setenv("ODOO_KEY", "s3cret")
        at = datetime(2026, 11, 29, 7, 42, tzinfo=UTC)
        orders = ("483", "484", "485", "486")
        assert [(one[1], one[3]) for one in listed()] == [(f"order/{order}", at) for order in orders]
        assert made.asked[-1].body["params"]["args"][5] == [[["write_date", ">=", "2026-11-01 00:00:00"]]]


# --- a shop: the Link header, amounts in its own smallest units, forms, seconds

SHOP = """
[operation_types."invoice.create".send]
path = "/v1/payments"
body = "form"
item = "payment"
set  = { "metadata.operation" = "{key}", amount = "{amount_minor}", currency = "{currency}" }

[operation_types."invoice.create".record]
id = "id"
reference = "metadata.operation"
amount = "amount"
amount_unit = "minor"
minor_decimals = { ISK = 2 }
amount_sign = "negated"
currency = "currency"
occurred_at = "created"
time_format = "epoch"

[operation_types."invoice.create".lookup]
path   = "/v1/payments?operation={key}&limit=1"
items  = "payments"
paging = { style = "link", next = "header", total = "header:X-Total" }

[operation_types."invoice.create".list]
path         = "/v1/payments?created[gte]={since}&limit=1"
items        = "payments"
since_format = "epoch"
paging       = { style = "link", next = "header", total = "header:X-Total" }
"""


def shop(made: Made, question: Asked) -> object:
    if made.fail:
        return ("503 Down", {})
    if question.method == "POST":
        fields = dict(question.body)
        record = {
            "amount": -int(fields["amount"]),
            "currency": fields["currency"].lower(),
            "created": 1795938120,
        }
        return {"payment": made.make({**record, "metadata": {"operation": fields["metadata[operation]"]}})}
    wanted = question.query.get("operation")
    fits = [one for one in made.records if wanted in (None, one["metadata"]["operation"])]
    at = int(question.query.get("page", 0))
    rest = f"operation={wanted}&" if wanted else ""
    more = f'Link: </v1/payments?{rest}page={at + 1}>; rel="next"' if at + 1 < len(fits) else "X-Last: 1"
    return ("200 OK", {"payments": fits[at : at + 1]}, f"X-Total: {len(fits)}", more)


def test_a_shop_counts_in_its_own_units_and_goes_on_by_link(database: Database, tmp_path: Path) -> None:
    with speaking(shop, tmp_path, SHOP) as made:
        assert send("483", amount="500", currency="ISK").state == State.COMPLETED
        assert (made.records[0]["amount"], made.records[0]["currency"]) == (-50000, "isk")
        is_found_after_its_answer_was_lost(made, "484")
        at = datetime(2026, 11, 29, 7, 42, tzinfo=UTC)
        assert listed() == [
            ("1", "order/483", Decimal("500"), at),
            ("2", "order/484", Decimal("1240.00"), at),
        ]
        assert made.asked[-2].query["created[gte]"] == "1793491200"
        made.records[0]["created"] = "29.11.2026"
        unread = 'It cannot be read: occurred_at: it has not the form "epoch".'
        assert [one.why for one in pulled()] == [unread, ""]


# --- no field for our key: several must match

BARE = """
[operation_types."invoice.create".send]
path = "/orders"
item = "made"

[operation_types."invoice.create".record]
id = "id"
reference = "number"

[operation_types."invoice.create".lookup]
path  = "/orders?number={source.reference}"
items = "orders"
match = { "source.number" = "{source.reference}", kind = "order" }
"""


def bare(made: Made, question: Asked) -> object:
    if made.fail:
        return ("503 Down", {})
    if question.method == "POST":
        record = {"source": {"number": question.body["order"]}, "kind": "order"}
        return {"made": made.make({**record, "number": f"SO-{len(made.records) + 1}"})}
    return {"orders": made.records, "total": len(made.records)}


def test_where_no_field_takes_our_key_several_tell_the_record(database: Database, tmp_path: Path) -> None:
    """The server ignores its filter, so that what it returns must be told apart here."""
    paging = 'paging = { style = "page", parameter = "page", pages = "`1`" }\n'
    with speaking(bare, tmp_path, BARE + paging) as made:
        assert send("483").state == State.COMPLETED
        is_found_after_its_answer_was_lost(made, "484")
        assert made.asked[-1].query["number"] == "484"
        assert lookups.ask(sent_by_hand("485")).verdict is Verdict.ABSENT
        other = sent_by_hand("483", key="order/483/again")
        found = lookups.ask(other)
        assert (found.verdict, "not made of the source parts" in found.why) == (Verdict.COULD_NOT_LOOK, True)


def sent_by_hand(order: str, *, key: str | None = None) -> Operation:
    """An operation that nobody has sent, under the type's own key or another one."""
    source = {"system": "shop", "reference": order, "version": "1"}
    submission = Submission("invoice.create", {"order": order}, source=source, key=key)
    operation = actions.submit(submission, actor="api:shop").operation
    return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)
