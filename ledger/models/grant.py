"""Grants: what a token endpoint gave us, sealed, for all workers and across restarts."""

from django.db import models

from ledger.models.destination import Destination


class Grant(models.Model):
    """The access that one client has by one sign-in; destinations that share these share the row.

    One process at a time renews it: who has written its `holder`, until `held_until`. It holds no lock.
    """

    origin = models.CharField(max_length=64, unique=True)
    """Digest of token endpoint, client and sign-in as they are configured: another one is another grant."""
    destination = models.ForeignKey(Destination, on_delete=models.PROTECT, related_name="grants")
    """The one that used it last."""
    sealed = models.BinaryField(null=True)
    """The access token, and the refresh token that came last."""
    version = models.PositiveIntegerField(default=0)
    issued_at = models.DateTimeField(null=True)
    renew_at = models.DateTimeField(null=True)
    """From when it is renewed although it is still good; null where its end is not known."""
    ends_at = models.DateTimeField(null=True)
    holder = models.UUIDField(null=True)
    held_until = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)
    """When a renewal began of whose end nothing is known yet: what it brought may be lost."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="grant_given",
                condition=models.Q(sealed__isnull=True, issued_at__isnull=True)
                | models.Q(sealed__isnull=False, issued_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.origin[:12]
