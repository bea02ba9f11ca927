"""One file that is wrong in every section: all is said at once, with remedies, and nothing is taken in."""

from typing import Any

from ledger.models import Destination, Event, OperationType, Webhook
from reconcile.configuration import sections
from reconcile.models import Plan
from tests.reconcile.test_configuration import BOOKS, Configure, refusals
from tests.reconcile.test_configuration import configure as configure

# What is right in it, and new, must not be taken in either.
WRONG = (
    BOOKS.replace('"Durban Books"', '"Books of Durban"').replace('settle = "30s"', 'settle = "5s"')
    + """
[destinations.bank]
name = "Bank"
entity = "Durban Trading (Pty) Ltd"
base_url = "https://bank.example.com"
auth = { kind = "oauth2", token_url = "http://bank.example.com/", client_id = "x", client_secret = "s3cret" }
tls = { certificate = "/etc/bank.pem" }
proxy = "socks5://proxy.example.com:1080"
rate = { per_second = 0 }
drills = "yes"

[destinations.bank.contract]
saves = "5xx"

[destinations.bank.events]
scheme = "strip"
secret = "whsec_here"

[destinations.bank.hours]
timezone = "Africa/Durban"

[destinations.shop]
preset = "shopfy"
name = "Shop"
entity = "Durban Trading (Pty) Ltd"

[destinations.read]
name = "Database"
entity = "Durban Trading (Pty) Ltd"
connector = "sql"
url = "postgresql://ann:secret@db/shop"

[operation_types."payment.make"]
destination = "bank"
performed_by = "robot"

[operation_types."payment.make".contract]
idempotency = "cookie"

[operation_types."payment.make".send]
path = "payments"

[operation_types."payment.make".record]
id = "id"
reference = "ref["

[operation_types."payment.make".lookup]
path = "/payments?reference={kee}"

[operation_types."payment.make".list]
path = "/payments"
paging = { style = "pages" }

[operation_types."payment.make".retry]
attempts = 0

[operation_types."payment.make".review]
four_eyes_above = { ZAR = 5 }

[operation_types."payment.make".void]
method = "GET"
path = "/payments/{destination_reference}/void"

[operation_types."payment.make".drill]
payload = "a sample"

[automations.shop]
types = ["payment.mak"]

[plans.payments]
operation_type = "payment.make"
timezone = "Africa/Durban"

[webhooks.us]
url = "https://us.example.com/tieout"
secret = "env:NEVER_SET"
events = ["operation.done"]
"""
)
PLACES = [
    "destinations.bank.auth.token_url",
    "destinations.bank.auth.client_secret",
    "destinations.bank.tls",
    "destinations.bank.proxy",
    "destinations.bank.rate.per_second",
    "destinations.bank.drills",
    "destinations.bank.contract.saves",
    "destinations.bank.events.scheme",
    "destinations.bank.events.secret",
    "destinations.bank.hours.timezone",
    "destinations.shop.preset",
    "destinations.read.url",
    'operation_types."payment.make".performed_by',
    'operation_types."payment.make".contract.idempotency',
    'operation_types."payment.make".send.path',
    'operation_types."payment.make".record.reference',
    'operation_types."payment.make".lookup.path',
    'operation_types."payment.make".list.paging.style',
    'operation_types."payment.make".retry.attempts',
    'operation_types."payment.make".review.four_eyes_above.ZAR',
    'operation_types."payment.make".void.method',
    'operation_types."payment.make".drill.payload',
    "automations.shop.types.0",
    "plans.payments.timezone",
    "webhooks.us.secret",
    "webhooks.us.events.0",
]


def rows() -> list[Any]:
    """All that a file could have written."""
    kinds = (Destination, OperationType, Plan, Webhook, Event)
    return [row for kind in kinds for row in kind._default_manager.order_by("pk").values()]


def test_a_file_that_is_wrong_in_every_section_is_told_so_at_once_and_changes_nothing(
    configure: Configure,
) -> None:
    configure(BOOKS)
    before = rows()
    done = configure(WRONG, wrong=True)
    said = refusals(done)
    places = {place.partition(": ")[2] for place in said}
    assert [place for place in PLACES if not any(one.startswith(place) for one in places)] == []
    for place, words in said.items():
        assert place.startswith("line "), place
        assert len(words) == 2 and all(words), (place, words)
    assert "s3cret" not in done.stderr and "whsec_here" not in done.stderr and "ann:secret" not in done.stderr
    assert rows() == before


def test_no_section_is_left_out() -> None:
    there = {place.split(".")[2] for place in PLACES if place.startswith("destinations.")}
    of_type = {place.rpartition('".')[2].split(".")[0] for place in PLACES if place.startswith("operation_")}
    tables = {"auth", "tls", "proxy", "rate", "events", "preset", "drills", *sections.OF_DESTINATION}
    assert tables <= there
    assert {*sections.OF_TYPE} <= of_type
    assert {place.split(".")[0] for place in PLACES} == {
        "destinations",
        "operation_types",
        "automations",
        "plans",
        "webhooks",
    }
