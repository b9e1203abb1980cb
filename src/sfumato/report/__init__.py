"""One self-contained page for a release: what it is, what it promises, and how to check it."""
