"""Mechanisms: the primitives that carry the proofs, and the public repair of what they return."""
