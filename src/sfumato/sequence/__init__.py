"""Sequences of symbols: private suffix trees, n-grams and frequent strings."""
