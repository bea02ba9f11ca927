"""Surplus that linked voids and credits have offset, in the snapshot of a run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0012_limits"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="reversed",
            field=models.JSONField(default=list),
        ),
    ]
