"""What the database refuses: moves outside MOVES, changed events, silent changes."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    """Create the guards; they go with their tables."""

    dependencies = [("ledger", "0002_initial")]
    operations = [
        migrations.RunSQL(statement("0003_guards"), migrations.RunSQL.noop),
    ]
