"""Uploads too large for memory: no name on the disk, so that whoever dies takes them along."""

import tempfile
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class UnlinkedUploadHandler(FileUploadHandler):
    """As Django's own for large files, which leaves one in the open where its process is killed."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin a file."""
        super().new_file(*args, **kwargs)
        self.file = UploadedFile(
            tempfile.TemporaryFile(),  # noqa: SIM115  # closed with the request
            self.file_name,
            self.content_type,
            0,
            self.charset,
            self.content_type_extra,
        )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep what came."""
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile:
        """Give it to whoever reads the form."""
        self.file.seek(0)
        self.file.size = file_size
        return self.file

    def upload_interrupted(self) -> None:
        """Let go of what will not be whole."""
        if hasattr(self, "file"):
            self.file.close()
