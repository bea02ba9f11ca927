"""What attempts and events name is proved once a statement, by their guards, and no longer once more row by row."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from ledger.sql import statement

ONE_OPEN = models.UniqueConstraint(
    name="attempt_one_open", fields=["operation"], condition=models.Q(closed_at__isnull=True)
)


def _to(model: str, related_name: str, *, null: bool = False, proved: bool = True) -> models.ForeignKey:
    """Point to rows whose being there a guard proves, where it is proved."""
    return models.ForeignKey(
        db_constraint=not proved,
        db_index=False,
        null=null,
        on_delete=django.db.models.deletion.PROTECT,
        related_name=related_name,
        to=f"ledger.{model}",
    )


class Migration(migrations.Migration):
    dependencies = [("ledger", "0015_guards_of_many")]
    operations = [
        # The guards come first: there is no moment without one.
        migrations.RunSQL(statement("0016_one_proof"), migrations.RunSQL.noop),
        # Django takes every index of this one column away, the guard's as well: so that one is made anew.
        migrations.RemoveConstraint("attempt", ONE_OPEN.name),
        migrations.AlterField("attempt", "operation", _to("operation", "attempts")),
        migrations.AddConstraint("attempt", ONE_OPEN),
        migrations.AlterField("event", "operation", _to("operation", "events", null=True)),
        migrations.AlterField("event", "attempt", _to("attempt", "events", null=True)),
        migrations.AlterField("event", "uid", models.UUIDField(default=uuid.uuid4, editable=False)),
        migrations.AlterField(
            "operation", "operation_type", _to("operationtype", "operations", proved=False)
        ),
    ]
