"""What a person chooses about their digest; nobody else changes it."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from review.forms import DigestForm
from review.models import Reader


def form_of(person: User) -> DigestForm:
    """Return the form with what a person has chosen, or with what holds for who has chosen nothing."""
    reader = Reader.objects.filter(person=person).first()
    plain = Reader._meta.get_field("digest_at").db_default.value  # type: ignore[union-attr]
    chosen: dict[str, Any] = {"email": person.email, "on": True, "at": plain}
    if reader is not None:
        chosen |= {"on": not reader.digest_off, "at": reader.digest_at, "weekends": reader.weekends}
        chosen |= {"quiet_from": reader.quiet_from, "quiet_until": reader.quiet_until}
    return DigestForm(initial=chosen)


def keep(person: User, said: dict[str, Any]) -> str:
    """Keep what a person has chosen; return what follows from it, in words."""
    chosen = {
        "digest_off": not said["on"],
        "digest_at": said["at"],
        "weekends": said["weekends"],
        "quiet_from": said["quiet_from"],
        "quiet_until": said["quiet_until"],
        "digest_due_at": None,
    }
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(email=said["email"])
        Reader.objects.update_or_create(person=person, defaults=chosen)
    if not said["on"]:
        return "Kept. No digest comes; what concerns you still stands under the bell."
    if not said["email"]:
        return "Kept. Without an address no digest comes."
    if not settings.MAIL:
        return "Kept. No digest comes yet: this installation has no mail server."
    return f"Kept. Your digest comes at {said['at']:%H:%M}, where anything waits for you."
