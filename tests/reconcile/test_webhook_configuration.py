"""`[webhooks.X]`: every wrong line at once, secrets that can sign, and addresses that may be posted to."""

import base64

import pytest

from ledger import actions
from ledger.models import Event, Webhook
from ledger.rules.states import CaseKind
from tests.reconcile.test_configuration import BOOKS, Configure, refusals
from tests.reconcile.test_configuration import configure as configure

SECRETS = {
    "SHOP_WEBHOOK": "whsec_" + base64.b64encode(b"the shop's own secret, and long.").decode(),
    "OLD_WEBHOOK": base64.b64encode(b"the one before it").decode(),
}
NOT_SET = "The environment variable NEVER_SET is not set"
HOOK = """
[webhooks.shop]
url = "https://shop.example.com/tieout"
secret = "env:SHOP_WEBHOOK"
events = ["operation.completed", "permit.open"]
types = ["invoice.create"]
"""


def test_every_wrong_line_is_said_at_once(configure: Configure) -> None:
    wrong = """
[webhooks.shop]
url = "https://ann:do_not_print@shop.example.com/x"
secret = ["env:NEVER_SET", "whsec_do_not_print", "env:SHOP_WEBHOOK"]
events = ["operation.complete"]
types = ["invoice.crate"]
allow_privat = true
[webhooks.other]
"""
    done = configure(BOOKS + wrong, wrong=True, **SECRETS | {"SHOP_WEBHOOK": "whsec_no base64"})
    assert "do_not_print" not in done.stderr
    said = {place.partition("webhooks.")[2]: words for place, words in refusals(done).items()}
    assert {name: words[0] for name, words in said.items()} == {
        "shop.url": "Credentials do not belong in an address.",
        "shop.secret.0": f"{NOT_SET}; a secret is read from it, as it was when this process started.",
        "shop.secret.1": "A secret never stands in this file.",
        "shop.secret.2": "The secret in env:SHOP_WEBHOOK cannot sign: it is not base64.",
        "shop.events.0": '"operation.complete" is not one of the choices.',
        "shop.types.0": 'There is no operation type "invoice.crate", here or configured before.',
        "shop.allow_privat": "allow_privat is not known here.",
        "other.url": "url is missing.",
        "other.secret": "secret is missing.",
        "other.events": "events is missing.",
    }
    assert 'Did you mean "operation.completed"?' in said["shop.events.0"][1]
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://shop.example.com/", "http:// is read by everybody on the way."),
        ("https://localhost/", "The address leads into a private network."),
        ("https://192.168.1.7:8443/", "The address leads into a private network."),
        ("https://[::1]/", "The address leads into a private network."),
        ("https://shop.example.com/#x", 'The address has a part after "#", which is never sent.'),
        ("https://shop.example.com:99999/", "The address cannot be read."),
        ("https://xn--zzzzzzzz.example.com\u00ad..com/", "The address cannot be read."),
        ("ftp://shop.example.com/", "What stands here cannot be used."),
    ],
)
def test_an_address_that_may_not_be_posted_to_is_refused(configure: Configure, url: str, why: str) -> None:
    refused = refusals(
        configure(BOOKS + HOOK.replace("https://shop.example.com/tieout", url), wrong=True, **SECRETS)
    )
    assert [words[0] for words in refused.values()] == [why]
    if "private" in why or "http://" in why:
        allowed = HOOK.replace("https://shop.example.com/tieout", url) + "allow_private = true\n"
        assert "+ webhook shop" in configure(BOOKS + allowed).stdout


def test_a_team_s_chat_is_named_by_its_place_and_its_address_never_printed(configure: Configure) -> None:
    """It is checked as a webhook's, where it can be read; whoever knows it may write there."""
    wrong = """
[teams.finance]
escalate = [{ to = "leads" }, { to = "leads" }, { to = "finance", after = "1h" }]
chat = "https://hooks.example.com/do_not_print"
chat_kind = "irc"
[teams.leads]
chat = "env:LEADS_CHAT"
"""
    done = configure(BOOKS + wrong, wrong=True, LEADS_CHAT="https://10.0.0.7/do_not_print")
    assert "do_not_print" not in done.stderr
    said = {place.partition("teams.")[2]: words[0] for place, words in refusals(done).items()}
    assert said == {
        "finance.chat": "A secret never stands in this file.",
        "finance.chat_kind": '"irc" is not one of the choices.',
        "leads.chat": "The address leads into a private network.",
    }
    levels = wrong.replace('"https://hooks.example.com/do_not_print"', '"env:LEADS_CHAT"').replace(
        "irc", "teams"
    )
    done = configure(BOOKS + levels, wrong=True, LEADS_CHAT="https://hooks.example.com/x")
    assert {place.partition("teams.")[2]: words[0] for place, words in refusals(done).items()} == {
        "finance.escalate.1.to": "leads has it already.",
        "finance.escalate.1.after": "Both levels would have it at once.",
        "finance.escalate.2.to": "finance has it already.",
    }


def test_levels_that_a_team_gets_later_reach_the_cases_that_it_has(configure: Configure) -> None:
    team = "\n[teams.finance]\nescalate = [{}]\n".format
    configure(BOOKS + team(""))
    case = actions.open_case(
        kind=CaseKind.PAUSED, owner="finance", due_s=0, actor="policy", reason="It refuses us."
    )
    assert not actions.escalate(case.uid) and actions.overdue() == []
    for levels, held in (
        ('{ to = "leads" }', "leads"),
        ('{ to = "leads" }, { to = "controllers", after = "1ms" }', "controllers"),
    ):
        configure(BOOKS + team(levels))
        assert actions.overdue() == [case.uid] and actions.escalate(case.uid)
        case.refresh_from_db()
        assert case.escalated_to == held


def test_it_is_taken_in_and_changes_are_said_without_address_and_secret(configure: Configure) -> None:
    assert "+ webhook shop" in configure(BOOKS + HOOK, **SECRETS).stdout
    again = configure(BOOKS + HOOK).stdout
    assert "= nothing changes" in again and "anew" not in again
    made = Webhook.objects.get()
    assert (made.secrets, made.types, made.allow_private) == (["env:SHOP_WEBHOOK"], ["invoice.create"], False)
    changed = HOOK.replace("shop.example.com", "new.example.com").replace(', "permit.open"', "")
    changed = changed.replace('"env:SHOP_WEBHOOK"', '["env:SHOP_WEBHOOK", "env:OLD_WEBHOOK"]')
    said = configure(BOOKS + changed).stdout
    assert "! pages and worker that run already know nothing of OLD_WEBHOOK: start them anew\n" in said
    assert "~ webhook shop: url changed" in said
    assert "~ webhook shop: secret changed" in said
    assert '~ webhook shop: events ["operation.completed", "permit.open"] -> ["operation.completed"]' in said
    data = Event.objects.filter(kind="configured").latest("pk").data
    assert data["section"] == "webhooks.shop"
    assert "example.com" not in str(data) and "_WEBHOOK" not in str(data)
    assert "left as it is: webhook shop" in configure(BOOKS).stdout
    assert Webhook.objects.get().url == "https://new.example.com/tieout"
