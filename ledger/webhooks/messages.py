"""What a webhook says and how it is signed (Standard Webhooks, standardwebhooks.com)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from standardwebhooks import Webhook as Signer

from ledger.door import answers
from ledger.models import Delivery, Webhook


@dataclass
class _Outside:
    """Where people reach this installation, for what is told without a request, and who is told."""

    auth: Webhook

    def build_absolute_uri(self, location: str) -> str:
        """Return a whole address."""
        return f"{settings.PUBLIC_URL}{location}"


def body(delivery: Delivery) -> bytes:
    """Return what is told: kind, instant, and the operation as it stands now, without its payload."""
    told = {
        "type": delivery.kind,
        "timestamp": answers.instant(delivery.event.at),
        "data": answers.whole_operation(_Outside(delivery.webhook), delivery.operation),
    }
    return json.dumps(told, ensure_ascii=False).encode()


def headers(delivery: Delivery, content: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of one try, with a signature by each secret."""
    # By this machine's clock: the receiver compares it with its own, and nothing of it is stored.
    now, name, text = datetime.now(UTC), f"msg_{delivery.uid.hex}", content.decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": "Tieout",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(name, now, text) for secret in secrets),
    }
