"""Lines of a TOML text: every value that the standard library reads has one, and it is the right one."""

import json
import tomllib
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from reconcile.configuration.positions import positions
from reconcile.configuration.wrongs import Path

HARD = '''\
top = "line 1"   # a comment with [brackets] = and "quotes"
"quoted.key" = 'line 2'
dotted . "key".here = """
still "line 3" \\"""
# no comment""" # a comment
  [ table . "a.b" ]  # spaces
inner = [ "line 7", [
    "line 8", # , ]
    { deep = "line 9", "and" = { deeper = """line 9""" } },
  ],
]
date = 1979-05-27 07:32:00
number = -1_000.5e3
literal = \'\'\'
  ' " line 14 # \'\'\'
empty = """"""
quoted_end = """line 17 """"
[[many]]
name = "line 19"
[[many]]
name = "line 21"
[many.below]
name = "line 23"
[[many.more]]
name = "line 25"
'''


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def test_every_value_of_a_hard_text_has_its_line() -> None:
    found = positions(HARD)
    for path, value in leaves(tomllib.loads(HARD)):
        assert path in found, path
        if "line " in str(value) and path[-1] not in ("here", "literal"):
            assert f"line {found[path]}" in str(value), path
    assert found["dotted", "key", "here"] == 3
    assert found["table", "a.b"] == 6
    assert found["table", "a.b", "date"] == 12
    assert found["many", 1, "more", 0] == 24


KEYS = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=6)
VALUES = st.recursive(
    st.integers(0, 9)
    | st.booleans()
    | st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def written(value: object) -> str:
    """A value in one line of TOML; JSON's texts are TOML's, but for characters beyond the basic plane."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(name)} = {written(inner)}" for name, inner in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + " , ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3))
def test_any_text_is_found_line_by_line(tables: dict[str, dict[str, object]]) -> None:
    text = ""
    expected: dict[Path, int] = {}
    for name, table in tables.items():
        text += f"# comment\n[{json.dumps(name)}]\n"
        expected[name,] = text.count("\n")
        for key, value in table.items():
            text += f"{json.dumps(key)} = {written(value)}\n"
            expected[name, key] = text.count("\n")
    found = positions(text)
    assert {path: found[path] for path in expected} == expected
    assert {path for path, _ in leaves(tomllib.loads(text))} <= set(found)
