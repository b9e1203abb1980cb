"""Sequences: suffix trees, n-grams and frequent strings."""
