"""Guards that ask for an event of the same transaction read it from the event, and no lease is ever revived."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    """The column is the database's own: only its triggers write and read it."""

    dependencies = [("ledger", "0012_corrections_in_doubt")]

    operations = [migrations.RunSQL(statement("0021_transactions"), migrations.RunSQL.noop)]
