"""Who answers what somebody asked a second person is another: one rule for whatever is asked."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0035_alone")]
    operations = [migrations.RunSQL(statement("0036_second_person"), migrations.RunSQL.noop)]
