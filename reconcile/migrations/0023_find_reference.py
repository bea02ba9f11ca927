"""A difference that no operation carries is found by its reference, as an operation is by its own."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Collate, Lower


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0022_matched_once")]
    operations = [
        migrations.AddIndex(
            "finding",
            models.Index(
                Collate(Lower("reference"), "C"),
                F("id").desc(),
                name="finding_find_reference",
                condition=(Q(lives=True) | Q(gone_in__isnull=False)) & Q(operation=None) & ~Q(reference=""),
            ),
        ),
    ]
