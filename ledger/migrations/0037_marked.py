"""Whatever is asked is marked once as past its due time, and told."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0036_second_person")]
    operations = [migrations.RunSQL(statement("0037_marked"), migrations.RunSQL.noop)]
