"""Makes this floor known to Django."""

from django.apps import AppConfig


class ReconcileConfig(AppConfig):
    """The reconcile floor."""

    name = "reconcile"
    default_auto_field = "django.db.models.BigAutoField"
