"""An operation is found by the id of a record that only a run has seen."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

IDS = models.Func(
    models.F("destination"), function="ledger_record_ids", output_field=ArrayField(models.TextField())
)


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0010_decisions"), ("ledger", "0033_seen")]
    operations = [
        migrations.AddIndex("finding", GinIndex(IDS, name="finding_seen", fastupdate=False)),
    ]
