"""docs/recipes/crontab, line by line as cron runs it: the report goes out once a day, whatever happens."""

import re
import sys

from ledger.models import Operation
from tests.recipes.shops import RECIPES, Shop

REPORT = "#!/bin/sh\necho sent >> sent\n[ -e deadly ] && kill -9 $PPID\nexit 0\n"


def lines(shop: Shop) -> list[str]:
    """The commands of the crontab, as cron hands them to a shell, in the folder of this test."""
    text = (RECIPES / "crontab").read_text()
    given = re.findall(r"^[\d*][^a-z]*?  ?(python3 .*)$", text, re.M)
    assert len(given) == 3 == sum(not re.match(r"#|\w+=|$", line) for line in text.splitlines())
    (shop.folder / "nightly-report").write_text(REPORT)
    (shop.folder / "nightly-report").chmod(0o755)
    places = {"python3": sys.executable, "/opt/shop": str(shop.folder), r"\%": "%"}
    for place, here in places.items():
        given = [line.replace(place, here) for line in given]
    return given


def test_the_report_is_sent_once_and_a_killed_one_comes_to_a_person(shop: Shop) -> None:
    first, again, flush = lines(shop)
    sent, day = shop.folder / "sent", {"PATH": "/usr/bin:/bin"}
    assert shop.ran("/bin/sh", "-c", first, **day) == (0, "")
    for line in (first, again, again):
        status, words = shop.ran("/bin/sh", "-c", line, **day)
        assert (status, words.endswith(": skip. It is done.\n")) == (0, True)
    assert shop.ran("/bin/sh", "-c", flush, **day) == (0, "")
    assert sent.read_text() == "sent\n"

    [operation] = Operation.objects.filter(operation_type__name="report.send")
    assert re.fullmatch(r"report/\d{4}-\d\d-\d\d", operation.key)
    (shop.folder / "deadly").touch()
    another = first.replace("date +", "date -d tomorrow +")
    assert shop.ran("/bin/sh", "-c", another, **day)[0] == 137
    shop.time_passes()
    status, words = shop.ran("/bin/sh", "-c", another, **day)
    assert (status, "/operations/" in words) == (76, True)
    assert sent.read_text() == "sent\nsent\n"
