"""Regression: models of columns of a private table by the others."""
