"""The command line: the same words for every kind of data."""
