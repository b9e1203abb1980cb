"""Counting: in memory, or over a snapshot of codes larger than memory.

An engine knows small integer codes and public domain sizes. It draws no noise, books nothing, and
everything it returns is private until a mechanism has seen it.
"""

from sfumato.engines.counts import Counts, GraphCounts, PointCounts, SequenceCounts
from sfumato.engines.errors import DataError, Problem

__all__ = [
    "Counts",
    "DataError",
    "GraphCounts",
    "PointCounts",
    "Problem",
    "SequenceCounts",
]
