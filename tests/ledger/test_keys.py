"""An operation's key is stable, never invented, and never shared by two source records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.keys import (
    KeyMalformed,
    KeyMissing,
    check,
    from_template,
    look_alikes,
    template_errors,
)

TEMPLATE = "order/{source.system}/{source.reference}/v{source.version}"
SOURCE = {"system": "webshop", "reference": "483", "version": "1", "run": "exec-9931"}


@pytest.mark.parametrize("key", ["", " ", "\t\n", "\u00a0", "\u200b", "\x00", "\u2028"])
def test_known_failure_20_a_blank_key_is_refused_and_none_is_invented(key: str) -> None:
    with pytest.raises(KeyMissing, match="none is invented"):
        check(key)


@pytest.mark.parametrize("part", ["system", "reference", "version"])
@pytest.mark.parametrize("value", [None, "", "  ", "\u200b"])
def test_known_failure_20_a_missing_part_of_the_template_is_named(part: str, value: str | None) -> None:
    source = {name: text for name, text in SOURCE.items() if name != part}
    if value is not None:
        source[part] = value
    with pytest.raises(KeyMissing, match=f"source.{part} is missing or blank"):
        from_template(TEMPLATE, source)


def test_every_missing_part_is_named_at_once() -> None:
    with pytest.raises(KeyMissing, match=r"source\.reference, source\.version is missing"):
        from_template(TEMPLATE, {"system": "webshop"})


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("a" * 201, "201 characters"),
        ("order\n483", "control"),
        ("order\x00483", "control"),
        ("order\x7f", "control"),
        ("order\u2028483", "control"),
        ("order\u202e384", "control"),
        ("order\u200b483", "cannot be seen"),
        ("order\ufeff483", "cannot be seen"),
        ("order\ud800", "control"),
        (" order/483", "white space"),
        ("order/483\u00a0", "white space"),
    ],
)
def test_a_key_that_could_be_mistaken_or_not_kept_is_refused(key: str, says: str) -> None:
    with pytest.raises(KeyMalformed, match=says):
        check(key)


@pytest.mark.parametrize("key", ["a", "a" * 200, "order 483", "Bestellung/Größe/483", "注文/483", "a,b"])
def test_any_other_key_stays_exactly_as_it_is(key: str) -> None:
    assert check(key) == key


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("483\n", "source.reference has control"),
        (" 483", "source.reference has white"),
        ("4" * 200, "has 217"),
    ],
)
def test_a_part_that_spoils_the_key_is_refused(reference: str, says: str) -> None:
    with pytest.raises(KeyMalformed, match=says):
        from_template(TEMPLATE, SOURCE | {"reference": reference})


def test_a_key_is_made_of_every_part_of_its_template() -> None:
    assert from_template(TEMPLATE, SOURCE) == "order/webshop/483/v1"


def test_known_failure_25_the_key_names_the_order_so_a_second_order_of_one_customer_has_its_own() -> None:
    assert from_template(TEMPLATE, SOURCE) != from_template(TEMPLATE, SOURCE | {"reference": "484"})


def test_separators_inside_a_part_are_encoded_so_that_two_records_never_share_a_key() -> None:
    one = from_template(TEMPLATE, {"system": "a/b", "reference": "c", "version": "1"})
    other = from_template(TEMPLATE, {"system": "a", "reference": "b/c", "version": "1"})
    assert (one, other) == ("order/a%2Fb/c/v1", "order/a/b%2Fc/v1")
    dashes = "{source.system}-{source.reference}"
    assert from_template(dashes, {"system": "a-b", "reference": "c"}) == "a%2Db-c"


def test_a_value_that_looks_like_a_placeholder_is_only_text() -> None:
    source = SOURCE | {"system": "{source.run}"}
    assert from_template(TEMPLATE, source) == "order/{source.run}/483/v1"


PART = st.text("ab/-%{}é", min_size=1, max_size=4)


@given(st.tuples(PART, PART, PART), st.tuples(PART, PART, PART))
def test_two_source_records_have_two_keys(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    for template in (TEMPLATE, "{source.system}-{source.reference}/-v{source.version}%"):
        keys = [
            from_template(template, dict(zip(("system", "reference", "version"), parts, strict=True)))
            for parts in (one, other)
        ]
        assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("order", "source.reference} is missing"),
        ("", "source.reference} is missing"),
        ("customer/{source.system}", "source.reference} is missing"),
        ("order/{source.reference}/{source.run}", "new for every run"),
        ("order/{reference}", "{reference} is not known"),
        ("order/{source.reference.x}", "is not known"),
        ("order/{source.reference!r}", "is not known"),
        ("order/{}/{source.reference}", "{} is not known"),
        ("order/{source.reference", "brace"),
        ("order/{{source.reference}}", "brace"),
        ("{source.system}{source.reference}", "separator"),
        ("{source.system}v{source.reference}", "separator"),
        (" order/{source.reference}", "white space"),
        ("order\n{source.reference}", "control"),
        ("o" * 200 + "{source.reference}", "201 characters"),
    ],
)
def test_a_template_that_could_not_tell_records_apart_is_refused(template: str, says: str) -> None:
    assert says in "; ".join(template_errors(template))
    with pytest.raises(ValueError, match="cannot be used"):
        from_template(template, SOURCE)


def test_every_error_of_a_template_is_found_at_once() -> None:
    assert len(template_errors("{source.run}{x} ")) == 5


@pytest.mark.parametrize("template", [TEMPLATE, "{source.reference}", "{source.system}_{source.reference}"])
def test_a_good_template_has_no_errors(template: str) -> None:
    assert template_errors(template) == []


def test_known_failure_23_keys_are_not_normalised_but_a_look_alike_is_noticed() -> None:
    composed, decomposed = "order/Zo\u00eb", "order/Zoe\u0308"
    assert (check(composed), check(decomposed)) == (composed, decomposed)
    assert decomposed in look_alikes(composed)
    assert composed in look_alikes(decomposed)
    assert look_alikes("order/\u2460") == {"order/1"}
    assert look_alikes("order/483") == set()
