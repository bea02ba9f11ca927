"""A list of many at once is whole in every moment, so that its counts add up."""

from django.db import migrations, models
from django.db.models import Q

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0008_escalated")]

    operations = [
        migrations.AddConstraint(
            model_name="bulkitem",
            constraint=models.CheckConstraint(name="bulkitem_from_one", condition=Q(number__gte=1)),
        ),
        migrations.RunSQL(statement("bulk_whole"), migrations.RunSQL.noop),
    ]
