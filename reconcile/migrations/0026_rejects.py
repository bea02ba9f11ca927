"""Unreadable lines of two dropped files are kept beside the files, sealed, and go with them."""

from django.db import migrations, models
from django.db.models import Q

KINDS = ["source", "destination", "differences", "rejects"]


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0025_made_with")]
    operations = [
        migrations.AlterField(
            "piece",
            "of",
            models.CharField(max_length=11, choices=[(kind, kind.capitalize()) for kind in KINDS]),
        ),
        migrations.RemoveConstraint("piece", "piece_of_known"),
        migrations.AddConstraint(
            "piece", models.CheckConstraint(name="piece_of_known", condition=Q(of__in=KINDS))
        ),
    ]
