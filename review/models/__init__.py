"""The rows of people's work with the console."""

from review.models.reader import Reader as Reader
