"""Releases of points: trees and grids of noisy counts."""
