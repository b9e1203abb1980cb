"""Graphical models fitted to noisy tables: public repair, and a distribution to draw rows from."""

from sfumato.mechanisms.graphical.fitting import Measured, fit
from sfumato.mechanisms.graphical.model import GraphicalModel

__all__ = ["GraphicalModel", "Measured", "fit"]
