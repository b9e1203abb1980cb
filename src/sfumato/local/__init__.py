"""Answers that are never collected in the clear: each client randomises its own."""
