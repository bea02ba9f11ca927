"""What goes into the logs when the database refuses: kinds and places, and nobody's name."""

import copy
import io
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import Error, connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.log import log_response

from tests.databases import Database, Template

ROW = "INSERT INTO ledger_event (actor, reason) VALUES ('Thandi', '082 555 0100')"
WRONG = "SELECT 'Thandi' FROM ledger_event WHERE nobody = '082 555 0100'"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the application's own handler writes for the logger `logged`."""
    wanted: dict[str, Any] = copy.deepcopy(settings.LOGGING)
    (handler,) = wanted["handlers"].values()
    configurator = logging.config.DictConfigurator(wanted)
    stream = logging.StreamHandler(said := io.StringIO())
    stream.setFormatter(configurator.configure_formatter(wanted["formatters"][handler["formatter"]]))
    log = logging.getLogger("logged")
    log.addHandler(stream)
    yield said
    log.removeHandler(stream)


@pytest.mark.parametrize("statement", [ROW, WRONG])
def test_no_row_reaches_the_log_whichever_way_it_is_written(
    database: Database, lines: io.StringIO, statement: str
) -> None:
    log = logging.getLogger("logged")
    with connection.cursor() as cursor, pytest.raises(Error, match="Thandi") as refused:
        cursor.execute(statement)
    error = refused.value
    log.error("refused", exc_info=error)
    log.warning("refused: %s", error)
    log.warning("refused: %(why)s", {"why": error})
    log.warning(error)
    log.warning(f"refused: {error} : Traceback (most recent call last): there")
    try:
        raise RuntimeError(f"It failed: {error}") from error
    except RuntimeError:
        log.exception("refused again")
    said = lines.getvalue()
    assert "Thandi" not in said
    assert "082 555" not in said
    assert "RuntimeError: It failed: " in said
    assert "Error 23502" in said or "Error 42703" in said
    assert "test_logs.py" in said


@pytest.mark.parametrize("statement", [ROW, WRONG])
def test_no_row_reaches_the_databases_own_log(database: Database, template: Template, statement: str) -> None:
    with psycopg.connect(database.app_url) as session, pytest.raises(psycopg.Error):
        session.execute(statement.encode())
    log = (template.folder / "postgres" / "server.log").read_text()
    assert "ERROR:" in log
    assert "Thandi" not in log
    assert "082 555" not in log


def test_that_it_is_not_ready_yet_is_no_error(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever asks is told; any other answer of that kind stands in the log."""
    answer = Client().get("/readyz")
    assert answer.status_code == 503 and "has just started" in answer.content.decode()
    assert not caplog.records
    request = RequestFactory().get("/api/v1/operations")
    log_response("%s: %s", "Unavailable", request.path, response=HttpResponse(status=503), request=request)
    assert [record.status_code for record in caplog.records] == [503]  # type: ignore[attr-defined]
