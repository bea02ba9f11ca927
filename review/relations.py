"""What else is known of the same source record, and of the same person or thing; both bounded."""

from django.db.models import Prefetch, Value

from ledger.models import Case, Operation, folded

SHOWN, FEW = 10, 5


def of_subject(operation: Operation) -> list[Operation]:
    """Return the latest others with the same subject, off its index; those of its source stand elsewhere."""
    if not operation.subject:
        return []
    alike = Operation.objects.exclude(subject="").alias(held=folded("subject"))
    others = alike.filter(held=folded(Value(operation.subject))).exclude(pk=operation.pk)
    if operation.source_reference:
        others = others.exclude(source_reference=operation.source_reference)
    open_cases = Prefetch("cases", Case.objects.open(), to_attr="open_cases")
    found = others.select_related("operation_type__destination").prefetch_related(open_cases)
    return list(found.order_by("-id")[:FEW])


def of_source(operation: Operation) -> list[Operation]:
    """Return other operations of the same source record, the oldest first."""
    if not operation.source_reference:
        return []
    same = Operation.objects.filter(
        source_system=operation.source_system, source_reference=operation.source_reference
    )
    others = same.exclude(pk=operation.pk).select_related("operation_type__destination")
    open_cases = Prefetch("cases", Case.objects.open(), to_attr="open_cases")
    return list(others.prefetch_related(open_cases).order_by("id")[:SHOWN])
