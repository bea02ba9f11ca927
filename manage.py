#!/usr/bin/env python
"""Django's command line, with the embedded database started where a command needs it."""

import os
import sys

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


def main() -> None:
    """Run one command; what is wrong with the settings is said in words, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from config import environment, postgres

        environment.read()
        if len(sys.argv) > 1 and sys.argv[1] not in WITHOUT_DATABASE:
            postgres.ensure()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
