"""What one person alone has settled of what a reconciliation found counts towards their limit."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0031_escalation")]
    operations = [
        migrations.CreateModel(
            name="SettledAlone",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("actor", models.CharField(max_length=150)),
                ("account", models.IntegerField(editable=False, null=True)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20)),
                ("currency", models.CharField(max_length=3)),
                ("at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.operationtype",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "at"], name="settled_by_account"),
                    models.Index(fields=["actor", "at"], name="settled_by_name"),
                ]
            },
        ),
        migrations.RunSQL(statement("0032_settled"), migrations.RunSQL.noop),
    ]
