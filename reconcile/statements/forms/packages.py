"""A workbook's archive: weighed before anything of it expands, and what it says of its sheets and styles."""

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from defusedxml.common import DefusedXmlException
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.datetime import from_excel
from openpyxl.xml.constants import SHARED_STRINGS

from reconcile.histories.files import FileRefused
from reconcile.statements.forms import markup
from reconcile.statements.forms.markup import NoXml
from reconcile.statements.forms.sheets import Texts
from reconcile.statements.opening import File

PACKED_MAX = 60 * 2**20
EXPANDED_MAX = 600 * 2**20
TEXTS_MAX = 100 * 2**20
"""The texts of a workbook stand in memory while it is read."""
PART_MAX, TAGS_MAX = 8 * 2**20, 300_000
"""What is read whole, such as styles: in bytes, and in tags."""
RATIO_MAX, RATIO_FROM = 100, 2**20
"""What is larger than a mebibyte may be packed to a hundredth at best."""
BROKEN = (
    AttributeError,
    BadZipFile,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What a workbook that is none, or that says what no workbook says, makes the library raise."""
OWN_FORMATS_FROM = 164
"""Below stand the formats that every spreadsheet has."""
FORMAT_MAX = 255
"""No spreadsheet writes a longer format; each number would be padded to it."""

warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")  # of styles and extensions


class Members(ZipFile):
    """An archive whose members are read whole only where they are small; raises NoXml."""

    def read(self, name: str | ZipInfo, pwd: bytes | None = None) -> bytes:
        """Read a member."""
        member = name if isinstance(name, ZipInfo) else self.getinfo(name)
        content = super().read(member, pwd) if member.file_size <= PART_MAX else b""
        if member.file_size > PART_MAX or content.count(b"<") > TAGS_MAX:
            raise NoXml(f"{member.filename[:60]} holds more than a workbook's own parts hold")
        return content


@dataclass
class Package:
    """An open workbook: its sheets by name, each with where it stands, and those that can be seen."""

    archive: ZipFile
    book: Any
    manifest: Any
    sheets: dict[str, str]
    visible: list[str]

    @cached_property
    def texts(self) -> list[str]:
        """The texts that its cells share."""
        part = self.manifest.find(SHARED_STRINGS)
        if part is None:
            return []
        member = self.archive.getinfo(part.PartName[1:])
        if member.file_size > TEXTS_MAX:
            raise NoXml(f"its texts have more than {TEXTS_MAX} bytes")
        with self.archive.open(member) as source:
            return list(markup.made(Texts(), source))

    def source(self, sheet: str) -> IO[bytes]:
        """Open a sheet to read."""
        return self.archive.open(self.sheets[sheet])

    def day(self, serial: float, style: int) -> date | None:
        """Return a number as a day, where its style shows one; raises where there is none."""
        if style not in self.book._date_formats:
            return None
        moment = from_excel(serial, self.book.epoch)
        return moment.date() if isinstance(moment, datetime) else None

    def zeros(self, style: int) -> int:
        """Return how many digits a number is shown with at least, where its format is noughts alone."""
        number = self.book._cell_styles[style].numFmtId - OWN_FORMATS_FROM
        form = self.book._number_formats[number] if number >= 0 else ""
        return len(form) if 1 < len(form) <= FORMAT_MAX and not form.strip("0") else 0


@contextmanager
def opened(file: File) -> Iterator[Package]:
    """Open a workbook; FileRefused where it is none, or one that is not to be opened."""
    try:
        with file.raw() as raw:
            _weighed(file, raw)
            raw.seek(0)
            reader = ExcelReader(raw, read_only=True, data_only=True, keep_links=False)
            reader.archive.close()
            with Members(raw) as reader.archive:
                reader.read_manifest()
                reader.read_workbook()
                apply_stylesheet(reader.archive, reader.wb)
                found = [
                    (sheet, rel) for sheet, rel in reader.parser.find_sheets() if "chart" not in rel.Type
                ]
                sheets = {sheet.name: rel.target for sheet, rel in found}
                visible = [sheet.name for sheet, _ in found if sheet.state == "visible"]
                yield Package(reader.archive, reader.wb, reader.package, sheets, visible)
    except NoXml as error:
        raise FileRefused(
            f"{file.name} cannot be read as a workbook ({error}). Save it again as XLSX."
        ) from None
    except BROKEN as error:
        entities = any(isinstance(one, DefusedXmlException) for one in (error, error.__cause__))
        why = " (it declares entities)" if entities else ""
        raise FileRefused(f"{file.name} cannot be read as a workbook{why}. Save it again as XLSX.") from None


def _weighed(file: File, raw: IO[bytes]) -> None:
    """Refuse what would expand beyond the limits, by what the archive itself says, before anything expands.

    A member that says less than it holds is cut there, and refused by its checksum.
    """
    if file.size > PACKED_MAX:
        raise FileRefused(f"{file.name} is a workbook of more than 60 MB. Export it as CSV, or fewer days.")
    with ZipFile(raw) as archive:
        members = archive.infolist()
    names = {member.filename for member in members}
    if "xl/workbook.xml" not in names:
        what = "a binary workbook" if "xl/workbook.bin" in names else "a zip and no XLSX workbook"
        raise FileRefused(f"{file.name} is {what}, which is not read here. Save it as XLSX or CSV.")
    if any(name.lower().endswith("vbaproject.bin") for name in names):
        raise FileRefused(f"{file.name} has macros, and is not opened. Save it as XLSX, without them.")
    if any(member.flag_bits & 1 for member in members):
        raise FileRefused(f"{file.name} has a password. Save it without one.")
    dense = any(
        member.file_size > RATIO_FROM and member.file_size > RATIO_MAX * member.compress_size
        for member in members
    )
    if dense or sum(member.file_size for member in members) > EXPANDED_MAX:
        raise FileRefused(
            f"{file.name} would expand to far more than a workbook of its size holds, and is not opened."
            " Export it as CSV."
        )
