"""DAWA: buckets of alike cells along a Hilbert curve, then counts of a tree over them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.partition import SPLIT_SHARE, DyadicPartition
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number, PureDP
from sfumato.privacy.parameters import SHARE, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.bucket_cells import BucketCells, Buckets
from sfumato.spatial.grid_size import check_shape, rate_of, round_root
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import BucketSums, CurveCounts
from sfumato.spatial.spatial_method import SpatialMethod, count_step

__all__ = ["DAWA"]

#: The label of the partition in transcripts, and the names of the two slices.
PARTITION, COUNTS = "partition", "counts"
#: By default the grid has at most 2 to this many cells.
DEFAULT_BITS = 20


@dataclass(frozen=True, kw_only=True)
class DAWA(SpatialMethod):
    """Release counts of privately chosen buckets of similar cells, measured by a tuned hierarchy.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    cells
        Cells along every axis, a power of two. Default: the most that keep the grid at 2^20 cells
        or fewer.
    partition_share
        Share of epsilon for choosing the buckets.

    Notes
    -----
    The cells are ordered along a Hilbert curve. The exponential mechanism draws a partition into
    aligned runs of 2^j cells. The published method instead adds noise to the costs of all runs and
    minimises their sum; its privacy rests on an argument about hidden noise, and its distribution
    has no closed form. The proof page lists the other differences.

    Privacy: the cost of any partition changes by at most 1 when a point is added or removed, so the
    privacy loss of the choice is its share; given the buckets, each level of the tree over them
    counts a point once (docs/proofs/dawa.md).

    References
    ----------
    Li, Hay and Miklau, *A data- and workload-aware algorithm for range queries under differential
    privacy*, VLDB 2014.
    """

    proof: ClassVar[str] = "dawa.md"
    example: ClassVar[dict[str, Any]] = {"cells": 4}
    former_names: ClassVar[dict[str, str]] = {"share": "partition_share"}

    cells: int | None = parameter(OrNone(Whole(1)), None)
    partition_share: Number = parameter(SHARE, Fraction(1, 4))

    def check(self, public: PointsPublic) -> None:
        """Raise where the grid does not fit the points, or is not a power of two."""
        super().check(public)
        if self.cells is not None:
            check_shape(self.cells, public)
            if self.cells & (self.cells - 1):
                raise ValueError(f"cells must be a power of two; got {self.cells}")

    def bits(self, public: PointsPublic) -> int:
        """Return how often every axis is halved."""
        if self.cells is not None:
            return self.cells.bit_length() - 1
        return min(DEFAULT_BITS // public.dimensions, public.bits)

    def trial(self) -> Self:
        """Return a method whose grid is small."""
        return replace(self, cells=2)

    def _choice(self, public: PointsPublic) -> DyadicPartition:
        """Return the primitive that chooses the buckets."""
        limit, relation = self.record_budget(public)
        assert isinstance(limit, PureDP)
        return DyadicPartition(
            cells=1 << (self.bits(public) * public.dimensions),
            sensitivity=Fraction(2 if relation is Relation.REPLACE_ONE else 1),
            epsilon=limit.share(Fraction(self.partition_share)).epsilon,
        )

    def _noises(
        self, public: PointsPublic, tree: Hierarchy, shares: dict[int, Fraction]
    ) -> dict[int, CountNoise]:
        """Return the noise on each level that is counted."""
        limit, relation = self.record_budget(public)
        rest = limit.share(1 - Fraction(self.partition_share))
        return {
            level: count_noise((tree.widths[level],), rest.share(share), relation)
            for level, share in shares.items()
        }

    def plan(self, public: PointsPublic) -> Plan:
        """Return what buckets and counts will cost, as far as it can be told."""
        self.check(public)
        limit, relation = self.record_budget(public)
        choosing = Fraction(self.partition_share)
        choice = self._choice(public)
        flat = count_noise((1,), limit.share(1 - choosing), relation)
        counted = count_step(
            "a tree over the buckets", self.loss().share(1 - choosing), flat, public
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(_partition_step(choice, self.loss().share(choosing)), counted),
            notes=(
                "How many buckets there are, and how the noise is spread over the levels above "
                "them, depends on what is chosen: the margin is that of a bucket if they alone "
                "were counted.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, choice.cells),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask for the buckets, then for the counts of some levels of the tree over them."""
        bits, choosing = self.bits(public), Fraction(self.partition_share)
        first, second = budget.split([PARTITION, COUNTS], [choosing, 1 - choosing])
        cells = CurveCounts(public.dimensions, bits)
        lengths = yield Ask(first, self._choice(public), cells, PARTITION)
        buckets = Buckets(lengths, public.dimensions, bits)
        tree = buckets.tree
        shares = level_shares(count_used_nodes(tree, buckets))
        noises = self._noises(public, tree, shares)
        labels = [f"level {level}" for level in shares]
        counted = yield [
            Ask(part, noises[level], BucketSums(buckets, level), label)
            for level, part, label in zip(
                shares, second.split(labels, list(shares.values())), labels, strict=True
            )
        ]
        yield FINISH
        measured = np.zeros(tree.size)
        levels = tree.split(measured)
        for level, counts in zip(shares, counted, strict=True):
            levels[level][:] = counts
        return SpatialHistogram(
            public,
            BucketCells(
                public.bounds,
                buckets,
                tree.leaf_values(tree.infer(measured, _variances(tree, noises))),
            ),
            deviation=noises[tree.height].standard_deviation,
        )


def _variances(tree: Hierarchy, noises: dict[int, CountNoise]) -> list[float]:
    """Return the variances of the levels up to a common factor, infinite where not counted."""
    finest = rate_of(noises[tree.height])
    return [
        float((finest / rate_of(noises[level])) ** 2) if level in noises else math.inf
        for level in range(tree.levels)
    ]


def _partition_step(choice: DyadicPartition, loss: Loss) -> PlanStep:
    """Return the line of a plan for the choice of buckets.

    With the base measure π of a partition P, P(cost > cost(P) + t) ≤ e^(−rate·t)/π(P); π(P) is at
    least (s·(1 − s))^buckets.
    """
    rate = float(choice.rate)
    short = math.log(20) / rate
    each = -math.log(float(SPLIT_SHARE * (1 - SPLIT_SHARE))) / rate
    return PlanStep(
        what=f"buckets of {choice.cells:,} cells",
        loss=loss,
        noise="exponential mechanism over all partitions",
        error=(
            f"points that lie otherwise than evenly: at most {short:,.4g} more than for any "
            f"partition, and {each:,.4g} for each of its buckets, 19 times in 20"
        ),
        figures={"margin": short, "margin_per_bucket": each},
    )


# Which levels of a binary tree over buckets are counted, and with what share of the budget.
#
# The choice is tuned to a public workload of boxes, from a public partition; nothing here sees a
# count. All figures that decide are whole numbers, so that every machine decides alike.


#: How many boxes the workload has, and the logarithms of the least and greatest share of the domain
#: that one covers.
BOXES = 48
LEAST_BITS, MOST_BITS = 13, 3
#: Usage is counted in units of 2 to the minus this.
USAGE_BITS = 20
#: So many overlaps are held at once.
AT_ONCE = 1 << 21


@lru_cache(maxsize=16)
def workload(dimensions: int, side: int) -> NDArray[np.int64]:
    """Return a public workload of boxes of cells: (boxes, dimensions, 2), upper ends excluded.

    Parameters
    ----------
    dimensions, side
        The grid has `side` cells along each axis.

    Notes
    -----
    Sizes are spread evenly on a logarithmic scale. Shapes and places come from a fixed congruential
    sequence, which is the same everywhere and for ever; they need not be random.
    """
    state = 1
    boxes = np.empty((BOXES, dimensions, 2), dtype=np.int64)
    for number in range(BOXES):
        halvings = LEAST_BITS - (LEAST_BITS - MOST_BITS) * number // (BOXES - 1)
        for axis in range(dimensions):
            # About 2^(−halvings/d) of the axis, a quarter more or less.
            state = _after(state)
            width = max(side * (96 + (state >> 40) % 65) // 128, 1)
            width = max(round_root(Fraction(width**dimensions, 1 << halvings), dimensions), 1)
            state = _after(state)
            low = (state >> 32) % (side - min(width, side) + 1)
            boxes[number, axis] = low, low + min(width, side)
    boxes.setflags(write=False)
    return boxes


def _after(state: int) -> int:
    """Return the next number of Knuth's MMIX sequence; its upper bits are used."""
    return (state * 6364136223846793005 + 1442695040888963407) % 2**64


def count_used_nodes(tree: Hierarchy, buckets: Buckets) -> list[int]:
    """Return how often the boxes of the workload use nodes of each level, from the root.

    A box is answered by the largest nodes that lie within it and by parts of buckets; a part f of a
    bucket counts f², as its noise does. Units are 2^−USAGE_BITS.

    Parameters
    ----------
    tree
        The binary tree over the buckets.
    buckets
        The partition.
    """
    used = [0] * tree.levels
    boxes = workload(buckets.dimensions, buckets.side)
    at_once = max(AT_ONCE // (len(buckets) * buckets.dimensions), 1)
    for start in range(0, BOXES, at_once):
        whole, parts = _cover_boxes(boxes[start : start + at_once], buckets)
        used[-1] += parts
        for level in range(tree.height, 0, -1):
            # A node over padding only lies within every box.
            pairs = _pad_rows(whole)
            above = pairs[:, 0::2] & pairs[:, 1::2]
            alone = whole & ~np.repeat(above, 2, axis=1)[:, : whole.shape[1]]
            used[level] += int(alone.sum()) << USAGE_BITS
            whole = above
        used[0] += int(whole.sum()) << USAGE_BITS
    return used


def _cover_boxes(boxes: NDArray[np.int64], buckets: Buckets) -> tuple[NDArray[np.bool_], int]:
    """Return which buckets lie within each box, and Σ f² over the parts of others, in units."""
    corners, sizes = buckets.corners, buckets.sizes
    high = np.minimum(corners[:, :, 1], boxes[:, None, :, 1])
    low = np.maximum(corners[:, :, 0], boxes[:, None, :, 0])
    covered = np.prod(np.maximum(high - low, 0), axis=2)
    whole = covered == sizes
    # Sizes are powers of two: the parts and their squares are exact.
    parts = (np.where(whole, 0, covered) / sizes) ** 2 * (1 << USAGE_BITS)
    return whole, int(parts.astype(np.int64).sum())


def _pad_rows(whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return rows of even length."""
    return np.pad(whole, [(0, 0), (0, whole.shape[1] % 2)], constant_values=True)


def level_shares(used: list[int]) -> dict[int, Fraction]:
    """Return the levels that are counted, with their shares of the budget.

    Parameters
    ----------
    used
        How often the workload uses nodes of each level, from the root to the buckets.

    Notes
    -----
    With the share w of a budget, a level's noise has a variance in proportion to 1/w², so that
    Σ used/w² is to be least under Σ w = 1: w ∝ used^(1/3), with the minimum (Σ used^(1/3))³. A
    level that is left out passes its use on to the next one below, where each node is two. Levels
    are left out greedily as long as the minimum falls; the buckets themselves stay.
    """
    kept = list(range(len(used)))
    best = _roots(used, kept)
    while True:
        candidates = [[other for other in kept if other != level] for level in kept[:-1]]
        trials = [(sum(_roots(used, levels)), levels) for levels in candidates]
        if not trials or min(trials)[0] > sum(best):
            break
        kept = min(trials)[1]
        best = _roots(used, kept)
    total = sum(best)
    return {level: Fraction(root, total) for level, root in zip(kept, best, strict=True)}


def _roots(used: list[int], kept: list[int]) -> list[int]:
    """Return the cube roots of the use of kept levels, in small whole units, at least 1."""
    roots, passed, level = [], 0, 0
    for number in kept:
        while level <= number:
            passed = 2 * passed + used[level]
            level += 1
        roots.append(max(round_root(Fraction(passed << 12), 3), 1))
        passed = 0
    return roots
