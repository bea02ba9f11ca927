"""The navigation: one list, of which each person sees what they may use; each page knows its place."""

import re
from dataclasses import replace
from unittest.mock import patch

from review import navigation
from tests import stories
from tests.people import browser_of

TAB = re.compile(r'<li><a href="([^"]+)"( aria-current="page")?>([^<]+?) ?<')


def tabs(name: str, address: str) -> list[tuple[str, str, str]]:
    html = browser_of(name).get(address).content.decode()
    pages = re.search(r'aria-label="Pages">(.*?)</nav>', html, re.S)
    assert pages is not None
    return TAB.findall(pages[1])


def test_each_tab_leads_to_a_page_that_marks_it_and_nobody_sees_one_that_they_may_not_use(
    durban: stories.Durban,
) -> None:
    durban.silent(483)
    shown = tabs("vic", "/queue/")
    assert [words for _, _, words in shown] == [tab.words for tab in navigation.TABS]
    for address, _, words in shown:
        there = tabs("vic", address)
        assert [name for _, current, name in there if current] == [words], address
    last = replace(navigation.TABS[-1], right="resume")
    with patch.object(navigation, "TABS", (*navigation.TABS[:-1], last)):
        assert len(tabs("ada", "/queue/")) == len(shown)
        assert [words for _, _, words in tabs("vic", "/queue/")] == [words for _, _, words in shown[:-1]]
    assert tabs("nora", "/queue/") == [], "who has no role may use none"
