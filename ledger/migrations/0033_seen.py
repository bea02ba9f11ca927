"""An operation is found by the id of a record that only a check has seen."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

from ledger.sql import statement

IDS = models.Func(
    models.F("records"), function="ledger_record_ids", output_field=ArrayField(models.TextField())
)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0032_settled")]
    operations = [
        migrations.RunSQL(statement("0033_seen"), "DROP FUNCTION ledger_record_ids(jsonb)"),
        migrations.AddIndex("lookup", GinIndex(IDS, name="lookup_seen", fastupdate=False)),
    ]
