"""What arrives and what is answered, before and after HTTP."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, unquote

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Answer:
    """A whole HTTP answer; one that is `cut` announces its full length and breaks off half-way."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False

    def replayed(self) -> "Answer":
        """The same answer, marked as one that was given before."""
        return replace(self, headers=(*self.headers, ("Idempotent-Replayed", "true")))


class RefusedError(Exception):
    """The request is refused with the answer that this carries."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def tell(status: int, content: object) -> Answer:
    """An answer in JSON."""
    return Answer(status, json.dumps(content).encode())


def refuse(status: int, code: str, *, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error in the books' own form: `{"error": {"code", "message"}}`."""
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    return Answer(status, body, headers=tuple((headers or {}).items()))


def problem(status: int, code: str, *, title: str, detail: str) -> Answer:
    """An error as a problem document (RFC 9457) that also carries the books' own form."""
    content = {
        "type": f"/problems/{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "error": {"code": code, "message": detail},
    }
    return Answer(status, json.dumps(content).encode(), content_type=PROBLEM)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True)
class Request:
    """One request, read whole; `target` is path and query as they came over the wire."""

    method: str
    target: str
    body: bytes = b""
    key: str | None = None
    authorization: str = ""
    query: Mapping[str, str] = field(init=False)
    path: str = field(init=False)

    def __post_init__(self) -> None:
        path, _, query = self.target.partition("?")
        pairs = parse_qs(query, keep_blank_values=True)
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "query", {name: values[0] for name, values in pairs.items()})

    @property
    def segments(self) -> list[str]:
        """The path's parts, decoded one by one, so that an encoded slash stays inside its part."""
        return [unquote(part) for part in self.path.strip("/").split("/")]

    def contains(self, wanted: str) -> bool:
        """Whether "METHOD path?query body" contains the text, as sent or with the address decoded."""
        body = self.body.decode(errors="replace")
        return any(wanted in f"{self.method} {line} {body}" for line in (self.target, unquote(self.target)))

    def document(self) -> dict[str, object]:
        """The body as a JSON object; RefusedError (400) where it is anything else."""
        try:
            content = json.loads(self.body, parse_constant=_no_constant)
            json.dumps(
                content, ensure_ascii=False
            ).encode()  # a lone surrogate is in no text that can be kept
        except (ValueError, RecursionError):
            raise RefusedError(
                refuse(400, "invalid_json", message="The body is not readable as JSON.")
            ) from None
        if not isinstance(content, dict):
            raise RefusedError(refuse(400, "invalid_json", message="The body must be a JSON object."))
        return content

    def fingerprint(self) -> str:
        """A digest of what the body says, whatever its spacing and the order of its members."""
        try:
            said = json.dumps(self.document(), sort_keys=True).encode()
        except RefusedError:
            said = self.body
        return hashlib.sha256(said).hexdigest()

    def reference(self) -> str | None:
        """The `metadata.operation` that the body carries, if it carries one."""
        try:
            return operation_of(self.document())
        except RefusedError:
            return None


def operation_of(document: Mapping[str, object]) -> str | None:
    """The caller's own reference in a document: the text at `metadata.operation`."""
    metadata = document.get("metadata")
    operation = metadata.get("operation") if isinstance(metadata, dict) else None
    return operation if isinstance(operation, str) else None
