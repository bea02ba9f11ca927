"""The guard of new operations looks only at those that it could refuse."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0008_outbox")]
    operations = [migrations.RunSQL(statement("0009_first_guard"), migrations.RunSQL.noop)]
