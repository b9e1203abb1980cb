"""Regression on private tables: models of one column by the others."""
