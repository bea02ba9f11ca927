"""What the register says, from facts alone.

| check                    | in order                              | to be asked              | wrong       |
|--------------------------|---------------------------------------|--------------------------|-------------|
| a type's retries         | Tieout, the client there, one call    | not said; many by a claim |            |
| its key                  | a template, every automation's word   | not said; under two keys | said: none  |
| an automation's retries  | one call; many that one key makes one | not said, not counted    | past Tieout |
| its key                  | its word, or templates                | not said                 | said: none  |
| its last failure         | somebody                              | not said; a log          | nobody      |
"""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from ledger.rules.calls import RetryPolicy
from ledger.rules.contracts import Contract
from ledger.rules.drills import KEY, Drilled, Promise
from ledger.rules.layers import Layer
from ledger.rules.register import (
    AutomationFacts,
    Entry,
    Facts,
    Traffic,
    TypeFacts,
    UnreadableType,
    lines,
    register,
)

DAY = date(2026, 11, 30)
BOOKS = TypeFacts(
    name="invoice.create",
    label="Create invoice",
    noun="invoice",
    destination="Durban Books",
    account="main",
    by_tieout=True,
    side_effect=True,
    key_template="order/{source.system}/{source.reference}/v{source.version}",
    owner="finance",
    contract=Contract.read({"idempotency": "header", "key_retention": "24h"}),
    policy=RetryPolicy.read({"attempts": 5, "elapsed": "12h"}),
    due_s=14400,
    has_lookup=True,
    lookup_proved_on=DAY,
    drilled=Drilled(dict.fromkeys(KEY, DAY), {}),
)
MAIL = replace(
    BOOKS,
    name="reminder.send",
    label="Send reminder",
    noun="reminder",
    destination="Mailroom",
    by_tieout=False,
    key_template="",
    contract=Contract(),
    policy=RetryPolicy(attempts=1),
    has_lookup=False,
    drilled=Drilled(),
)
SHOP = AutomationFacts(
    name="shop",
    title="Web shop",
    registered=True,
    types=("invoice.create",),
    layers=(Layer("platform", 3), Layer("connector", 2)),
    stable_key="order number and version",
    last_failure="mail to shop@example.com",
    owner="the shop's team",
    has_token=True,
    token_types=("invoice.create",),
)
MAILER = replace(
    SHOP, name="mailer", title="Mailer", types=("reminder.send",), layers=(Layer("cron", 1),), token_types=()
)


def said(*automations: AutomationFacts, types: Any = (BOOKS, MAIL), traffic: Any = ()) -> dict[str, Entry]:
    """Entries by name."""
    facts = Facts(types=types, automations=automations, traffic=traffic, looked_at=200)
    return {entry.name: entry for entry in register(facts).entries}


def checks(entry: Entry) -> list[tuple[str, str]]:
    return [(check.state, f"{check.about}: {check.said} · {check.more}") for check in entry.checks]


def seen(entry: Entry, *, flagged: bool = True) -> list[str]:
    return [one.words for one in entry.seen if one.flagged is flagged]


def test_a_type_that_tieout_sends_is_in_order_with_its_guarantee_and_its_open_ends() -> None:
    entry = said(SHOP)["invoice.create"]
    assert entry.in_order
    assert checks(entry) == [
        ("completed", "Retries: one owner · Tieout, up to 5 tries within 12\u00a0h"),
        (
            "completed",
            "Key: stable · made of the source’s system, reference and version, where its caller sends none",
        ),
        ("completed", "Last failure: finance · a case in the queue, due in 4\u00a0h"),
    ]
    assert entry.promise == (
        "Tries reuse the same key within Durban Books’ 24\u00a0h window, and a check comes first. "
        "Drilled 30 November 2026: one key made one record."
    )
    assert entry.beyond == (
        "Not covered: a sender frozen between its check and its send; what reaches Durban Books past Tieout."
    )
    assert len(entry.answers) == 7


def test_what_a_drill_refuted_is_no_promise_and_is_flagged() -> None:
    drilled = Drilled({}, {Promise.SAME_KEY: DAY})
    broken = replace(
        BOOKS, drilled=drilled, contract=BOOKS.contract.model_copy(update={"key_retention_s": None})
    )
    entry = said(SHOP, types=(broken,))["invoice.create"]
    assert not entry.in_order and "A drill has refuted what its contract promises." in seen(entry)
    assert "Drilled 30 November 2026: Durban Books made a second record under one key" in entry.promise
    assert "one key made a second record" in entry.answers[2][1]


def test_an_automation_past_tieout_is_named_as_not_covered_and_promised_nothing() -> None:
    old = replace(SHOP, name="old", title="Older connector", has_token=False, layers=(Layer("connector", 4),))
    entries = said(SHOP, replace(old, stable_key="none"))
    assert "past Tieout, as Older connector does." in entries["invoice.create"].beyond
    assert entries["old"].promise == (
        "No promise: nothing that it does comes through Tieout. A lost answer can make up to 4 invoices."
    )
    assert checks(entries["old"])[:2] == [
        (
            "failed",
            "Retries: up to 4 calls · 4 by connector for one event; none of them comes through Tieout",
        ),
        ("failed", "Key: none · each repeat looks new"),
    ]
    assert entries["old"].answers[6][1] == "Nobody can tell: its tries are not on record."


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {},
            (
                "said",
                "Retries: up to 6 calls · 3 by platform × 2 by connector = up to 6 calls for one event; "
                "Tieout makes one of them count",
            ),
        ),
        (
            {"stable_key": ""},
            (
                "completed",
                "Retries: up to 6 calls · 3 by platform × 2 by connector = up to 6 calls for one event; "
                "Tieout makes one of them count",
            ),
        ),
        ({"layers": (Layer("cron", 1),)}, ("said", "Retries: none of its own, as said · cron")),
        (
            {"layers": ()},
            (
                "uncertain",
                "Retries: not said · ask the shop's team which platform, connector or library repeats "
                "a call by itself",
            ),
        ),
        (
            {"layers": (), "retries": "3 by the platform", "owner": ""},
            (
                "uncertain",
                "Retries: not counted · “3 by the platform”; write it as layers, so that they are "
                "multiplied out",
            ),
        ),
        (
            {"layers": (Layer("cron", None),)},
            (
                "uncertain",
                "Retries: not known · not known by cron: how many calls that makes of one event is "
                "not known; ask the shop's team",
            ),
        ),
        (
            {"stable_key": "none"},
            (
                "uncertain",
                "Retries: up to 6 calls · 3 by platform × 2 by connector = up to 6 calls for one event; "
                "one of them counts only if all carry the same key",
            ),
        ),
        (
            {"types": ("invoice.create", "reminder.send")},
            (
                "uncertain",
                "Retries: up to 6 calls · 3 by platform × 2 by connector = up to 6 calls for one event; "
                "Tieout lets one claim go ahead, and a repeat beneath that claim reaches Mailroom itself",
            ),
        ),
    ],
)
def test_the_retries_of_an_automation(change: dict[str, Any], expected: tuple[str, str]) -> None:
    entry = said(replace(SHOP, **change))["shop"]
    assert checks(entry)[0] == expected
    assert entry.in_order is (expected[0] in ("completed", "said"))


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({}, "said", "stable, as said"),
        ({"stable_key": "unknown"}, "uncertain", "not known"),
        ({"stable_key": "none yet"}, "uncertain", "not known"),
        ({"stable_key": "a new UUID each time"}, "uncertain", "not known"),
        ({"stable_key": ""}, "completed", "stable"),
        ({"stable_key": "", "types": ("invoice.create", "reminder.send")}, "uncertain", "not said"),
        ({"stable_key": "", "types": ()}, "uncertain", "not said"),
        ({"stable_key": "", "has_token": False}, "uncertain", "not said"),
        ({"stable_key": "None"}, "failed", "none"),
    ],
)
def test_the_key_of_an_automation(change: dict[str, Any], state: str, words: str) -> None:
    check = said(replace(SHOP, **change))["shop"].checks[1]
    assert (check.state, check.said) == (state, words)


@pytest.mark.parametrize(
    ("last_failure", "state"),
    [
        ("mail to shop@example.com", "said"),
        ("the operations team's pager", "said"),
        ("its log, and mail to shop@example.com", "said"),
        ("the catalogue team", "said"),
        ("none", "failed"),
        ("unknown", "uncertain"),
        ("n/a", "uncertain"),
        ("it goes nowhere", "uncertain"),
        ("its own log", "uncertain"),
        ("Nobody", "uncertain"),
        ("", "uncertain"),
    ],
)
def test_where_the_last_failure_goes(last_failure: str, state: str) -> None:
    assert said(replace(SHOP, last_failure=last_failure))["shop"].checks[2].state == state


def test_a_type_of_callers_rests_on_what_they_say() -> None:
    alone = said(types=(MAIL,))["reminder.send"]
    assert [state for state, _ in checks(alone)] == ["uncertain", "uncertain", "completed"]
    assert 'No automation is registered for it: add "reminder.send" to the types of one.' in seen(alone)
    with_one = said(MAILER)["reminder.send"]
    assert with_one.in_order
    assert checks(with_one)[1] == ("said", "Key: stable, as said · “order number and version”")
    assert "no try follows one in doubt by itself" in with_one.promise
    assert "what repeats a call beneath its claim, such as an HTTP library" in with_one.beyond
    unsaid = said(MAILER, replace(MAILER, name="b", title="B", stable_key=""))["reminder.send"]
    assert checks(unsaid)[1] == ("uncertain", "Key: not said · ask what B makes it of")
    outside = replace(MAILER, name="b", title="B", stable_key="none", has_token=False)
    assert said(MAILER, outside)["reminder.send"].in_order, "its key is not theirs who never bring one"
    assert checks(said(outside)["reminder.send"])[0][0] == "uncertain"
    none = said(MAILER, replace(MAILER, name="b", title="B", stable_key="none"))["reminder.send"]
    assert checks(none)[1] == ("failed", "Key: none · each repeat of B looks new")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"has_lookup": False}, "It cannot be looked up: only the key protects a second try."),
        ({"contract": Contract(), "has_lookup": False}, "Neither a key nor a check protects a second try."),
        (
            {"contract": Contract(idempotency="header")},
            "How long its key is remembered is not known: only the check protects a second try.",
        ),
    ],
)
def test_what_is_missing_for_a_second_try_is_said(change: dict[str, Any], words: str) -> None:
    assert words in seen(said(SHOP, types=(replace(BOOKS, **change),))["invoice.create"], flagged=False)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ((Layer("cron", 1),), ("said", "one owner, as said")),
        ((Layer("cron", 2), Layer("mailer", 1)), ("uncertain", "one owner?")),
        ((Layer("cron", None),), ("uncertain", "not said")),
        ((), ("uncertain", "not said")),
    ],
)
def test_one_try_of_a_claim_is_one_call_only_as_its_caller_says(
    layers: tuple[Layer, ...], expected: tuple[str, str]
) -> None:
    retries = said(replace(MAILER, layers=layers))["reminder.send"].checks[0]
    assert (retries.state, retries.said) == expected
    assert (
        "its caller through Tieout, up to" in retries.more or "its caller through Tieout, 1" in retries.more
    )


def test_the_destinations_own_client_may_own_the_retries() -> None:
    contract = BOOKS.contract.model_copy(update={"retry_owner": "client"})
    entry = said(SHOP, types=(replace(BOOKS, contract=contract),))["invoice.create"]
    assert checks(entry)[0] == (
        "completed",
        "Retries: one owner · Durban Books’ own client; Tieout makes 1 try",
    )
    assert "how often is not known here" in entry.answers[4][1]


def test_what_was_seen_stands_beside_what_was_said() -> None:
    traffic = (
        Traffic("shop", "invoice.create", operations=17),
        Traffic("shop", "reminder.send", operations=1, claims=3, claimed=2, silent=2, doubted=1),
        Traffic("stranger", "reminder.send", operations=4, claims=5, claimed=5, with_id=5, again=2),
    )
    stranger = AutomationFacts("stranger", "stranger", registered=False)
    entries = said(SHOP, stranger, traffic=traffic)
    assert seen(entries["invoice.create"], flagged=False) == ["Of late 17 operations by Web shop."]
    assert seen(entries["reminder.send"]) == [
        "Web shop and stranger: seen to make it, and not registered for it."
    ]
    assert seen(entries["shop"]) == [
        "Send reminder: no claim had an attempt_id, so one whose answer is lost ends as doubt.",
        "Send reminder: 2 claims ended without a word; what came of it is not known yet of 1 of them.",
        "It makes Send reminder, which is not among its types.",
    ]
    assert "Send reminder: 3 claims for 2 operations of late." in seen(entries["shop"], flagged=False)
    assert seen(entries["stranger"]) == [
        "It is not registered: add [automations.stranger] to the file.",
    ]
    assert "Send reminder: asked again 2 times for a claim that it held." in seen(
        entries["stranger"], flagged=False
    )
    assert not any(
        entry.in_order for entry in (entries["shop"], entries["stranger"], entries["reminder.send"])
    )


def test_a_record_of_the_source_under_two_keys_is_a_question() -> None:
    entry = said(SHOP, types=(replace(BOOKS, doubled=2),))["invoice.create"]
    assert checks(entry)[1] == (
        "uncertain",
        "Key: is it stable? · 2 source records under more than one key: look whether they are repeats",
    )


def test_a_token_and_the_types_that_were_said_are_compared() -> None:
    assert "Its token covers every operation type." in seen(said(MAILER)["mailer"], flagged=False)
    narrow = replace(SHOP, types=("invoice.create", "reminder.send"))
    assert "Its token does not cover reminder.send." in seen(said(narrow)["shop"])
    assert "Nothing has come from it of late." in seen(said(SHOP)["shop"], flagged=False)


def test_a_type_whose_rules_cannot_be_read_is_promised_nothing() -> None:
    gone = UnreadableType("refund.make", "Make refund", "Harbour Pay", "The rules cannot be read.")
    facts = Facts((BOOKS,), (SHOP,), (Traffic("shop", "refund.make", operations=1),), (gone,))
    entries = {entry.name: entry for entry in register(facts).entries}
    assert not entries["refund.make"].in_order
    assert entries["refund.make"].promise == "No promise: its rules cannot be read."
    assert "Make refund: 1 operation handed over of late." in seen(entries["shop"], flagged=False)


def test_the_headline_counts_and_the_print_fits_a_terminal() -> None:
    whole = register(Facts((BOOKS, MAIL), (SHOP, replace(MAILER, last_failure=""))))
    assert whole.headline == "3 of 4 are in order"
    assert whole.only([], ["shop"]).headline == "The only one is in order"
    assert register(Facts((BOOKS, MAIL), (SHOP, MAILER))).headline == "All 4 are in order"
    assert register(Facts((MAIL,), (replace(MAILER, last_failure=""),))).headline == "1 of 2 are in order"
    printed = lines(whole)
    assert all(len(line) <= 100 and "\u00a0" not in line for line in printed)
    assert "  ok  Retries: one owner; Tieout, up to 5 tries within 12 h" in printed
    assert (
        "  ask Last failure: not said; ask the shop's team who is told of what never reached Tieout"
        in printed
    )
    assert sum(line.startswith("  7   Which try") for line in printed) == 4
    assert lines(register(Facts((), ()))) == []
