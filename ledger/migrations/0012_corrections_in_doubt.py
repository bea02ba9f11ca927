"""Corrections of what may have happened: asked of a second person, with what would go out sealed."""

from django.db import migrations, models

ASKS = ["attest", "end", "override_correct", "override_end", "override_permit"]
CASE_KINDS = [
    "absent",
    "accepted",
    "both_there",
    "could_not_look",
    "differs",
    "expired",
    "lapsed",
    "limit",
    "missing",
    "never_submitted",
    "paused",
    "refused",
    "several",
    "there_after_all",
    "unproved",
]
CORRECTS = ("action", "override_correct")
OPEN = models.Q(("decided_at__isnull", True), ("meant_sealed__isnull", False))
ANSWERED = models.Q(("decided_at__isnull", False), ("meant_sealed__isnull", True))
SAYS_NOTHING = models.Q(
    models.Q(CORRECTS, _negated=True), ("meant_digest", ""), ("meant_sealed__isnull", True)
)
SAYS_WHAT = models.Q(
    CORRECTS, models.Q(("meant_digest", ""), _negated=True), models.Q(OPEN, ANSWERED, _connector="OR")
)
BY_A_PERSON = models.Q(
    models.Q(("answer__in", ["approved", "refused"]), _negated=True),
    models.Q(("decided_by__contains", ":"), _negated=True),
    _connector="OR",
)


class Migration(migrations.Migration):
    """What is sealed stays for as long as nobody has answered."""

    dependencies = [("ledger", "0011_pause_causes")]

    operations = [
        migrations.RemoveConstraint(model_name="approval", name="approval_action_known"),
        migrations.RemoveConstraint(model_name="case", name="case_kind_known"),
        migrations.AddField(
            model_name="approval",
            name="meant_digest",
            field=models.CharField(blank=True, default="", max_length=100),
        ),
        migrations.AddField(model_name="approval", name="meant_sealed", field=models.BinaryField(null=True)),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", ASKS)), name="approval_action_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(condition=BY_A_PERSON, name="approval_by_a_person"),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(SAYS_NOTHING, SAYS_WHAT, _connector="OR"), name="approval_meant_while_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", CASE_KINDS)), name="case_kind_known"
            ),
        ),
    ]
