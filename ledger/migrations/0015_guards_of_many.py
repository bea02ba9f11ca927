"""What guards ask other rows is asked once for all rows of a statement."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0014_after")]
    operations = [migrations.RunSQL(statement("0015_guards_of_many"), migrations.RunSQL.noop)]
