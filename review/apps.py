"""Makes this floor known to Django."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_save

from ledger.rules import actors


class ReviewConfig(AppConfig):
    """The review floor."""

    name = "review"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let no account have a name of software, hear of sign-ins, and say how an audit is agreed to."""
        from django.contrib.auth.models import User

        from review import auditing, signing_in

        pre_save.connect(_named, sender=User, dispatch_uid="a person's name")
        signing_in.connect()
        auditing.connect()


def _named(instance: Any, update_fields: frozenset[str] | None = None, **_: Any) -> None:
    if update_fields is None or "username" in update_fields:
        actors.person(instance.get_username())
