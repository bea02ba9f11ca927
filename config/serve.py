"""One machine, production settings: the pages, the API and the worker, for `make serve`."""

import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured

from config import environment, postgres
from config.processes import Processes, Stopped, gunicorn, manage, prepare


def main() -> None:
    """Serve until somebody asks to stop; what is wrong is said in words, exit 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        known = environment.read()
        if known.debug:
            raise ImproperlyConfigured(
                "DEBUG is on: its pages show what must stay inside. Unset it to serve."
            )
        with Processes() as processes:
            postgres.ensure()
            django.setup()
            prepare()
            processes.start("web server", *gunicorn(known.bind, known.port))
            processes.start("worker", *manage("worker"))
            print(f"Tieout serves http://{known.bind}:{known.port}/", flush=True)
            processes.watch()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except Stopped:
        pass


if __name__ == "__main__":
    main()
