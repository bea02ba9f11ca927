"""What the tabs count is told with its type: who sees some legal entities asks for some types alone."""

import django.db.models.deletion
from django.db import migrations, models

BEFORE = ("item_by_due", "item_by_kind", "item_by_verdict", "item_resting", "item_escalated")
INDEXES = [
    models.Index(name="item_by_type", fields=["operation_type", "currency"]),
    models.Index(
        name="item_resting", fields=["rests_s", "operation_type"], condition=models.Q(rests_s__gt=0)
    ),
    models.Index(name="item_escalated", fields=["level", "operation_type"], condition=models.Q(level__gt=0)),
    models.Index(name="item_by_due", fields=["due_s", "id"], include=["operation_type"]),
    models.Index(name="item_by_kind", fields=["kind", "operation_type"]),
    models.Index(name="item_by_verdict", fields=["verdict", "operation_type"]),
]


class Migration(migrations.Migration):
    dependencies = [("review", "0026_signed")]
    operations = [
        *(migrations.RemoveIndex("item", name) for name in BEFORE),
        # Its own index goes: another one begins with it.
        migrations.AlterField(
            "item",
            "operation_type",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="ledger.operationtype",
            ),
        ),
        *(migrations.AddIndex("item", index) for index in INDEXES),
    ]
