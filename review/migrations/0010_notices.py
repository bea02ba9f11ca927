"""Notices, the digest and the messages that go out."""

import datetime
import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ledger.models.clock
from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0031_escalation"),
        ("review", "0009_bulk_whole"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Channel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=110, unique=True)),
                ("pending", models.PositiveIntegerField(db_default=0)),
                ("spoke_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(db_default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("rests_until", models.DateTimeField(null=True)),
                ("busy_until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("day", models.DateField(null=True)),
                ("lines", models.JSONField()),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("state", models.CharField(default="waiting", max_length=10)),
                ("due_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow(), null=True)),
                ("tries", models.PositiveSmallIntegerField(db_default=0)),
                ("tried_at", models.DateTimeField(null=True)),
                ("words", models.CharField(blank=True, max_length=300)),
                ("delivered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=10)),
                ("about", models.CharField(max_length=200)),
                ("count", models.PositiveIntegerField(db_default=1)),
                ("at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("read_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="reader",
            name="digest_at",
            field=models.TimeField(
                db_default=models.Value(datetime.time(7, 30), output_field=models.TimeField())
            ),
        ),
        migrations.AddField(
            model_name="reader",
            name="digest_due_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="reader",
            name="digest_off",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="reader",
            name="quiet_from",
            field=models.TimeField(null=True),
        ),
        migrations.AddField(
            model_name="reader",
            name="quiet_until",
            field=models.TimeField(null=True),
        ),
        migrations.AddField(
            model_name="reader",
            name="weekends",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddIndex(
            model_name="reader",
            index=models.Index(fields=["digest_due_at"], name="reader_digest_due"),
        ),
        migrations.AddConstraint(
            model_name="reader",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("quiet_from__isnull", True), ("quiet_until__isnull", True)),
                    models.Q(("quiet_from__isnull", False), ("quiet_until__isnull", False)),
                    _connector="OR",
                ),
                name="reader_quiet_whole",
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="channel",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="messages",
                to="review.channel",
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="person",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="event",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="ledger.event",
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="person",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notices",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["channel", "due_at"], name="message_due"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("state", "given_up")), fields=["-id"], name="message_given_up"
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(fields=("person", "day"), name="message_one_digest"),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delivered_at__isnull", True), ("due_at__isnull", False), ("state", "waiting")),
                    models.Q(
                        ("delivered_at__isnull", False), ("due_at__isnull", True), ("state", "delivered")
                    ),
                    models.Q(
                        ("delivered_at__isnull", True),
                        ("due_at__isnull", True),
                        ("state__in", ["dropped", "given_up"]),
                    ),
                    _connector="OR",
                ),
                name="message_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("day__isnull", False), ("person__isnull", False)),
                    models.Q(("day__isnull", True), ("person__isnull", True)),
                    _connector="OR",
                ),
                name="message_of_somebody",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["person", "-at"], name="notice_of_person"),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.UniqueConstraint(
                condition=models.Q(("read_at__isnull", True)),
                fields=("person", "kind", "about"),
                name="notice_one_unread",
            ),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["escalated", "given", "named", "overdue"])),
                name="notice_kind_known",
            ),
        ),
        migrations.RunSQL(statement("notices"), migrations.RunSQL.noop),
    ]
