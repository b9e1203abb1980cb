"""Private statistics of graphs whose nodes are public and whose edges are not."""
