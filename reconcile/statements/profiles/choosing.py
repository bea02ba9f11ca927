"""A profile chosen for a file: it is known, and what a person states besides it counts before it."""

from collections.abc import Mapping
from typing import Any

from reconcile.configuration.wrongs import choices
from reconcile.histories.files import FileRefused
from reconcile.statements.profiles.models import Profile
from reconcile.statements.profiles.rules import ProfileRules
from reconcile.statements.stating import How


def known(name: str) -> ProfileRules:
    """Return what the profile of this name says; FileRefused with what there is where there is none."""
    found = Profile.objects.filter(name=name).first()
    if found is None:
        names = list(Profile.objects.values_list("name", flat=True))
        remedy = choices(name, names, none="None is configured: docs/compare.md tells how.")
        raise FileRefused(f'There is no profile "{name[:100]}". {remedy}')
    return found.said


def how(
    side: str, named: Mapping[str, str], *, profile: str, said: ProfileRules | None, **stated: Any
) -> How:
    """Return how a file is to be read: as stated, and where nothing is, as its profile says."""
    if said is None:
        return How(side, named, **stated)
    by_profile = {
        "encoding": said.encoding,
        "decimal": said.decimal,
        "days": said.days,
        "sheet": said.sheet,
        "unit": "minor" if said.unit == "minor" else "",
    }
    trailer = said.trailer
    return How(
        side,
        {**said.named, **named},
        **stated | {what: stated.get(what) or value for what, value in by_profile.items()},
        profile=profile,
        profile_digest=said.digest,
        by_profile=frozenset(what for what, value in by_profile.items() if value and not stated.get(what)),
        form=said.form,
        separator=said.separator,
        header=said.header or 0,
        sums=frozenset(words.strip(" \t\u00a0:").casefold() for words in said.sums),
        trailer=None if trailer is None else (trailer.begins, trailer.count or 0, trailer.total or 0),
        negated=said.sign == "negated",
        timezone=said.timezone or "",
    )
