"""Notes on what stands there twice, in one file or in two: one place, or one thing made by two types."""

from collections import defaultdict

from ledger.models import Destination, OperationType
from ledger.rules.overlaps import ONE_TYPE, Place, same_records
from reconcile.configuration.layout import Layout


def notes(layout: Layout) -> list[str]:
    """Return a note on each lot of which the file has one; everything is stored as it would be."""
    return [*_destinations(layout), *_types(layout)]


def _destinations(layout: Layout) -> list[str]:
    places: dict[Place, list[str]] = defaultdict(list)
    for one in Destination.objects.order_by("name"):
        if not one.trouble:
            places[one.place].append(one.name)
    return [
        f"destinations {_and(names)} share address and account: limits, pauses and drills of one do not count"
        " for the other. Make them one destination; or, if they are different accounts, give each account"
        " its own name."
        for names in places.values()
        if len(names) > 1 and not layout.destinations.keys().isdisjoint(names)
    ]


def _types(layout: Layout) -> list[str]:
    kinds = OperationType.objects.configured().select_related("destination")
    lots = same_records(kind.finds for kind in kinds if not kind.trouble)
    return [
        f"operation types {_and(names)} look for the same records in the same account: a key counts within"
        " its own type alone, so what is handed to more than one of them is made more than once."
        f" {ONE_TYPE} Let all who make it use one of them; only what is another thing has a type, a look-up"
        " and a list of its own."
        for names in lots
        if not layout.operation_types.keys().isdisjoint(names)
    ]


def _and(names: tuple[str, ...] | list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
