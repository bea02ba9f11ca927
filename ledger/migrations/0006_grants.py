"""What token endpoints gave us, sealed, for all workers and across restarts."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Create the grants."""

    dependencies = [
        ("ledger", "0005_hearing"),
    ]

    operations = [
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("origin", models.CharField(max_length=64, unique=True)),
                ("sealed", models.BinaryField(null=True)),
                ("version", models.PositiveIntegerField(default=0)),
                ("issued_at", models.DateTimeField(null=True)),
                ("renew_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField(null=True)),
                ("holder", models.UUIDField(null=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("asked_at", models.DateTimeField(null=True)),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grants",
                        to="ledger.destination",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("issued_at__isnull", True), ("sealed__isnull", True)),
                            models.Q(("issued_at__isnull", False), ("sealed__isnull", False)),
                            _connector="OR",
                        ),
                        name="grant_given",
                    )
                ],
            },
        ),
    ]
