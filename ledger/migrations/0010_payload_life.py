"""Payloads are removed after their time: the index that finds them, and the guard that keeps the others."""

from django.db import migrations, models

from ledger.sql import statement

OVER = models.Q(
    ("state", "completed"), ("cancelled_at__isnull", False), ("corrected_at__isnull", False), _connector="OR"
)


class Migration(migrations.Migration):
    """Only what still has a payload and may lose it stands in the index."""

    dependencies = [("ledger", "0007_lists")]

    operations = [
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                fields=["operation_type", "finished_at"],
                name="operation_payload",
                condition=models.Q(("payload_sealed__isnull", False), OVER),
            ),
        ),
        migrations.RunSQL(statement("0010_payload_life"), migrations.RunSQL.noop),
    ]
