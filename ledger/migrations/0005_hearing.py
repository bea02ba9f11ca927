"""What destinations tell by webhooks of their own."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0004_token_life"),
    ]

    operations = [
        migrations.CreateModel(
            name="Heard",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event_id", models.CharField(max_length=200)),
                ("heard_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
        ),
        migrations.CreateModel(
            name="Unsigned",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("last_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="operation",
            name="told_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="told_look_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("told_look_at__isnull", False)),
                fields=["told_look_at"],
                name="operation_told",
            ),
        ),
        migrations.AddField(
            model_name="heard",
            name="destination",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="heard", to="ledger.destination"
            ),
        ),
        migrations.AddField(
            model_name="unsigned",
            name="destination",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="unsigned", to="ledger.destination"
            ),
        ),
        migrations.AddConstraint(
            model_name="heard",
            constraint=models.UniqueConstraint(fields=("destination", "event_id"), name="heard_once"),
        ),
        migrations.RunSQL(statement("0005_hearing"), migrations.RunSQL.noop),
    ]
