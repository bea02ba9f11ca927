"""What counts towards a person's limit is written by the database alone."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0034_steps")]
    operations = [migrations.RunSQL(statement("0035_alone"), migrations.RunSQL.noop)]
