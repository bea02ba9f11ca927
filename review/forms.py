"""What a person writes with a decision."""

import uuid
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, QueryDict

from ledger.models import database_now
from ledger.rules.approvals import OVERRIDES
from ledger.rules.hours import is_within
from reconcile.proposals.roles import ROLES
from review.instants import FIRST_DAY, LAST_DAY, OUT_OF_RANGE, zone

REASON_MAX = 1000
NOT_WHOLE = "The form was not whole; here is a new one."
MISSING = "Something in the form is missing, or is not as it can be: nothing was done. Open the page again."


TOO_LONG = {"max_length": f"Write at most {REASON_MAX} characters."}


class ReasonForm(forms.Form):
    """A reason for the trail, and the id that makes two clicks one command."""

    command_id = forms.UUIDField(widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=REASON_MAX,
        error_messages={
            "required": "Write a reason; it stays in the trail.",
            "max_length": f"Write at most {REASON_MAX} characters.",
        },
    )


class NoteForm(ReasonForm):
    """The same where nothing has to be written."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False


class ReferenceForm(ReasonForm):
    """The same with the number that the destination gave."""

    reference = forms.CharField(
        max_length=200, error_messages={"required": "Write the number that you saw there."}
    )


class LocalInstant(forms.CharField):
    """A date and time as the browser writes it, in the zone of the screens."""

    def clean(self, value: Any) -> Any:
        """Return it aware, or refuse it."""
        try:
            given = datetime.fromisoformat(super().clean(value))
        except (ValueError, OverflowError):
            raise forms.ValidationError(self.error_messages["required"]) from None
        within(given.date())
        return given.replace(tzinfo=zone())


class Day(forms.DateField):
    """A day as the browser writes it."""

    def clean(self, value: Any) -> Any:
        """Return it, or refuse it."""
        return within(super().clean(value))


def within(given: date) -> date:
    """Return a day that a person may give; raises ValidationError for any other."""
    if not FIRST_DAY <= given <= LAST_DAY:
        raise forms.ValidationError(OUT_OF_RANGE)
    return given


class KeepForm(forms.Form):
    """Which comparison is kept as evidence, why, and until when."""

    uid = forms.UUIDField(widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=REASON_MAX, error_messages={"required": "Write a reason; it stays in the trail."}
    )
    until = Day(
        error_messages={
            "required": "Say until when it is kept.",
            "invalid": "Say a day, such as 2027-12-31.",
        },
    )


class OverrideForm(ReasonForm):
    """Absence attested by hand: where it was looked, when, why, and what it leads to."""

    leads_to = forms.ChoiceField(
        choices=[(ask, ask) for ask in sorted(OVERRIDES)],
        error_messages={"required": "Choose what it leads to."},
    )
    where = forms.CharField(max_length=200, error_messages={"required": "Write where you looked."})
    looked_at = LocalInstant(error_messages={"required": "Write the date and the time at which you looked."})


class AnswerForm(ReasonForm):
    """An answer to one request, with its reason."""

    approval = forms.UUIDField(widget=forms.HiddenInput)


class ApproveForm(AnswerForm):
    """The same where agreeing says enough."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False


class CorrectForm(ReasonForm):
    """A correction that was written and read: why, and for whom where that is somebody else."""

    draft = forms.CharField(widget=forms.HiddenInput)
    who = forms.CharField(required=False, max_length=150)


class CorrectInDoubtForm(CorrectForm):
    """The same of what may have happened: where and when it was looked for, and why not to wait for proof."""

    where = forms.CharField(max_length=200, error_messages={"required": "Write where you looked."})
    looked_at = LocalInstant(error_messages={"required": "Write the date and the time at which you looked."})
    risk = forms.CharField(
        max_length=REASON_MAX, error_messages={"required": "Write why it does not wait for proof."}
    )


class AssignForm(forms.Form):
    """To whom a case goes, of which team, and a note that may stay empty."""

    to = forms.CharField(required=False, max_length=150)
    team = forms.CharField(required=False, max_length=100)
    note = forms.CharField(required=False, max_length=REASON_MAX)


class SnoozeForm(forms.Form):
    """Until when a case is put off, why, and that it is known what ends before that."""

    until = forms.CharField(required=False)
    other = forms.CharField(required=False)
    reason = forms.CharField(
        max_length=REASON_MAX,
        error_messages={"required": "Write a reason; it stays in the trail."},
    )
    knowingly = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Let an instant that was written count before one that was chosen."""
        given = super().clean() or {}
        asked = LocalInstant(error_messages={"required": "Choose until when, or write date and time."})
        given["until"] = asked.clean(given.pop("other", "") or given.get("until", ""))
        return given


class Ticked(forms.TypedMultipleChoiceField):
    """The boxes of a list that were ticked; whether each still counts is asked where it is acted on."""

    def valid_value(self, value: Any) -> bool:
        """Take whatever the list had."""
        return True


class GiveForm(forms.Form):
    """To whom some cases go, "person:bob" or "team:finance", which ones, and a note."""

    to = forms.RegexField(
        r"^(person|team):.", max_length=160, error_messages={"required": "Choose who takes them."}
    )
    chosen = Ticked(coerce=uuid.UUID, error_messages={"required": "Tick at least one."})
    note = forms.CharField(required=False, max_length=REASON_MAX)

    def clean(self) -> dict[str, Any]:
        """Part the person from the team."""
        given = super().clean() or {}
        kind, _, name = given.pop("to", "").partition(":")
        return {**given, "to": name if kind == "person" else "", "team": name if kind == "team" else ""}


class HandOverForm(forms.Form):
    """Whose cases go to whom, which of them, and a note for whoever takes them."""

    of = forms.CharField(max_length=150)
    to = forms.CharField(max_length=150, error_messages={"required": "Choose who takes them."})
    chosen = Ticked(coerce=uuid.UUID, error_messages={"required": "Tick at least one."})
    note = forms.CharField(
        max_length=REASON_MAX, error_messages={"required": "Write a note for whoever takes them."}
    )


class CommentForm(forms.Form):
    """A remark, and the id that makes two clicks one."""

    command_id = forms.UUIDField()
    text = forms.CharField(
        max_length=REASON_MAX,
        error_messages={
            "required": "Write a comment first.",
            "max_length": f"Write at most {REASON_MAX} characters.",
        },
    )


class ChooseForm(ReasonForm):
    """Which of several is kept, and by which check it was chosen."""

    keep = forms.CharField(max_length=200, widget=forms.HiddenInput, strip=False)
    seen = forms.CharField(max_length=64, widget=forms.HiddenInput)


class SavedViewForm(forms.Form):
    """An address of the queue, the name to keep it under, and whether everybody sees it."""

    name = forms.CharField(
        max_length=60,
        error_messages={"required": "Give it a name.", "max_length": "A name has at most 60 characters."},
    )
    address = forms.CharField(required=False, max_length=2000)
    shared = forms.BooleanField(required=False)


class DigestForm(forms.Form):
    """When a person is told by mail what waits for them, and when they are left alone."""

    email = forms.EmailField(
        required=False,
        max_length=254,
        error_messages={"invalid": "Write an e-mail address, such as ann@example.com."},
    )
    on = forms.BooleanField(required=False)
    at = forms.TimeField(error_messages={"required": "Write a time of day, such as 07:30."})
    weekends = forms.BooleanField(required=False)
    quiet_from = forms.TimeField(required=False)
    quiet_until = forms.TimeField(required=False)

    def clean(self) -> dict[str, Any]:
        """Return what was chosen; refuse what could never come."""
        said: dict[str, Any] = super().clean() or self.cleaned_data
        begin, end, at = (said.get(name) for name in ("quiet_from", "quiet_until", "at"))
        if (begin is None) != (end is None):
            raise forms.ValidationError("Write both ends of the quiet hours, or neither.")
        if begin is not None and begin == end:
            raise forms.ValidationError("Quiet hours that begin when they end are none: write others.")
        if at is not None and begin is not None and end is not None and is_within(at, begin, end):
            raise forms.ValidationError("The digest would come in the quiet hours: choose another time.")
        return said


class CommandForm(forms.Form):
    """One click without words."""

    command_id = forms.UUIDField()


def fresh() -> dict[str, Any]:
    """Return what a form starts with: a command id of its own."""
    return {"command_id": uuid.uuid4()}


def sent(request: HttpRequest) -> QueryDict | None:
    """Return what a form was sent, which may be nothing at all; None where a page is only opened."""
    return request.POST if request.method == "POST" else None


def unsaid(form: forms.Form, *beside: str) -> str:
    """Say that something in a form is wrong, unless each field of which that is so says it beside itself."""
    return MISSING if set(form.errors) - set(beside) else ""


def taken(
    request: HttpRequest, act: Callable[[ReasonForm], str], *, kind: type[ReasonForm] = ReasonForm
) -> tuple[ReasonForm, str] | None:
    """Act on a reason that was sent; None once it is done, else the form to show and why it was refused.

    `act` returns its refusal in words, empty where it is done.
    """
    empty = kind(initial=fresh())
    if request.method != "POST":
        return empty, ""
    form = kind(request.POST)
    if form.is_valid():
        refusal = act(form)
        return (form, refusal) if refusal else None
    return (empty, NOT_WHOLE) if "command_id" in form.errors else (form, "")


class DeputyForm(ReasonForm):
    """Who stands in for whom, from when until when."""

    principal = forms.ModelChoiceField(User.objects.filter(is_active=True))
    deputy = forms.ModelChoiceField(User.objects.filter(is_active=True))
    starts_at = LocalInstant(error_messages={"required": "Write when it starts."})
    ends_at = LocalInstant(error_messages={"required": "Write when it ends."})


class MatchForm(ReasonForm):
    """A reason, and the record that a missing one is matched with."""

    other = forms.IntegerField(min_value=1, max_value=2**62)


class SettleForm(ReasonForm):
    """A reason, and the last day until which a difference is waived."""

    until = Day(error_messages={"required": "Choose the last day.", "invalid": "Write a day."})

    def clean_until(self) -> datetime:
        """Return the end of that day, in the zone of the screens."""
        day: date = self.cleaned_data["until"]
        if day <= database_now().astimezone(zone()).date():
            raise forms.ValidationError("Choose a day from tomorrow on.")
        return datetime.combine(day, time.max, tzinfo=zone())


class ProposalForm(forms.Form):
    """An answer to a proposal; its reason may be left out where it is approved."""

    answer = forms.ChoiceField(choices=[(way, way) for way in ("approve", "refuse", "take-back")])
    reason = forms.CharField(max_length=REASON_MAX, required=False, error_messages=TOO_LONG)


class SignatureForm(ProposalForm):
    """An answer to a signature, and which open differences stood on the page."""

    seen = forms.CharField(required=False, max_length=64)


class RulesForm(forms.Form):
    """A configuration file's text, written or uploaded, and whether it is only read or proposed."""

    command_id = forms.UUIDField(widget=forms.HiddenInput)
    step = forms.ChoiceField(choices=[(step, step) for step in ("read", "propose")])
    text = forms.CharField(required=False, strip=False)
    file = forms.FileField(required=False, allow_empty_file=True)
    digest = forms.CharField(required=False, max_length=64)
    reason = forms.CharField(required=False, max_length=REASON_MAX)

    @property
    def name(self) -> str:
        """What the proposal is called: the file's name, or that it was written on the page."""
        given = self.cleaned_data["file"]
        return str(given.name)[:200] if given else "written on the page"


class RoleForm(ReasonForm):
    """Whose role, which, and whether it is given or taken."""

    person = forms.ModelChoiceField(User.objects.filter(is_active=True))
    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    give = forms.TypedChoiceField(
        choices=[("yes", "Give it"), ("no", "Take it")], coerce=lambda value: value == "yes"
    )


class EntitiesForm(ReasonForm):
    """Whose limit, and which entities they see; none ticked is all."""

    person = forms.ModelChoiceField(User.objects.filter(is_active=True))
    entities = Ticked(coerce=str, required=False)


class RevealForm(ReasonForm):
    """Which hidden value somebody looks at."""

    path = forms.CharField(max_length=1000)


class TermForm(ReasonForm):
    """Who is to audit, and from which day to which."""

    whose = forms.ModelChoiceField(User.objects.filter(is_active=True))
    first = Day(error_messages={"required": "Choose the first day."})
    last = Day(error_messages={"required": "Choose the last day."})
    entities = Ticked(coerce=str, required=False)


class DrawForm(ReasonForm):
    """How a sample is drawn, and what for."""

    way = forms.ChoiceField(choices=[("random", "random"), ("value", "value")])
    seed = forms.CharField(max_length=100, error_messages={"required": "Give a seed."})
    size = forms.IntegerField(min_value=1, max_value=500)
