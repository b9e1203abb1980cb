"""Graphs: statistics, spectra and synthetic graphs; nodes are public, edges are private."""
