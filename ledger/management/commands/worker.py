"""`manage.py worker`: the supervised queue, and the sweep that finds what is due."""

from typing import Any

from django.core.management import BaseCommand, CommandParser, call_command

from ledger.worker.cluster import die_with
from ledger.worker.supervisor import Supervisor


class Command(BaseCommand):
    """Run the worker until somebody asks it to stop."""

    help = "Runs the queue's cluster under a supervisor, and takes up what is due, expired or settled."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The supervisor starts its cluster by the same command."""
        parser.add_argument("--queue", type=int, metavar="PID", help="be the cluster of this supervisor")

    def handle(self, *, queue: int | None, **options: Any) -> None:
        """Supervise, or be what is supervised."""
        if queue is None:
            Supervisor().run()
        else:
            die_with(queue)
            call_command("qcluster")
