"""The clock that every stored instant comes from."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    """Create `tieout_now()`, before the tables whose defaults call it."""

    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL(statement("0001_clock"), "DROP FUNCTION tieout_now()"),
    ]
