"""`configure` looks at how a destination is reached: certificates, proxy, OAuth 2; each wrong line."""

from pathlib import Path

from ledger.models import Destination
from tests.ledger.wires import certificate
from tests.reconcile.test_configuration import BOOKS, Configure, lines, refusals
from tests.reconcile.test_configuration import configure as configure

SECURE = lines(BOOKS, "base_url", '"https://books.example.com"')


def with_lines(*added: str) -> str:
    """The file with more lines in its destination."""
    return SECURE.replace('timeout = "10s"', "\n".join(['timeout = "10s"', *added]), 1)


def test_certificates_and_proxy_are_looked_at_before_they_are_stored(
    configure: Configure, tmp_path: Path
) -> None:
    pem, none = certificate(tmp_path), tmp_path / "none.pem"
    none.write_text("nothing\n")
    wrong = with_lines(
        f'tls = {{ certificate = "file:{none}", key = "file:{tmp_path}/gone.pem", ca = "env:BOOKS_CA" }}',
        'proxy = "env:BOOKS_PROXY"',
    )
    said = refusals(configure(wrong, wrong=True, BOOKS_CA="nothing", BOOKS_PROXY="http://u:hidden@:1"))
    assert {place: words[0] for place, words in said.items()} == {
        "line 7: destinations.books.tls.certificate": "This is no certificate in PEM.",
        "line 7: destinations.books.tls.key": (
            f"The file {tmp_path}/gone.pem cannot be read; a destination's secret is read from it."
        ),
        "line 7: destinations.books.tls.ca": "This is no certificate in PEM.",
        "line 8: destinations.books.proxy": (
            "The proxy's address in BOOKS_PROXY cannot be used: it is written as "
            "http://USER:PASSWORD@HOST:PORT."
        ),
    }
    right = with_lines(
        f'tls = {{ certificate = "file:{pem}", key = "file:{pem}", ca = "env:BOOKS_CA" }}',
        'proxy = "env:BOOKS_PROXY"',
    )
    configure(right, BOOKS_CA=pem.read_text(), BOOKS_PROXY="http://u:hidden@proxy:3128")
    assert "hidden" not in str(Destination.objects.values())
    changed = configure(right.replace("env:BOOKS_PROXY", "http://proxy:3128"))
    assert "~ destination books: proxy changed\n" in changed.stdout


def test_a_way_that_cannot_be_meant_is_refused(configure: Configure, tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    for line, said in (
        ('proxy = "http://u:hidden@proxy:3128"', "Credentials never stand in this file."),
        ('proxy = "socks5://proxy:1080"', 'Write "http://HOST:PORT", env:NAME or file:PATH.'),
        (f'tls = {{ certificate = "file:{pem}" }}', 'Add the line: key = "file:PATH".'),
        (f'tls = {{ ca = "{pem}" }}', "Write file:PATH or env:NAME."),
        ("tls = {}", "Write certificate and key, or ca, or leave it out."),
    ):
        refused = configure(with_lines(line), wrong=True).stderr
        assert said in refused
        assert "hidden" not in refused
    plain = BOOKS.replace('timeout = "10s"', f'tls = {{ ca = "file:{pem}" }}', 1)
    assert "Certificates count over TLS only." in configure(plain, wrong=True).stderr
