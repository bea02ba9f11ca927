"""What else is known of the same source record, and of the same person or thing; both bounded."""

from django.db.models import QuerySet, Value

from ledger.models import Operation, folded
from review import told
from review.built import built

SHOWN, FEW = 10, 5


def of_subject(operation: Operation) -> list[Operation]:
    """Return the latest others with the same subject, off its index; those of its source stand elsewhere."""
    if not operation.subject:
        return []
    if not operation.source_reference:
        return _of_subject(operation.subject, operation.pk)
    return _of_subject_elsewhere(operation.subject, operation.pk, operation.source_reference)


def of_source(operation: Operation) -> list[Operation]:
    """Return other operations of the same source record, the oldest first."""
    if not operation.source_reference:
        return []
    return _of_source(operation.source_system, operation.source_reference, operation.pk)


@built
def _of_subject(subject: str, own: int) -> QuerySet[Operation]:
    return _with_subject(subject, own)[:FEW]


@built
def _of_subject_elsewhere(subject: str, own: int, source: str) -> QuerySet[Operation]:
    return _with_subject(subject, own).exclude(source_reference=source)[:FEW]


def _with_subject(subject: str, own: int) -> QuerySet[Operation]:
    alike = Operation.objects.exclude(subject="").alias(held=folded("subject"))
    others = alike.filter(held=folded(Value(subject))).exclude(pk=own)
    return _with_case(others).order_by("-id")


@built
def _of_source(system: str, reference: str, own: int) -> QuerySet[Operation]:
    same = Operation.objects.filter(source_system=system, source_reference=reference)
    return _with_case(same.exclude(pk=own)).order_by("id")[:SHOWN]


def _with_case(operations: QuerySet[Operation]) -> QuerySet[Operation]:
    """Add type and destination, and the kind of the open case."""
    return told.with_case_kind(operations).select_related("operation_type__destination")
