"""The rows of people's work with the console, and the queue that they work from."""

from review.models.audit import AccessReview as AccessReview
from review.models.audit import AuditorTerm as AuditorTerm
from review.models.audit import Sample as Sample
from review.models.bulk import Bulk as Bulk
from review.models.bulk import BulkItem as BulkItem
from review.models.bulk import BulkWord as BulkWord
from review.models.item import Item as Item
from review.models.notice import Channel as Channel
from review.models.notice import Message as Message
from review.models.notice import Notice as Notice
from review.models.reader import Reader as Reader
from review.models.saved_view import SavedView as SavedView
