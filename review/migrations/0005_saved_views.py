"""Views of the queue that people keep under a name."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("review", "0004_whose"),
    ]
    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=60)),
                ("address", models.CharField(blank=True, max_length=2000)),
                ("shared", models.BooleanField(default=False)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["name", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("person", "name"), name="saved_view_one_name"),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="saved_view_named"
                    ),
                ],
            },
        ),
    ]
