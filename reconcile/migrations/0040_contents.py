"""Contents of records beside payloads: what they are compared by, and which fields a difference is in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0039_drift")]
    operations = [
        migrations.AddField("record", "contents", models.JSONField(null=True)),
        migrations.AddField("finding", "contents", models.JSONField(default=list, db_default=[])),
    ]
