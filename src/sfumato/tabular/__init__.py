"""Tables: synthetic tables, counts, statistics and classifiers."""
