"""People who see some legal entities only, proposed like a role; auditors' terms that are proposed."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from reconcile.proposals.guards import LIMITS


class Migration(migrations.Migration):
    """Add limits with their guard; let proposals be about them, and about auditors' terms."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("reconcile", "0011_seen"),
    ]

    operations = [
        migrations.CreateModel(
            name="EntityLimit",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="limit",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("entities", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("entities", []), _negated=True), name="limit_names_entities"
                    ),
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="proposal", name="proposal_kind_known"),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ("rules", "role", "limit", "auditor"))),
                name="proposal_kind_known",
            ),
        ),
        migrations.RunSQL(LIMITS, migrations.RunSQL.noop),
    ]
