"""Answers that are never collected in the clear: each client randomises its own."""

from sfumato.local.randomized import Estimate, RandomizedResponse

__all__ = ["Estimate", "RandomizedResponse"]
