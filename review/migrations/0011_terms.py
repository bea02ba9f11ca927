"""Auditors' terms may name the legal entities that they are limited to."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    """Add the entities, and guard them with the rest of a term."""

    dependencies = [("review", "0010_notices")]

    operations = [
        migrations.AddField(
            model_name="auditorterm",
            name="entities",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.RunSQL(statement("terms"), migrations.RunSQL.noop),
    ]
