"""What a person writes with a decision."""

import uuid
from typing import Any

from django import forms

REASON_MAX = 1000


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


class ReferenceForm(ReasonForm):
    """The same with the number that the destination gave."""

    reference = forms.CharField(
        max_length=200, error_messages={"required": "Write the number that you saw there."}
    )


class CommandForm(forms.Form):
    """One click without words."""

    command_id = forms.UUIDField()


def fresh() -> dict[str, Any]:
    """Return what a form starts with: a command id of its own."""
    return {"command_id": uuid.uuid4()}
