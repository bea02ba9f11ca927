"""What each person has chosen for themselves, and how far they have read."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Create the readers."""

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("review", "0001_roles"),
    ]

    operations = [
        migrations.CreateModel(
            name="Reader",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="reader",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("zone", models.CharField(blank=True, max_length=64)),
                ("seen_event", models.BigIntegerField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("seen_at__isnull", True), ("seen_event__isnull", True)),
                            models.Q(("seen_at__isnull", False), ("seen_event__isnull", False)),
                            _connector="OR",
                        ),
                        name="reader_mark_has_time",
                    )
                ],
            },
        ),
    ]
