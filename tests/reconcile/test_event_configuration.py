"""`[destinations.X.events]`: all wrong lines at once, its secrets are there, no change names their places."""

import base64

from ledger.models import Destination, Event
from tests.reconcile.test_configuration import BOOKS, Configure, refusals
from tests.reconcile.test_configuration import configure as configure

KEY = "whsec_" + base64.b64encode(b"twenty-five bytes, or so.").decode()
EVENTS = """
[destinations.books.events]
scheme = "standard"
secret = ["env:NEW_EVENTS", "env:OLD_EVENTS"]
reference = "data.metadata.operation"
"""
SECRETS = {"NEW_EVENTS": KEY, "OLD_EVENTS": KEY}


def test_every_wrong_line_is_said_at_once(configure: Configure) -> None:
    wrong = """
[destinations.books.events]
scheme = "stripes"
secret = ["env:NEW_EVENTS", "sk_live_do_not_print"]
tolerance = "2h"
type = "a["
account = 4
refrence = "data"
"""
    done = configure(BOOKS + wrong, wrong=True, **SECRETS)
    assert "do_not_print" not in done.stderr
    said = {place.partition("events")[2]: words for place, words in refusals(done).items()}
    assert {name: words[0] for name, words in said.items()} == {
        ".scheme": '"stripes" is not one of the choices.',
        ".secret.1": "A secret never stands in this file.",
        ".tolerance": "An event older than an hour proves little.",
        ".type": "This is not a JMESPath expression: Invalid jmespath expression: Incomplete expression.",
        ".account": "4 is not text.",
        ".refrence": "refrence is not known here.",
        ".reference": "reference is missing.",
    }
    assert 'Did you mean "stripe"?' in said[".scheme"][1]
    assert not Destination.objects.exists()


def test_each_scheme_has_its_own_lines_and_its_secret_must_be_there(configure: Configure) -> None:
    def refused(text: str, **secrets: str) -> str:
        return configure(BOOKS + text, wrong=True, **secrets).stderr

    assert "NEW_EVENTS is not set" in refused(EVENTS)
    assert "cannot be one of Standard Webhooks: it is not base64." in refused(
        EVENTS, **SECRETS | {"OLD_EVENTS": "pa$$"}
    )
    hmac = EVENTS.replace("standard", "hmac")
    assert 'Scheme "hmac" needs signature_header and id.' in refused(hmac, **SECRETS)
    assert 'Prefix is for scheme "hmac".' in refused(EVENTS + 'prefix = "sha256="\n', **SECRETS)
    stripe = EVENTS.replace("standard", "stripe")
    assert configure(BOOKS + stripe, **SECRETS | {"NEW_EVENTS": "pa$$"}).stdout


def test_a_change_is_said_and_kept_without_where_the_secret_is(configure: Configure) -> None:
    configure(BOOKS, **SECRETS)
    assert "= nothing changes" in configure(BOOKS).stdout
    assert '~ destination books: events.scheme nothing -> "standard"' in configure(BOOKS + EVENTS).stdout
    assert "= nothing changes" in configure(BOOKS + EVENTS).stdout
    changed = (
        EVENTS.replace('["env:NEW_EVENTS", "env:OLD_EVENTS"]', '"env:NEW_EVENTS"') + 'tolerance = "10m"\n'
    )
    said = configure(BOOKS + changed).stdout
    assert "~ destination books: events.secret changed" in said
    assert "~ destination books: events.tolerance 5m -> 10m" in said
    assert "NEW_EVENTS" not in said
    data = Event.objects.filter(kind="configured").latest("pk").data
    assert data["changed"] == {"events.secret": None, "events.tolerance": ["5m", "10m"]}
