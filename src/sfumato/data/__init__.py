"""Private data: the typed data of each kind, their public parts, and their readers.

Each kind of private data keeps what is public about it apart from what is not. Parsing is total
and happens when an object is built; from then on every method accepts it.
"""

from sfumato.data.errors import DataError
from sfumato.data.points import Points, PointsPublic, read_points
from sfumato.data.public import Public
from sfumato.data.schema import Column, Schema
from sfumato.data.table import Table, TablePublic, read_table

__all__ = [
    "Column",
    "DataError",
    "Points",
    "PointsPublic",
    "Public",
    "Schema",
    "Table",
    "TablePublic",
    "read_points",
    "read_table",
]
