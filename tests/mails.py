"""A mail server that keeps what it is given, and answers as a test tells it."""

import email
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

import pytest


@dataclass
class Post:
    """What came, and how the next ones are answered."""

    port: int = 0
    got: list[Message] = field(default_factory=list)
    to: list[str] = field(default_factory=list)
    silent: int = 0
    """So many of the next letters are taken, and the connection is lost before that is said."""
    hangs: int = 0
    """So many of the next letters are taken, and nothing is said until whoever sends them has gone."""
    refused: str = ""
    """An address that it does not know."""


class Speaking(socketserver.StreamRequestHandler):
    """As much of SMTP as one letter takes."""

    post: Post

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def handle(self) -> None:
        self.say("220 here")
        while line := self.rfile.readline().decode().strip():
            word = line[:4].upper()
            if word == "DATA" and not self.take():
                return
            if word == "RCPT":
                self.know(line.partition("<")[2].rstrip(">"))
            elif word != "DATA":
                self.say("250 here")

    def know(self, whom: str) -> None:
        self.say("550 nobody" if whom == self.post.refused else "250 fine")
        self.post.to.append(whom)

    def take(self) -> bool:
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline().decode()) not in (".\r\n", ""):
            lines.append(line)
        self.post.got.append(email.message_from_string("".join(lines)))
        if self.post.hangs:
            self.post.hangs -= 1
            self.rfile.read()
            return False
        if self.post.silent:
            self.post.silent -= 1
            return False
        self.say("250 taken")
        return True


@contextmanager
def posting() -> Iterator[Post]:
    """A server that listens."""
    post = Post()
    with socketserver.ThreadingTCPServer(
        ("127.0.0.1", 0), type("Handler", (Speaking,), {"post": post})
    ) as server:
        server.daemon_threads = True
        post.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield post
        finally:
            server.shutdown()


@pytest.fixture
def post(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Post]:
    """The mail server of this process, and of those that it starts."""
    with posting() as found:
        settings.MAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", found.port
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.DEFAULT_FROM_EMAIL, settings.PUBLIC_URL = "tieout@example.com", "https://tieout.example.com"
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        there = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(found.port), "SMTP_SECURITY": "none"}
        for name, value in (there | {"MAIL_FROM": "tieout@example.com"}).items():
            monkeypatch.setenv(name, value)
        yield found
