"""A server made of bare sockets, for what no honest HTTP server does; and connectors to it."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ledger.destinations.connectors.base import LookRequest, SendRequest, Target
from ledger.destinations.connectors.http import HttpConnector
from ledger.rules.calls import LookupCall, RecordMap, SendCall
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract

KEY = "order/webshop/483/v1"
RECORD = RecordMap(
    id="id", reference="metadata.operation", amount="total", currency="currency", status="status"
)
VALUES = {"key": KEY, "amount": "1240.00", "currency": "ZAR", "destination_reference": "INV-1101"}

Handler = Callable[[socket.socket, bytes], None]


class Wire:
    """What a bare server saw: each request as it came; `stop` is set when the test is over."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[bytes] = []
        self.stop = threading.Event()


@contextmanager
def serving(handler: Handler, *, read: bool = True, tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Serve each connection by `handler(connection, request)`; the connection is closed when it returns."""
    scheme = "https" if tls else "http"
    listener = socket.create_server(("127.0.0.1", 0))
    wire = Wire(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")

    def serve() -> None:
        while not wire.stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with (
                suppress(OSError),
                tls.wrap_socket(connection, server_side=True) if tls else connection as connection,
            ):
                connection.settimeout(10)
                request = whole_request(connection) if read else b""
                wire.requests.append(request)
                handler(connection, request)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        wire.stop.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def whole_request(connection: socket.socket) -> bytes:
    """Read a request's head and as much body as it announces."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    missing = int(lengths[0]) - len(body) if lengths else 0
    while missing > 0:
        part = connection.recv(65536)
        data, missing = data + part, missing - len(part)
    return data


def answering(body: bytes, status: str = "200 OK", *headers: str) -> Handler:
    """Answer every request the same way."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return lambda connection, _: connection.sendall(head + body)


def reset(connection: socket.socket) -> None:
    """Close with a reset instead of an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody has vouched for, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Durban Books")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "books.pem"
    file.write_bytes(made.public_bytes(Encoding.PEM) + key.private_bytes(*plain))
    return file


def connector(url: str, **connection: object) -> HttpConnector:
    """A connector to that address."""
    reach = Connection.read({"base_url": url, **connection})
    return HttpConnector(Target("books", "Durban Books", "main", reach))


def sending(
    *, path: str = "/invoices", timeout_s: float = 10, contract: Contract | None = None, **call: object
) -> SendRequest:
    """A send of a small invoice."""
    return SendRequest(
        call=SendCall.read({"path": path, **call}),
        contract=contract or Contract(idempotency="header"),
        payload={"total": "1240.00", "currency": "ZAR", "metadata": {"operation": KEY}},
        idempotency_key="t1-g1-abc",
        values=VALUES,
        timeout_s=timeout_s,
    )


def looking(
    *,
    path: str = "/invoices?reference={key}",
    timeout_s: float = 10,
    contract: Contract | None = None,
    **call: object,
) -> LookRequest:
    """A look-up of the same invoice."""
    return LookRequest(
        call=LookupCall.read({"path": path, "items": "data", **call}),
        contract=contract or Contract(),
        record=RECORD,
        values=VALUES,
        timeout_s=timeout_s,
    )
