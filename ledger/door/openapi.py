"""The OpenAPI document: each status that an address answers, its media type, its headers, and examples."""

from collections.abc import Sequence
from typing import Any

from django.views.decorators.http import conditional_page
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel

from ledger.door.examples import ANSWERS, REQUESTS, problems_of
from ledger.door.problems import CONTENT_TYPE
from ledger.door.schemas import AnswerOut, ProblemOut

JSON = "application/json"
KEY_HEADER: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            "description": 'The operation\'s key, instead of "key" in the body or the same as it; once.',
        }
    ]
}
ANY_EVENT: dict[str, Any] = {
    "requestBody": {
        "description": "The event as the destination sends it, with its signature in headers of its own.",
        "required": True,
        "content": {JSON: {"schema": {"type": "object"}}},
    }
}
EVERYWHERE = (400, 401, 403, 404, 408, 413, 429, 500, 503)
BY_THE_SERVER = {
    414: "The address is over 8,190 bytes; the web server says so in HTML.",
    431: "The headers are over 8 KiB; the web server says so in HTML.",
}
"""Refusals that no code of ours sees."""
AGAINST_THE_RECORD = (409,)
"""Refusals of what does not fit what is on record."""
AGAINST_ITS_PAYLOAD = (409, 422)
"""Refusals of a payload that does not fit what is on record, too."""

_RETRY_AFTER = {
    "description": "In how many seconds to ask again.",
    "schema": {"type": "integer", "minimum": 1},
}
_REPLAYED = {"description": "The answer was known before.", "schema": {"type": "string", "enum": ["true"]}}
_CHALLENGE = {"description": "How to say who calls.", "schema": {"type": "string"}}
_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": _CHALLENGE},
    **{status: {"Retry-After": _RETRY_AFTER} for status in (408, 409, 429, 503)},
}
_TOKEN = {"token": "$response.body#/attempt/token"}
_OF_ATTEMPT = {
    name: {"operationId": name, "parameters": {"uid": "$response.body#/attempt/id"}, "requestBody": _TOKEN}
    for name in ("start", "heartbeat", "outcome")
}
_OF_OPERATION = {
    name: {"operationId": name, "parameters": {"uid": "$response.body#/operation/id"}}
    for name in ("read", "correct")
}
_LINKS: dict[tuple[str, int], dict[str, Any]] = {
    ("submit", 202): _OF_OPERATION,
    ("claim", 201): _OF_ATTEMPT | _OF_OPERATION,
    ("find", 200): {"find": {"operationId": "find", "parameters": {"cursor": "$response.body#/next_cursor"}}},
}


def answering(
    *statuses: int, schema: type[BaseModel] = AnswerOut, refusing: Sequence[int] = ()
) -> dict[int, Any]:
    """Return the statuses of an address: its answers, the refusals that are alike everywhere, and its own."""
    refusals = dict.fromkeys((*EVERYWHERE, *refusing), ProblemOut) | dict.fromkeys(BY_THE_SERVER)
    return dict.fromkeys(statuses, schema) | dict(sorted(refusals.items()))


class Documented(NinjaAPI):
    """Ninja's API, which writes every error as application/json, told better."""

    def __init__(self, **options: Any) -> None:
        super().__init__(docs_decorator=conditional_page, **options)
        self._built: dict[str, OpenAPISchema] = {}

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Return the view's own name."""
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the OpenAPI document with problem documents under their own media type.

        It is built once in a process: that takes up to a second, and anybody may ask. Treat it as read only.
        """
        asked = repr(sorted(options.items()))
        if asked not in self._built:
            self._built[asked] = self._build(**options)
        return self._built[asked]

    def _build(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        for methods in schema["paths"].values():
            for method, operation in methods.items():
                _tell_request(operation)
                for status, answer in operation["responses"].items():
                    _tell_answer(answer, int(status), operation["operationId"], writes=method == "post")
        return schema


def _tell_request(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _never_null(parameter["schema"])
    if operation["operationId"] in REQUESTS:  # another floor brings its own with it
        operation["requestBody"]["content"][JSON]["examples"] = REQUESTS[operation["operationId"]]


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: what stands in an address may be left out, and is never null."""
    ways = [way for way in schema.get("anyOf", []) if way.get("type") != "null"]
    if len(ways) != 1:
        return schema
    said = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**said, **ways[0]}


def _tell_answer(answer: dict[str, Any], status: int, name: str, *, writes: bool) -> None:
    if status in BY_THE_SERVER:
        answer["content"] = {"text/html": {}}
        answer["description"] = BY_THE_SERVER[status]
    elif status >= 400:
        told = problems_of(status)
        answer["content"] = {CONTENT_TYPE: {**answer["content"].pop(JSON), "examples": told}}
        answer["description"] = ", ".join(told)
    elif (name, status) in ANSWERS:
        answer["content"][JSON]["example"] = ANSWERS[name, status]
    headers = {"Retry-After": _RETRY_AFTER, "Idempotent-Replayed": _REPLAYED} if writes else {}
    headers = _HEADERS.get(status, {}) if status >= 400 else headers
    if headers:
        answer["headers"] = headers
    if (name, status) in _LINKS:
        answer["links"] = _LINKS[name, status]
