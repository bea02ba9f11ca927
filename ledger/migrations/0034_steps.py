"""How many of its owner's levels are behind a case."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0033_seen")]
    operations = [
        migrations.AddField("case", "step", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.RunSQL("UPDATE ledger_case SET step = level WHERE level > 0", migrations.RunSQL.noop),
    ]
