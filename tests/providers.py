"""A provider of identities that says of whoever comes what a test wants it to say."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

CLIENT, SECRET = "tieout", "known-to-both-0123456789-0123456789"


@dataclass
class Provider:
    """What it says next, and what it was asked."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    challenge: str = ""
    audience: str = CLIENT

    def says(self, name: str, sub: str, **more: Any) -> None:
        """Let it know the next one who comes by this name and id."""
        self.claims = {"preferred_username": name, "sub": sub, **more}

    def came_back(self, sent: str) -> dict[str, str]:
        """Do what a browser does there: be asked, agree, and come back with a code."""
        self.asked = {name: values[0] for name, values in parse_qs(urlsplit(sent).query).items()}
        return {"code": "c0de", "state": self.asked["state"]}

    def answer(self, path: str, form: dict[str, list[str]]) -> dict[str, Any] | None:
        """Answer one of its addresses; None where it knows none."""
        match path:
            case "/.well-known/openid-configuration":
                names = {"authorization_endpoint": "go", "token_endpoint": "token", "userinfo_endpoint": "me"}
                return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"} | {
                    name: f"{self.url}/{where}" for name, where in names.items()
                }
            case "/token":
                verifier = form.get("code_verifier", [""])[0].encode()
                made = urlsafe_b64encode(sha256(verifier).digest()).rstrip(b"=").decode()
                if made != self.asked.get("code_challenge") or form.get("client_secret") != [SECRET]:
                    return None
                told = {"iss": self.url, "aud": self.audience, "exp": time.time() + 60, **self.claims}
                return {"access_token": "t0ken", "id_token": jwt.encode(told, SECRET), "token_type": "Bearer"}
            case "/me":
                return self.claims
        return None


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider that runs on this machine."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(parse_qs(body))

        def _answer(self, form: dict[str, list[str]]) -> None:
            told = provider.answer(urlsplit(self.path).path, form)
            body = json.dumps(told or {"error": "invalid_grant"}).encode()
            self.send_response(200 if told else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield provider
        server.shutdown()
