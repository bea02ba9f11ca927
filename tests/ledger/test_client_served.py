"""The clients as they are downloaded: whole, with version and digest, and asked for once."""

import hashlib

import httpx
import pytest

from ledger.door import client
from tests.clients import CLIENT
from tests.doors import Api
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving

SERVED = {"tieout_client.py": CLIENT, "tieout_client.mjs": CLIENT.with_suffix(".mjs")}


@pytest.mark.parametrize("name", SERVED)
def test_it_is_served_whole_with_version_and_digest_and_not_twice(api: Api, name: str) -> None:
    address = f"{api.server.url}/client/{name}"
    answer = httpx.get(address)
    first, _, text = answer.content.partition(b"\n")
    assert text == SERVED[name].read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    assert first.decode().lstrip("#/ ").startswith(f"Tieout client {client.__version__}; SHA-256")
    assert first.decode().endswith(digest)
    assert answer.headers["ETag"] == f'"{digest}"'
    again = httpx.get(address, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_both_languages_have_one_version() -> None:
    assert f'VERSION = "{client.__version__}"' in SERVED["tieout_client.mjs"].read_text()


def test_no_other_file_is_served(api: Api) -> None:
    for name in ("client.py", "api.py", "..%2fapi.py"):
        assert httpx.get(f"{api.server.url}/client/{name}").status_code == 404
    assert httpx.post(f"{api.server.url}/client/tieout_client.py").status_code in (403, 405)
