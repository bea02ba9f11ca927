"""The destination's ids of records, as the database finds look-ups and differences by them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


def record_ids(column: str) -> models.Func:
    """Return the ids of a column's records, in small letters, as an index of each table holds them."""
    return models.Func(
        models.F(column), function="ledger_record_ids", output_field=ArrayField(models.TextField())
    )
