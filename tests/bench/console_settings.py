"""The product's settings, with the Django admin beside it: it is measured, not used."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as OURS

INSTALLED_APPS = [*OURS, "django.contrib.admin"]
ROOT_URLCONF = "tests.bench.console_urls"
ALLOWED_HOSTS = ["testserver"]
