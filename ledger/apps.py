"""Makes this floor known to Django."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The ledger floor."""

    name = "ledger"
    default_auto_field = "django.db.models.BigAutoField"
