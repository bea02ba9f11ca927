"""Makes this floor known to Django."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """The review floor."""

    name = "review"
    default_auto_field = "django.db.models.BigAutoField"
