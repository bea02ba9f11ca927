"""What the API's document says for people of successes and of members whose own place says nothing."""

_PROCEED_OR_DONE = (
    "Known already. `skip`: it is done. `proceed`: the same claim asked for again, with a new token."
)

SUCCESSES: dict[tuple[str, int], str] = {
    ("submit", 200): "It is done already, and nothing is sent (`skip`).",
    ("submit", 202): "Taken in, now or before: it goes out (`proceed`), or waits (`wait`).",
    ("find", 200): "One page, the earliest change first.",
    ("claim", 200): _PROCEED_OR_DONE,
    ("claim", 201): "A new try is yours (`proceed`): start it, act once, report the outcome.",
    ("start", 200): "Started, now or before by the same `start_id`: the first byte may go.",
    ("heartbeat", 200): "Still yours; `attempt.lease_expires_at` says until when.",
    ("outcome", 200): "Kept. `skip`: done. `wait`: looked up, or tried again. `hold`: a person decides.",
    ("claim_batch", 200): "An answer for each item, in their order; each has a status of its own.",
    ("outcome_batch", 200): "An answer for each item, in their order; each has a status of its own.",
    ("correct", 200): "This correction was made before.",
    ("correct", 201): "The correction is made: `operation` is the new one.",
    ("correct", 202): "Nothing is made yet: a second person decides, at `case`.",
    ("read", 200): "The operation, its tries, and what the last check found.",
    ("hear", 200): "Taken in before.",
    ("hear", 202): "Taken in.",
    ("start_run", 202): "It is at work, or begins soon. Read it until its state is done.",
    ("read_run", 200): "The run as it stands; its figures are null until it is done.",
    ("find_differences", 200): "One page of differences.",
}
"""By the name of the address and the status."""

PARAMETERS: dict[str, str] = {
    "attempts": "The id of the attempt, from the answer to its claim.",
    "operations": "The id of the operation.",
    "runs": "The id of the run.",
    "plans": "The name of the plan in the configuration.",
    "destinations": "The name of the destination in the configuration.",
    "type": "Of this operation type alone; else of every one that the token covers.",
    "key": "With this key, which is one within its type.",
    "state": "In this state.",
}
"""Of what stands behind a question mark, by its name; of what stands in a path, by the word before it."""

_TYPE = "The operation type: what kind of thing it is."
_TOKEN = "The token of this attempt, from the answer to its claim."  # noqa: S105 - words
_CURRENCY = "The code of ISO 4217 that goes with the amount, such as ZAR."
_SOURCE = "The source's record that it comes from; without key, the type's template makes the key of it."
_FOR_PEOPLE = {
    "description": 'What people read first, such as "Order 483".',
    "subject": 'Whom it is about, such as "Acme".',
}
_HANDED = {
    "type": _TYPE,
    "payload": "What the destination is to get, as an object.",
    "source": _SOURCE,
    **_FOR_PEOPLE,
}
_BY_SCHEMA: dict[str, dict[str, str]] = {
    "Source": {
        "system": "Where the record stands, such as webshop.",
        "reference": "Its number there.",
        "version": "Which version of the record; another one is another operation.",
        "run": "The run of the automation; it belongs to this try alone, and is never part of a key.",
    },
    "AfterIn": {"type": "The type of what comes first.", "key": "The key of what comes first."},
    "SubmissionIn": _HANDED,
    "ClaimIn": {**_HANDED, "lease_s": "For how many seconds it is yours; else as long as the type says."},
    "StartIn": {"token": _TOKEN},
    "HeartbeatIn": {"token": _TOKEN},
    "OutcomeIn": {
        "token": _TOKEN,
        "outcome": "What came back, and nothing more than that proves. In doubt, say uncertain.",
        "destination_reference": "The destination's own number for it.",
        "http_status": "The status of its answer.",
        "error_code": "The destination's code for what went wrong.",
        "retry_after_s": "For how many seconds the destination asks to wait.",
    },
    "CorrectionIn": {"payload": "What is meant instead: all of it, not a difference.", "currency": _CURRENCY},
    "ClaimBatchIn": {"items": "Claims, 1 to 500."},
    "OutcomeBatchIn": {"items": "Outcomes, 1 to 500, each with its attempt."},
}
MEMBERS = {
    (schema, member): told for schema, members in _BY_SCHEMA.items() for member, told in members.items()
}
"""By the name of the schema and of its member."""
