"""What is said when data cannot be used; never with a value of the data."""

from sfumato.engines.errors import DataError, Problem

__all__ = ["DataError", "Problem"]
