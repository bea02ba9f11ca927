"""A run keeps the rules and questions that it went by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0024_expected")]
    operations = [migrations.AddField("run", "made_with", models.JSONField(default=dict))]
