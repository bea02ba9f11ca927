#!/usr/bin/env python
"""Django's command line, with the embedded database started where a command needs it."""

import os
import signal
import sys
from types import FrameType

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

# They read code, never rows; everything else finds its database running.
WITHOUT_DATABASE = {
    "check",
    "collectstatic",
    "diffsettings",
    "findstatic",
    "help",
    "makemigrations",
    "version",
}


# They stop in an order of their own.
WITH_OWN_STOP = {"qcluster", "worker"}


def main() -> None:
    """Run one command; what is wrong with the settings is said in words, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from config import environment, postgres

        environment.read()
        command = sys.argv[1] if len(sys.argv) > 1 else "help"
        if command not in WITH_OWN_STOP:
            signal.signal(signal.SIGTERM, _leave)
        if command not in WITHOUT_DATABASE:
            postgres.ensure()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def _leave(number: int, frame: FrameType | None) -> None:
    # An ordinary end, so that the last one out still stops the embedded database.
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
