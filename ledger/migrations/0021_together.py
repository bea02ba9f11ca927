"""What one person alone closes counts beside what they close next, and beside what is tied to it."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0020_references")]
    operations = [
        migrations.CreateModel(
            name="DecidedAlone",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("actor", models.CharField(max_length=150)),
                ("account", models.IntegerField(editable=False, null=True)),
                ("at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decided_alone",
                        to="ledger.operation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "at"], name="alone_by_account"),
                    models.Index(fields=["actor", "at"], name="alone_by_name"),
                ],
            },
        ),
        migrations.RunSQL(statement("0021_together"), migrations.RunSQL.noop),
    ]
