"""The installation itself: database and role, migrations, worker, clock, seals, mail, files, people."""

import smtplib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.cache import cache
from django.core.mail import get_connection
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import Min

from ledger import audit
from ledger.door import health
from ledger.models import Event, Operation, database_now
from ledger.worker import nudging
from reconcile.proposals import roles
from review.doctor.lines import Line, ok, warning, wrong
from review.instants import span

OLDEST = 150000
LATE = timedelta(minutes=5)
"""How long what is due, or not sealed, may wait before somebody should look."""
OFF, FAR_OFF = timedelta(seconds=2), timedelta(seconds=60)
"""How far this machine's clock may be from the database's; signatures of webhooks bear some minutes."""
ONE_GOES = (
    "They decide nothing until one role goes: an administrator proposes that under Approvals. Where nobody "
    "is left to agree, set RULES_BY_TWO=false and manage.py person NAME --role ROLE --reason TEXT. "
    "Who administers and decides has two accounts."
)
_ROLE = """
SELECT current_user, r.rolsuper OR r.rolbypassrls OR r.rolcreaterole,
    pg_has_role(c.relowner, 'MEMBER') OR has_table_privilege(c.oid, 'TRUNCATE')
FROM pg_roles AS r, pg_class AS c WHERE r.rolname = current_user AND c.oid = 'ledger_event'::regclass
"""
_OFF = """
SELECT c.relname || '.' || t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE t.tgenabled = 'D' AND c.relname ~ '^(ledger|reconcile|review|auth)_' ORDER BY 1
"""


def database() -> Iterator[Line]:
    """Say which PostgreSQL answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
        number, name = cursor.fetchone()
    if number < OLDEST:
        yield wrong("database", f"It is PostgreSQL {name}.", "Use PostgreSQL 15 or newer.")
    else:
        yield ok("database", f"PostgreSQL {name}")


def role() -> Iterator[Line]:
    """Say whether the application's role could take the guards off."""
    with connection.cursor() as cursor:
        cursor.execute(_ROLE)
        name, mighty, owns = cursor.fetchone()
    if mighty:
        remedy = "Give DATABASE_URL a plain role, as README does under Production."
        yield wrong("role", f"{name} may do anything in the database: no guard holds it.", remedy)
    elif owns:
        remedy = (
            "Set DATABASE_OWNER_URL to the role that owns the schema, and DATABASE_URL to one that does not."
        )
        yield warning("role", f"{name} owns the tables, and could take their guards off.", remedy)
    else:
        yield ok("role", f"{name} owns nothing")


def migrations() -> Iterator[Line]:
    """Say whether the database is in the state of this code."""
    loader = MigrationLoader(connection)
    missing = sorted(loader.disk_migrations.keys() - loader.applied_migrations.keys())
    newer = [
        f"{app} {name}"
        for app, name in loader.applied_migrations
        if app in ("ledger", "reconcile", "review") and (app, name) not in loader.disk_migrations
    ]
    if missing:
        names = ", ".join(f"{app} {name}" for app, name in missing[:3])
        remedy = "make serve migrates first; or manage.py migrate --database owner."
        yield wrong("migrations", f"{len(missing)} to be applied: {names}.", remedy)
    elif newer:
        yield wrong("migrations", f"The database is newer than this code: {newer[0]}.", "Run its version.")
    else:
        yield ok("migrations", "all applied")


def guards() -> Iterator[Line]:
    """Say whether anybody has left a guard off."""
    with connection.cursor() as cursor:
        cursor.execute(_OFF)
        off = [name for (name,) in cursor.fetchall()]
    if off:
        remedy = (
            "ALTER TABLE … ENABLE TRIGGER …, as the owner; then ask what points to nothing, as README does."
        )
        yield wrong("guards", f"{len(off)} switched off: {', '.join(off[:3])}.", remedy)
    else:
        yield ok("guards", "all on")


def worker() -> Iterator[Line]:
    """Say whether work goes through the queue."""
    silence = health.of_worker(database_now())
    if silence:
        yield wrong(
            "worker", silence, "Start it: make serve, or manage.py worker; its log says why it ended."
        )
    else:
        yield ok("worker", "work goes through its queue")


def queue() -> Iterator[Line]:
    """Say how long what Tieout sends has been due."""
    now, tasks = database_now(), nudging.waiting()
    oldest = Operation.objects.by_tieout().due(now).aggregate(at=Min("next_try_at"))["at"]
    if oldest is not None and now - oldest > LATE:
        remedy = "See that a worker runs, and no destination is paused or at its rate; or add a worker."
        yield warning("queue", f"A send has been due for {span(now - oldest)}.", remedy)
    else:
        yield ok("queue", f"{tasks} tasks wait, nothing is long due")


def clock() -> Iterator[Line]:
    """Compare this machine's clock with the database's, which is the one that counts."""
    before = datetime.now(UTC)
    apart = database_now() - before - (datetime.now(UTC) - before) / 2
    way = "behind" if apart > timedelta(0) else "ahead of"
    words = f"This machine is {abs(apart).total_seconds():.1f} s {way} the database."
    remedy = "Let both follow NTP: signatures, certificates and the queue go by this machine's clock."
    if abs(apart) > FAR_OFF:
        yield wrong("clock", words, remedy)
    elif abs(apart) > OFF:
        yield warning("clock", words, remedy)
    else:
        yield ok("clock", "as the database’s")


def seals() -> Iterator[Line]:
    """Say whether the trail is sealed as it grows."""
    last = audit.latest()
    first = Event.objects.filter(pk__gt=last.through if last else 0).order_by("pk").first()
    now = database_now()
    if first is not None and now - first.at > LATE:
        remedy = "The worker seals once a minute: start it; manage.py verify_audit proves the rest."
        yield wrong("seals", f"Nothing has sealed the trail for {span(now - first.at)}.", remedy)
    else:
        yield ok("seals", f"{last.number} made" if last else "nothing to seal yet")


def cache_table() -> Iterator[Line]:
    """Say whether the table is there in which the limits of signing in live."""
    cache.get("doctor")
    yield ok("cache", "its table is there")


def people() -> Iterator[Line]:
    """Say whether there is anybody to administer, and to approve."""
    active = User.objects.filter(is_active=True)
    for role_name, there, why in (
        ("administrator", active.filter(groups__name="administrator"), "nobody lets people in"),
        ("approver", roles.having(roles.APPROVER), "nobody is a second person"),
    ):
        if not there.exists():
            remedy = f"manage.py person NAME --role {role_name}"
            yield warning("people", f"There is no {role_name}: {why}.", remedy)
    for name in roles.with_both().order_by("username").values_list("username", flat=True):
        yield wrong(
            "people", f"{name} is administrator and decides items: both do not go together.", ONE_GOES
        )
    yield ok("people", f"{active.count()} accounts open")


def static() -> Iterator[Line]:
    """Say whether the pages' files are packed."""
    try:
        staticfiles_storage.url("console.css")
    except ValueError:
        yield wrong(
            "static files", "They are not packed: no page can be shown.", "make serve packs them first."
        )
    else:
        yield ok("static files", "packed")


def mail() -> Iterator[Line]:
    """Say whether the mail server lets us in."""
    if not settings.MAIL:
        why = "There is no mail server: nobody gets a digest, or what a run came to."
        yield warning("mail", why, "Set SMTP_HOST and MAIL_FROM.")
        return
    there = get_connection()
    try:
        there.open()
    except smtplib.SMTPAuthenticationError:
        yield wrong("mail", "The mail server does not let us in.", "Correct SMTP_USER and SMTP_PASSWORD.")
    except (smtplib.SMTPException, OSError) as error:
        why = f"The mail server cannot be reached: {type(error).__name__}."
        yield wrong("mail", why, "Correct SMTP_HOST, SMTP_PORT and SMTP_SECURITY.")
    else:
        yield ok("mail", "the mail server answers")
    finally:
        there.close()


def address() -> Iterator[Line]:
    """Say whether what goes out leads back to where people are."""
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    outside = [one for one in settings.ALLOWED_HOSTS if one not in ("localhost", "127.0.0.1", "[::1]")]
    if host in ("localhost", "127.0.0.1") and outside:
        remedy = f"Set PUBLIC_URL, such as https://{outside[0]}."
        yield warning("address", f"Links in mails and webhooks lead to {host}.", remedy)
    else:
        yield ok("address", settings.PUBLIC_URL)
