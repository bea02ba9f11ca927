"""A plan says whether its recipients get a run's differences with the mail."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0027_source")]
    operations = [
        migrations.AddField("plan", "attach", models.BooleanField(default=False, db_default=False)),
    ]
