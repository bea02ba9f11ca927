"""One HTTP exchange on a connection of its own, under one deadline, that knows whether a byte was sent.

httpx bounds each read and write; a body that drips would never end. So time is taken off one clock here, at
the sockets that httpcore, which httpx stands on, lets us supply. Nothing is tried twice, no redirect is
followed, and no connection is used again: a reset on an old one could not be told from a lost request.
"""

import functools
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import httpcore
import httpx

CHUNK_BYTES = 16 * 1024
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class NotSent(Exception):
    """It failed before a byte of the request went out."""


class NotAllowed(Exception):
    """Every address that a name leads to is one that may not be connected to."""


class BrokenOff(Exception):
    """It failed after a byte went out; `status` where that much of an answer came."""

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


@dataclass(frozen=True)
class Whole:
    """A whole answer; `cut` says that its body is longer than was read."""

    status: int
    headers: dict[str, str]
    body: bytes
    cut: bool = False


class Deadline:
    """One total time for everything that follows, in seconds."""

    def __init__(self, total_s: float) -> None:
        self.total_s = total_s
        self._ends = time.monotonic() + total_s

    def left_s(self) -> float:
        """Return the seconds that are left; 0 or less once it has passed."""
        return self._ends - time.monotonic()


@dataclass(frozen=True)
class Route:
    """The way to an address: whom we trust over TLS (the system's authorities), and a proxy (none).

    `allowed`: says of each IP address that a name leads to whether it may be connected to (all of them).
    """

    tls: ssl.SSLContext | None = None
    proxy: httpcore.Proxy | None = None
    allowed: Callable[[str], bool] | None = None


DIRECT = Route()


def exchange(
    request: httpx.Request,
    *,
    deadline: Deadline,
    limit_bytes: int,
    route: Route = DIRECT,
    hang_up: bool = False,
) -> Whole:
    """Send a request and read the whole answer; raises NotSent or BrokenOff, in our own words.

    `hang_up`: once the request is written, close the connection instead of reading; that is BrokenOff, too.
    """
    wire = _Wire(deadline, route, secure=request.url.scheme == "https", hang_up=hang_up)
    status: int | None = None
    try:
        with httpcore.ConnectionPool(
            ssl_context=route.tls or ssl_context(),
            proxy=route.proxy,
            max_connections=1,
            network_backend=wire,
        ) as pool:
            response = pool.handle_request(_core(request))
            status = response.status
            headers = _headers(response.headers)
            body, cut = _read(response, limit_bytes)
            return Whole(response.status, headers, body, cut)
    except _FAILURES as error:
        words = _words(error, wire)
        if not wire.sent:
            raise NotSent(words) from None
        raise BrokenOff(words, status) from None


_FAILURES = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError)


def _core(request: httpx.Request) -> httpcore.Request:
    url = request.url
    target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return httpcore.Request(request.method, target, headers=request.headers.raw, content=request.content)


def _read(response: httpcore.Response, limit_bytes: int) -> tuple[bytes, bool]:
    """Read a body up to the limit; the rest is left where it is."""
    parts, size = [], 0
    try:
        for part in response.iter_stream():
            parts.append(part)
            size += len(part)
            if size > limit_bytes:
                return b"", True
    finally:
        response.close()
    return b"".join(parts), False


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


@functools.cache
def ssl_context() -> ssl.SSLContext:
    """Return the one context for all exchanges; certificates are checked."""
    # SSL_CERT_FILE counts, for destinations behind a certificate authority of the house's own.
    return httpx.create_ssl_context(trust_env=True)


class _Wire(httpcore.NetworkBackend):
    """Opens connections under the deadline and remembers whether a byte of the request was written.

    Of a `secure` request nothing is written before the handshake: what is asked of a proxy first is no part
    of it, and a proxy that sees only the tunnel cannot have passed anything on.
    """

    def __init__(self, deadline: Deadline, route: Route, *, secure: bool, hang_up: bool = False) -> None:
        self.deadline = deadline
        self.allowed = route.allowed
        self.secure = secure
        self.proxied = route.proxy is not None
        self.hang_up = hang_up
        self.sent = False
        self.cause: BaseException | None = None
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(  # noqa: PLR0917 - the signature is httpcore's
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.NetworkStream:
        """Try each address of a name in turn, and share what is left of the time among them."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            self.cause = error
            raise httpcore.ConnectError from None
        if self.allowed is not None:
            # What is checked is what is connected to, whatever the name leads to a moment later.
            found = [one for one in found if self.allowed(str(one[-1][0]))]
            if not found:
                self.cause = NotAllowed()
                raise httpcore.ConnectError
        failure: Exception = httpcore.ConnectTimeout()
        for position, (*_, address) in enumerate(found):
            left_s = self.deadline.left_s()
            if left_s <= 0:
                break
            share_s = left_s / (len(found) - position)
            try:
                found_one = self._sockets.connect_tcp(str(address[0]), port, timeout=share_s)
                return _Stream(found_one, self, carries=not self.secure)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure, self.cause = error, error.__cause__
        raise failure


class _Stream(httpcore.NetworkStream):
    """A connection whose every wait ends with the deadline; `carries`: what is written is the request."""

    def __init__(self, inner: httpcore.NetworkStream, wire: _Wire, *, carries: bool) -> None:
        self._inner = inner
        self._wire = wire
        self._carries = carries

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes before the deadline."""
        left_s = self._wire.deadline.left_s()
        if left_s <= 0:
            raise httpcore.ReadTimeout
        if self._wire.hang_up and self._wire.sent:
            raise httpcore.ReadError
        return self._inner.read(max_bytes, left_s)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write piece by piece, none of them after the deadline."""
        for start in range(0, len(buffer), CHUNK_BYTES):
            left_s = self._wire.deadline.left_s()
            if left_s <= 0:
                raise httpcore.WriteTimeout
            self._wire.sent = self._wire.sent or self._carries
            self._inner.write(buffer[start : start + CHUNK_BYTES], left_s)

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Shake hands; that is not yet a byte of the request."""
        left_s = self._wire.deadline.left_s()
        if left_s <= 0:
            raise httpcore.ConnectTimeout
        try:
            secured = self._inner.start_tls(ssl_context, server_hostname, left_s)
            return _Stream(secured, self._wire, carries=True)
        except httpcore.ConnectError as error:
            self._wire.cause = error.__cause__
            raise

    def get_extra_info(self, info: str) -> object:
        """Answer what httpcore asks about the connection."""
        return self._inner.get_extra_info(info)


def _words(error: Exception, wire: _Wire) -> str:
    """Say what happened without a word of the other side's; httpcore drops the cause, so it was kept."""
    if isinstance(error, httpcore.ProxyError):
        status = str(error).partition(" ")[0]
        return f"The proxy refused to connect (status {status if status.isdecimal() else 'unknown'})."
    if wire.proxied and wire.secure and not wire.sent and not isinstance(error, _CONNECTING):
        return "The proxy did not open the way in time, or hung up."
    words = next(
        words
        for kind, cause, words in _CAUSES
        if isinstance(error, kind) and (cause is None or isinstance(wire.cause, cause))
    )
    return words.format(total=f"{wire.deadline.total_s:.1f} s")


_CONNECTING = (httpcore.ConnectError, httpcore.ConnectTimeout)
_CAUSES: tuple[tuple[type[Exception], type[Exception] | None, str], ...] = (
    (httpcore.ConnectTimeout, None, "Connecting timed out after {total}."),
    (httpcore.ConnectError, socket.gaierror, "The address is not known (DNS)."),
    (httpcore.ConnectError, UnicodeError, "The address is not known (DNS)."),
    (httpcore.ConnectError, ssl.SSLCertVerificationError, "The certificate was not accepted (TLS)."),
    (httpcore.ConnectError, ssl.SSLError, "No secure connection could be made (TLS)."),
    (httpcore.ConnectError, NotAllowed, "The name leads into a private network, which is not allowed."),
    (httpcore.ConnectError, ConnectionRefusedError, "The connection was refused."),
    (httpcore.ConnectError, None, "No connection could be made."),
    (httpcore.WriteTimeout, None, "Sending timed out after {total}."),
    (httpcore.TimeoutException, None, "Read time-out after {total}."),
    (httpcore.LocalProtocolError, None, "The request is not one that HTTP can carry."),
    (httpcore.RemoteProtocolError, None, "The connection was closed before a whole answer came."),
    (Exception, None, "The connection was reset before a whole answer came."),
)
