"""Tokens that expire, that are rotated, and that may ask only so often in a minute."""

from django.db import migrations, models
from django.db.models import Q

from ledger.sql import statement


class Migration(migrations.Migration):
    """Add when a token ends and its rate, and the counter that all processes share."""

    dependencies = [("ledger", "0003_guards")]
    operations = [
        migrations.AddField("apitoken", "expires_at", models.DateTimeField(null=True)),
        migrations.AddField("apitoken", "per_minute", models.PositiveIntegerField(null=True)),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(
                name="token_rate_positive", condition=Q(per_minute=None) | Q(per_minute__gte=1)
            ),
        ),
        migrations.RunSQL(statement("0004_allowances"), "DROP TABLE ledger_allowance"),
    ]
