"""What the items of a difference hold on either side, kept with it: lines go with a later run, and it stays."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0015_found")]
    operations = [migrations.AddField("finding", "held", models.JSONField(null=True))]
