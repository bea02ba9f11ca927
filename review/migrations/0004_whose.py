"""The queue's items know whose they are and until when they rest."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0025_whose"), ("review", "0003_items")]
    operations = [
        migrations.AddField("item", "assignee", models.CharField(blank=True, db_default="", max_length=150)),
        migrations.AddField("item", "rests_s", models.FloatField(db_default=0)),
        migrations.AddIndex(
            "item",
            models.Index(name="item_of_person", fields=["assignee"], condition=~models.Q(assignee="")),
        ),
        migrations.AddIndex(
            "item",
            models.Index(name="item_resting", fields=["rests_s"], condition=models.Q(rests_s__gt=0)),
        ),
        migrations.RunSQL(statement("whose"), migrations.RunSQL.noop),
    ]
