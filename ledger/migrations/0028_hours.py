"""A destination's entity may have working hours, in which its cases fall due."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0027_deputies")]
    operations = [migrations.AddField("destination", "hours", models.JSONField(null=True))]
