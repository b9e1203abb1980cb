"""Points: trees and grids of noisy counts."""
