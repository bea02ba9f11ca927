"""What was reviewed is what is sent: digests differ when, and only when, the meaning of the payload does."""

import base64
import json
import struct
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.digests import (
    Keyring,
    canonical,
    changed_paths,
    idempotency_key,
    key_id_of,
    leaf_digests,
    payload_digest,
    same,
)
from ledger.rules.errors import KeyringError, Malformed, TooLarge
from ledger.rules.strict_json import loads

OLD = base64.b64encode(bytes(range(32))).decode()
NEW = base64.b64encode(bytes(range(32, 64))).decode()
BEFORE = Keyring.parse(f"k1:{OLD}", "DIGEST_KEYS")
ROTATED = Keyring.parse(f"k2:{NEW},k1:{OLD}", "DIGEST_KEYS")


def digest(payload: object, amount: str | None = "1240.00", currency: str | None = "ZAR") -> str:
    return payload_digest(
        BEFORE,
        payload,
        type="invoice.create",
        amount=None if amount is None else Decimal(amount),
        currency=currency,
    )


def leaves(payload: object, keyring: Keyring = BEFORE) -> dict[str, str]:
    return leaf_digests(keyring, payload, amount=Decimal("1240.00"), currency="ZAR")


def changed(old: object, new: object) -> list[str]:
    return changed_paths(leaves(old), BEFORE, new, amount=Decimal("1240.00"), currency="ZAR")


# Canonical form: the vectors of RFC 8785.


def test_the_sample_of_rfc_8785_is_written_as_the_rfc_writes_it() -> None:
    sample = rb"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert canonical(loads(sample)) == (
        rb'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        rb'"string":"' + "€".encode() + rb"$\u000f\nA'B\"\\\\\"/" + rb'"}'
    )


def test_members_are_sorted_by_utf_16_as_rfc_8785_sorts_them() -> None:
    sample = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical(sample)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


@pytest.mark.parametrize(
    ("bits", "written"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_rfc_8785_writes_them(bits: str, written: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == written.encode()


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**53, "\ud800", {"\ud800": 1}, {1: 2}, Decimal("1.0"), b"x", {1, 2}],
)
def test_what_json_cannot_carry_exactly_has_no_canonical_form(value: object) -> None:
    with pytest.raises(Malformed):
        canonical(value)


# The payload's digest.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a": 1, "b": 2}', b'{"b":2,"a":1}'),
        (b'{"a": 1.0}', b'{"a": 1}'),
        (b'{"a": 1e6}', b'{"a": 1000000}'),
        (b'{"a": -0.0}', b'{"a": 0}'),
        (b'{"a": "\\u0041\\/\\u00e9"}', '{"a": "A/é"}'.encode()),
    ],
)
def test_known_failure_22_two_ways_to_write_one_payload_have_one_digest(one: bytes, other: bytes) -> None:
    assert digest(loads(one)) == digest(loads(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"lines": [1, 2]}, {"lines": [2, 1]}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ({"a": []}, {"a": {}}),
        ({"a": True}, {"a": 1}),
        ({"total": "10.0"}, {"total": "10.00"}),
        ({"a.b": 1}, {"a": {"b": 1}}),
        ({"lines": ["a"]}, {"lines": {"0": "a"}}),
    ],
)
def test_known_failure_22_two_payloads_have_two_digests(one: object, other: object) -> None:
    assert digest(one) != digest(other)
    assert changed(one, other)


ANY_TEXT = st.text(st.characters(codec="utf-8")) | st.text(st.characters(max_codepoint=0x7F))
ANY_NUMBER = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | ANY_TEXT | ANY_NUMBER,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=15,
)


@given(ANY_VALUE)
def test_the_short_way_to_canonical_bytes_leads_to_the_same_ones(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, -(2**53), {1: "a"}, {"a": {2: 1}}, [b"a"], "\ud800", {"\ud800": 1}])
def test_the_short_way_takes_nothing_that_the_long_one_refuses(value: Any) -> None:
    with pytest.raises(Malformed):
        canonical(value)


def test_known_failure_23_text_is_never_normalised() -> None:
    composed, decomposed = {"name": "Zo\u00eb"}, {"name": "Zoe\u0308"}
    assert digest(composed) != digest(decomposed)
    assert changed(composed, decomposed) == ["name"]


def test_known_failure_25_a_second_order_of_the_same_customer_is_another_payload_under_another_key() -> None:
    first, second = {"customer": "77", "order": "483"}, {"customer": "77", "order": "484"}
    assert digest(first) != digest(second)
    sent = [
        idempotency_key(
            installation="t1",
            destination="books",
            account="main",
            type="invoice.create",
            key=f"order/webshop/{payload['order']}/v1",
            generation=1,
        )
        for payload in (first, second)
    ]
    assert sent[0] != sent[1]


def test_known_failure_55_one_amount_has_one_digest() -> None:
    assert digest({}, "10") == digest({}, "10.0") == digest({}, "10.0000")
    assert digest({}, "10.00") != digest({}, "10.01")
    assert digest({}, "10.00", "ZAR") != digest({}, "10.00", "USD")
    assert digest({}, None, None) != digest({}, "0.00")


def test_amount_and_currency_come_together_or_not_at_all() -> None:
    for amount, currency in (("10.00", None), (None, "ZAR")):
        with pytest.raises(Malformed, match="together"):
            digest({}, amount, currency)
        with pytest.raises(Malformed, match="together"):
            leaf_digests(BEFORE, {}, amount=amount and Decimal(amount), currency=currency)  # type: ignore[arg-type]


def test_the_digest_covers_the_type_and_says_which_key_made_it() -> None:
    invoice = payload_digest(ROTATED, {}, type="invoice.create", amount=None, currency=None)
    refund = payload_digest(ROTATED, {}, type="refund.create", amount=None, currency=None)
    assert invoice != refund
    assert key_id_of(invoice) == "k2"
    assert len(invoice) == len("k2:") + 64


def test_a_digest_of_an_old_key_is_made_again_while_that_key_is_listed() -> None:
    old = payload_digest(BEFORE, {"a": 1}, type="t", amount=None, currency=None)
    again = payload_digest(ROTATED, {"a": 1}, type="t", amount=None, currency=None, key_id=key_id_of(old))
    assert same(old, again)
    assert not same(old, payload_digest(ROTATED, {"a": 1}, type="t", amount=None, currency=None))
    only_new = Keyring.parse(f"k2:{NEW}", "DIGEST_KEYS")
    with pytest.raises(KeyringError, match='DIGEST_KEYS: the key "k1" is not listed'):
        payload_digest(only_new, {"a": 1}, type="t", amount=None, currency=None, key_id="k1")


def test_a_stored_digest_without_a_key_is_refused() -> None:
    with pytest.raises(KeyringError, match="which key"):
        key_id_of("ab" * 32)


# Leaves.


def test_changed_paths_are_sorted_and_say_added_removed_and_changed() -> None:
    old = {"order": "483", "lines": [{"total": "1.00"}, {"total": "2.00"}], "note": "x", "tags": []}
    new = {"order": "483", "lines": [{"total": "1.50"}], "tags": ["a"], "paid": None}
    assert changed(old, new) == ["lines.0.total", "lines.1.total", "note", "paid", "tags", "tags.0"]


def test_a_changed_amount_or_currency_is_named_apart_from_the_payload() -> None:
    payload = {"amount": "1240.00", "$amount": 1}
    old = leaves(payload)
    paths = changed_paths(old, BEFORE, payload, amount=Decimal("1240.01"), currency="USD")
    assert paths == ["$amount", "$currency"]
    assert changed_paths(old, BEFORE, payload, amount=None, currency=None) == ["$amount", "$currency"]
    assert changed(payload, {"amount": "9.00", "$amount": 2}) == ['"$amount"', "amount"]


@pytest.mark.parametrize(
    ("payload", "path"), [("x", "$"), ([], "$"), ({}, "$"), ({"": 1}, '""'), ([[]], "0")]
)
def test_every_payload_has_a_leaf(payload: object, path: str) -> None:
    assert set(leaves(payload)) == {"$key", "$amount", "$currency", path}


def test_names_with_dots_and_digits_do_not_stand_for_other_paths() -> None:
    old = leaves({"a.b": 1, "a": {"b": 1, "": 1}, "0": 1})
    assert {'"a.b"', "a.b", 'a.""', "0"} < set(old)
    assert changed({"lines": {"0": "a"}}, {"lines": ["a"]}) == ["lines.0"]


def test_a_leafs_digest_is_bound_to_its_path_and_holds_no_value() -> None:
    old = leaves({"first": "secret-value", "second": "secret-value"})
    assert old["first"] != old["second"]
    assert "secret" not in json.dumps(old)
    assert all(len(old[path]) == 22 for path in ("first", "second", "$amount", "$currency"))


def test_changed_paths_are_found_with_an_old_key_that_is_still_listed() -> None:
    old = leaves({"a": 1, "b": 1})
    new = {"a": 1, "b": 2}
    assert changed_paths(old, ROTATED, new, amount=Decimal("1240"), currency="ZAR") == ["b"]
    only_new = Keyring.parse(f"k2:{NEW}", "DIGEST_KEYS")
    with pytest.raises(KeyringError, match="k1"):
        changed_paths(old, only_new, new, amount=Decimal("1240"), currency="ZAR")
    with pytest.raises(KeyringError):
        changed_paths({}, ROTATED, new, amount=None, currency=None)


def test_ten_thousand_leaves_are_the_most() -> None:
    assert len(leaves([0] * 10_000)) == 10_003
    with pytest.raises(TooLarge, match="10000"):
        leaves([0] * 10_001)


def test_a_path_has_five_hundred_characters_at_most_names_and_positions_together() -> None:
    assert f"{'n' * 496}.0.9" in leaves({"n" * 496: [list(range(10))]})
    with pytest.raises(TooLarge, match=r"path of 501 characters \(n{60}…\), and 500 are the most"):
        leaves({"n" * 497: [list(range(10))]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.text('a.0"$\\\u00e9', max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('a.0"$\\', max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, JSON)
def test_the_digest_differs_exactly_where_some_path_does(one: object, other: object) -> None:
    assert (digest(one) != digest(other)) == bool(changed(one, other))
    assert changed(one, one) == []


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(payload: dict[str, object], random: object) -> None:
    names = list(payload)
    random.shuffle(names)  # type: ignore[attr-defined]
    shuffled = {name: payload[name] for name in names}
    assert digest(shuffled) == digest(payload)
    assert leaves(shuffled) == leaves(payload)


# The key that a destination sees.


def sent_key(**changes: object) -> str:
    parts: dict[str, object] = {
        "installation": "t1",
        "destination": "books",
        "account": "main",
        "type": "invoice.create",
        "key": "order/webshop/483/v1",
        "generation": 1,
    }
    return idempotency_key(**parts | changes)  # type: ignore[arg-type]


def test_the_key_sent_is_fixed_for_ever() -> None:
    assert sent_key() == "t1-g1-duobltasogdn3u6vl32zlbb264"


@pytest.mark.parametrize(
    "change",
    [
        {"installation": "t2"},
        {"destination": "books2"},
        {"account": "other"},
        {"type": "invoice.creat", "key": "eorder/webshop/483/v1"},
        {"key": "order/webshop/483/v2"},
        {"generation": 2},
    ],
)
def test_every_part_changes_the_key_sent(change: dict[str, object]) -> None:
    assert sent_key(**change).rpartition("-")[2] != sent_key().rpartition("-")[2]


def test_the_generation_is_visible() -> None:
    assert sent_key(generation=12).startswith("t1-g12-")


def test_the_key_sent_fits_the_shortest_key_that_a_contract_may_name() -> None:
    for installation in ("t1", "a" * 16):
        for generation in (1, 9999):
            short = sent_key(installation=installation, generation=generation, key_max=32)
            assert len(short) <= 32
            assert short.isascii()
    assert sent_key(key_max=32) == sent_key()
    with pytest.raises(ValueError, match="32"):
        sent_key(key_max=31)


@pytest.mark.parametrize("change", [{"generation": 0}, {"installation": ""}, {"installation": "t1\r\nX: 1"}])
def test_a_key_that_could_not_be_sent_is_not_made(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"generation counts|installation's name"):
        sent_key(**change)


# The keyring.


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "entry 1 has no id"),
        (OLD, "entry 1 has no id"),
        (f"{OLD}:k1", "entry 1 has no id"),
        (f"K1:{OLD}", "entry 1 has no id"),
        ("k1:", "has 0 bytes where 32 are needed"),
        ("k1:c2hvcnQ=", "has 5 bytes where 32 are needed"),
        ("k1:no-base64!", "is not Base64"),
        ("k1:größe", "is not Base64"),
        ("k1:" + base64.b64encode(bytes(32)).decode(), "one byte repeated"),
        (f"k1:{OLD},k1:{NEW}", 'entry 2 has the id "k1"'),
        (f"k2:{OLD},k1:{OLD}", "entry 2 repeats the key"),
        (f"k1:{OLD},", "entry 2 has no id"),
    ],
)
def test_a_wrong_keyring_is_refused_without_showing_a_key(written: str, says: str) -> None:
    with pytest.raises(KeyringError, match=says) as caught:
        Keyring.parse(written, "DIGEST_KEYS")
    assert str(caught.value).startswith("DIGEST_KEYS: ")
    assert not any(secret in str(caught.value) for secret in (OLD, NEW, "c2hvcnQ", "no-base64"))


def test_every_wrong_entry_is_named_at_once() -> None:
    with pytest.raises(KeyringError, match=r"entry 1 .*; entry 3 "):
        Keyring.parse(f"k1:x,k2:{OLD},{NEW}")


def test_a_keyring_lists_its_ids_and_hides_its_keys() -> None:
    keyring = Keyring.parse(f" k2:{NEW} , k1:{OLD} ")
    assert (keyring.current, keyring.ids) == ("k2", ("k2", "k1"))
    assert NEW not in repr(keyring)
    assert repr(bytes(range(32, 64))) not in repr(keyring)
