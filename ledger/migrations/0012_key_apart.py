"""Which tries the operation's key does not cover, whatever the rules say later."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    """Add it to the attempts; what was tried before counts as it did."""

    dependencies = [("ledger", "0011_automations")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="key_apart",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(statement("0012_key_apart"), migrations.RunSQL.noop),
    ]
