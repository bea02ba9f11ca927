"""How a destination is reached: its address, by what it knows us, the way there, and how fast."""

import codecs
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ledger.rules import moments
from ledger.rules.contracts import Seconds, Section
from ledger.rules.events import EventRules


class Auth(Section):
    """How a destination knows us; secrets are only env:NAME or file:PATH."""

    kind: Literal["bearer", "header", "basic", "oauth2"]
    token: str | None = None
    name: str | None = None
    value: str | None = None
    user: str | None = None
    password: str | None = None
    token_url: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    client_auth: Literal["basic", "body"] | None = None
    """How the client shows itself to the token endpoint; "basic" where it is not said (RFC 6749, 2.3.1)."""
    scope: str | None = None
    refresh_token: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Auth":
        needs = {
            "bearer": ("token",),
            "header": ("name", "value"),
            "basic": ("user", "password"),
            "oauth2": ("token_url", "client_id", "client_secret"),
        }[self.kind]
        missing = [name for name in needs if getattr(self, name) is None]
        if missing:
            raise ValueError(f'auth kind "{self.kind}" needs {" and ".join(missing)}')
        for name in ("token", "value", "password", "client_secret", "refresh_token"):
            secret = getattr(self, name)
            if secret is not None and not secret.startswith(("env:", "file:")):
                raise ValueError(f"{name}: a secret never stands in this file; write env:NAME or file:PATH")
        return self


class Tls(Section):
    """Whom we trust over TLS, and the certificate by which a destination knows us; PEM, kept elsewhere."""

    certificate: str | None = None
    key: str | None = None
    ca: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Tls":
        if (self.certificate is None) != (self.key is None):
            missing = "key" if self.key is None else "certificate"
            raise ValueError(f'certificate and key come together; add the line: {missing} = "file:PATH"')
        if self.certificate is None and self.ca is None:
            raise ValueError("tls says nothing; write certificate and key, or ca, or leave it out")
        for name in ("certificate", "key", "ca"):
            place = getattr(self, name)
            if place is not None and not place.startswith(("env:", "file:")):
                raise ValueError(f"{name} stands in a file or a variable; write file:PATH or env:NAME")
        return self


def _proxy(value: str) -> str:
    """Accept http://HOST:PORT without credentials, or where the whole address stands."""
    if value.startswith(("env:", "file:")):
        return value
    if "@" in value:
        raise ValueError(
            "credentials never stand in this file; put the whole address into env:NAME or file:PATH"
        )
    if re.fullmatch(r"http://[^/\s]+/?", value) is None:
        raise ValueError(
            'the proxy\'s address cannot be used; write "http://HOST:PORT", env:NAME or file:PATH'
        )
    return value


def _kept(value: str) -> str:
    """Accept where an address with credentials stands, never the address itself."""
    if not value.startswith(("env:", "file:")):
        raise ValueError("a secret never stands in this file; write env:NAME or file:PATH")
    return value


def _folder(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("the folder's path is not whole; write it from the root, such as /var/exports")
    return value


def _encoding(value: str) -> str:
    try:
        text = codecs.lookup(value)._is_text_encoding
    except LookupError:
        text = False
    if not text:
        raise ValueError("there is no such encoding; write one such as utf-8, cp1252 or utf-16")
    return value


class ExportName(Section):
    """How the name of an export tells its time: a form such as "invoices-%Y-%m-%d-%H%M.csv", in a zone."""

    name: Annotated[str, AfterValidator(moments.check_format)]
    timezone: Annotated[str, AfterValidator(moments.check_zone)]


class Rate(Section):
    """How fast a destination may be called; shared by all workers."""

    per_second: float | None = Field(None, ge=0.1)
    concurrency: int | None = Field(None, ge=1, le=1000)


class Connection(Section):
    """How a destination is reached; `timeout` is a total deadline in seconds.

    `base_url`, `auth`, `tls` and `proxy` over HTTP; `url` of a database; `path` and what follows it of
    exports; `options` are a connector's own.
    """

    base_url: str | None = Field(None, pattern=r"^https?://[^/\s]+")
    url: Annotated[str, AfterValidator(_kept)] | None = None
    path: Annotated[str, AfterValidator(_folder)] | None = None
    pattern: str | None = None
    format: Literal["csv", "jsonl", "json"] | None = None
    encoding: Annotated[str, AfterValidator(_encoding)] | None = None
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    as_of: ExportName | None = None
    options: dict[str, Any] = {}
    timeout_s: Seconds = Field(10, alias="timeout", gt=0)
    auth: Auth | None = None
    tls: Tls | None = None
    proxy: Annotated[str, AfterValidator(_proxy)] | None = None
    rate: Rate = Rate()
    open_url: str | None = None
    events: EventRules | None = None
