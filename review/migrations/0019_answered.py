"""Who asked a second person is told of the answer; all approvers of whatever is past its due time."""

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
