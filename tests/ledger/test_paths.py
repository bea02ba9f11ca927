"""A dotted path means one place in a value, however oddly its members are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.paths import dotted, split


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", 'a"b"', '"a', '"a"b', "a\\b", '"\\x"'])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"not a path|Invalid"):
        split(path)


@pytest.mark.parametrize(
    ("segments", "path"),
    [
        ((), "$"),
        (("lines", 0, "total"), "lines.0.total"),
        (("größe", "日本"), "größe.日本"),
        (("a.b", ""), '"a.b".""'),
        (("$amount",), '"$amount"'),
        (("first name",), '"first name"'),
        (('say "hi"',), '"say \\"hi\\""'),
        (("nul\x00",), '"nul\\u0000"'),
        (("\ud800",), '"\\ud800"'),
    ],
)
def test_odd_names_are_written_as_json_strings(segments: tuple[str | int, ...], path: str) -> None:
    assert dotted(segments) == path
    assert split(path) == tuple(map(str, segments))


@given(st.lists(st.text(max_size=6), max_size=4))
def test_a_path_reads_back_as_the_names_it_was_made_of(names: list[str]) -> None:
    assert split(dotted(names)) == tuple(names)
    assert dotted(names).isprintable()
