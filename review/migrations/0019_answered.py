"""Who asked a second person is told of the answer; of what is past its due time, whoever can answer it."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0018_marked"), ("review", "0018_marked")]
    operations = [
        migrations.RemoveConstraint("notice", "notice_kind_known"),
        migrations.AddConstraint(
            "notice",
            models.CheckConstraint(
                name="notice_kind_known",
                condition=models.Q(kind__in=["answered", "escalated", "given", "named", "overdue"]),
            ),
        ),
        migrations.RunSQL(statement("answered"), migrations.RunSQL.noop),
    ]
