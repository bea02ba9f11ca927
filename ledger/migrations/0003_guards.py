"""What the database refuses: moves outside MOVES, changed events, silent changes, one person's word for two."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    """Create the guards; they go with their tables."""

    dependencies = [("ledger", "0002_tables")]
    operations = [
        migrations.RunSQL(statement(name), migrations.RunSQL.noop)
        for name in ("0003_guards", "0003_approvals", "0003_pauses")
    ]
