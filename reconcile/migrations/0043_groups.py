"""A rule may take all of one key together, by sums that are the same to the cent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0039_busy_sessions"),
        ("reconcile", "0042_kept"),
    ]

    operations = [
        migrations.AddField(
            model_name="finding",
            name="meant",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="becomes",
            field=models.CharField(blank=True, db_default="", max_length=30),
        ),
        migrations.AddField(
            model_name="record",
            name="grouped",
            field=models.CharField(blank=True, db_default="", max_length=300),
        ),
        migrations.AddField(
            model_name="record",
            name="sum_apart",
            field=models.DecimalField(decimal_places=4, max_digits=24, null=True),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("becomes", ""), ("grouped", ""), ("sum_apart", None)),
                    models.Q(
                        models.Q(("rule", ""), _negated=True),
                        models.Q(("grouped", ""), _negated=True),
                        ("several", ""),
                        ("sum_apart__isnull", False),
                        models.Q(("becomes", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="record_group_by_rule",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("becomes", "matched"), _negated=True), ("sum_apart", 0), _connector="OR"
                ),
                name="record_split_sums_exact",
            ),
        ),
    ]
