"""The index of money at risk by age carries what ranks and filters items: their long rows are not read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0019_answered")]
    operations = [
        migrations.AddIndex(
            "item",
            models.Index(
                name="item_by_rank",
                fields=["currency", "band", "since_s"],
                include=[
                    *("size", "rests_s", "id", "operation", "operation_type", "at_risk"),
                    *("kind", "state", "verdict", "owner", "finding"),
                ],
            ),
        ),
        migrations.RemoveIndex("item", "item_by_risk"),
    ]
