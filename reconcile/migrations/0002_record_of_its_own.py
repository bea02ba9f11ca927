"""A record is marked that its operation knows as its own, so that comparing needs no look at the operations."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0001_plans_and_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="record",
            name="own",
            field=models.BooleanField(default=False),
        ),
    ]
