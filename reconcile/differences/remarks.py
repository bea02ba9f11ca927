"""What people wrote about a difference: it decides nothing, never changes, and follows it from run to run."""

from typing import Self

from django.db import models
from django.db.models import Q

from ledger.models import TieoutNow
from ledger.sight import Seen, Sight

WRITTEN = "difference_commented"


class RemarkQuerySet(Seen, models.QuerySet["Remark"]):
    """Questions about remarks."""

    def kept_to(self, sight: Sight) -> Self:
        """Leave out what this sight does not see."""
        return self.filter(plan__operation_type__in=sight.types)


class Remark(models.Model):
    """One remark on one difference. Written by `reconcile.differences` only."""

    plan = models.ForeignKey("reconcile.Plan", on_delete=models.PROTECT, related_name="remarks")
    finding = models.ForeignKey("reconcile.Finding", on_delete=models.PROTECT, related_name="remarks")
    """The difference as the run had found it that was the latest then."""
    item_class = models.CharField(max_length=30)
    """Absent with and without proof is one difference: the first of the two."""
    name = models.CharField(max_length=200)
    """What it goes by from run to run: its reference, or else its fingerprint."""
    currency = models.CharField(max_length=3, blank=True)
    """Of duplicates, which are apart in each currency; else empty."""
    text = models.CharField(max_length=1000)
    actor = models.CharField(max_length=150)
    command_id = models.UUIDField(unique=True)
    made_at = models.DateTimeField(db_default=TieoutNow())

    objects = RemarkQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(name="remark_of_difference", fields=["plan", "name", "item_class"])]
        constraints = [
            models.CheckConstraint(name="remark_says_something", condition=~Q(text="") & ~Q(actor="")),
        ]

    def __str__(self) -> str:
        return f"remark on {self.name}"


GUARDS = """
CREATE TRIGGER remark_stays BEFORE UPDATE OR DELETE ON reconcile_remark
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER remark_no_truncate BEFORE TRUNCATE ON reconcile_remark
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE FUNCTION reconcile_remark_told() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT ledger_is_person(NEW.actor) OR NOT EXISTS (SELECT FROM auth_user WHERE username = NEW.actor) THEN
        RAISE EXCEPTION 'a person comments on a difference' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (
        SELECT FROM reconcile_finding AS f JOIN reconcile_run AS r ON r.id = f.run_id
        WHERE f.id = NEW.finding_id AND r.plan_id = NEW.plan_id
            AND coalesce(nullif(f.reference, ''), f.fingerprint) = NEW.name
    ) THEN
        RAISE EXCEPTION 'a remark is about what was found' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (
        SELECT FROM ledger_event
        WHERE operation_id IS NULL AND kind = 'difference_commented' AND actor = NEW.actor
            AND reason = NEW.text AND command_id = NEW.command_id AND tx = pg_current_xact_id()
    ) THEN
        RAISE EXCEPTION 'remark % without an event', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER remark_told AFTER INSERT ON reconcile_remark
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reconcile_remark_told();
"""
GUARDS_GONE = "DROP FUNCTION IF EXISTS reconcile_remark_told() CASCADE;"
