"""What else is known of the same source record, and of the same person or thing; both bounded."""

from django.db.models import Prefetch, Value, prefetch_related_objects

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
    return list(others.select_related("operation_type__destination").order_by("-id")[:FEW])


def of_source(operation: Operation) -> list[Operation]:
    """Return other operations of the same source record, the oldest first."""
    if not operation.source_reference:
        return []
    same = Operation.objects.filter(
        source_system=operation.source_system, source_reference=operation.source_reference
    )
    others = same.exclude(pk=operation.pk).select_related("operation_type__destination")
    return list(others.order_by("id")[:SHOWN])


def with_cases(*lists: list[Operation]) -> None:
    """Add to each its open cases, as `open_cases`, with one question for all."""
    found = [one for others in lists for one in others]
    prefetch_related_objects(found, Prefetch("cases", Case.objects.open(), to_attr="open_cases"))
