"""The addresses of the screens."""

from django.urls import path

from review.views import (
    approvals,
    corrections,
    decisions,
    deliveries,
    evidence,
    find,
    histories,
    operation,
    pauses,
    people,
    proposals,
    queue,
    register,
    runs,
    security,
    trail,
    you,
)

urlpatterns = [
    path("", queue.home, name="home"),
    path("queue/", queue.show, name="queue"),
    path("find/", find.show, name="find"),
    path("operations/<uuid:uid>/", operation.show, name="operation"),
    path("operations/<uuid:uid>/check/", operation.check, name="operation-check"),
    path("operations/<uuid:uid>/evidence/", evidence.show, name="evidence"),
    path("operations/<uuid:uid>/evidence.json", evidence.document, name="evidence-json"),
    path("operations/<uuid:uid>/undo/", operation.undo, name="operation-undo"),
    path("operations/<uuid:uid>/correct/", corrections.correct, name="operation-correct"),
    *(
        path(f"operations/<uuid:uid>/{way}/", decisions.decide, {"way": way}, name=f"operation-{way}")
        for way in decisions.DECISIONS
    ),
    path("pauses/<uuid:uid>/", pauses.show, name="pause"),
    path("approvals/", approvals.index, name="approvals"),
    path("approvals/rules/<uuid:uid>/", proposals.show, name="proposal"),
    path("approvals/roles/", proposals.role, name="role"),
    path("deliveries/", deliveries.index, name="deliveries"),
    path("deliveries/<uuid:uid>/again/", deliveries.again, name="delivery-again"),
    path("people/", people.index, name="people"),
    path("people/<int:pk>/reset/", people.reset, name="person-reset"),
    path("accounts/security/", security.show, name="security"),
    path("accounts/security/sessions/end/", security.end_others, name="sessions-end"),
    path("accounts/security/sessions/<int:pk>/end/", security.end, name="session-end"),
    path("register/", register.show, name="register"),
    path("trail/", trail.index, name="trail"),
    path("you/", you.show, name="you"),
    path("runs/", runs.index, name="runs"),
    path("runs/histories/", histories.index, name="histories"),
    path("runs/histories/<uuid:uid>/", histories.show, name="repeat"),
    path("runs/histories/<uuid:uid>/check/", histories.check, name="repeat-check"),
    path("runs/<uuid:uid>/", runs.show, name="run"),
    path("runs/<uuid:uid>.csv", runs.table, name="run-csv"),
    path("runs/<uuid:uid>.json", runs.document, name="run-json"),
]
