"""What all methods share that release points: their kind, and their plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.data.points import Points, PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, margin
from sfumato.privacy.loss import Loss
from sfumato.privacy.method import Method
from sfumato.privacy.plan import PlanStep, Size
from sfumato.spatial.histogram import MOST_POINTS, SpatialHistogram

__all__ = ["SpatialMethod", "count_step", "margin", "points_about"]


@dataclass(frozen=True, kw_only=True)
class SpatialMethod(Method[Points, SpatialHistogram]):
    """A method that releases points as cells with noisy counts.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    """

    kind: ClassVar[str] = "points"

    def sizes(self, public: PointsPublic, cells: int) -> tuple[Size, ...]:
        """Return what a release is made of: its cells, and the points that are drawn from it."""
        drawn = min(points_about(public) or 0, MOST_POINTS) * public.dimensions
        return Size(cells, "grid cells"), Size(drawn, "synthetic values")

    def size_notes(self, public: PointsPublic) -> tuple[str, ...]:
        """Return what a plan should say about the number of points, as far as it is public."""
        if points_about(public) is None:
            return ("Declare rows_about to see errors as shares of all points.",)
        return ()


def points_about(public: PointsPublic) -> int | None:
    """Return the number of points as far as it is public or declared."""
    return public.rows if public.rows is not None else public.rows_about


def count_step(what: str, loss: Loss, noise: CountNoise, public: PointsPublic) -> PlanStep:
    """Return the line of a plan for noisy counts of cells.

    Parameters
    ----------
    what
        The cells, in words.
    loss
        What counting them costs.
    noise
        The noise on the count of each; its shape may be unknown yet.
    public
        What is public about the points.
    """
    widest = margin(noise)
    figures = {"standard_deviation": noise.standard_deviation, "margin": widest}
    error = f"± {widest:,.4g} per cell"
    about = points_about(public)
    if about:
        error += f" ({100 * widest / about:.2g} % of all points)"
    return PlanStep(
        what=what,
        loss=loss,
        noise=f"each ± {noise.standard_deviation:,.4g} (1 s.d.)",
        error=error,
        figures=figures,
    )
