"""A plan says by what else than its reference a record is an operation's; a run says which rule told."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0039_busy_sessions"),
        ("reconcile", "0034_signed_whole"),
    ]

    operations = [
        migrations.AddField(
            model_name="finding",
            name="rule",
            field=models.CharField(blank=True, db_default="", max_length=60),
        ),
        migrations.AddField(
            model_name="plan",
            name="rules",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name="record",
            name="carried",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="record",
            name="marks",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="rule",
            field=models.CharField(blank=True, db_default="", max_length=60),
        ),
        migrations.AddField(
            model_name="record",
            name="several",
            field=models.CharField(blank=True, db_default="", max_length=300),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("carried", ""), ("rule", ""), ("several", "")),
                    models.Q(
                        models.Q(("rule", ""), _negated=True),
                        models.Q(("several", ""), ("side", "ledger"), ("operation", None), _connector="OR"),
                    ),
                    _connector="OR",
                ),
                name="record_rule_ties_or_fits_several",
            ),
        ),
    ]
