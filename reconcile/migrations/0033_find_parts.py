from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models
from django.db.models import Func, Q
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0032_either_day")]
    operations = [
        migrations.AddIndex(
            "finding",
            GinIndex(
                Func(
                    Lower("reference"),
                    template="string_to_array(%(expressions)s, '/')",
                    output_field=ArrayField(models.TextField()),
                ),
                name="finding_find_parts",
                fastupdate=False,
                condition=(Q(lives=True) | Q(gone_in__isnull=False)) & Q(operation=None) & ~Q(reference=""),
            ),
        ),
    ]
