"""XML as events, a piece at a time: no entity is expanded, and nothing from outside is fetched."""

from collections.abc import Collection, Iterator
from typing import IO, Generic, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder  # only to build what the parser below has read
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

PIECE = 2**16
ELEMENTS_MAX = 500_000
"""With their attributes."""
TAG_MAX = 2**20
"""How many bytes are read at most until a tag, or what else the parser keeps whole, ends."""
Made = TypeVar("Made")


class NoXml(ValueError):
    """It cannot be read as XML; the words say why."""


class Maker(ContentHandler, Generic[Made]):
    """Takes events, and keeps in `made` what it makes of them, until that is taken."""

    def __init__(self) -> None:
        """Begin with nothing made."""
        super().__init__()
        self.made: list[Made] = []
        self.text: list[str] | None = None
        """The text that is read, where one is wanted."""

    def begin(self, name: str, attrs: AttributesImpl) -> None:
        """Take the beginning of an element; its name has no prefix."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def weigh(self) -> None:
        """Look at what is kept after each piece; NoXml where it is more than any file needs."""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        """Begin an element."""
        self.begin(name.rpartition(":")[2], attrs)

    def endElement(self, name: str) -> None:  # noqa: N802
        """End an element."""
        self.end(name.rpartition(":")[2])

    def characters(self, content: str) -> None:
        """Keep text that is wanted."""
        if self.text is not None:
            self.text.append(content)


def made(maker: Maker[Made], source: IO[bytes]) -> Iterator[Made]:
    """Yield what a maker makes of a source, as it is read; raises NoXml."""
    parser = DefusedExpatParser()
    parser.setContentHandler(maker)
    place: tuple[int, int | None] = (0, 0)
    waited = 0
    try:
        while piece := source.read(PIECE):
            parser.feed(piece)
            maker.weigh()
            before, place = place, (parser.getLineNumber(), parser.getColumnNumber())
            waited = waited + len(piece) if place == before else 0
            if waited > TAG_MAX:
                raise NoXml(f"line {place[0]}: a tag has more than {TAG_MAX} bytes")
            yield from maker.made
            maker.made.clear()
        parser.close()
        yield from maker.made
        maker.made.clear()
    except SAXParseException as error:
        raise NoXml(f"line {error.getLineNumber()}: {error.getMessage()}") from None
    except DefusedXmlException:
        raise NoXml("it declares entities, which are not expanded here") from None
    except NoXml:
        raise
    except (LookupError, ValueError) as error:  # of an encoding that the parser does not know, or a maker
        remedy = ": export it as UTF-8" if "encoding" in str(error) else ""
        raise NoXml(f"{str(error)[:100]}{remedy}") from None


Part = tuple[str, Element]
"""An element's name, and the element with all that is in it; names are without prefixes."""


class Parts(Maker[Part]):
    """Makes whole elements of those that are wanted, and empty ones where others begin."""

    def __init__(self, wanted: Collection[str], begun: Collection[str]) -> None:
        """Take the names of both."""
        super().__init__()
        self._wanted, self._begun = wanted, begun
        self._builder: TreeBuilder | None = None
        self._depth = self._held = 0

    def begin(self, name: str, attrs: AttributesImpl) -> None:
        """Begin a part, or something in it."""
        if self._builder is None:
            if name in self._begun:
                self.made.append((name, Element(name)))
            if name not in self._wanted:
                return
            self._builder, self._depth, self._held = TreeBuilder(), 0, 0
        self._depth, self._held = self._depth + 1, self._held + 1 + len(attrs)
        if self._held > ELEMENTS_MAX:
            raise NoXml(f"one part of it has more than {ELEMENTS_MAX} elements and attributes")
        self._builder.start(name, dict(attrs.items()))

    def characters(self, content: str) -> None:
        """Keep the text of a part."""
        if self._builder is not None:
            self._builder.data(content)

    def end(self, name: str) -> None:
        """End a part, or something in it."""
        if self._builder is None:
            return
        self._builder.end(name)
        self._depth -= 1
        if not self._depth:
            self.made.append((name, self._builder.close()))
            self._builder = None
