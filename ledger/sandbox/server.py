"""The HTTP side: reads a request whole, lets it be answered or go wrong, writes what there is to write."""

import ipaddress
import socketserver
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ledger.sandbox import control, desk, shop
from ledger.sandbox.books import Books
from ledger.sandbox.faults import Faults, Orders
from ledger.sandbox.messages import Answer, RefusedError, Request, refuse
from ledger.sandbox.trouble import go_wrong

LARGEST_BODY = 1 << 20
IDLE_S = 75


class SandboxServer(ThreadingHTTPServer):
    """A thread for each connection; none of them is waited for at the end."""

    daemon_threads = True
    request_queue_size = 128
    books: Books
    token: str | None = None

    def __init__(self, host: str, port: int) -> None:
        self.faults = Faults()
        super().__init__((host, port), Door)

    def server_bind(self) -> None:
        """Bind without asking the name service who we are, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self.server_name}:{self.server_port}"

    def answer(self, request: Request, *, peer: str) -> Answer | None:
        """The answer to a request, or None to hang up on it."""
        if control.is_control(request):
            if not ipaddress.ip_address(peer).is_loopback:
                return refuse(403, "loopback_only", message="This door opens to this machine only.")
            return control.answer(self.books, request, faults=self.faults)
        if request.method == "POST" and request.segments not in shop.PLACES:  # what the books were sent
            with self.books.transaction():
                self.books.note_delivery(request.target, key=request.key, reference=request.reference())
        orders = self.faults.take(request)
        return go_wrong(orders.trouble, lambda: self._work(request, orders), wait=time.sleep)

    def _work(self, request: Request, orders: Orders) -> Answer:
        with self.books.transaction():
            return desk.answer(self.books, request, token=self.token, orders=orders)


class Door(BaseHTTPRequestHandler):
    """One connection; it is kept open between requests (HTTP/1.1)."""

    server: SandboxServer
    protocol_version = "HTTP/1.1"
    server_version = "DurbanBooks/1"
    sys_version = ""
    timeout = IDLE_S
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Serve until either side hangs up; that the caller went away is no error here."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def finish(self) -> None:
        """Close, also where there is no one left to flush to."""
        try:
            super().finish()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what happened is in the file."""

    def _serve(self) -> None:
        answer = self._answer()
        if answer is None:
            self.close_connection = True
        else:
            self._send(answer)

    def _answer(self) -> Answer | None:
        try:
            request = self._read()
        except RefusedError as refused:
            return refused.answer
        return self.server.answer(request, peer=self.client_address[0])

    def _read(self) -> Request:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers:
            raise self._unread(411, "length_required", message="Send the body with a Content-Length.")
        if not (length.isascii() and length.isdecimal()):
            raise self._unread(400, "invalid_request", message="Content-Length must be a whole number.")
        if len(length) > 9 or int(length) > LARGEST_BODY:
            raise self._unread(413, "too_large", message=f"The body exceeds {LARGEST_BODY} bytes.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionAbortedError("the caller went away within its body")
        return Request(
            self.command,
            self.path,
            body,
            key=self.headers.get("Idempotency-Key") or None,
            authorization=self.headers.get("Authorization", ""),
        )

    def _unread(self, status: int, code: str, *, message: str) -> RefusedError:
        self.close_connection = True  # what follows on this connection is the body that was not read
        return RefusedError(refuse(status, code, message=message))

    def _send(self, answer: Answer) -> None:
        self.close_connection = self.close_connection or answer.cut
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers:
            self.send_header(name, value)
        if self.close_connection and not answer.cut:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - named by http.server
