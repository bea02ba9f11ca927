"""A sample's archive: each pack as JSON and as a page, a list, and how it was drawn; made as it is sent."""

import io
import zipfile
from collections.abc import Iterator

from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from ledger.models import Operation
from review import evidence, sample_page
from review.models import Sample

README = """A sample of {drawn} operations, drawn by {who} on {at} UTC.

sample.json   how it was drawn: population, count, totals, seal, seed, way and size
sample.csv    what was drawn
packs/        for each operation its evidence, as JSON and as a page for a browser or for paper

The same seed draws the same again: on the sample's page, or by anybody who has the population's ids.
In each pack stands the seal that covers its trail; "manage.py verify_audit --kept {seal}:{head}" proves that
nothing up to that seal was changed since.
"""


class _Sink(io.RawIOBase):
    """What a zip file is written into: it cannot go back, and gives away what it has."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = bytearray()

    def writable(self) -> bool:
        """Say that it takes bytes."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Take some."""
        self._kept += data
        return len(data)

    def taken(self) -> bytes:
        """Give what came since the last time."""
        given = bytes(self._kept)
        self._kept.clear()
        return given


def parts(sample: Sample, person: User) -> Iterator[bytes]:
    """Yield the archive piece by piece, a pack at a time, as this person may see it."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _files(sample, person):
            archive.writestr(_named(name, sample), text)
            yield sink.taken()
    yield sink.taken()


def _files(sample: Sample, person: User) -> Iterator[tuple[str, str]]:
    at = f"{sample.drawn_at:%Y-%m-%d %H:%M:%S}"
    told = {
        "drawn": len(sample.items),
        "who": sample.drawn_by,
        "at": at,
        "seal": sample.seal,
        "head": sample.head,
    }
    yield "README.txt", README.format(**told)
    yield "sample.json", sample_page.written(sample)
    yield "sample.csv", "".join(sample_page.table(sample, person).csv())
    for style in ("console.css", "print.css"):
        with open(str(finders.find(style)), encoding="utf-8") as file:
            yield f"packs/{style}", file.read()
    for place, item in enumerate(sample.items, 1):
        whole = Operation.objects.select_related("operation_type__destination")
        pack = evidence.read(whole.get(uid=item["id"]), person)
        name = f"packs/{place:03}-{item['id']}"
        yield f"{name}.json", pack.written()
        yield (
            f"{name}.html",
            render_to_string("review/evidence_file.html", {"pack": pack, "now": pack.made_at}),
        )


def _named(name: str, sample: Sample) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, sample.drawn_at.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info
