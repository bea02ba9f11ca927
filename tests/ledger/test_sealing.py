"""A payload that waits to be sent is encrypted, and opens only for its own operation."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.keyring import Keyring
from ledger.rules.sealing import SealError, key_id_of, seal, unseal

OLD = "k1:" + base64.b64encode(bytes(range(32))).decode()
NEW = "k2:" + base64.b64encode(bytes(range(32, 64))).decode()
OTHER = "k1:" + base64.b64encode(bytes(range(64, 96))).decode()
KEYS = Keyring.parse(OLD, "PAYLOAD_KEYS")
TOKEN = seal(KEYS, b'{"order":"483"}', bound_to="operation-1")


def test_a_token_of_another_operation_does_not_open() -> None:
    with pytest.raises(SealError, match="another operation"):
        unseal(KEYS, TOKEN, bound_to="operation-2")


def test_another_key_of_the_same_id_does_not_open_it() -> None:
    with pytest.raises(SealError, match='"k1"'):
        unseal(Keyring.parse(OTHER), TOKEN, bound_to="operation-1")


def test_a_key_that_is_no_longer_listed_is_named() -> None:
    with pytest.raises(SealError, match='PAYLOAD_KEYS: the key "k1" is not listed'):
        unseal(Keyring.parse(NEW, "PAYLOAD_KEYS"), TOKEN, bound_to="operation-1")


@pytest.mark.parametrize("position", range(len(TOKEN)))
def test_any_changed_byte_is_noticed(position: int) -> None:
    changed = bytearray(TOKEN)
    changed[position] ^= 1
    with pytest.raises(SealError):
        unseal(KEYS, bytes(changed), bound_to="operation-1")


@pytest.mark.parametrize("length", range(len(TOKEN)))
def test_a_token_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(SealError):
        unseal(KEYS, TOKEN[:length], bound_to="operation-1")


def test_a_payload_is_always_bound_to_an_operation() -> None:
    with pytest.raises(ValueError, match="bound"):
        seal(KEYS, b"{}", bound_to="")


def test_an_old_key_still_opens_what_it_closed_and_the_new_one_seals() -> None:
    rotated = Keyring.parse(f"{NEW},{OLD}", "PAYLOAD_KEYS")
    assert unseal(rotated, TOKEN, bound_to="operation-1") == b'{"order":"483"}'
    assert key_id_of(TOKEN) == "k1"
    assert key_id_of(seal(rotated, b"{}", bound_to="operation-1")) == "k2"


@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_what_is_sealed_opens_again_and_looks_different_each_time(plaintext: bytes, uid: str) -> None:
    one, other = seal(KEYS, plaintext, bound_to=uid), seal(KEYS, plaintext, bound_to=uid)
    assert unseal(KEYS, one, bound_to=uid) == unseal(KEYS, other, bound_to=uid) == plaintext
    assert one != other
    assert len(plaintext) < 8 or plaintext not in one
