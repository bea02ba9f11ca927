"""Comparisons that somebody keeps as evidence, with both files, until a day."""

from datetime import timedelta

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

import ledger.models.clock
from reconcile.statements.evidence.guards import GUARDS, NO_GUARDS

OF = [(name, name.title()) for name in ("source", "destination", "differences", "rejects")]


def _id():
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0041_late")]

    operations = [
        migrations.CreateModel(
            name="Kept",
            fields=[
                ("id", _id()),
                ("uid", models.UUIDField(editable=False, unique=True)),
                ("keeper", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=1000)),
                ("kept_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("until", models.DateTimeField()),
                ("size", models.PositiveBigIntegerField()),
                ("sealed", models.BinaryField()),
            ],
            options={
                "ordering": ["-kept_at", "-pk"],
                "constraints": [
                    models.CheckConstraint(name="kept_with_reason", condition=~Q(reason="")),
                    models.CheckConstraint(
                        name="kept_for_a_time",
                        condition=Q(until__gt=F("kept_at"), until__lte=F("kept_at") + timedelta(days=3660)),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptPiece",
            fields=[
                ("id", _id()),
                ("of", models.CharField(choices=OF, max_length=11)),
                ("number", models.PositiveIntegerField()),
                ("sealed", models.BinaryField()),
                (
                    "kept",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="reconcile.kept",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(name="kept_piece_once", fields=["kept", "of", "number"]),
                    models.CheckConstraint(
                        name="kept_piece_of_known",
                        condition=Q(of__in=["source", "destination", "differences", "rejects"]),
                    ),
                ],
            },
        ),
        migrations.RunSQL(GUARDS, NO_GUARDS),
    ]
