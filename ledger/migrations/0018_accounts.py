"""Maker is not checker by account, not by name; and a person closes nothing above its limit alone."""

from django.conf import settings
from django.db import migrations, models

from ledger.sql import statement

UNAPPROVED = models.Q(("answer", "approved"), _negated=True)


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0017_webhook_turns"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.AddField("approval", "maker_account", models.IntegerField(editable=False, null=True)),
        migrations.AddField("approval", "decided_by_account", models.IntegerField(editable=False, null=True)),
        migrations.RunSQL(statement("0018_accounts"), migrations.RunSQL.noop),
        migrations.AddConstraint(
            "approval",
            models.CheckConstraint(
                condition=UNAPPROVED
                | models.Q(("decided_by_account", models.F("maker_account")), _negated=True),
                name="approval_by_another_account",
            ),
        ),
    ]
