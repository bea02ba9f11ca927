"""What version 1 of the API promises: its shapes in docs/api-v1.json, and what would break them.

`make promise` adds what is new to the file. It refuses where something is taken back: that is version 2.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from config.environment import ROOT

FILE = ROOT / "docs" / "api-v1.json"
JSON = "application/json"
WORDS = frozenset({"description", "summary", "title", "example", "examples", "links", "tags", "default"})
"""What is for readers, and promises nothing."""
SMALLER = ("maxLength", "maximum", "maxItems", "exclusiveMaximum")
LARGER = ("minLength", "minimum", "minItems", "exclusiveMinimum")

Node = dict[str, Any]


@cache
def served() -> Node:
    """Return the shapes that the API has now, and its kinds of problems."""
    from config.urls import api
    from ledger.rules import errors
    from reconcile.actions import AlreadyRunning
    from reconcile.api import RunNotDone

    rooms = (errors.__name__, AlreadyRunning.__module__, RunNotDone.__module__)
    document = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))
    for methods in document["paths"].values():
        for told in methods.values():
            # A refusal is promised by its kind of problem; new ones may come to an address.
            told["responses"] = {status: one for status, one in told["responses"].items() if status < "400"}
    kinds = [kind for kind in errors.kinds() if kind.__module__ in rooms]
    problems = {kind.type: [kind.status, kind.retry] for kind in kinds}
    return {
        "paths": _bare(document["paths"]),
        "schemas": _bare(document["components"]["schemas"], named=True),
        "problems": dict(sorted(problems.items())),
    }


def _bare(node: Any, *, named: bool = False) -> Any:
    """Return a node without words; below `properties` names are names, whatever they are like."""
    if isinstance(node, list):
        return [_bare(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {name: value for name, value in node.items() if named or name not in WORDS}
    return {name: _bare(value, named=name == "properties" and not named) for name, value in kept.items()}


def breaks(promised: Node, now: Node) -> list[str]:
    """Say what was promised and is no longer so; what is new breaks nothing."""
    found = [
        f"problem {kind}: gone or changed"
        for kind, meant in promised["problems"].items()
        if now["problems"].get(kind) != meant
    ]
    for path, methods in promised["paths"].items():
        for method, told in methods.items():
            where, present = f"{method.upper()} {path}", now["paths"].get(path, {}).get(method)
            if present is None:
                found.append(f"{where}: gone")
            else:
                found += _of_call(where, told, present, Shapes(promised["schemas"], now["schemas"]))
    return found


def _of_call(where: str, old: Node, new: Node, shapes: "Shapes") -> Iterator[str]:
    if "security" in new and "security" not in old:
        yield f"{where}: needs a token"
    before = {(one["in"], one["name"]): one for one in old.get("parameters", [])}
    after = {(one["in"], one["name"]): one for one in new.get("parameters", [])}
    for named in before.keys() - after.keys():
        yield f"{where} {named[1]}: gone"
    for named, one in after.items():
        if one.get("required") and not before.get(named, {}).get("required"):
            yield f"{where} {named[1]}: required"
        if named in before:
            yield from shapes.compared(
                f"{where} {named[1]}", before[named]["schema"], one["schema"], taken=True
            )
    if body := new.get("requestBody"):
        asked = old.get("requestBody", {"content": {JSON: {"schema": {"type": "object"}}}})
        yield from shapes.compared(
            where, *(one["content"][JSON]["schema"] for one in (asked, body)), taken=True
        )
    yield from _of_answers(where, old["responses"], new["responses"], shapes)


def _of_answers(where: str, old: Node, new: Node, shapes: "Shapes") -> Iterator[str]:
    """Compare what succeeds."""
    before, after = set(old), set(new)
    for status in sorted(before ^ after):
        yield f"{where} {status}: {'gone' if status in before else 'a new success'}"
    for status in sorted(before & after):
        given = [one[status]["content"][JSON]["schema"] for one in (old, new)]
        yield from shapes.compared(f"{where} {status}", *given, taken=False)
        gone = old[status].get("headers", {}).keys() - new[status].get("headers", {}).keys()
        yield from (f"{where} {status} {name}: header gone" for name in gone)


class Shapes:
    """Compares schemas: what is taken may grow wider, what is given may not."""

    def __init__(self, old: Node, new: Node) -> None:
        self.old, self.new = old, new

    def compared(self, where: str, old: Node, new: Node, *, taken: bool) -> Iterator[str]:
        """Say how a schema breaks what was promised of it."""
        old, new = _followed(old, self.old), _followed(new, self.new)
        narrow, wide = (old, new) if taken else (new, old)
        if lost := _kinds(narrow) - _kinds(wide):
            yield f"{where}: {', '.join(sorted(lost))} {'no longer taken' if taken else 'was never given'}"
        yield from self._members(where, old, new, taken=taken)
        for part in ("items", "additionalProperties"):
            if isinstance(old.get(part), dict) and isinstance(new.get(part), dict):
                yield from self.compared(f"{where}[]", old[part], new[part], taken=taken)
        ways = {_name(one): one for one in new.get("anyOf", [])}
        for one in old.get("anyOf", []):
            if _name(one) in ways:
                yield from self.compared(where, one, ways[_name(one)], taken=taken)
        if taken:
            yield from (f"{where}: {limit} is narrower" for limit in _narrower(old, new))
        elif old.get("format") != new.get("format"):
            yield f"{where}: another format"

    def _members(self, where: str, old: Node, new: Node, *, taken: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for name, schema in before.items():
            if name not in after:
                yield f"{where}.{name}: gone"
            else:
                yield from self.compared(f"{where}.{name}", schema, after[name], taken=taken)
        musts = [set(one.get("required", [])) for one in (new, old)]
        must, may = musts if taken else reversed(musts)
        for name in sorted(must - may):
            yield f"{where}.{name}: {'required' if taken else 'not always there'}"


def _followed(schema: Node, known: Node) -> Node:
    return known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _name(schema: Node) -> str:
    return str(schema.get("$ref") or schema.get("type"))


def _kinds(schema: Node) -> set[str]:
    """Return the kinds of values, or the values themselves where they are listed."""
    if "anyOf" in schema:
        return {_name(one) for one in schema["anyOf"]}
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return {str(schema.get("type", "anything"))} if listed is None else {repr(one) for one in listed}


def _narrower(old: Node, new: Node) -> Iterator[str]:
    for limit in SMALLER:
        if limit in new and new[limit] < old.get(limit, float("inf")):
            yield limit
    for limit in LARGER:
        if limit in new and new[limit] > old.get(limit, float("-inf")):
            yield limit
    yield from (rule for rule in ("pattern", "format") if rule in new and new[rule] != old.get(rule))


def main() -> None:
    """Write what is promised from now on; exit 1 where that would take something back."""
    from tests import conftest  # noqa: F401 - settings without a database

    now = served()
    if FILE.exists() and (broken := breaks(json.loads(FILE.read_text()), now)):
        sys.exit(
            "\n".join(["This takes back what version 1 promises. Keep it, or make a version 2:", *broken])
        )
    FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
