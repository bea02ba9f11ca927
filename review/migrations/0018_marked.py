"""Lists of many go on to all approvers when nobody answers in time."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0037_marked"), ("review", "0017_samples_apart")]
    operations = [
        migrations.AddField("bulk", "escalated_at", models.DateTimeField(null=True)),
        migrations.AddField("bulk", "key_until", models.DateTimeField(null=True)),
        migrations.RunSQL(statement("marked"), migrations.RunSQL.noop),
    ]
