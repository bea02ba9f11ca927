"""The rows of people's work with the console, and the queue that they work from."""

from review.models.item import Item as Item
from review.models.reader import Reader as Reader
from review.models.saved_view import SavedView as SavedView
