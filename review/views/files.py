"""Tables as files: how each of their forms is answered."""

from django.http import StreamingHttpResponse

from reconcile.tables import Form, Table

TYPES = {
    Form.CSV: "text/csv; charset=utf-8",
    Form.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Form.JSON: "application/json",
}


def given(table: Table, name: str, form: Form) -> StreamingHttpResponse:
    """Give a table as a file of that name, made as it is sent; JSON opens where it was asked for."""
    response = StreamingHttpResponse(table.written(form), content_type=TYPES[form])
    if form is not Form.JSON:
        response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response
