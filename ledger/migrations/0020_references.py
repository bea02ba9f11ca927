"""An operation is found by whatever reference a person holds of it: exactly, and from its beginning."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Collate, Lower

NAMES = {
    "key": "key",
    "source": "source_reference",
    "description": "description",
    "subject": "subject",
    "destination": "destination_reference",
    "idempotency": "idempotency_key",
}


def _index(name: str, column: str) -> models.Index:
    text = Collate(Lower(column), "C")
    return models.Index(text, F("id").desc(), name=f"operation_find_{name}", condition=~Q(**{column: ""}))


class Migration(migrations.Migration):
    dependencies = [("ledger", "0019_deliveries_kept")]
    operations = [
        *(migrations.AddIndex("operation", _index(*one)) for one in NAMES.items()),
        migrations.AddIndex(
            "operation",
            models.Index(
                name="operation_find_amount", fields=["amount", "-id"], condition=Q(amount__isnull=False)
            ),
        ),
    ]
