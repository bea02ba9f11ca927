"""The OpenAPI document: which statuses an address answers, and which of them are problem documents."""

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel

from ledger.door.problems import CONTENT_TYPE
from ledger.door.schemas import AnswerOut, ProblemOut

KEY_HEADER: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": False,
            "schema": {"type": "string", "maxLength": 200},
            "description": 'The operation\'s key, instead of "key" in the body or the same as it; once.',
        }
    ]
}
PROBLEMS = (400, 401, 403, 404, 405, 409, 413, 422, 500, 503)


def answering(*statuses: int, schema: type[BaseModel] = AnswerOut) -> dict[int, Any]:
    """Return the statuses that an address answers, with its schema; the refusals are alike everywhere."""
    return {**dict.fromkeys(statuses, schema), **dict.fromkeys(PROBLEMS, ProblemOut)}


class Documented(NinjaAPI):
    """Ninja's API, which writes every error as application/json, told better."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Return the view's own name."""
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the OpenAPI document with problem documents under their own media type."""
        schema = super().get_openapi_schema(**options)
        for methods in schema["paths"].values():
            for operation in methods.values():
                for status, answer in operation["responses"].items():
                    if status in PROBLEMS:
                        answer["content"] = {CONTENT_TYPE: answer["content"].pop("application/json")}
        return schema
