"""Objective perturbation for regression: the weights that minimise a Huber loss of residuals.

The loss of weights w on a record with features x, at most 1 long, and answer y is ℓ(y − w·x) with

    ℓ(r) = r²/2h for |r| ≤ h,  |r| − h/2 beyond,

whose slope stays between −1 and 1. All else is as for classifiers (`objective`, `huber`): the exact
gradient is computed in integers and certifies what floats propose
(docs/proofs/objective-perturbation.md). Nothing here may stop short of the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.huber import FEATURE_BITS, Examples, Objective, exact_margins
from sfumato.mechanisms.objective import (
    ObjectivePerturbation,
    check_loss,
    differences,
    effective,
    settling_loss,
)
from sfumato.privacy.guarantee import Relation

__all__ = ["Answered", "ResidualObjective", "ResidualPerturbation", "residual_calibrated"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]


#: Λ is at least this part of the largest curvature c: weights are shrunk as by so few records, and
#: the search for a minimum ends soon on any data.
LEAST_STRENGTH = Fraction(1, 4096)


@dataclass(frozen=True)
class Answered(Examples):
    """Records with an answer each: the private input of a fit.

    Parameters
    ----------
    places, values, weights, dimension
        As for `Examples`; the values carry no sign.
    answers
        The answers in units of 2⁻¹⁶.
    """

    answers: Integers64

    @classmethod
    def of(cls, features: Integers64, answers: Integers64) -> Answered:
        """Return records given as full rows of features, in units of 2⁻¹⁶."""
        count, dimension = features.shape
        places = np.broadcast_to(np.arange(dimension, dtype=np.intp), features.shape)
        return cls(places, features, np.ones(count, dtype=np.int64), dimension, answers)

    def distinct(self) -> Integers64:
        """Return features and answer of each record."""
        return np.column_stack([self.rows(), self.answers])


@dataclass(frozen=True)
class ResidualObjective(Objective):
    """Σ ℓ(y − w·x) + Λ‖w‖²/2 + b·w.

    Parameters
    ----------
    examples
        The records, with answers.
    strength, width, linear
        Λ, the half-width h of the quadratic piece, and b.
    """

    examples: Answered

    @property
    def smoothness(self) -> int:
        """The largest second derivative c = 1/h of the loss."""
        return int(1 / self.width)

    def _slopes(self, units: list[int], bits: int) -> NDArray[np.object_]:
        """Return −ℓ′ as a function of w·x, c·(y − w·x) cut to ±1, in units of 2^−(bits + 16)."""
        one = 1 << (bits + FEATURE_BITS)
        answers = self.examples.answers.astype(object) * (1 << bits)
        slopes = self.smoothness * (answers - exact_margins(self.examples, units))
        return np.asarray(np.clip(slopes, -one, one))

    def _residuals(self, margins: Floats) -> Floats:
        return np.asarray(self.examples.answers * 2.0**-FEATURE_BITS - margins)

    def _float_slopes(self, margins: Floats) -> Floats:
        return np.clip(self._residuals(margins) * self.smoothness, -1.0, 1.0)

    def _float_losses(self, margins: Floats) -> Floats:
        size, h = np.abs(self._residuals(margins)), float(self.width)
        return np.where(size <= h, size * size / (2 * h), size - h / 2)

    def _find_curved(self, margins: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self._residuals(margins)) <= float(self.width))


@dataclass(frozen=True, kw_only=True)
class ResidualPerturbation(ObjectivePerturbation):
    """Say the weights of a linear regression.

    Parameters
    ----------
    dimension, strength, noise, settling, relation
        As for `ObjectivePerturbation`.
    width
        The half-width h of the Huber loss of residuals: 1, ½, ¼, ….

    Notes
    -----
    Privacy: features are at most 1 long and the slope of the loss at most 1, so one record moves
    the b that leads to given weights by at most 1 (replaced: 2), and the Jacobian of that map by a
    factor of at most 1 + c/Λ with c = 1/h (docs/proofs/objective-perturbation.md).
    """

    kind: ClassVar[str] = "residual objective perturbation"

    #: The widest quadratic piece that is allowed.
    widest: ClassVar[Fraction] = Fraction(1)

    @property
    def smoothness(self) -> Fraction:
        """The largest second derivative c = 1/h of the loss function."""
        return 1 / self.width

    def objective(self, value: Examples, linear: tuple[Fraction, ...]) -> Objective:
        """Return what is minimised, for a linear term b."""
        assert isinstance(value, Answered)
        return ResidualObjective(value, self.strength, self.width, linear)

    def check(self, value: Any) -> None:
        """Raise unless the input is a set of answered records of the declared dimension."""
        super().check(value)
        if not isinstance(value, Answered):
            raise ValueError("the input of residual objective perturbation must be records")

    def extremes(self, value: Examples, neighbour: Examples) -> list[NDArray[np.object_]]:
        """Return weights at the borders of the curved piece of each record that is not shared."""
        h, step = float(self.width), 2.0**self.exponent
        found = []
        for row, _ in differences(value, neighbour):
            example, answer = row[:-1] * 2.0**-FEATURE_BITS, float(row[-1]) * 2.0**-FEATURE_BITS
            length = float(example @ example)
            for residual in (h - 1e-6, -h + 1e-6, h + 1e-6, -h - 1e-6):
                w = example * ((answer - residual) / length if length else 0.0)
                found.append(np.array([round(item / step) for item in w.tolist()], dtype=object))
        return found


def residual_calibrated(
    dimension: int,
    loss: Fraction,
    relation: Relation,
    *,
    width: Fraction,
    curvature: Fraction,
) -> ResidualPerturbation:
    """Return the primitive that costs at most a given loss.

    Parameters
    ----------
    dimension
        How many features there are.
    loss
        The pure loss ε for one record.
    relation
        What a neighbour is.
    width
        The half-width h of the loss function's quadratic piece.
    curvature
        The share of the loss that the curvature takes: the more, the smaller Λ can be.
    """
    settling = settling_loss(check_loss(loss))
    least = 1 / width * LEAST_STRENGTH
    strength, noise = effective(loss - settling, least, 1 / width, "tight", curvature)
    return ResidualPerturbation(
        dimension=dimension,
        strength=strength,
        width=width,
        noise=noise,
        settling=settling,
        relation=relation,
    )
