"""Genotypes: private statistics of association studies, and public models of traits and sites."""
