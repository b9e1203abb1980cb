"""Objective perturbation: the weights of a linear classifier, private by a random linear term.

The weights minimise Σ ℓ(w·u) + Λ‖w‖²/2 + b·w over signed examples u of length at most 1, with the
Huber hinge loss and a random b of density ∝ exp(−‖b‖₂/scale) (Chaudhuri, Monteleoni and Sarwate,
2011). No number of records occurs in it, so both relations are served. The proof is about the exact
minimiser for an exact b; what is computed is certified to be near it, and a last grain of noise
hides the difference (docs/proofs/objective-perturbation.md). Nothing here may stop short of the
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.huber import FEATURE_BITS, Examples, Objective, minimise
from sfumato.noise.grid import grid_for
from sfumato.noise.knorm import perturb_knorm
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_wholes
from sfumato.privacy.rounding import exp_down, log_up, round_down, round_up

__all__ = ["Calibration", "ObjectivePerturbation", "calibrate", "effective"]

Floats = NDArray[np.float64]

#: How a loss is shared by noise and curvature: ours, the paper's repaired, the paper's.
Calibration = Literal["tight", "larger", "paper"]

#: The largest share of a loss that the curvature may take under the tight calibration.
CURVATURE = Fraction(1, 8)

#: The share of a budget that hides how far the computed minimiser is from the exact one.
SETTLING = Fraction(1, 100)
#: The noise that hides it is about 2 to minus this long, whatever the data are.
FINENESS = 20
#: A smaller loss gives noise beyond the range of floats, and no classifier.
SMALLEST = Fraction(1, 10**12)


def effective(
    loss: Fraction,
    strength: Fraction,
    smoothness: Fraction,
    calibration: Calibration = "tight",
    curvature: Fraction = CURVATURE,
) -> tuple[Fraction, Fraction]:
    """Return the strength Λ that is used and the part ε′ of a loss that calibrates the noise.

    Parameters
    ----------
    loss
        The loss ε of the exact minimiser.
    strength
        The least Λ: 1/C for a support vector machine of cost C. It is raised where the curvature
        would cost too much.
    smoothness
        The largest second derivative c of the loss function.
    calibration
        `"tight"`: the curvature costs ln(1 + c/Λ), and Λ is raised until that is at most ε/8.
        `"paper"`: it is taken to cost 2·ln(1 + c/Λ), and Λ is raised until that is ε/2 only
        if it exceeds ε, which can leave less for the noise at a larger ε. `"larger"`: as in
        the paper, but Λ is raised wherever that leaves more for the noise.
    curvature
        The largest share of the loss that the curvature may take under the tight calibration.
    """
    if calibration == "tight":
        if log_up(1 + smoothness / strength) > loss * curvature:
            strength = round_up(smoothness / (exp_down(loss * curvature) - 1))
        return strength, round_down(loss - log_up(1 + smoothness / strength))
    left = loss - 2 * log_up(1 + smoothness / strength)
    # What is left must be worth drawing from: a vanishing ε′ leaves floats nothing to draw.
    if left > (loss / 2 if calibration == "larger" else loss / 10**9):
        return strength, round_down(left)
    return round_up(smoothness / (exp_down(loss / 4) - 1)), loss / 2


def calibrate(
    dimension: int,
    loss: Fraction,
    strength: Fraction,
    relation: Relation,
    *,
    width: Fraction = Fraction(1, 2),
    calibration: Calibration = "tight",
) -> ObjectivePerturbation:
    """Return the primitive that costs at most a given loss.

    Parameters
    ----------
    dimension
        How many features there are.
    loss
        The pure loss ε for one record.
    strength, calibration
        As for `effective`.
    relation
        What a neighbour is.
    width
        The half-width h of the loss function's quadratic piece.
    """
    settling = settling_loss(check_loss(loss))
    used, noise = effective(loss - settling, strength, 1 / (2 * width), calibration)
    return ObjectivePerturbation(
        dimension=dimension,
        strength=used,
        width=width,
        noise=noise,
        settling=settling,
        relation=relation,
    )


def check_loss(loss: Fraction) -> Fraction:
    """Return a loss that is large enough for a fit, or raise `ValueError`."""
    if loss < SMALLEST:
        raise ValueError(
            f"epsilon must be at least 1e-12 for one record of a fit; got {float(loss):.3g}"
        )
    return loss


def settling_loss(loss: Fraction) -> Fraction:
    """Return the part of a loss that hides how far a computed minimiser is from the exact one."""
    return loss * SETTLING


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(Primitive):
    """Say the weights of a linear classifier.

    Parameters
    ----------
    dimension
        The public number p of features.
    strength
        The factor Λ of ‖w‖²/2.
    width
        The half-width h of the Huber loss: ½, ¼, ….
    noise
        The ε′ that calibrates b: its density is ∝ exp(−ε′‖b‖₂), or exp(−ε′‖b‖₂/2) under
        replace-one.
    settling
        The ε₂ that hides how far the computed minimiser is from the exact one.
    relation
        What a neighbour is.

    Notes
    -----
    Privacy: examples are at most 1 long, so one record moves the b that leads to given weights by
    at most 1 (replaced: 2), and the Jacobian of that map by a factor of at most 1 + c/Λ with
    c = 1/2h; the computed minimiser is within τ of the exact one, and K-norm noise of scale 2τ/ε₂
    is added: ε′ + ln(1 + c/Λ) + ε₂ in all (docs/proofs/objective-perturbation.md).
    """

    kind: ClassVar[str] = "objective perturbation"
    #: The widest quadratic piece that is allowed.
    widest: ClassVar[Fraction] = Fraction(1, 2)

    dimension: int
    strength: Fraction
    width: Fraction
    noise: Fraction
    settling: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimension < 1:
            raise ValueError(f"dimension must be at least 1; got {self.dimension}")
        if min(self.strength, self.noise, self.settling) <= 0:
            raise ValueError("strength, noise and settling must be positive")
        halvings = self.widest / self.width if self.width > 0 else Fraction(0)
        if halvings.denominator != 1 or halvings < 1 or halvings.numerator.bit_count() != 1:
            raise ValueError(f"width must be {self.widest} or half of it, …; got {self.width}")

    @property
    def smoothness(self) -> Fraction:
        """The largest second derivative c = 1/2h of the loss function."""
        return 1 / (2 * self.width)

    @property
    def reach(self) -> int:
        """How far one record moves the linear term that leads to given weights."""
        return 2 if self.relation is Relation.REPLACE_ONE else 1

    @property
    def scale(self) -> Fraction:
        """The scale of the linear term's length, which is Gamma with shape p."""
        return self.reach / self.noise

    @property
    def nearness(self) -> Fraction:
        """How near τ to the exact minimiser the computed one is certified to be."""
        return min(self.settling, Fraction(1)) * Fraction(1, self.dimension << (FINENESS + 1))

    @property
    def grain(self) -> Fraction:
        """The scale 2τ/ε₂ of the noise that hides the difference."""
        return 2 * self.nearness / self.settling

    @property
    def exponent(self) -> int:
        """The grid: weights are multiples of 2 to this power."""
        return grid_for(self.grain)

    @property
    def linear_exponent(self) -> int:
        """The grid of the linear term, on which rounding moves it by at most Λτ/2 in all."""
        root = math.isqrt(self.dimension) + 1
        return grid_for(self.strength * self.nearness / root, precision=0)

    def objective(self, value: Examples, linear: tuple[Fraction, ...]) -> Objective:
        """Return what is minimised, for a linear term b."""
        return Objective(value, self.strength, self.width, linear)

    def cost(self, measure: Measure) -> Loss:
        """Return ε′ + ln(1 + c/Λ) + ε₂, or what it implies in another measure."""
        curvature = log_up(1 + self.smoothness / self.strength)
        return convert(PureDP(self.noise + curvature + self.settling), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a set of signed examples of the declared dimension."""
        if not isinstance(value, Examples):
            raise ValueError("the input of objective perturbation must be signed examples")
        if value.dimension != self.dimension:
            raise ValueError(f"the examples must have the declared {self.dimension} features")

    def sample(self, value: Examples) -> NDArray[np.object_]:
        """Return the weights in whole steps of the grid."""
        exponent = self.linear_exponent
        drawn = perturb_knorm([0] * self.dimension, self.scale, grid_exponent=exponent)
        linear = tuple(unit * Fraction(2) ** exponent for unit in drawn)
        objective = self.objective(value, linear)
        # Half of Λτ for the gradient, half for the rounding of b.
        units, bits = minimise(objective, self.strength * self.nearness / 2)
        centre = [Fraction(unit, 2**bits) for unit in units]
        weights = perturb_knorm(centre, self.grain, grid_exponent=self.exponent)
        return np.array(weights, dtype=object)

    def read(self, output: NDArray[np.object_]) -> Floats:
        """Return what a transcript's output stands for."""
        return np.array([float(int(unit) * Fraction(2) ** self.exponent) for unit in output])

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds a whole number for each entry."""
        require_wholes(output, (self.dimension,))

    def log_probability(self, value: Examples, output: NDArray[np.object_]) -> float:
        """Return the log-density of the exact minimiser at the weights, times the grid's cell.

        The law of the output is this one smeared by a grain of about 2⁻²⁰. Log-ratios of the
        densities are bounded by ε′ + ln(1 + c/Λ) at every point; the ε₂ of the smearing does not
        show in them.
        """
        w, p, scale = self.read(output), self.dimension, float(self.scale)
        objective = self.objective(value, (Fraction(0),) * p)
        length = float(np.linalg.norm(objective.float_gradient(w)))
        # Γ(p)·(area of the unit sphere) normalises r^(p−1)·e^(−r/scale).
        log_area = math.log(2) + p / 2 * math.log(math.pi) - math.lgamma(p / 2)
        log_density = -length / scale - log_area - math.lgamma(p) - p * math.log(scale)
        log_jacobian = float(np.linalg.slogdet(objective.hessian(w))[1])
        return log_density + log_jacobian + p * self.exponent * math.log(2)

    def change(self, value: Examples, neighbour: Examples) -> Change:
        """Count the records that two inputs do not share; infinite if an example is too long."""
        if max(value.longest(), neighbour.longest()) > 2 ** (2 * FEATURE_BITS):
            return Change(math.inf, Fraction(1), "records of length at most 1")
        apart = [count for _, count in differences(value, neighbour)]
        here = sum(count for count in apart if count > 0)
        there = -sum(count for count in apart if count < 0)
        replaced = self.relation is Relation.REPLACE_ONE
        measured = max(here, there) if replaced else here + there
        return Change(Fraction(measured), Fraction(1), "records")

    def extremes(self, value: Examples, neighbour: Examples) -> list[NDArray[np.object_]]:
        """Return weights at the borders of the curved piece of each record that is not shared."""
        h = float(self.width)
        step = 2.0**self.exponent
        found = []
        for row, _ in differences(value, neighbour):
            example = row * 2.0**-FEATURE_BITS
            length = float(example @ example)
            for margin in (1 - h + 1e-6, 1 + h - 1e-6, 1 - h - 1e-6):
                w = example * (margin / length if length else 0.0)
                found.append(np.array([round(item / step) for item in w.tolist()], dtype=object))
        return found


def differences(value: Examples, neighbour: Examples) -> Iterator[tuple[Any, int]]:
    """Yield each example of which there are not equally many, and how many more there are here."""
    counts: dict[bytes, int] = {}
    for examples, sign in ((value, 1), (neighbour, -1)):
        for row, weight in zip(examples.distinct(), examples.weights.tolist(), strict=True):
            key = row.tobytes()
            counts[key] = counts.get(key, 0) + sign * weight
    for key, count in counts.items():
        if count:
            yield np.frombuffer(key, dtype=np.int64), count
