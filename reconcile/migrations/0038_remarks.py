"""What people write about a difference, with the guards that keep it."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from reconcile.differences.remarks import GUARDS, GUARDS_GONE


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0037_profiles"),
    ]

    operations = [
        migrations.CreateModel(
            name="Remark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("item_class", models.CharField(max_length=30)),
                ("name", models.CharField(max_length=200)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("text", models.CharField(max_length=1000)),
                ("actor", models.CharField(max_length=150)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "finding",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="remarks",
                        to="reconcile.finding",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="remarks",
                        to="reconcile.plan",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["plan", "name", "item_class"], name="remark_of_difference")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("text", ""), _negated=True), models.Q(("actor", ""), _negated=True)
                        ),
                        name="remark_says_something",
                    )
                ],
            },
        ),
        migrations.RunSQL(GUARDS, GUARDS_GONE),
    ]
