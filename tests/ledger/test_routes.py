"""The way to a destination: certificates of both sides, and a proxy; "not sent" only where that is proved."""

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from ledger.destinations.connectors.base import ConfigurationError
from tests.ledger.test_http_connector import free_port, hang
from tests.ledger.wires import Wire, answering, certificate, connector, looking, reset, sending, serving
from tests.proxies import proxying

MADE = answering(b'{"id": "INV-1"}', "201 Created", "Connection: close")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The destination's certificate and key."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    return certificate(folder)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Our own certificate and key."""
    folder = tmp_path / "ours"
    folder.mkdir()
    return certificate(folder)


def server_context(theirs: Path, *, knows: Path | None = None) -> ssl.SSLContext:
    """A server's side; with `knows` it lets in only who shows that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(theirs)
    if knows is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(knows)
    return context


@pytest.fixture
def picky(theirs: Path, ours: Path) -> Iterator[Wire]:
    """A destination that lets in only who shows our certificate."""
    with serving(MADE, tls=server_context(theirs, knows=ours)) as wire:
        yield wire


# --- certificates


def test_a_destination_knows_us_by_our_certificate(picky: Wire, theirs: Path, ours: Path) -> None:
    tls = {"certificate": f"file:{ours}", "key": f"file:{ours}", "ca": f"file:{theirs}"}
    assert connector(picky.url, tls=tls).send(sending()).status == 201


def test_a_key_may_come_from_the_environment(
    picky: Wire, theirs: Path, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKS_KEY", ours.read_text())
    tls = {"certificate": f"file:{ours}", "key": "env:BOOKS_KEY", "ca": f"file:{theirs}"}
    looked = connector(picky.url, tls=tls).look_up(looking())
    assert looked.why == 'There is no list at "data".', "it was let in, and answered"


def test_who_shows_no_certificate_is_not_let_in_and_that_proves_nothing(picky: Wire, theirs: Path) -> None:
    """Over TLS 1.3 a server says so only after the handshake, when bytes may be on their way."""
    assert connector(picky.url, tls={"ca": f"file:{theirs}"}).send(sending()).stage == "silent"
    assert picky.requests == [b""] or not picky.requests


def test_who_is_refused_within_the_handshake_has_sent_nothing(theirs: Path, ours: Path) -> None:
    context = server_context(theirs, knows=ours)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with serving(MADE, tls=context) as wire:
        answer = connector(wire.url, tls={"ca": f"file:{theirs}"}).send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "No secure connection could be made (TLS).")


def test_an_authority_of_ones_own_stands_in_place_of_the_systems(theirs: Path, ours: Path) -> None:
    with serving(MADE, tls=server_context(theirs)) as wire:
        assert connector(wire.url, tls={"ca": f"file:{theirs}"}).send(sending()).status == 201
        answer = connector(wire.url, tls={"ca": f"file:{ours}"}).send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "The certificate was not accepted (TLS).")


def test_what_is_wrong_with_a_certificate_is_said_by_its_line(ours: Path, theirs: Path) -> None:
    locked = ours.with_name("locked.pem")
    key = ec.generate_private_key(ec.SECP256R1())
    locked.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hidden"))
    )
    other = ours.with_name("other.pem")
    other.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for certificate_file, key_file, why in (
        (ours, theirs, "tls.key: The private key is not the certificate's."),
        (ours, other, "tls.key: The private key is not the certificate's."),
        (ours, locked, "tls.key: The private key is locked with a password"),
        (other, ours, "tls.certificate: This is no certificate in PEM."),
        (ours, ours.with_name("none.pem"), "tls.key: The file .*none.pem cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            connector("https://x", tls={"certificate": f"file:{certificate_file}", "key": f"file:{key_file}"})


# --- a proxy


@pytest.fixture
def secure(theirs: Path) -> Iterator[Wire]:
    """A destination over TLS."""
    with serving(MADE, tls=server_context(theirs)) as wire:
        yield wire


def test_a_proxy_opens_the_way_and_sees_nothing_of_the_request(
    secure: Wire, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxying() as proxy:
        address = proxy.url.replace("//", "//tie%40out:s%3Acret@")
        monkeypatch.setenv("BOOKS_PROXY", address)
        books = connector(secure.url, proxy="env:BOOKS_PROXY", tls={"ca": f"file:{theirs}"})
        assert books.send(sending()).status == 201
    (asked,) = proxy.requests
    assert asked.startswith(b"CONNECT 127.0.0.1:")
    assert base64.b64encode(b"tie@out:s:cret") in asked
    assert b"Idempotency" not in asked


@pytest.mark.parametrize("status", ["403 Forbidden", "407 Proxy Authentication Required", "502 Bad Gateway"])
def test_a_way_that_is_refused_is_not_sent(secure: Wire, theirs: Path, status: str) -> None:
    with proxying(refuses=status) as proxy:
        answer = connector(secure.url, proxy=proxy.url, tls={"ca": f"file:{theirs}"}).send(sending())
    words = f"The proxy refused to connect (status {status[:3]})."
    assert (answer.stage, answer.detail) == ("not_sent", words)
    assert secure.requests == []


def test_a_proxy_that_does_not_answer_or_hangs_up_has_sent_nothing() -> None:
    words = "The proxy did not open the way in time, or hung up."
    with serving(hang) as wire:
        answer = connector("https://books.invalid", proxy=wire.url).send(sending(timeout_s=0.3))
        wire.stop.set()
    assert (answer.stage, answer.detail) == ("not_sent", words)
    with serving(lambda connection, _: reset(connection)) as wire:
        answer = connector("https://books.invalid", proxy=wire.url).send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", words)


def test_a_proxy_that_is_not_there_has_sent_nothing() -> None:
    answer = connector("https://books.invalid", proxy=f"http://127.0.0.1:{free_port()}").send(sending())
    assert (answer.stage, answer.detail) == ("not_sent", "The connection was refused.")


def test_what_breaks_within_the_tunnel_is_silence(theirs: Path) -> None:
    with (
        serving(lambda connection, _: None, tls=server_context(theirs)) as wire,
        proxying() as proxy,
    ):
        answer = connector(wire.url, proxy=proxy.url, tls={"ca": f"file:{theirs}"}).send(sending())
    assert answer.stage == "silent"
    assert len(wire.requests) == 1


def test_a_plain_request_passes_through_and_what_breaks_then_is_silence() -> None:
    with serving(MADE) as wire, proxying() as proxy:
        assert connector(wire.url, proxy=proxy.url).send(sending()).status == 201
    assert proxy.requests[0].startswith(f"POST {wire.url}/invoices HTTP/1.1".encode())
    with serving(lambda connection, _: reset(connection)) as proxy:
        assert connector("http://books.invalid", proxy=proxy.url).send(sending()).stage == "silent"


def test_what_the_environment_says_of_proxies_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with serving(MADE) as wire:
        assert connector(wire.url).send(sending()).status == 201


def test_a_proxy_whose_kept_address_cannot_be_used_is_said_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in ("socks5://u:hidden@proxy:1080", "proxy:3128", "http://u:hidden@proxy:port", "http://"):
        monkeypatch.setenv("BOOKS_PROXY", address)
        with pytest.raises(ConfigurationError, match="BOOKS_PROXY") as refused:
            connector("https://x", proxy="env:BOOKS_PROXY")
        assert "hidden" not in str(refused.value)
