"""An operation may come after another one, which has to be done first."""

import django.db.models.deletion
from django.db import migrations, models

from ledger.sql import statement

KINDS = [
    "absent",
    "accepted",
    "both_there",
    "could_not_look",
    "differs",
    "expired",
    "first",
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
    """Add what an operation comes after, its guard, and the case that it opens."""

    dependencies = [("ledger", "0013_repeated")]

    operations = [
        migrations.RemoveConstraint(model_name="case", name="case_kind_known"),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", KINDS)), name="case_kind_known"
            ),
        ),
        migrations.AddField(
            model_name="operation",
            name="after",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="followers",
                to="ledger.operation",
            ),
        ),
        migrations.AddField(
            model_name="operation",
            name="after_reference",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("after__isnull", False)), fields=["after"], name="operation_after"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("after__isnull", False), ("state", "pending")),
                fields=["id"],
                name="operation_follows",
            ),
        ),
        migrations.RunSQL(statement("0014_after"), migrations.RunSQL.noop),
    ]
