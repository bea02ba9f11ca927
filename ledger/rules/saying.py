"""Answers in people's own words: one word for none, one for not known, and no other way to say either."""

import re

NONE, UNKNOWN = "none", "unknown"

_UNCLEAR = re.compile(
    r"(none|no|not|nothing|nobody|nowhere|never|nil|null|n/?a|tb[ad]|todo|unknown|unclear|unsure"
    r"|do(n.t| not) know)"
    r"(?![\w.-])",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    r"\brandom|\b(each|every|per) (time|call|request|try|attempt|retry|repeat|run|execution)\b|^uuid ?4?$",
    re.IGNORECASE,
)
"""Words of a key that each repeat makes anew."""


def says(said: str, word: str) -> bool:
    """Say whether an answer is one of the two words, whatever its case."""
    return said.strip().casefold() == word


def is_known(said: str) -> bool:
    """Say whether an answer tells something: neither of the two words, nor a near miss of them."""
    return bool(said) and not (says(said, NONE) or says(said, UNKNOWN) or _near(said))


def is_key(said: str) -> bool:
    """Say whether an answer tells what a key is made of, and not that each repeat has another."""
    return is_known(said) and not _ANOTHER.search(said)


def check_key(said: str) -> str:
    """Return what a key is said to be made of; ValueError says how to write it."""
    if _near(said) or (is_known(said) and not is_key(said)):
        raise ValueError(
            f'"{said}" does not say what its key is made of; write "none" where each repeat has another key,'
            ' "unknown" where nobody knows, or what it is made of, such as "order number and version"'
        )
    return said


def check_told(said: str) -> str:
    """Return who is said to be told; ValueError says how to write it."""
    if _near(said):
        raise ValueError(
            f'"{said}" does not say who is told; write "none" where nobody is, "unknown" where nobody knows,'
            ' or who is, such as "mail to shop@example.com"'
        )
    return said


def _near(said: str) -> bool:
    """Say whether it means one of the two words without being it, or says nothing at all."""
    if not said or says(said, NONE) or says(said, UNKNOWN):
        return False
    return "@" not in said and (not re.search(r"\w", said) or bool(_UNCLEAR.match(said.strip())))
