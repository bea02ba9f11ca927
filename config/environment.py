"""Reads every environment variable that Tieout knows and refuses nonsense, all of it at once."""

import os
import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, BeforeValidator, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ledger.rules.errors import KeyringError
from ledger.rules.keyring import Keyring

ROOT = Path(__file__).resolve().parent.parent
ROLES = ("viewer", "reviewer", "approver", "administrator", "auditor")
NOBODY = "none"
SECURITY = ("starttls", "tls", "none")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
NEEDED_WITH_DATABASE_URL = (
    "is required when DATABASE_URL is set: only the embedded database makes its own. Make one with {how}."
)


def _port(value: object) -> int:
    text = str(value)
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 65535:
        return int(text)
    raise ValueError(f"{text!r} is not a port. Give a whole number from 1 to 65535.")


def _whole(least: int, most: int, what: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        text = str(value)
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        raise ValueError(f"{text!r} is no number of {what}. Give a whole number from {least} to {most}.")

    return read


def _roles(value: list[str]) -> list[str]:
    if value == [NOBODY]:
        return []
    unknown = [word for word in value if word not in ROLES]
    if unknown or not value:
        raise ValueError(
            f"{','.join(value)!r} names no roles. Give some of {', '.join(ROLES)} with commas, or {NOBODY}."
        )
    return value


def _address(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        raise ValueError(f"{value!r} is no IP address. Give 127.0.0.1 or 0.0.0.0, say.") from None
    return f"[{value}]" if ":" in value else value


def _yes_or_no(value: object) -> bool:
    word = str(value).lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise ValueError(f"{str(value)!r} is neither yes nor no. Give true or false.")


def _zone(value: object) -> ZoneInfo:
    try:
        return value if isinstance(value, ZoneInfo) else ZoneInfo(str(value))
    except (KeyError, ValueError, OSError):
        message = f"{str(value)!r} is not a known time zone. Give a name such as Africa/Johannesburg or UTC."
        raise ValueError(message) from None


def _words(value: object) -> list[str]:
    given = value if isinstance(value, list) else str(value).split(",")
    return [str(word).strip() for word in given if str(word).strip()]


def _log_level(value: str) -> str:
    if value.upper() in LOG_LEVELS:
        return value.upper()
    raise ValueError(f"{value!r} is not a log level. Give one of {', '.join(LOG_LEVELS)}.")


def _installation(value: str) -> str:
    if re.fullmatch(r"[a-z][a-z0-9]{0,7}", value):
        return value
    raise ValueError(f"{value!r} is no short name. Give 1 to 8 of a-z and 0-9, a letter first.")


def _folder(value: object) -> Path:
    # A relative folder means where the person who typed it stands.
    folder = Path(str(value)).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{str(value)!r} is a file. Give a folder that Tieout may fill.")
    return folder


def _pg_bin(value: object) -> Path:
    folder = Path(str(value)).expanduser().absolute()
    if os.access(folder / "initdb", os.X_OK) and os.access(folder / "postgres", os.X_OK):
        return folder
    raise ValueError(f"{str(value)!r} holds no PostgreSQL. Give the folder of its initdb, or leave it out.")


def _database_url(value: str) -> str:
    # The address is never repeated in a message: a password may stand in it.
    remedy = "Give postgresql://USER:PASSWORD@HOST/DATABASE."
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"is not a PostgreSQL address. {remedy}")
    try:
        parts = conninfo_to_dict(value)
    except ProgrammingError:
        raise ValueError(f"cannot be read as a PostgreSQL address. {remedy}") from None
    missing = [name for name in ("user", "dbname") if not parts.get(name)]
    if missing:
        raise ValueError(f"names no {' and no '.join(missing)}. {remedy}")
    return value


def _hosts(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("is empty. Give the names under which people reach it, such as tieout.example.com.")
    for host in value:
        if host == "*" or "/" in host:
            raise ValueError(f"{host!r} is no host name. Give each name without scheme or path, with commas.")
    return value


def _origins(value: list[str]) -> list[str]:
    for origin in value:
        if not re.fullmatch(r"https?://[^/\s*]+", origin):
            raise ValueError(
                f"{origin!r} is no origin. Give scheme and host, such as https://tieout.example.com."
            )
    return value


def _origin(value: str) -> str:
    return _origins([value.rstrip("/")])[0]


def _issuer(value: str) -> str:
    if re.fullmatch(r"https://[^\s?#]+|http://(localhost|127\.0\.0\.1)(:\d+)?(/[^\s?#]*)?", value):
        return value.rstrip("/")
    raise ValueError(
        f"{value!r} is no issuer. Give its address, such as https://login.example.com/realms/books."
    )


def _of_the_issuer(value: str | None, info: ValidationInfo) -> str | None:
    # An issuer that was refused is absent from the data: it was given all the same.
    given = info.data.get("oidc_issuer", "wrong, and reported") is not None
    if given and not value:
        raise ValueError(
            "is required with OIDC_ISSUER. Give what the provider calls it, for this installation."
        )
    if value and not given:
        raise ValueError("is set without OIDC_ISSUER. Give all three, or none.")
    return value


def _security(value: str) -> str:
    if value in SECURITY:
        return value
    raise ValueError(f"{value!r} is no way to a mail server. Give one of {', '.join(SECURITY)}.")


def _from(value: str | None, info: ValidationInfo) -> str | None:
    # A host that was refused is absent from the data: it was given all the same.
    if value is None and info.data.get("smtp_host", "wrong, and reported") is not None:
        raise ValueError("is required with SMTP_HOST. Give the address that mail comes from.")
    if value is not None and not re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", value):
        raise ValueError(f"{value!r} is no e-mail address. Give one such as tieout@example.com.")
    return value


def _keys(value: str) -> str:
    try:
        Keyring.parse(value, "It")
    except KeyringError as error:
        # Keys are never repeated in it.
        raise ValueError(f"cannot be used. {error}") from None
    return value


def _secret_key(value: str) -> str:
    if len(value) < 32 or len(set(value)) < 8:
        raise ValueError("is too easily guessed. Give at least 32 random characters.")
    return value


Port = Annotated[int, BeforeValidator(_port)]
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]
Words = Annotated[list[str], NoDecode, BeforeValidator(_words)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
Keys = Annotated[str, AfterValidator(_keys)]


class Environment(BaseSettings):
    """What the environment says, checked; the README's table lists the same variables."""

    # Defaults are validated too, so that what is missing is reported together with what is wrong.
    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", validate_default=True)

    bind: Annotated[str, AfterValidator(_address)] = "127.0.0.1"
    port: Port = 8000
    sandbox_port: Port = 8010
    data_dir: Annotated[Path, BeforeValidator(_folder)] = ROOT / ".data"
    database_url: DatabaseUrl | None = None
    database_owner_url: DatabaseUrl | None = None
    secret_key: Annotated[str, AfterValidator(_secret_key)] | None = None
    payload_keys: Keys | None = None
    digest_keys: Keys | None = None
    allowed_hosts: Annotated[Words, AfterValidator(_hosts)] = ["localhost", "127.0.0.1", "[::1]"]
    public_url: Annotated[str, AfterValidator(_origin)] | None = None
    csrf_trusted_origins: Annotated[Words, AfterValidator(_origins)] = []
    installation: Annotated[str, AfterValidator(_installation)] = "t1"
    time_zone: Annotated[ZoneInfo, BeforeValidator(_zone)] = ZoneInfo("Africa/Johannesburg")
    debug: YesOrNo = False
    behind_tls: YesOrNo = False
    metrics_token: Annotated[str, AfterValidator(_secret_key)] | None = None
    pg_bin: Annotated[Path, BeforeValidator(_pg_bin)] | None = None
    deliveries_days: Annotated[int, BeforeValidator(_whole(7, 36500, "days"))] = 90
    second_factor_roles: Annotated[Words, AfterValidator(_roles)] = ["approver", "administrator"]
    sign_in_again_minutes: Annotated[int, BeforeValidator(_whole(1, 720, "minutes"))] = 15
    session_idle_minutes: Annotated[int, BeforeValidator(_whole(1, 1440, "minutes"))] = 30
    session_hours: Annotated[int, BeforeValidator(_whole(1, 168, "hours"))] = 12
    oidc_issuer: Annotated[str, AfterValidator(_issuer)] | None = None
    oidc_client_id: Annotated[str | None, AfterValidator(_of_the_issuer)] = None
    oidc_client_secret: Annotated[str | None, AfterValidator(_of_the_issuer)] = None
    oidc_name: str = "single sign-on"
    oidc_claim: str = "preferred_username"
    oidc_second_factor: YesOrNo = False
    trusted_proxies: Annotated[int, BeforeValidator(_whole(0, 10, "proxies"))] = 0
    rules_by_two: YesOrNo = True
    smtp_host: str | None = None
    smtp_port: Annotated[int, BeforeValidator(_port)] = 587
    smtp_user: str | None = None
    smtp_password: str | None = None
    smtp_security: Annotated[str, AfterValidator(_security)] = "starttls"
    mail_from: Annotated[str | None, AfterValidator(_from)] = None
    log_level: Annotated[str, AfterValidator(_log_level)] = "INFO"

    @field_validator("sandbox_port")
    @classmethod
    def _two_ports(cls, value: int, info: ValidationInfo) -> int:
        if value == info.data.get("port"):
            raise ValueError(f"{value} is PORT as well. Give the sandbox a port of its own.")
        return value

    @field_validator("database_owner_url")
    @classmethod
    def _owner_of_something(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("database_url", "wrong, and reported") is None:
            raise ValueError("is set without DATABASE_URL. Set both, or neither for the embedded database.")
        return value

    @field_validator("secret_key", "payload_keys", "digest_keys")
    @classmethod
    def _kept_by_the_installer(cls, value: str | None, info: ValidationInfo) -> str | None:
        # A DATABASE_URL that was refused is absent from the data: it was given all the same.
        embedded = info.data.get("database_url", "wrong, and reported") is None
        if value is None and not embedded:
            how = '"openssl rand -base64 48"'
            if info.field_name != "secret_key":
                how = '"k1:$(openssl rand -base64 32)"'
            raise ValueError(NEEDED_WITH_DATABASE_URL.format(how=how))
        return value


def read() -> Environment:
    """Read the environment; raises ImproperlyConfigured that names every wrong variable and its remedy."""
    try:
        return Environment()
    except ValidationError as error:
        lines = [_sentence(dict(wrong)) for wrong in error.errors()]
    raise ImproperlyConfigured("\n".join(["These environment variables are wrong:", *lines])) from None


def _sentence(wrong: dict[str, Any]) -> str:
    name = str(wrong["loc"][0]).upper()
    cause = wrong.get("ctx", {}).get("error", wrong["msg"])
    return f"  {name} {cause}"
