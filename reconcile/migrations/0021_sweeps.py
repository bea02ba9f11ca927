"""What the sweep asks of decisions every time is found without walking through all of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0020_apart")]
    operations = [
        migrations.AddIndex(
            "decision",
            models.Index(
                name="decision_open",
                fields=["expires_at"],
                condition=models.Q(in_force_at=None, answer=""),
            ),
        ),
        migrations.AddIndex(
            "decision",
            models.Index(
                name="decision_over",
                fields=["until"],
                condition=models.Q(in_force_at__isnull=False, ended_at=None, way="waive"),
            ),
        ),
    ]
