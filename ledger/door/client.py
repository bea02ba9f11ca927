"""Tieout's client in one file: Python 3.9 and newer, standard library only. See docs/clients.md.

    tieout = Tieout()  # TIEOUT_URL and TIEOUT_TOKEN (or TIEOUT_TOKEN_FILE); url= and token= do as well

    @tieout.once("reminder.send", key="reminder/483/1", payload=body)
    def remind(op):  # claimed and started: nobody else does it now
        return mail.send(body, idempotency_key=op.idempotency_key)["id"]

    remind()  # its reference, also where it is done already; else Wait, Hold or Refused is raised

One key makes one effect. Kill the process at any line and run it again: what was claimed and what was said
are on disk (TIEOUT_SPOOL) before they are told, and Tieout decides whether it is done again.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import http.client
import json
import logging
import os
import random
import re
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from datetime import datetime
from pathlib import Path
from types import FrameType, SimpleNamespace, TracebackType
from typing import Any, Callable, NamedTuple

try:
    import fcntl
except ImportError:  # then nothing is done while Tieout cannot be asked
    LOCKS = False
else:
    LOCKS = True

__version__ = "0.1.0"
Json = dict[str, Any]
log = logging.getLogger("tieout")
CODE_MAX, MESSAGE_MAX = 100, 10_000
ANSWER_MAX, PAUSE_MAX_S, STALE_S, FAILURES, LOCK = 4 << 20, 5.0, 2 * 86400, 3, ".lock"
LINE_MAX, TURNS, NAP_S = 4096, 20, 0.2
NOT_SENT = frozenset(
    "ConnectionRefusedError gaierror SSLCertVerificationError NewConnectionError ConnectTimeoutError "
    "NameResolutionError ConnectError ConnectTimeout PoolTimeout".split()
)
"""Exceptions that come before a byte is sent, by name: of Python, urllib3, requests and httpx."""
WRAPPERS = frozenset("URLError MaxRetryError ConnectionError SSLError".split())
"""Names of those that only carry another one, and say by themselves nothing of when it came."""
KNOWN = frozenset("requests urllib3 httpx httpcore anyio".split())
"""Installed packages whose ways of sending a second request are known here; others may have others."""
AGAIN = frozenset("resolve_redirects dispatch_hook handle_401 http_error_auth_reqed".split())
"""Functions of requests and urllib that send a second request after an answer to the first."""
SAID = "type key decision why case retry_at changed operation reference proceed open said".split()
"""What an operation has for who reads of it in another process."""
LATER, HELD, REFUSED, USAGE = 75, 76, 77, 64


# --- what is raised


class TieoutError(Exception):
    """Whatever this client raises. `exit_status` is what the command ends with, and what a script may."""

    exit_status = REFUSED


class TieoutUnavailable(TieoutError):
    """Tieout cannot be asked now. Nothing was done; run it again later."""

    exit_status = LATER


class Problem(TieoutError):
    """Tieout refused a call; `status`, `type` and `body` are those of its problem document."""

    def __init__(self, status: int, body: Json) -> None:
        self.status, self.body = status, body
        self.type = str(body.get("type", "")).rpartition("/")[2]
        wrong = "".join(f" {one.get('path')}: {one.get('problem')}" for one in body.get("errors") or ())
        said = body.get("detail") or "It sent no problem document: does TIEOUT_URL lead to Tieout itself?"
        super().__init__(f"Tieout answered {status}: {said}{wrong}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.body)


class NotNow(TieoutError):
    """The work must not be done now; `op` has the decision."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        super().__init__(f"{op.type} {op.key}: {op.decision}. {op.why}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it go to another process: `op` is then what it said, and no longer to be entered."""
        said = {name: getattr(self.op, name) for name in SAID}
        return type(self), (SimpleNamespace(**said),)


class Done(NotNow):
    """It is done already (`skip`)."""

    exit_status = 0


class Wait(NotNow):
    """Somebody is at it, or its next try is not due."""

    exit_status = LATER


class Hold(NotNow):
    """A person decides first."""

    exit_status = HELD


class Refused(NotNow):
    """The key was used with another payload (`refuse`); `op.changed` has the paths."""


class NothingSaid(TieoutError):
    """The block ended without a word. Tieout was told that it may have happened."""


class LeaseLost(TieoutError):
    """The lease has ended: start nothing more, and say what came back all the same."""


class SpoolError(TieoutError):
    """The spool folder cannot be used; the words say what is not on disk because of it."""


# --- the way to Tieout


class _Answer(NamedTuple):
    status: int
    body: Json

    def good(self) -> Json:
        if self.status >= 300:
            raise Problem(self.status, self.body)
        return self.body


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: a token belongs to one address."""


class _Wire:
    """Calls that may be repeated, with pauses between them and an end. Proxies are the environment's."""

    def __init__(self, url: str, token: str, *, timeout_s: float, cafile: str | None) -> None:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if url.startswith("https"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cafile)))
        self.url, self._timeout_s = url, timeout_s
        self.hurried = False
        """Set where this process is asked to end: nothing is asked again then, what was said is on disk."""
        self._opener = urllib.request.build_opener(*handlers)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": f"tieout-client/{__version__}",
        }

    def ask(self, method: str, path: str, body: Json | None = None, *, patience_s: float) -> _Answer:
        """Return a final answer; TieoutUnavailable where none comes within `patience_s` seconds."""
        until, pause_s = time.monotonic() + patience_s, 0.2
        while True:
            answer, why, asked_s = self._once(method, path, body)
            if answer is not None:
                return answer
            wait_s = max(asked_s, random.uniform(pause_s / 2, pause_s))  # noqa: S311 - spreads load
            again_at = time.monotonic() + wait_s
            while not self.hurried and time.monotonic() < again_at <= until:
                time.sleep(max(min(NAP_S, again_at - time.monotonic()), 0.0))  # no signal wakes it
            if self.hurried or again_at > until:
                raise TieoutUnavailable(f"Tieout at {self.url} cannot be asked now ({why}).")
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _once(self, method: str, path: str, body: Json | None) -> tuple[_Answer | None, str, float]:
        data = None if body is None else json.dumps(body).encode()
        address = f"{self.url}/api/v1/{path}"
        request = urllib.request.Request(  # noqa: S310 - http or https, as was looked at
            address, data=data, headers=self._headers, method=method
        )
        try:
            try:
                response = self._opener.open(request, timeout=self._timeout_s)
            except urllib.error.HTTPError as refusal:
                response = refusal
            with response:
                status, text = int(response.status or 0), response.read(ANSWER_MAX)
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            return None, type(why).__name__ if isinstance(why, Exception) else str(why), 0.0
        return _read(status, text, response.headers.get("Retry-After", ""))


def _read(status: int, text: bytes, asked: str) -> tuple[_Answer | None, str, float]:
    """Tell a final answer from one to ask again for, and how many seconds it asks to wait."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    known = isinstance(body, dict)
    again = status >= 500 or status in (408, 425, 429) or (known and _again(body))
    if again or (status < 300 and not known):
        return None, f"it answered {status}", float(asked) if asked.isdecimal() else 0.0
    return _Answer(status, body if known else {}), "", 0.0


def _again(body: Json) -> bool:
    return body.get("retry") == "wait" and body.get("decision") is None


# --- the disk


class _Spool:
    """A private folder of small files, each a fact that must outlive this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, fact: Json, *, first: bool = False) -> bool:
        """Put a fact on disk, whole and durable; with `first`, False where one of that name is there."""
        temporary = None
        try:
            self.make()
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".")  # for its owner alone
            with open(handle, "w", encoding="utf-8") as file:
                json.dump({"v": 1, **fact}, file)
                file.flush()
                os.fsync(file.fileno())
            if first and not _linked(temporary, self.folder / name):
                return False
            if not first:
                Path(temporary).replace(self.folder / name)
            self._sync()
        except OSError as error:
            why = error.strerror
            raise SpoolError(f"The spool folder {self.folder} cannot be written: {why}.") from error
        finally:
            if temporary:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
        return True

    def read(self, name: str) -> Json | None:
        """Return a fact, or None. What cannot be read is set aside and said."""
        try:
            fact = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise SpoolError(f"The spool folder {self.folder} cannot be read: {error.strerror}.") from error
        except ValueError:
            fact = None
        if isinstance(fact, dict) and fact.get("v") == 1:
            return fact
        if not self.aside(name, "unreadable", "It cannot be read."):
            raise SpoolError(f"The spool folder {self.folder} cannot be written: {name} stays in the way.")
        return None

    def remove(self, name: str, *, surely: bool = False) -> None:
        """Remove a fact that has served; SpoolError where it stays and was to go `surely`."""
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            if surely:
                why = error.strerror
                raise SpoolError(f"The spool folder {self.folder} cannot be written: {why}.") from error
            # Else what stays is told again, which changes nothing.

    def aside(self, name: str, kind: str, why: str) -> bool:
        """Keep a file out of the way, for a person to look at; False where it stays in the way."""
        place = self.folder / f"{name}.{kind}"
        try:
            Path(self.folder / name).replace(place)
        except FileNotFoundError:
            pass
        except OSError:
            place = self.folder / name
        log.error("%s: %s Look at it, then remove it.", place, why)
        return place.name != name

    def names(self, suffix: str, start: str = "[!.]") -> list[str]:
        return sorted(path.name for path in self.folder.glob(f"{start}*{suffix}"))

    def sweep(self) -> None:
        """Remove what is of no use any more: no lease lasts as long."""
        for path in [*self.folder.glob("*.claim"), *self.folder.glob(".*")]:
            with contextlib.suppress(OSError):
                if path.is_file() and path.name != LOCK and time.time() - path.stat().st_mtime > STALE_S:
                    self.free(self.lock(path.name), path.name) if path.suffix == LOCK else path.unlink()

    def lock(self, name: str, *, wait: bool = False) -> int | None:
        """Lock a file and return its handle; None where another process has it, or it has gone."""
        if not LOCKS:
            return None
        handle = None
        try:
            handle = os.open(self.folder / name, os.O_RDWR | (os.O_CREAT if name == LOCK else 0), 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.fstat(handle).st_nlink:
                return handle
        except OSError:
            pass
        _close(handle)
        return None

    def hold(self, name: str, *, alone: bool) -> int | None:
        """Hold a lock file, alone or beside others; None where it cannot be had.

        BlockingIOError where it is to be held beside others, and another one holds it alone.
        """
        self.make()
        while True:
            handle = None
            try:
                handle = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                if os.fstat(handle).st_nlink:
                    return handle
            except BlockingIOError:
                _close(handle)
                if alone:
                    return None
                raise
            except OSError:  # no locks on this disk
                _close(handle)
                return None
            _close(handle)  # it was swept away meanwhile

    def free(self, handle: int | None, name: str) -> None:
        """Hold a lock file no more; who is the last to do so removes it."""
        if handle is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.folder / name).unlink()
            os.close(handle)

    def make(self) -> None:
        """Make the folder; SpoolError where it cannot be, or where others could put words into it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.folder.stat()
        except OSError as error:
            raise SpoolError(
                f"The spool folder {self.folder} cannot be written: {error.strerror}."
            ) from error
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise SpoolError(
                f"The spool folder {self.folder} is somebody else's, or others may write to it. Set "
                "TIEOUT_SPOOL to a folder of this user's own, such as one below it, or chmod it to 700."
            )

    def _sync(self) -> None:
        if os.name == "posix":
            handle = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _linked(file: str, name: Path) -> bool:
    try:
        os.link(file, name)
    except FileExistsError:
        return False
    return True


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


# --- was a byte sent?


def not_sent(error: BaseException | None) -> bool:
    """Say whether an exception proves that no byte was sent; whatever else it carries denies it."""
    proved, seen = False, set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if _repeated(one):
            return False
        inner = [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
        waiting += [each for each in inner if isinstance(each, BaseException)]
        if NOT_SENT & {kind.__name__ for kind in type(one).__mro__} or _connecting(one):
            proved = True
        elif type(one).__name__ not in WRAPPERS:
            return False
    return proved


def _repeated(error: BaseException) -> bool:
    """Say whether a request may have gone out before the one that failed: a redirect, a repetition."""
    pools: dict[Any, set[int]] = {}
    trace = error.__traceback__
    block = trace and trace.tb_frame.f_code.co_filename
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        path, function = Path(frame.f_code.co_filename), frame.f_code.co_name
        package = _installed(path)
        if package and package not in KNOWN and frame.f_code.co_filename != block:
            return True
        if function in AGAIN or function.startswith("http_error_"):
            return True
        if (
            package == "httpx"
            and function.startswith("_send_handling_")
            and frame.f_locals.get("history") != []
        ):
            return True
        if (path.parent.name, path.name, function) == ("xmlrpc", "client.py", "request"):
            return True
        if package == "urllib3" and function == "urlopen":  # it calls itself to send another one
            pools.setdefault(frame.f_code, set()).add(id(frame))
    return any(len(frames) > 1 for frames in pools.values())


def _installed(path: Path) -> str:
    """Return the name of the installed package that a file belongs to, or nothing."""
    for name in ("site-packages", "dist-packages"):
        if name in path.parts[:-1]:
            return path.parts[path.parts.index(name) + 1]
    return ""


def _connecting(error: BaseException) -> bool:
    """Say whether an error of the system came while a connection was made, or its TLS was."""
    trace = error.__traceback__
    while trace is not None and isinstance(error, OSError):
        code = trace.tb_frame.f_code
        place = (Path(code.co_filename).name, code.co_name)
        if place in (("socket.py", "create_connection"), ("ssl.py", "do_handshake")):
            return True
        trace = trace.tb_next
    return False


# --- an operation


def _plain(name: str, value: Any) -> Any:
    """Make text of a reference, and keep words within what Tieout takes; ValueError where it is none."""
    if name == "destination_reference":
        if isinstance(value, bool) or not isinstance(value, (str, int, uuid.UUID)):
            raise ValueError(f"it is text or a whole number, and no {type(value).__name__}")
        return str(value).strip() or None
    if name == "error_code":
        return re.sub("[^!-~]", "_", str(value).strip())[:CODE_MAX] or None
    if name == "message":
        return str(value)[:MESSAGE_MAX].replace("\0", "?").encode(errors="replace").decode()
    json.dumps(value, allow_nan=False)
    return value


def _told_with(members: Json, what: str) -> Json:
    """Return what can be told beside an outcome. What cannot is said and left out: it undoes no outcome."""
    told = {}
    for name, value in members.items():
        try:
            told[name] = None if value is None else _plain(name, value)
        except Exception as error:  # noqa: BLE001 - also what an object of any kind says of itself
            why = str(error) if isinstance(error, ValueError) else type(error).__name__
            log.error("%s: told without %s: %s.", what, name, why)  # noqa: TRY400 - the words are enough
    return {name: value for name, value in told.items() if value is not None}


def _less(outcome: Json, refusal: Json) -> Json:
    """Return an outcome without the members that Tieout named in refusing it, or without all."""
    beside = outcome.keys() - {"outcome"}
    named = {str(one.get("path", "")).partition(".")[0] for one in refusal.get("errors") or ()} & beside
    return {name: value for name, value in outcome.items() if name not in (named or beside)}


def _status(error: BaseException | None) -> Json:
    """Return the HTTP status that an exception carries, as urllib's, requests' and httpx' do."""
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "code", None)
    return {"http_status": status} if isinstance(status, int) and 100 <= status <= 599 else {}


class Operation:
    """One operation, as Tieout answers for it. Enter it, look at `proceed`, and say what came back."""

    def __init__(self, client: Tieout, claim: Json, *, heartbeat: bool, or_raise: bool, opens: bool) -> None:
        self.type, self.key = str(claim["type"]), str(claim["key"])
        self.decision, self.why = "", ""
        """`proceed`, `wait`, `hold`, `skip` or `refuse`; where it is not `proceed`, why, in words."""
        self.case: str | None = None
        self.retry_at: str | None = None
        self.changed: list[str] = []
        self.operation: Json = {}
        self.payload: Json = claim.get("payload") or {}
        self.open = False
        """True where Tieout could not be asked, and the work goes on all the same."""
        self.said: str | None = None
        self._client, self._body, self._opens = client, claim, opens
        self._wants = (heartbeat, or_raise)
        self._name = hashlib.sha256(f"{client.url}\n{self.type}\n{self.key}".encode()).hexdigest()[:32]
        self._attempt: Json = {}
        self._after: Json = {}
        self._begun = (0.0, "")
        """When the start was asked for, by this machine's clock, and when Tieout took it, by its own."""
        self._until: float | None = None
        self._gone = False
        self._lock: int | None = None
        self._held: int | None = None
        self._over = threading.Event()

    def __repr__(self) -> str:
        return f"<Operation {self.type} {self.key}: {self.said or self.decision or 'not asked yet'}>"

    @property
    def proceed(self) -> bool:
        """Whether the work is to be done now, here."""
        return self.decision == "proceed"

    @property
    def idempotency_key(self) -> str | None:
        """The key to send to the destination; None where Tieout could not be asked for it."""
        return self._attempt.get("idempotency_key")

    @property
    def reference(self) -> str | None:
        """The destination's own number for it, where it is known."""
        return self.operation.get("destination_reference")

    @property
    def token(self) -> str | None:
        """The attempt's token, which whoever reports for it needs. Put it into no log."""
        return self._attempt.get("token")

    @property
    def lease_left_s(self) -> float:
        """Seconds until the lease ends, at the earliest."""
        return float("inf") if self._until is None else self._until - time.monotonic()

    @property
    def lost(self) -> bool:
        """Whether the lease has ended: start nothing more, and say what came back all the same."""
        return self._gone or self.lease_left_s <= 0

    def or_raise(self) -> Operation:
        """Return it where it may be done now; else raise Done, Wait, Hold or Refused."""
        if not self.proceed:
            raise self._not_now()
        return self

    def _done_or_raise(self) -> None:
        """Raise Wait or Hold where the work itself has said that it is not done."""
        if self.said not in ("succeeded", "accepted"):
            self._stands(
                self._after.get("decision") or "wait", {**self._after, "why": f"It was {self.said}."}
            )
            raise self._not_now()

    def _not_now(self) -> NotNow:
        return {"skip": Done, "wait": Wait, "hold": Hold}.get(self.decision, Refused)(self)

    def __enter__(self) -> Operation:
        heartbeat, or_raise = self._wants
        self._begin()
        if or_raise:
            self.or_raise()
        if heartbeat and self.proceed and not self.open:
            threading.Thread(target=self._beat, name=f"tieout {self.key}", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if not self.proceed:
            if error is None and self.decision != "skip":  # else it would end as if it were done
                log.warning("%s", self._not_now())
            return
        if self.said is not None:
            return
        if error is None:
            why = "Its block ended without saying what came back."
            self.uncertain(error_code="nothing_said", message=why)
            raise NothingSaid(
                f"{self.type} {self.key}: the block ended and did not say what came back, so Tieout was told "
                "that it may have happened. Call op.succeeded(reference), or what else it was."
            )
        name = type(error).__name__
        with contextlib.suppress(Problem):  # it is logged; the block's own exception goes on its way
            if not_sent(error):
                self.retryable(error_code=name, message=f"{name}, before a byte was sent.")
            else:
                self.uncertain(error_code=name, message=f"{name}: it may have happened.", **_status(error))

    def succeeded(self, reference: str | None = None, **members: Any) -> None:
        """Say that the destination confirmed it, under its own reference."""
        self._say("succeeded", destination_reference=reference, **members)

    def accepted(self, reference: str | None = None, **members: Any) -> None:
        """Say that the destination took it, and that it is not final."""
        self._say("accepted", destination_reference=reference, **members)

    def retryable(self, **members: Any) -> None:
        """Say that it is proved that nothing was done: a refused connection, 429 (with `retry_after_s`)."""
        self._say("retryable", **members)

    def rejected(self, **members: Any) -> None:
        """Say that the destination refused it for good: `http_status`, `error_code`, `message`."""
        self._say("rejected", **members)

    def uncertain(self, **members: Any) -> None:
        """Say that it may have happened."""
        self._say("uncertain", **members)

    def heartbeat(self, lease_s: float | None = None) -> None:
        """Say that the work goes on: the lease lasts longer. LeaseLost where it has ended."""
        if self.open:
            return
        body = {"token": self.token, **({"lease_s": lease_s} if lease_s else self._lease())}
        patience_s = max(self.lease_left_s / 3, 0.0)
        answer = self._ask(f"attempts/{self._attempt['id']}/heartbeat", body, patience_s=patience_s)
        if answer.status == 409:
            self._gone = True
            raise LeaseLost(f"{self.type} {self.key}: {answer.body.get('detail')}")
        self._lasts(answer.good()["attempt"])

    def _beat(self) -> None:
        while not self._over.wait(max(self.lease_left_s / 3, 0.05)):
            try:
                self.heartbeat()
            except TieoutUnavailable:
                self._gone = self.lost
            except TieoutError as error:
                self._gone = True
                log.error("%s", error)  # noqa: TRY400 - the words are enough
            if self._gone:
                return

    def _begin(self) -> None:
        try:
            self._client._tell_all()
            if self._alone() and not self._untold():
                self._claim()
                if self.proceed:
                    self._start()
        except TieoutUnavailable as error:
            if not self._opens:
                raise TieoutUnavailable(f"{error} Nothing was done for {self.type} {self.key}.") from None
            self._go_on(error)
        finally:
            if not self.proceed:
                self._release()

    def _alone(self) -> bool:
        """Keep off whoever would do it here unasked, until it is said; False where somebody may do so."""
        spool, name = self._client.spool, f".{self._name}.lock"
        if not LOCKS:
            return True
        if self._opens:
            self._held = spool.hold(name, alone=True)
            self._opens = self._held is not None
        if self._held is None:
            try:
                self._held = spool.hold(name, alone=False)
            except BlockingIOError:
                self._stands("wait", {"why": "Another process here is at it, and may do it unasked."})
                return False
        return True

    def _release(self) -> None:
        _close(self._lock)
        self._client.spool.free(self._held, f".{self._name}.lock")
        self._lock = self._held = None

    def _untold(self) -> bool:
        """Decide by what is on disk, where Tieout does not know all of it yet."""
        spool = self._client.spool
        for name in [*spool.names(".open*", self._name), *spool.names(".outcome*", self._name)]:
            if name.endswith((".refused", ".doubled")):
                continue
            fact = None if name.endswith(".unreadable") else spool.read(name)
            told = (fact or {}).get("outcome") or {}
            done = told.get("outcome") == "succeeded"
            why = f"What was done for it is not told to Tieout yet: {spool.folder / name}."
            self._stands("skip" if done else "wait", {"why": why, "operation": told})
            return True
        return False

    def _claim(self) -> None:
        spool, name = self._client.spool, f"{self._name}.claim"
        for _ in range(TURNS):  # others of this folder may come in between, but not for ever
            kept = spool.read(name)
            if kept is None:
                spool.write(name, {"attempt_id": str(uuid.uuid4())}, first=True)
                continue
            answer = self._ask("operations/claim", {**self._body, "attempt_id": kept["attempt_id"]})
            decision = answer.body.get("decision")
            elsewhere = str(answer.body.get("type", "")).endswith("/attempt-id-elsewhere")
            if decision != "proceed":
                spool.remove(name, surely=elsewhere)
            if not elsewhere:
                break
        else:
            raise SpoolError(f"{spool.folder / name} cannot be used. Look at it, then remove it.")
        if decision is None:
            answer.good()
        self.payload = answer.body.get("payload") or self.payload
        self._attempt = answer.body.get("attempt") or {}
        self._stands(decision or "refuse", answer.body)

    def _stands(self, decision: str, body: Json) -> None:
        self.case, self.retry_at = body.get("case"), body.get("retry_at")
        self.operation, self.changed = body.get("operation") or {}, body.get("changed") or []
        self.decision, self.why = decision, str(body.get("why") or body.get("detail") or "")
        if decision == "skip" and not self.why:
            self.why = f"It is done: {self.reference}." if self.reference else "It is done."
        if self.case and self.case not in self.why:
            self.why += f" Decide at {self.case}"

    def _start(self) -> None:
        """Have it on record that the first byte may go. Whatever keeps it from that, nothing was sent."""
        asked_at = time.monotonic()
        try:
            body = {"token": self.token, "start_id": str(uuid.uuid4())}
            answer = self._ask(f"attempts/{self._attempt['id']}/start", body)
        except BaseException as error:
            if not (self._opens and isinstance(error, TieoutUnavailable)):
                why = "Nothing was sent: Tieout did not confirm the start."
                self._client._keep(*self._fact("retryable", {"error_code": "not_started", "message": why}))
            raise
        if answer.status == 409:
            self._client.spool.remove(f"{self._name}.claim")
            self._stands(answer.body.get("decision") or "wait", answer.body)
            self.decision = "wait" if self.proceed else self.decision
            return
        attempt = answer.good()["attempt"]
        self._begun = asked_at, attempt["started_at"]
        self._lasts(attempt)

    def _lasts(self, attempt: Json) -> None:
        """Count the lease from before the start: it never ends later here than with Tieout."""
        asked_at, started_at = self._begun
        ends = datetime.fromisoformat(attempt["lease_expires_at"]) - datetime.fromisoformat(started_at)
        self._until = asked_at + ends.total_seconds()

    def _lease(self) -> Json:
        return {"lease_s": self._body["lease_s"]} if self._body.get("lease_s") else {}

    def _ask(self, path: str, body: Json, *, patience_s: float | None = None) -> _Answer:
        return self._client._ask("POST", path, body, patience_s=patience_s)

    def _go_on(self, error: TieoutUnavailable) -> None:
        """Work without having asked. On this machine, at least, only one process does."""
        spool, name = self._client.spool, f"{self._name}.open"
        if not LOCKS:
            raise error
        kept = spool.read(f"{self._name}.claim") or {"attempt_id": str(uuid.uuid4())}
        if spool.write(name, {**self._about(), "attempt_id": kept["attempt_id"]}, first=True):
            self._lock = spool.lock(name, wait=True)
        if self._lock is None:
            self._stands("wait", {"why": "Another process is at it, and Tieout cannot be asked."})
            return
        spool.remove(f"{self._name}.claim")
        self._attempt.setdefault("caller_id", kept["attempt_id"])
        self._stands("proceed", {})
        self.open = True
        log.warning("%s %s: %s It is done all the same, and told later.", self.type, self.key, error)

    def _about(self) -> Json:
        """Return what a file on disk has of it; the payload only where its claim has still to be told."""
        claimed = {name: self._attempt[name] for name in ("id", "token") if name in self._attempt}
        about: Json = {
            "url": self._client.url,
            "type": self.type,
            "key": self.key,
            "attempt": claimed or None,
        }
        return about if claimed else {**about, "claim": self._body}

    def _fact(self, outcome: str, members: Json) -> tuple[str, Json]:
        said = {**_told_with(members, f"{self.type} {self.key}"), "outcome": outcome}
        by = self.token or self._attempt.get("caller_id", "")
        name = f"{self._name}.{hashlib.sha256(by.encode()).hexdigest()[:16]}.outcome"
        return name, {**self._about(), "attempt_id": self._attempt.get("caller_id"), "outcome": said}

    def _say(self, outcome: str, **members: Any) -> None:
        if not self.proceed:
            raise TieoutError(
                f"{self.type} {self.key} was not yours to do ({self.decision}): nothing is to be said."
            )
        if self.said is not None:
            raise TieoutError(f"{self.type} {self.key}: {self.said} was said already, and stands.")
        name, fact = self._fact(outcome, members)
        kept = self._client._keep(name, fact)
        self.said = outcome
        self._over.set()
        if self.open and kept:
            self._client.spool.remove(f"{self._name}.open")
        self._release()
        try:
            answer = self._client._told(name, fact, kept=kept)
        finally:
            self._client.spool.remove(f"{self._name}.claim")
        self._after = answer or {}
        self.operation = self._after.get("operation") or self.operation


# --- one Tieout


class Tieout:
    """One Tieout, asked with one token. It may be shared by threads."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: str | None = None,
        spool: str | None = None,
        when_unreachable: str = "closed",
        patience_s: float = 30.0,
        timeout_s: float = 10.0,
        cafile: str | None = None,
    ) -> None:
        """Take what is not given from the environment. `patience_s` bounds a call with its repetitions.

        `when_unreachable="open"`: the work goes on unasked, and is told later. Another process or person may
        do it as well, and an earlier try may have done it: what is then there twice is said, not prevented.
        """
        if when_unreachable not in ("closed", "open"):
            raise TieoutError('when_unreachable is "closed" or "open".')
        found = url or os.environ.get("TIEOUT_URL", "")
        if not urllib.parse.urlsplit(found).scheme.startswith("http"):
            raise TieoutError("Give url=, or set TIEOUT_URL, such as https://tieout.example.com.")
        self.url, self._opens, self._patience_s = found.rstrip("/"), when_unreachable == "open", patience_s
        self._wire = _Wire(self.url, _token(token, token_file), timeout_s=timeout_s, cafile=cafile)
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        self.spool = _Spool(Path(spool or os.environ.get("TIEOUT_SPOOL") or Path(state) / "tieout"))

    def __repr__(self) -> str:
        return f"<Tieout {self.url}>"

    def operation(
        self,
        type: str,
        *,
        key: str,
        payload: Json | None,
        heartbeat: bool = False,
        or_raise: bool = False,
        when_unreachable: str | None = None,
        **members: Any,
    ) -> Operation:
        """Return an operation to enter. `members`: amount, currency, after, source, description, lease_s …

        `payload=None` claims a correction by its key. With `or_raise`, what must not be done now raises.
        With `heartbeat`, a thread extends the lease for as long as the block runs.
        """
        claim = {"type": type, "key": key, "payload": payload, **members}
        claim = {name: value for name, value in claim.items() if value is not None}
        opens = self._opens if when_unreachable is None else when_unreachable == "open"
        return Operation(self, claim, heartbeat=heartbeat, or_raise=or_raise, opens=opens)

    def once(self, type: str, **members: Any) -> Callable[[Callable[..., Any]], Callable[..., str | None]]:
        """Decorate a function that does the work: it takes the operation first, and returns the reference.

        Members may be functions of the call's other arguments. What is done already returns its reference;
        what must not be done now, or was not done by the function's own word, raises Wait, Hold or Refused.
        """

        def wrap(work: Callable[..., Any]) -> Callable[..., str | None]:
            @functools.wraps(work)
            def performed(*given: Any, **named: Any) -> str | None:
                own = {name: one(*given, **named) if callable(one) else one for name, one in members.items()}
                with self.operation(type, **own) as op:
                    if op.decision == "skip":
                        return op.reference
                    reference: str | None = work(op.or_raise(), *given, **named)
                    if op.said is None:
                        op.succeeded(reference)
                op._done_or_raise()
                return op.reference if reference is None else reference

            return performed

        return wrap

    def submit(self, type: str, *, key: str, payload: Json, **members: Any) -> Json:
        """Hand an operation over to Tieout, which performs it; return the answer with its `decision`."""
        answer = self._ask("POST", "operations", {"type": type, "key": key, "payload": payload, **members})
        return answer.body if answer.body.get("decision") else answer.good()

    def get(self, operation_id: str) -> Json:
        """Return an operation as it stands, with its attempts."""
        return self._ask("GET", f"operations/{operation_id}").good()

    def correction(self, operation_id: str, *, payload: Json, who: str, why: str, **members: Any) -> Json:
        """Ask for a new operation in place of another one; return the answer. The same again is the same."""
        body = {"payload": payload, "who": who, "why": why, **members}
        return self._ask("POST", f"operations/{operation_id}/correction", body).good()

    def flush(self) -> list[str]:
        """Tell Tieout what is on disk for it, and return the names of the files that remain."""
        self.spool.sweep()
        self._tell_all(patience_s=self._patience_s)
        kinds = (".open", ".outcome", ".unreadable", ".refused", ".doubled")
        return [name for kind in kinds for name in self.spool.names(kind)]

    def _ask(
        self, method: str, path: str, body: Json | None = None, *, patience_s: float | None = None
    ) -> _Answer:
        return self._wire.ask(
            method, path, body, patience_s=self._patience_s if patience_s is None else patience_s
        )

    def _keep(self, name: str, fact: Json) -> bool:
        """Put what was said on disk; False where the disk does not take it."""
        try:
            self.spool.write(name, fact, first=True)
        except SpoolError as error:
            log.error("%s", error)  # noqa: TRY400 - the words are enough
            return False
        return True

    def _told(self, name: str, fact: Json, *, kept: bool) -> Json | None:
        """Tell what was just said; what cannot be told now stays on disk. SpoolError where it is nowhere.

        Problem where Tieout does not take it: it then stays on disk for a person.
        """
        try:
            if fact["attempt"] is not None:
                answer = self._tell(name, fact)
                return (
                    answer.body
                    if answer.body.get("decision") or answer.status in (401, 403)
                    else answer.good()
                )
            self._tell_all()
            why = "Its claim has to be told first."
        except TieoutUnavailable as error:
            why = str(error)
        if not kept:
            raise SpoolError(
                f"{fact['type']} {fact['key']}: {fact['outcome']} is neither on disk ({self.spool.folder}) "
                f"nor with Tieout. {why} Keep this line, and tell a person."
            )
        log.warning("%s %s: what came back is on disk, and told later. %s", fact["type"], fact["key"], why)
        return None

    def _tell_all(self, *, patience_s: float = 0.0) -> None:
        if self.spool.folder.is_dir():
            self.spool.make()
        lock = self.spool.lock(LOCK)
        if lock is None and LOCKS:
            return  # another process is telling it, or there is nothing yet
        failures = 0
        try:
            for name in self.spool.names(".open"):
                self._end(name)
            for name in self.spool.names(".outcome"):
                fact = self.spool.read(name)
                if fact is None or fact["url"] != self.url or failures == FAILURES:
                    continue
                try:
                    self._deliver(name, fact, patience_s)
                except TieoutUnavailable:
                    failures += 1
        finally:
            _close(lock)

    def _end(self, name: str) -> None:
        """Say of work that was begun unasked, and whose process has ended, that it may have happened."""
        lock, fact = self.spool.lock(name), self.spool.read(name)
        if lock is not None and fact is not None:
            why = "Done while Tieout could not be asked; its process ended without a word."
            said = {"outcome": "uncertain", "error_code": "nothing_said", "message": why}
            by = (fact["attempt"] or {}).get("token") or fact["attempt_id"]
            start = f"{name[:32]}.{hashlib.sha256(by.encode()).hexdigest()[:16]}"
            self.spool.write(f"{start}.outcome", {**fact, "outcome": said}, first=True)
            self.spool.remove(name)
        _close(lock)

    def _deliver(self, name: str, fact: Json, patience_s: float) -> None:
        if fact["attempt"] is not None:
            self._tell(name, fact, patience_s=patience_s)
            return
        # Without an attempt_id it counts as started: should this process be lost now, it may have happened.
        answer = self._ask("POST", "operations/claim", fact["claim"], patience_s=patience_s)
        started = answer.body.get("decision") == "proceed"
        if answer.body.get("decision") == "wait":  # perhaps for a claim of its own, whose answer was lost
            body = {**fact["claim"], "attempt_id": fact["attempt_id"]}
            answer = self._ask("POST", "operations/claim", body, patience_s=patience_s)
        decision, kind = answer.body.get("decision"), str(answer.body.get("type", "")).rpartition("/")[2]
        if decision == "proceed":
            attempt = answer.body["attempt"]
            fact = {**fact, "attempt": {"id": attempt["id"], "token": attempt["token"]}}
            self.spool.write(name, fact)
            if not started:
                body = {"token": attempt["token"], "start_id": str(uuid.uuid4())}
                self._ask("POST", f"attempts/{attempt['id']}/start", body, patience_s=patience_s)
            self._tell(name, fact, patience_s=patience_s)
        elif kind == "attempt-id-elsewhere":
            self.spool.write(name, {**fact, "attempt_id": str(uuid.uuid4())})
        elif decision == "skip":
            self._already(name, fact, answer.body["operation"].get("destination_reference"))
        elif decision in ("wait", "hold") or answer.status in (401, 403):
            said = answer.body.get("detail")
            log.error("%s %s was done unasked, and cannot be told yet: %s", fact["type"], fact["key"], said)
        else:
            self.spool.aside(name, "refused", str(Problem(*answer)))

    def _already(self, name: str, fact: Json, reference: str | None) -> None:
        """Compare what was done unasked with what Tieout has as done: it may be there twice."""
        said = fact["outcome"]
        own = said.get("destination_reference")
        if said["outcome"] in ("retryable", "rejected") or (own is not None and own == reference):
            self.spool.remove(name)
            return
        why = (
            f"Done unasked ({own or 'no reference'}), and Tieout has it done under {reference}: look for two."
        )
        self.spool.aside(name, "doubled", why)

    def _tell(self, name: str, fact: Json, *, patience_s: float | None = None) -> _Answer:
        attempt, said, refusal = fact["attempt"], fact["outcome"], None
        while True:
            body = {**said, "token": attempt["token"]}
            answer = self._ask("POST", f"attempts/{attempt['id']}/outcome", body, patience_s=patience_s)
            if answer.status not in (400, 413) or said.keys() <= {"outcome"}:
                break
            refusal = refusal or Problem(*answer)
            said = _less(said, answer.body)  # what goes along with an outcome does not undo it
        if refusal and answer.status not in (400, 413):
            without = ", ".join(sorted(fact["outcome"].keys() - said.keys()))
            log.error("%s %s: told without %s: %s", fact["type"], fact["key"], without, refusal)
        if answer.status in (401, 403):
            log.error("%s %s cannot be told: %s", fact["type"], fact["key"], Problem(*answer))
        elif answer.status < 300 or answer.body.get("decision"):
            if answer.status >= 300:  # it came late, and is kept as evidence
                log.warning("%s %s: %s", fact["type"], fact["key"], answer.body.get("detail"))
            self.spool.remove(name)
        else:
            self.spool.aside(name, "refused", str(Problem(*answer)))
        return answer


def _token(token: str | None, file: str | None) -> str:
    file = file or (None if token else os.environ.get("TIEOUT_TOKEN_FILE"))
    found = token or (Path(file).read_text(encoding="utf-8") if file else os.environ.get("TIEOUT_TOKEN", ""))
    if not found.strip():
        raise TieoutError("Give token= or token_file=, or set TIEOUT_TOKEN or TIEOUT_TOKEN_FILE.")
    return found.strip()


# --- python3 tieout_client.py run TYPE KEY -- command …


def _run(given: argparse.Namespace) -> int:
    """Do a command once. Its exit status becomes the outcome, and is passed on."""
    text = "{}"
    if given.payload:
        text = sys.stdin.read() if given.payload == "-" else Path(given.payload).read_text(encoding="utf-8")
    named = ("type", "key", "amount", "currency", "description", "subject", "lease_s")
    members = {name: getattr(given, name) for name in named}
    tieout = Tieout(when_unreachable="open" if given.open else "closed", patience_s=given.patience_s)
    once = tieout.operation(payload=json.loads(text), heartbeat=True, or_raise=True, **members)
    folder = tempfile.mkdtemp()
    try:
        with once as op:
            reference = Path(folder) / "reference"
            status = _command(given.command, op, reference)
            if status == 0:
                op.succeeded(_first_line(reference))
            elif op.said is None:
                rejected = status in given.rejected
                say = op.rejected if rejected else op.retryable if status in given.retryable else op.uncertain
                say(error_code=f"exit_{status}", message=f"The command ended with {status}.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return status


def _first_line(file: Path) -> str | None:
    """Return the first line of what a command wrote; what cannot be one is said and left out."""
    handle = None
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # else it waits at a pipe
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no regular file")
        return os.read(handle, LINE_MAX).partition(b"\n")[0].decode()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.error("There is no reference in $TIEOUT_REFERENCE_FILE: %s.", error)  # noqa: TRY400
        return None
    finally:
        _close(handle)


def _flush(given: argparse.Namespace) -> int:
    left = Tieout(patience_s=given.patience_s).flush()
    print("".join(f"{name}\n" for name in left) or "All is told.\n", end="")
    return LATER if left else 0


def _command(command: list[str], op: Operation, reference: Path) -> int:
    """Run a command to its end, with signals passed on; return its exit status, 128 and more for a signal."""
    told = {"TIEOUT_KEY": op.key, "TIEOUT_IDEMPOTENCY_KEY": op.idempotency_key or ""}
    told["TIEOUT_REFERENCE_FILE"] = str(reference)
    held = () if op._lock is None else (op._lock,)
    running: list[subprocess.Popen[bytes] | None] = []
    early: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if not running:
            early.append(number)
        elif running[0] is not None and running[0].poll() is None:
            running[0].send_signal(number)
        else:  # it has ended, and what came back is being told: it is on disk, and told later
            op._client._wire.hurried = True

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):  # Windows has not all of them
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), forward)
    try:
        process = subprocess.Popen(command, env={**os.environ, **told}, pass_fds=held)
    except OSError as error:
        print(f"tieout: {error}", file=sys.stderr)
        running.append(None)
        op.retryable(error_code="not_run", message="The command could not be run.")
        return 127
    running.append(process)
    for number in early:
        process.send_signal(number)
    status = process.wait()
    return status if status >= 0 else 128 - status


def main(arguments: list[str] | None = None) -> int:
    """Run a command once, or tell Tieout what is on disk. Exit: see docs/clients.md."""
    parser = argparse.ArgumentParser(prog="tieout_client.py", description="Do a command once, and only once.")
    parser.add_argument("--version", action="version", version=__version__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    flush = kinds.add_parser("flush", help="tell Tieout what is on disk for it")
    run = kinds.add_parser("run", help="do a command, unless it is done: run TYPE KEY [options] -- command …")
    run.add_argument("type")
    run.add_argument("key")
    run.add_argument("--payload", metavar="FILE", help="JSON, the same at each try; - is standard input")
    for name in ("amount", "currency", "description", "subject"):
        run.add_argument(f"--{name}")
    run.add_argument("--lease", dest="lease_s", type=float, metavar="SECONDS")
    run.add_argument("--open", action="store_true", help="go on where Tieout cannot be asked")
    run.add_argument("--retryable", type=int, action="append", default=[LATER], metavar="STATUS")
    run.add_argument("--rejected", type=int, action="append", default=[65], metavar="STATUS")
    for one in (flush, run):
        one.add_argument("--patience", dest="patience_s", type=float, default=30.0, metavar="SECONDS")
    arguments = sys.argv[1:] if arguments is None else arguments
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:cut])
    given.command = arguments[cut + 1 :]
    logging.basicConfig(format="tieout: %(message)s")
    if given.kind == "run" and not given.command:
        run.error("say which command, after --")
    try:
        if given.kind == "run":
            return _run(given)
        return _flush(given)
    except (TieoutError, ValueError, OSError) as error:
        print(f"tieout: {error}", file=sys.stderr)
        return error.exit_status if isinstance(error, TieoutError) else USAGE


if __name__ == "__main__":
    sys.exit(main())
