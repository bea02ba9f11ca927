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
            f"The file {tmp_path}/gone.pem cannot be read; a secret is read from it."
        ),
        "line 7: destinations.books.tls.ca": "This is no certificate in PEM.",
        "line 8: destinations.books.proxy": (
            "The proxy's address in BOOKS_PROXY cannot be used: it is written as http://HOST:PORT, or with "
            "USER:PASSWORD@ before the host."
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


OAUTH2 = 'kind = "oauth2", token_url = "{}", client_id = "{}", client_secret = "env:BOOKS_SECRET"'


def test_oauth2_is_looked_at_before_it_is_stored(configure: Configure) -> None:
    signed_in = 'refresh_token = "env:BOOKS_REFRESH", client_auth = "body"'
    there, away = "https://login.example.com/token", "http://login.example.com/token"
    wrong = with_lines(f"auth = {{ {OAUTH2.format(away, 'env:BOOKS_CLIENT')}, {signed_in} }}")
    said = refusals(configure(wrong, wrong=True))
    assert {place.rpartition(".")[2]: words[0].partition(";")[0] for place, words in said.items()} == {
        "token_url": "The client's secret cannot be sent there safely.",
        "client_id": "The environment variable BOOKS_CLIENT is not set",
        "client_secret": "The environment variable BOOKS_SECRET is not set",
        "refresh_token": "The environment variable BOOKS_REFRESH is not set",
    }
    kept = {"BOOKS_SECRET": "sk_do_not_print", "BOOKS_REFRESH": "rt_do_not_print"}
    right = with_lines(f"auth = {{ {OAUTH2.format(there, 'plain')}, {signed_in} }}")
    configure(right, **kept)
    assert "do_not_print" not in str(Destination.objects.values())
    assert "nothing changes" in configure(right).stdout
    other = configure(right.replace('"body"', '"basic"'))
    assert "~ destination books: auth.client_auth changed\n" in other.stdout
    neither = configure(right.replace('"body"', '"jwt"'), wrong=True)
    assert "basic, body" in neither.stderr


def test_a_rate_that_stands_still_is_refused_and_one_that_counts_needs_no_note(configure: Configure) -> None:
    said = refusals(configure(with_lines("rate = { per_second = 0.01, concurrency = 0 }"), wrong=True))
    assert [words[1] for words in said.values()] == ["Write at least 0.1.", "Write at least 1."]
    assert "rate" not in configure(with_lines("rate = { per_second = 0.5, concurrency = 2 }")).stdout


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
