"""A run tells how it matched, and a plan how much tolerances may let pass in one run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0044_payouts"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="tolerance_cap",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="record",
            name="capped",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="run",
            name="matched",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]
