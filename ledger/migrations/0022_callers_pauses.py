"""A pause may stop callers only: it is their credentials that were refused."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    """One open pause for each destination and for each kind of who is stopped."""

    dependencies = [("ledger", "0020_words")]

    operations = [
        migrations.RemoveConstraint(model_name="pause", name="pause_one_open"),
        migrations.AddField(
            model_name="pause",
            name="callers_only",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.UniqueConstraint(
                condition=models.Q(("resumed_at__isnull", True)),
                fields=("destination", "callers_only"),
                name="pause_one_open",
            ),
        ),
        migrations.RunSQL(statement("0022_callers_pauses"), migrations.RunSQL.noop),
    ]
