"""Corrections: which operation one was made to put right, and since when that one stands back."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the link, and allow one standing correction for each operation."""

    dependencies = [
        ("ledger", "0005_approvals"),
    ]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="corrected_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="correction_number",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="corrects",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="corrections",
                to="ledger.operation",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("corrects__isnull", False)),
                fields=["corrects"],
                name="operation_corrects",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("correction_number__isnull", True), ("corrects__isnull", True)),
                    models.Q(("correction_number__isnull", False), ("corrects__isnull", False)),
                    _connector="OR",
                ),
                name="operation_correction_numbered",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("corrected_at__isnull", True), ("corrects__isnull", False)),
                fields=("corrects",),
                name="operation_one_correction",
            ),
        ),
    ]
