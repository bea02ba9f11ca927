"""A case may be about a trigger whose runs were several, all of them called successful."""

from django.db import migrations, models

KINDS = [
    "absent",
    "accepted",
    "both_there",
    "could_not_look",
    "differs",
    "expired",
    "lapsed",
    "limit",
    "missing",
    "never_submitted",
    "paused",
    "refused",
    "repeated",
    "several",
    "there_after_all",
    "unproved",
]


class Migration(migrations.Migration):
    dependencies = [("ledger", "0012_key_apart")]
    operations = [
        migrations.RemoveConstraint("case", "case_kind_known"),
        migrations.AddConstraint(
            "case",
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="case_kind_known"),
        ),
    ]
