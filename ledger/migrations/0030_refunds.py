"""What refunds a source record is summed, and never claimed beyond what there is."""

from django.db import migrations, models

from ledger.sql import statement

KINDS = [
    "absent",
    "accepted",
    "both_there",
    "by_hand",
    "could_not_look",
    "differs",
    "expired",
    "first",
    "lapsed",
    "limit",
    "missing",
    "never_submitted",
    "paused",
    "refund",
    "refused",
    "repeated",
    "several",
    "there_after_all",
    "unproved",
]


class Migration(migrations.Migration):
    dependencies = [("ledger", "0029_versions")]
    operations = [
        migrations.RemoveConstraint("case", "case_kind_known"),
        migrations.AddConstraint(
            "case",
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="case_kind_known"),
        ),
        migrations.RunSQL(statement("0030_refunds"), migrations.RunSQL.noop),
    ]
