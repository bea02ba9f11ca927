"""Each try names the version of the rules that it went by."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0028_hours"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="rules_version",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="operationtype",
            name="rules_version",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.RunSQL(statement("0029_versions"), migrations.RunSQL.noop),
    ]
